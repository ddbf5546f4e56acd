"""Summarises a run by metadata: for each value of a column the number of cases, their statuses and their scores.

One pass; memory grows with the number of slices, not of cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krino.cases.metadata import column_value, slice_text
from krino.errors import UsageProblem
from krino.results import FrozenModel
from krino.results.compact_columns import NULL
from krino.results.field_kinds import ROLL_UP, ROLL_UPS
from krino.results.table import TablePart, TableReader, slice_name, unknown_column
from krino.results.verdict_schema import Schema, declared_bounds
from krino.runs.index import CODES
from krino.stats.confidence_intervals import FEW, Bounds, MomentsByGroup, mean_interval

OTHERS = "(other values)"
_MOST_VALUES = 1_000
_FEW_VALUES = 12
_MOST_COLUMNS = 12
_STATUSES = max(CODES.values()) + 1
_PLACES = {word: place for place, word in enumerate(ROLL_UPS)}

_RollUpCodes = tuple[NDArray[np.intp], NDArray[np.intp]]
"""The rows of a part that have a roll-up, and the index of each in `ROLL_UPS`."""


class SliceNumber(FrozenModel):
    """A score in one slice, with the 95 % interval of its mean."""

    n: int
    nulls: int
    mean: float | None
    interval: tuple[float, float] | None


class Slice(FrozenModel):
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


class SliceTable(FrozenModel):
    """The slices of one column (or of several together, `court*language`), largest first."""

    column: str
    slices: tuple[Slice, ...]

    @property
    def numbers(self) -> list[str]:
        """The names of scores in any slice."""
        return list(dict.fromkeys(name for item in self.slices for name in item.numbers))

    @property
    def roll_ups(self) -> list[str]:
        return [word for word in ROLL_UPS if any(word in item.roll_up for item in self.slices)]


def parse_columns(text: str | None) -> list[tuple[str, ...]]:
    """Parses `court,language` as two columns, `court*language` as one combined column."""
    if text is None:
        return []
    columns = [tuple(name.strip() for name in part.split("*")) for part in text.split(",")]
    if any(not name for names in columns for name in names):
        raise UsageProblem(f"by {text!r}: write columns as court,language or together as court*language")
    return columns


def slice_by(
    judgements: Iterable[Mapping[str, Any]], columns: Sequence[tuple[str, ...]], schema: Schema | None = None
) -> list[SliceTable]:
    """Slices judgements by each of the columns. Raises `UsageProblem` for a column that no case has.

    `schema` is that of the verdict, with its bounds.
    """
    counters = {names: _SliceCounter() for names in columns}
    known: set[str] = set()
    for part in TableReader(marks=False).parts(judgements):
        metadata, rolled = [record.get("metadata") or {} for record in part.records], _roll_up_codes(part)
        known.update(*metadata)
        for names, sliced in counters.items():
            sliced.add(part, rolled, [column_value(given, names) for given in metadata], most=_MOST_VALUES)
    for name in (name for names in columns for name in names):
        if name not in known:
            raise unknown_column("--by", name, known)
    return [sliced.table(slice_name(names), schema) for names, sliced in counters.items()]


@dataclass(slots=True)
class AutoSlicer:
    """Slices a run by every metadata column with few values, for reports."""

    schema: Schema | None = None
    _columns: dict[str, _SliceCounter | None] = field(default_factory=dict)
    """None for a column with too many values."""
    _all: _SliceCounter = field(default_factory=lambda: _SliceCounter())
    """Every case in one slice."""

    def add(self, part: TablePart) -> None:
        """Adds a part of the run to the slices of every column of metadata."""
        metadata, rolled = [record.get("metadata") or {} for record in part.records], _roll_up_codes(part)
        for name in dict.fromkeys(chain.from_iterable(metadata)):
            if name not in self._columns and len(self._columns) < _MOST_COLUMNS:
                self._columns[name] = deepcopy(self._all)  # all earlier cases are without it
        for name, sliced in self._columns.items():
            if sliced is not None:
                sliced.add(part, rolled, [slice_text(given.get(name)) for given in metadata])
                if len(sliced.values) > _FEW_VALUES:
                    self._columns[name] = None
        self._all.add(part, rolled, [slice_text(None)] * len(metadata))

    def result(self) -> list[SliceTable]:
        """The slices of each column; columns with a single value, or too many, are left out."""
        found = ((name, sliced) for name, sliced in self._columns.items() if sliced is not None)
        return [sliced.table(name, self.schema) for name, sliced in found if len(sliced.values) > 1]


@dataclass(slots=True)
class _SliceCounter:
    """Counts statuses, roll-ups and scores for each value of one column."""

    values: dict[str, int] = field(default_factory=dict)
    """Each value with its number, in order of appearance."""
    _statuses: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, _STATUSES), np.int64))
    _roll_ups: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, len(ROLL_UPS)), np.int64))
    _numbers: dict[str, MomentsByGroup] = field(default_factory=dict)
    _nulls: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def add(self, part: TablePart, rolled: _RollUpCodes, values: Sequence[str], most: int | None = None) -> None:
        """Adds a part of the run. `values` has the slice of each case; after `most` distinct ones, new values are
        counted together."""
        known = {value: self._number(value, most) for value in dict.fromkeys(values)}
        groups = np.fromiter(map(known.__getitem__, values), np.intp, len(values))
        self._statuses = _add_counts(self._statuses, groups, part.statuses, len(self.values))
        rows, places = rolled
        self._roll_ups = _add_counts(self._roll_ups, groups[rows], places, len(self.values))
        for name, (rows, numbers, codes) in part.fields.items():
            if name == ROLL_UP:
                continue
            there = ~np.isnan(numbers)
            if there.any():
                self._numbers.setdefault(name, MomentsByGroup()).add(
                    groups[rows[there]], numbers[there], len(self.values)
                )
            if (nulls := groups[rows[codes == NULL]]).size:
                before = self._nulls.get(name, np.zeros(0, np.int64))
                self._nulls[name] = _add_rows(before, len(self.values)) + np.bincount(nulls, minlength=len(self.values))

    def table(self, column: str, schema: Schema | None) -> SliceTable:
        """The slices in a table, the largest first, and the other values last."""
        bounds = {name: declared_bounds(schema, name) for name in self._numbers}
        ordered = sorted(self.values, key=lambda value: (value == OTHERS, -self._count(value), value))
        return SliceTable(column=column, slices=tuple(self._slice(value, bounds) for value in ordered))

    def _number(self, value: str, most: int | None) -> int:
        """The number of a value; a new one after `most` gets that of all other values."""
        if value not in self.values and most is not None and len(self.values) >= most:
            value = OTHERS
        return self.values.setdefault(value, len(self.values))

    def _count(self, value: str) -> int:
        return int(self._statuses[self.values[value]].sum())

    def _slice(self, value: str, bounds: Mapping[str, Bounds]) -> Slice:
        """Returns the summary of one slice."""
        group = self.values[value]
        rolled = _add_rows(self._roll_ups, len(self.values))[group].tolist()
        return Slice(
            value=value,
            n=self._count(value),
            failed=int(self._statuses[group, CODES["failed"]]),
            error=int(self._statuses[group, CODES["error"]]),
            roll_up={word: count for word, count in zip(ROLL_UPS, rolled, strict=True) if count},
            numbers={name: self._summarise(name, group, bounds[name]) for name in self._numbers},
        )

    def _summarise(self, name: str, group: int, bounds: Bounds) -> SliceNumber:
        """Returns the mean of a number field in one slice."""
        values, nulls = self._numbers[name][group], self._nulls.get(name, ())
        mean = values.mean if values.n else None
        null = int(nulls[group]) if group < len(nulls) else 0
        return SliceNumber(n=values.n, nulls=null, mean=mean, interval=mean_interval(values, bounds))


def _roll_up_codes(part: TablePart) -> _RollUpCodes:
    """The rows of a part that have a roll-up, and the index of each in `ROLL_UPS`."""
    words = (record.get(ROLL_UP) if record["status"] == "ok" else None for record in part.records)
    rows, places = np.array([(row, _PLACES[word]) for row, word in enumerate(words) if word], np.intp).reshape(-1, 2).T
    return rows, places


def _add_counts(
    table: NDArray[np.int64], groups: NDArray[np.intp], columns: NDArray[Any], count: int
) -> NDArray[np.int64]:
    """The table with 1 added at each pair of group (row) and column."""
    width = table.shape[1]
    found = np.bincount(groups * width + columns, minlength=count * width).reshape(count, width)
    return _add_rows(table, count) + found


def _add_rows(table: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The table with rows of zeros appended, up to `count` rows."""
    return np.concatenate([table, np.zeros((count - len(table), *table.shape[1:]), np.int64)])
