"""Reads what people said of the cases: a row a case, a row a case and rater, or a column a field and rater."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from krino.cases import read_cases
from krino.cases.item import ID_FIELDS, case_id
from krino.cases.origin import Format, find_origins
from krino.errors import UsageProblem
from krino.results.agreement.pool import Pool
from krino.results.agreement.wording import listed, shown

RATER = "rater"
PEOPLE = "people"
"""The name of the rater where the labels name none."""


@dataclass(slots=True)
class LabelColumn:
    """The labels of one field."""

    pool: Pool = field(default_factory=Pool)
    places: list[str] = field(default_factory=list)
    """Where each different value first stood, for messages."""
    labels: array[int] = field(default_factory=lambda: array("q"))
    """Case, rater and number of the value, label after label."""

    def add(self, case: int, rater: int, value: Any, place: str) -> None:
        number = self.pool.number(value)
        if number == len(self.places):
            self.places.append(place)
        self.labels.extend((case, rater, number))

    def table(self) -> NDArray[np.int64]:
        """A row a label: case, rater, number of the value."""
        return np.array(self.labels, np.int64).reshape(-1, 3)


_Home: TypeAlias = tuple[LabelColumn | None, int | None]
"""The labels that a column of the file belongs to, and its rater where its name tells."""


@dataclass(slots=True)
class Labels:
    """All labels, by column. Columns that are no field of the verdict are kept too: only the run can tell."""

    ids: dict[str, int] = field(default_factory=dict)
    raters: dict[str, int] = field(default_factory=dict)
    columns: dict[str, LabelColumn] = field(default_factory=dict)
    _rows: dict[tuple[int, int], str] = field(default_factory=dict)
    _homes: dict[str, _Home] = field(default_factory=dict)
    _forms: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any], place: str) -> None:
        """One row; raises `UsageProblem` for one without an id, and for a second one of the same case and rater."""
        own_id = case_id(row)
        if own_id is None:
            raise UsageProblem(
                f"{place}: no id of a case; name the column `id`, or say which it is with --map id=COLUMN "
                f"(the columns are {listed(row)})"
            )
        case = self.ids.setdefault(own_id, len(self.ids))
        row_rater = self._rater_of(row, place)
        before = self._rows.setdefault((case, row_rater), place)
        if before is not place:
            whose = f" by rater {shown(row[RATER])}" if RATER in row else ""
            raise UsageProblem(
                f"{place}: a second row of case {shown(own_id)}{whose}, after {before}; keep one, "
                f"or tell the raters apart in a column `{RATER}`"
            )
        for name, value in row.items():
            column, own_rater = self._homes.get(name) or self._find_home(name, place)
            if column is None or value != value:  # nan, the one value unlike itself, is how frames write nothing
                continue
            if isinstance(value, float) and math.isinf(value):
                raise UsageProblem(f"{place}: the label {shown(value)} of {shown(name)} is too large for a number")
            column.add(case, row_rater if own_rater is None else own_rater, value, place)

    def _rater_of(self, row: Mapping[str, Any], place: str) -> int:
        if RATER not in row:
            return self._rater(PEOPLE)
        if row[RATER] is None or not str(row[RATER]).strip():
            raise UsageProblem(f"{place}: the column `{RATER}` is empty; say who gave these labels")
        return self._rater(str(row[RATER]).strip())

    def _rater(self, name: str) -> int:
        return self.raters.setdefault(name, len(self.raters))

    def _find_home(self, name: str, place: str) -> _Home:
        """Where the values of a column go: `score` to the row's rater, `score:anna` to Anna, the id nowhere."""
        field_name, _, rater = (part.strip() for part in str(name).partition(":"))
        home: _Home = (None, None)
        if name not in (RATER, *ID_FIELDS):
            by_column = bool(field_name and rater)
            field_name = field_name if by_column else str(name)
            known, was_by_column = self._forms.setdefault(field_name, (name, by_column))
            if was_by_column != by_column:
                raise UsageProblem(
                    f"{place}: columns {shown(known)} and {shown(name)} both give {shown(field_name)}; "
                    "write every rater as a column FIELD:RATER, or leave one of the two out"
                )
            home = (self.columns.setdefault(field_name, LabelColumn()), self._rater(rater) if by_column else None)
        self._homes[name] = home
        return home


def read_labels(
    path: str | os.PathLike[str],
    *,
    format: Format = "auto",  # noqa: A002
    mapping: Mapping[str, str] | None = None,
) -> Labels:
    """The labels of a file in any format that cases can have. A row that cannot be read is an error, not a gap."""
    table = all(origin.format == "csv" for origin in find_origins([path], format))
    return _gathered(_rows_of_file(path, format, mapping, is_table=table), os.fspath(path))


def labels_of(rows: Iterable[Mapping[str, Any]]) -> Labels:
    """The same from rows in memory."""
    return _gathered(((row, f"row {number} of the labels") for number, row in enumerate(rows, 1)), "the labels")


def _gathered(rows: Iterable[tuple[Mapping[str, Any], str]], name: str) -> Labels:
    labels = Labels()
    for row, place in rows:
        labels.add(row, place)
    if not labels.ids:
        raise UsageProblem(f"{name}: there is no label in it; give one row a case, with the column `id`")
    return labels


def _rows_of_file(
    path: str | os.PathLike[str],
    format: Format,  # noqa: A002
    mapping: Mapping[str, str] | None,
    *,
    is_table: bool,
) -> Iterator[tuple[Mapping[str, Any], str]]:
    for item in read_cases([path], format=format, mapping=mapping):
        if item.record is None:
            raise UsageProblem(f"{item.problem}")
        yield (_of_table(item.record) if is_table else item.record), str(item.source)


def _of_table(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A table has no null: an empty cell is no label, the word is the value."""
    cells = record.values()
    if None not in cells and "null" not in cells:
        return record
    return {
        name: None if value == "null" else value for name, value in record.items() if value is not None or name == RATER
    }
