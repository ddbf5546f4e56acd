"""Sums up a run by what is known of its cases: for each value of a column how many, how they ended, and the scores.

One pass, in memory that grows with the number of slices, not of cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from krino.cases.metadata import column_value
from krino.errors import UsageProblem
from krino.results.numbers import as_number
from krino.runs.fields import ROLL_UPS
from krino.stats.moments import FEW, Moments
from krino.stats.shares import mean_interval
from krino.text.clean import clean_line

OTHERS = "(other values)"
_MOST_VALUES = 1_000
_FEW_VALUES = 12
_MOST_COLUMNS = 12


class SliceNumber(BaseModel):
    """A score in one slice. The interval is the report's: 95 %, of the mean."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    n: int
    nulls: int
    mean: float | None
    interval: tuple[float, float] | None


class Slice(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    value: str
    n: int
    failed: int
    error: int
    roll_up: dict[str, int]
    numbers: dict[str, SliceNumber]

    @property
    def few(self) -> bool:
        return self.n < FEW

    @property
    def not_ok(self) -> int:
        return self.failed + self.error


class SliceTable(BaseModel):
    """One column (or several together, `court*language`), its values from the most frequent down."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: str
    slices: tuple[Slice, ...]

    @property
    def numbers(self) -> list[str]:
        """The scores that any slice has."""
        return list(dict.fromkeys(name for item in self.slices for name in item.numbers))

    @property
    def roll_ups(self) -> list[str]:
        return [word for word in ROLL_UPS if any(word in item.roll_up for item in self.slices)]


def parse_columns(text: str | None) -> list[tuple[str, ...]]:
    """`court,language` as two columns; `court*language` as one of both together."""
    if text is None:
        return []
    columns = [tuple(name.strip() for name in part.split("*")) for part in text.split(",")]
    if any(not name for names in columns for name in names):
        raise UsageProblem(f"by {text!r}: write columns as court,language or together as court*language")
    return columns


def slice_by(judgements: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, ...]]) -> list[SliceTable]:
    """Raises `UsageProblem` for a column that no case has."""
    tables: dict[tuple[str, ...], dict[str, _SliceTally]] = {names: {} for names in columns}
    known: set[str] = set()
    for judgement in judgements:
        metadata, outcome = judgement.get("metadata") or {}, _outcome(judgement)
        known.update(metadata)
        for names, slices in tables.items():
            value = column_value(metadata, names)
            if value not in slices and len(slices) >= _MOST_VALUES:
                value = OTHERS
            _tally(slices, value).add(outcome)
    for name in (name for names in columns for name in names):
        if name not in known:
            there = ", ".join(clean_line(column, 60) for column in sorted(known)) or "none"
            raise UsageProblem(f"--by {name}: the judgements have no such column; they have {there}")
    return [_table("*".join(names), slices) for names, slices in tables.items()]


@dataclass(slots=True)
class FewValued:
    """Slices a run by every column of metadata that turns out to have few values, for reports."""

    _columns: dict[str, dict[str, _SliceTally] | None] = field(default_factory=dict)
    """None for a column that has too many."""
    _seen: _SliceTally = field(default_factory=lambda: _SliceTally())

    def add(self, judgement: Mapping[str, Any]) -> None:
        metadata, outcome = judgement.get("metadata") or {}, _outcome(judgement)
        for name in metadata:
            if name not in self._columns and len(self._columns) < _MOST_COLUMNS:
                self._columns[name] = {}
                if self._seen.n:  # all cases so far were without it
                    self._columns[name] = {column_value({}, [name]): deepcopy(self._seen)}
        for name, slices in self._columns.items():
            if slices is not None:
                _tally(slices, column_value(metadata, [name])).add(outcome)
                if len(slices) > _FEW_VALUES:
                    self._columns[name] = None
        self._seen.add(outcome)

    def result(self) -> list[SliceTable]:
        """A column with one value slices nothing."""
        found = ((name, slices) for name, slices in self._columns.items() if slices is not None and len(slices) > 1)
        return [_table(name, slices) for name, slices in found]


class _Outcome(NamedTuple):
    """What every slice of a case counts, read once."""

    status: str
    roll_up: str | None
    numbers: list[tuple[str, float]]
    nulls: list[str]


def _outcome(judgement: Mapping[str, Any]) -> _Outcome:
    status = judgement["status"]
    if status != "ok":
        return _Outcome(status, None, [], [])
    verdict = judgement.get("verdict") or {}
    found = [(name, as_number(value)) for name, value in verdict.items()]
    return _Outcome(
        status,
        judgement.get("roll_up"),
        [(name, number) for name, number in found if number is not None],
        [name for name, value in verdict.items() if value is None],
    )


@dataclass(slots=True)
class _SliceTally:
    n: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    roll_ups: Counter[str] = field(default_factory=Counter)
    numbers: dict[str, Moments] = field(default_factory=dict)
    nulls: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: _Outcome) -> None:
        self.n += 1
        self.statuses[outcome.status] += 1
        if outcome.roll_up:
            self.roll_ups[outcome.roll_up] += 1
        for name, number in outcome.numbers:
            known = self.numbers.get(name)
            if known is None:
                known = self.numbers[name] = Moments()
            known.add(number)
        for name in outcome.nulls:
            self.nulls[name] += 1

    def result(self, value: str, names: Iterable[str]) -> Slice:
        return Slice(
            value=value,
            n=self.n,
            failed=self.statuses["failed"],
            error=self.statuses["error"],
            roll_up=dict(self.roll_ups),
            numbers={name: self._number(name) for name in names},
        )

    def _number(self, name: str) -> SliceNumber:
        values = self.numbers.get(name) or Moments()
        mean = values.mean if values.n else None
        return SliceNumber(n=values.n, nulls=self.nulls[name], mean=mean, interval=mean_interval(values))


def _tally(slices: dict[str, _SliceTally], value: str) -> _SliceTally:
    found = slices.get(value)
    if found is None:
        found = slices[value] = _SliceTally()
    return found


def _table(column: str, slices: Mapping[str, _SliceTally]) -> SliceTable:
    names = list(dict.fromkeys(name for tally in slices.values() for name in tally.numbers))
    ordered = sorted(slices.items(), key=lambda item: (item[0] == OTHERS, -item[1].n, item[0]))
    return SliceTable(column=column, slices=tuple(tally.result(value, names) for value, tally in ordered))


def slice_heads(table: SliceTable) -> Iterator[str]:
    """The headings that every report gives the columns after the value."""
    yield from ("n", "not ok", *table.roll_ups, *table.numbers)
