"""Finds a mapping for files of an unknown format, and says how their cases will be read with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
from pydantic import BaseModel

from krino.cases import CaseItem, read_cases
from krino.cases.origin import Format
from krino.cases.proposing import Proposal, propose
from krino.cases.watching import UnreadFields, looked_for_separators
from krino.contract import AnyJudge
from krino.errors import CannotJudge, UsageProblem
from krino.judges.registry import OURS, load_judge
from krino.text.clean import clean_line

LOOKED_AT = 200
"""Cases that a proposal goes by."""
_LONGEST_SHOWN = 160
_MOST_REASONS = 3


@dataclass(slots=True)
class Mapped:
    """A proposal for one judge, and what comes of it for the cases that were looked at."""

    judge: str
    proposals: list[Proposal]
    records: int
    fields: int
    """Fields of the case that the records have, under these names or others."""
    readable: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    """Why cases could not be read with this mapping."""
    shown: tuple[str, list[tuple[str, str]]] | None = None
    unread: list[tuple[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    others: dict[str, int] = field(default_factory=dict)
    """Of the other judges that were tried: how many cases they can read."""

    @property
    def pairs(self) -> list[str]:
        return [f"{item.target}={item.source}" for item in self.proposals]

    def summary(self) -> str:
        """How many cases the judge can read, and why not the rest."""
        how = "with this mapping" if self.proposals else "as they are, without a mapping"
        lines = [f"{self.judge}: {self.readable:,} of {self.records:,} cases can be read {how}"]
        if self.others:
            others = ", ".join(f"{name} {count:,}" for name, count in self.others.items())
            lines[0] += f" (it fits best; of the same cases: {others})"
        for reason, count in list(self.reasons.items())[:_MOST_REASONS]:
            lines.append(f"  {count:,} cannot be read: {reason}")
        return "\n".join(lines)


def map_files(files: Sequence[str], judge: str | None = None, *, format: Format = "auto") -> Mapped:  # noqa: A002
    """The proposal for a judge, or for the one of Krino's judges that reads most of the cases."""
    if judge is not None:
        return _map_for(load_judge(judge), files, format)
    tried = [_map_for(load_judge(name), files, format) for name in OURS]
    best = max(tried, key=_fit)
    level = [found.judge for found in tried if _fit(found) == _fit(best)]
    if not best.readable or len(level) > 1:
        told = "none of Krino's judges" if not best.readable else f"{' and '.join(level)} alike"
        raise UsageProblem(f"{told} can read these cases with a mapping that can be guessed: name one with --judge")
    best.others = {found.judge: found.readable for found in tried if found is not best}
    return best


def _fit(found: Mapped) -> tuple[int, int]:
    """A judge that takes records of any kind can read them all; the one whose fields they have is meant."""
    return (found.fields, found.readable) if found.readable else (0, 0)


def _map_for(judge: AnyJudge, files: Sequence[str], format: Format) -> Mapped:  # noqa: A002
    raw = [item for item in _first(files, format, {}, judge) if item.record is not None]
    if not raw:
        raise UsageProblem(f"{', '.join(files)}: there is no case in it that can be read")
    proposals, fields = propose(judge, [item.record for item in raw if item.record is not None])
    mapping = {item.target: item.source for item in proposals}
    items = list(_first(files, format, mapping, judge)) if mapping else raw
    found = Mapped(judge.name, proposals, len(items), len(fields))
    for item in items:
        _try(judge, item, found)
    unread = UnreadFields(judge, mapping, leaves=True)
    for item in items:
        unread.add(item.record or {})
    found.unread = [(f"{path}{unread.guesses.get(path, '')}", count) for path, count in unread.records.items()]
    list(looked_for_separators(iter(items), judge, found.notes.append))
    return found


def _first(files: Sequence[str], format: Format, mapping: Mapping[str, str], judge: AnyJudge) -> Iterator[CaseItem]:  # noqa: A002
    return islice(read_cases(files, format=format, mapping=mapping, judge=judge), LOOKED_AT)


def _try(judge: AnyJudge, item: CaseItem, found: Mapped) -> None:
    """Read and study a case: a judge that does not know what to make of it says so."""
    if item.record is None:
        _count(found.reasons, item.problem or "no record")
        return
    try:
        case = judge.read(item.record)
        judge.study(case)
    except CannotJudge as reason:
        _count(found.reasons, str(reason))
        return
    found.readable += 1
    if found.shown is None:
        found.shown = (clean_line(item.id, 80), list(_fields_shown(case)))


def _count(reasons: dict[str, int], reason: str) -> None:
    told = clean_line(reason, 300)
    if told in reasons or len(reasons) < _MOST_REASONS:
        reasons[told] = reasons.get(told, 0) + 1


def _fields_shown(case: BaseModel) -> Iterator[tuple[str, str]]:
    """The fields of a case that hold something; of lists, how many there are and the first of them."""
    for name, info in type(case).model_fields.items():
        value = getattr(case, name)
        if info.json_schema_extra or value in (None, "", (), [], {}, False):
            continue  # nothing, or filled by the judge itself
        if isinstance(value, list | tuple):
            yield name, f"{len(value)}, the first: {_shown(value[0])}"
        else:
            yield name, _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, BaseModel):
        given = {name: getattr(value, name) for name in type(value).model_fields}
        return " · ".join(f"{name} {_shown(item)}" for name, item in given.items() if item not in (None, "", (), []))
    if isinstance(value, str | int | float):
        return clean_line(str(value), _LONGEST_SHOWN)
    return clean_line(orjson.dumps(value, default=str).decode(), _LONGEST_SHOWN)
