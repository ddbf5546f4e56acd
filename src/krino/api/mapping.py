"""Proposes a mapping for files with unknown field names, and shows how their cases will be read with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
from pydantic import BaseModel

from krino.cases import CaseItem, read_cases
from krino.cases.field_notes import UnreadFields, note_separators
from krino.cases.origin import Format
from krino.cases.proposing import Proposal, propose
from krino.cases.rows import describe_inputs
from krino.contract import AnyJudge
from krino.errors import CannotJudge, UsageProblem
from krino.judges.registry import OURS, load_judge
from krino.text.clean import clean_line

CASES_READ = 200
"""Cases on which a proposal is based."""
_LONGEST_SHOWN = 160
_MOST_REASONS = 3


@dataclass(slots=True)
class Mapped:
    """A proposed mapping for one judge, and how the first cases are read with it."""

    judge: str
    address: str
    """How the judge is named on the command line: its name, or the file that it is in."""
    proposals: list[Proposal]
    records: int
    fields: int
    """Number of the judge's fields that the records have, under any name."""
    readable: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    """Why cases could not be read with this mapping."""
    shown: tuple[str, list[tuple[str, str]]] | None = None
    missing: list[str] = field(default_factory=list)
    """Fields that every case must have and for which no name was found."""
    missing_for: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Fields for which no name was found, each with the fields of the verdict that need it."""
    unread: list[tuple[str, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    others: dict[str, int] = field(default_factory=dict)
    """The other judges that were tried, each with the number of cases it can read."""

    @property
    def pairs(self) -> list[str]:
        return [f"{item.target}={item.source}" for item in self.proposals]

    def summary(self) -> str:
        """Says how many cases the judge can read, and why it cannot read the others."""
        how = "with this mapping" if self.proposals else "as they are, without a mapping"
        lines = [f"{self.judge}: {self.readable:,} of {self.records:,} cases can be read {how}"]
        if self.others:
            others = ", ".join(f"{name} {count:,}" for name, count in self.others.items())
            lines[0] += f" (it fits best; of the same cases: {others})"
        for reason, count in list(self.reasons.items())[:_MOST_REASONS]:
            lines.append(f"  {count:,} cannot be read: {reason}")
        return "\n".join(lines)


def map_files(files: Sequence[str], judge: str | None = None, *, format: Format = "auto") -> Mapped:  # noqa: A002
    """Proposes a mapping for a judge, or for the one of Krino's judges that fits best; raises `UsageProblem` if none
    fits or several fit equally."""
    if judge is not None:
        return _propose_for(load_judge(judge), judge, files, format)
    tried = [_propose_for(load_judge(name), name, files, format) for name in OURS]
    best = max(tried, key=_score_fit)
    level = [found.judge for found in tried if _score_fit(found) == _score_fit(best)]
    if not best.readable or len(level) > 1:
        which = "none of Krino's judges" if not best.readable else f"{' and '.join(level)} equally"
        raise UsageProblem(f"{which} can read these cases with a mapping that can be guessed: name one with --judge")
    best.others = {found.judge: found.readable for found in tried if found is not best}
    return best


def _score_fit(found: Mapped) -> tuple[int, int]:
    """Returns a rank of judges: first by how many of their fields the records have, because some judges read any
    record."""
    return (found.fields, found.readable) if found.readable else (0, 0)


def _propose_for(judge: AnyJudge, address: str, files: Sequence[str], format: Format) -> Mapped:  # noqa: A002
    """Proposes a mapping from the first cases, and reads them with it; none if fewer could be read than without. Raises
    `UsageProblem` if no case can be read."""
    raw = list(_read_first(files, format, {}, judge))
    records = [item.record for item in raw if item.record is not None]
    if not records:
        reason = next((f" ({item.problem})" for item in raw if item.problem), "")
        raise UsageProblem(f"{', '.join(files)}: it holds no case that can be read{reason}")
    proposals, fields = propose(judge, records)
    found, items = Mapped(judge.name, address, [], len(raw), len(fields)), raw
    _try_cases(judge, items, found)
    if proposals:
        mapping = {item.target: item.source for item in proposals}
        mapped = list(_read_first(files, format, mapping, judge))
        other = Mapped(judge.name, address, proposals, len(mapped), len(fields))
        _try_cases(judge, mapped, other)
        found, items = (other, mapped) if other.readable >= found.readable else (found, items)
    required = [name for name, known in judge.case_model.model_fields.items() if known.is_required()]
    found.missing = [name for name in required if name not in fields]
    needed = judge.fields.needed.items()
    found.missing_for = {name: tuple(by) for name, by in needed if by and name not in fields}
    unread = UnreadFields(judge, {item.target: item.source for item in found.proposals}, leaves=True)
    for item in items:
        unread.add(item.record or {})
    found.unread = [(f"{path}{unread.guesses.get(path, '')}", count) for path, count in unread.records.items()]
    list(note_separators(iter(items), judge, found.notes.append))
    found.notes += describe_inputs(files, format)
    return found


def _read_first(
    files: Sequence[str],
    format: Format,  # noqa: A002
    mapping: Mapping[str, str],
    judge: AnyJudge,
) -> Iterator[CaseItem]:
    """Yields the first cases of the files."""
    return islice(read_cases(files, format=format, mapping=mapping, judge=judge), CASES_READ)


def _try_cases(judge: AnyJudge, items: Sequence[CaseItem], found: Mapped) -> None:
    for item in items:
        _try_case(judge, item, found)


def _try_case(judge: AnyJudge, item: CaseItem, found: Mapped) -> None:
    """Reads and studies a case, and counts it as readable or by the reason why not. The first readable one is kept to
    be shown."""
    if item.record is None:
        _count_reason(found.reasons, item.problem or "no record")
        return
    try:
        case = judge.read(item.record)
        judge.study(case)
    except CannotJudge as reason:
        _count_reason(found.reasons, str(reason))
        return
    found.readable += 1
    if found.shown is None:
        found.shown = (clean_line(item.id, 80), list(_format_fields(case)))


def _count_reason(reasons: dict[str, int], reason: str) -> None:
    """Counts a reason; further ones are dropped once there are enough different ones."""
    shortened = clean_line(reason, 300)
    if shortened in reasons or len(reasons) < _MOST_REASONS:
        reasons[shortened] = reasons.get(shortened, 0) + 1


def _format_fields(case: BaseModel) -> Iterator[tuple[str, str]]:
    """Yields the fields of a case that have a value; of lists, the length and the first item."""
    for name, info in type(case).model_fields.items():
        value = getattr(case, name)
        if info.json_schema_extra or value in (None, "", (), [], {}, False):
            continue  # empty, or filled by the judge itself
        if isinstance(value, list | tuple):
            yield name, f"{len(value)}, the first: {_format_value(value[0])}"
        else:
            yield name, _format_value(value)


def _format_value(value: Any) -> str:
    """Formats a value of a case in one line."""
    if isinstance(value, BaseModel):
        given = {name: getattr(value, name) for name in type(value).model_fields}
        return " · ".join(
            f"{name} {_format_value(item)}" for name, item in given.items() if item not in (None, "", (), [])
        )
    if isinstance(value, str | int | float):
        return clean_line(str(value), _LONGEST_SHOWN)
    return clean_line(orjson.dumps(value, default=str).decode(), _LONGEST_SHOWN)
