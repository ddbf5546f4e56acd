"""Says who judged: judge, version, fingerprint and labeller, which go with every number that leaves Krino.

`hash_fingerprint` makes the one short hash of a judge from what `fingerprint` collects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import orjson

if TYPE_CHECKING:
    from krino.contract.judge import AnyJudge

_NOT_HASHED = frozenset({"address"})
"""Where a judge was loaded from: the same judge may lie elsewhere."""
_HASHED_PARTS = frozenset({"source", "schemas", "rules", "data", "prompt_hash"})


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """Who judged. What is not known is None, never a guess.

    >>> who = JudgedBy.of(judge.fingerprint(), judgement.labeller)
    >>> who.named()
    {'judge': 'rag', 'judge_version': '5', 'judge_fingerprint': '…', 'prompt_hash': '…', 'labeller': 'llm', ...}
    """

    judge: str
    judge_version: str
    judge_fingerprint: str | None = None
    """One hash of all that the judge computes with: an edited judge has another."""
    prompt_hash: str | None = None
    labeller: str | None = None
    """The kind: `local`, `llm`, `panel`, `replay` or one of the user's own; None if no labeller was asked."""
    model: str | None = None
    """The name of the model, or those of the members of a panel."""
    agreement: str | None = None
    """The agreement with people that was measured for this very judge, in words; None if there is no such figure."""

    @classmethod
    def of(
        cls, fingerprint: Mapping[str, Any], labeller: Mapping[str, Any] | None = None, agreement: str | None = None
    ) -> Self:
        """Makes it from `judge.fingerprint()` (or `plan.judge` of a run) and `judgement.labeller`."""
        prompt = fingerprint.get("prompt_hash")
        return cls(
            judge=str(fingerprint.get("name")),
            judge_version=str(fingerprint.get("version")),
            judge_fingerprint=hash_fingerprint(fingerprint),
            prompt_hash=None if prompt is None else str(prompt),
            agreement=agreement,
        ).with_labeller(labeller)

    @classmethod
    def of_judge(cls, judge: AnyJudge, labeller: Mapping[str, Any]) -> Self:
        """Makes it from a judge and `labeller.describe()`, with the measured agreement if that was measured with this
        labeller."""
        fingerprint, measured = judge.fingerprint(), judge.measured
        belongs = measured is not None and measured.belongs_to(fingerprint, labeller)
        return cls.of(fingerprint, labeller, str(measured) if belongs else None)

    def with_labeller(self, labeller: Mapping[str, Any] | None) -> Self:
        """Returns the same judge with the labeller of one judgement, or with none if no labeller was asked."""
        if not labeller:
            return replace(self, labeller=None, model=None)
        return replace(self, labeller=str(labeller.get("kind") or "unknown"), model=labeller_name(labeller))

    def named(self) -> dict[str, str]:
        """Returns the fields that are known, by name."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}


def hash_fingerprint(fingerprint: Mapping[str, Any]) -> str | None:
    """Returns a judge's fingerprint as one short hash; None if it does not say what the judge computes with."""
    if not fingerprint.keys() >= _HASHED_PARTS:
        return None
    parts = {key: value for key, value in fingerprint.items() if key not in _NOT_HASHED}
    written = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=repr)
    return hashlib.blake2b(written, digest_size=8).hexdigest()


def labeller_name(labeller: Mapping[str, Any]) -> str:
    """Returns the name of the model, else the members of a panel, else the kind of labeller in words."""
    if model := labeller.get("model"):
        return str(model)
    if members := labeller.get("members"):
        repeat = labeller.get("repeat", 1)
        return " + ".join(map(str, members)) + (f", each {repeat} times" if repeat != 1 else "")
    kind = str(labeller.get("kind") or "unknown")
    return {"local": "embedded labeller", "replay": "recorded labels"}.get(kind, kind)
