"""Explains in words why a case got a value, and describes single cases for gates and agreement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pydantic import Field

from krino.contract import Status
from krino.results import FrozenModel
from krino.results.field_kinds import as_codes, fields_of
from krino.results.formatting import format_number
from krino.text.clean import clean_line

DEFAULT_WORST = 10
"""How many cases are named by default."""
_LONGEST = 400
_EXPLANATION_NAMES = ("reason", "reasons", "reasoning", "rationale", "explanation", "why", "note", "notes", "comment")
"""Name endings of fields that explain a whole verdict."""


class ExplainedCase(FrozenModel):
    """A case with its value in one field and the reason."""

    id: str
    status: Status
    value: Any = None
    """The value of the field; null if the case has no verdict, or the field is null."""
    before: Any = None
    """In a comparison: the same field in the other run."""
    reason: str
    inputs: dict[str, Any] = Field(default_factory=dict)
    """The main inputs of the case, such as question and answer, if the judgement has them."""

    @property
    def shown(self) -> str:
        """The value in a few characters; for a change, both values."""
        value = format_value(self.value) if self.status == "ok" else "no verdict"
        return value if self.before is None else f"{format_value(self.before)} → {value}"


def make_named_case(
    judgement: Mapping[str, Any], field: str | None, rules: Mapping[str, str] | None = None
) -> ExplainedCase:
    """Describes a judgement of the journal by one field of its verdict (None: by whether it has a verdict)."""
    ok = judgement["status"] == "ok"
    return ExplainedCase(
        id=str(judgement["id"]),
        status=judgement["status"],
        value=fields_of(judgement).get(field) if ok and field is not None else None,
        reason=explain_value(judgement, field, rules),
        inputs={name: _shorten(value) for name, value in (judgement.get("inputs") or {}).items()},
    )


def format_value(value: Any) -> str:
    """A value of a verdict in a few characters."""
    if isinstance(value, float):
        return format_number(value)
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return clean_line(text, 60) if isinstance(text, str) else orjson.dumps(text, default=str).decode()


def explain_value(judgement: Mapping[str, Any], field: str | None, rules: Mapping[str, str] | None = None) -> str:
    """Why a field has its value, on one line: what went wrong, the explanation, or the rule with its evidence. Empty if
    nothing says it."""
    return next(
        (clean_line(text, _LONGEST) for text in _candidate_reasons(judgement, field, rules or {}) if text.strip()), ""
    )


def _shorten(value: Any) -> Any:
    return clean_line(value, _LONGEST) if isinstance(value, str) else value


def _candidate_reasons(judgement: Mapping[str, Any], field: str | None, rules: Mapping[str, str]) -> Iterator[str]:
    """Possible reasons, the most specific first."""
    if judgement["status"] != "ok":
        yield str(judgement.get("reason") or judgement.get("error") or "")
        return
    verdict = judgement.get("verdict") or {}
    texts = {name: value for name, value in verdict.items() if name != field and isinstance(value, str)}
    yield from (text for name, text in texts.items() if name.startswith(f"{field}_"))
    others = tuple(f"{name}_" for name in verdict)
    yield from (text for name, text in texts.items() if _explains_verdict(name, others))
    rule = (judgement.get("rules") or {}).get(field, "")
    evidence = "; ".join(str(item) for item in (judgement.get("evidence") or {}).get(field) or ())
    if rule in rules:
        yield f"{rules[rule]} ({evidence})" if evidence else rules[rule]
    yield evidence
    yield from (text for text in texts.values() if as_codes(text) is None)
    yield f"rule {rule}" if rule else ""


def _explains_verdict(name: str, others: tuple[str, ...]) -> bool:
    """Whether a field explains the verdict, and not a single field (as `recall_explanation` explains `recall`)."""
    return name.lower().endswith(_EXPLANATION_NAMES) and not name.startswith(others)


def find_explanation(judgement: Mapping[str, Any], field: str) -> str | None:
    """The text of the field that explains this one (`score_explanation` for `score`), or else the evidence; None
    without both."""
    verdict: Mapping[str, Any] = judgement.get("verdict") or {}
    beside = (value for name, value in verdict.items() if name.startswith(f"{field}_") and isinstance(value, str))
    own = next(beside, None)
    return own if own is not None else "; ".join((judgement.get("evidence") or {}).get(field) or ()) or None


def describe_rule(rule: str, rules: Mapping[str, str]) -> str:
    """The id of a rule with its text, or the id alone if the text is unknown."""
    return f"{rule}: {rules[rule]}" if rule in rules else rule
