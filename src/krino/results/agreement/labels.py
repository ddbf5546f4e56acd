"""Reads what people said of the cases, in rows or columns a rater, and what their words stand for."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from krino.cases import read_cases
from krino.cases.from_python import plain_record, rows_of_frame
from krino.cases.item import ID_FIELDS, case_id
from krino.cases.origin import Format, find_origins
from krino.errors import UsageProblem
from krino.results.field_kinds import is_too_long_for_label
from krino.results.formatting import join_quoted, quote
from krino.text.clean import clean_name
from krino.text.formulas import unmarked
from krino.text.guessing import guessed

_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


FREE_TEXT: Final = object()
"""Stands for any text too long to be a label: it is not kept."""


@dataclass(slots=True)
class Pool:
    """Values in the order in which they first came."""

    values: list[Any] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        """The number of a value, the same for equal values: 1 and 1.0 differ here, as do 1 and "1"."""
        is_text = isinstance(value, str)
        key = value if is_text else orjson.dumps(value, option=_OPTIONS, default=str)
        known = self._numbers.get(key)
        if known is not None:
            return known
        if is_text and is_too_long_for_label(value):
            if self.has_free_text:
                return self._numbers[FREE_TEXT]
            key = value = FREE_TEXT
        self._numbers[key] = len(self.values)
        self.values.append(value)
        return self._numbers[key]

    def replaced(self, meant: Callable[[Any], Any]) -> Pool:
        """The same numbers for what the values stand for."""
        return Pool([meant(value) for value in self.values], self._numbers)

    @property
    def has_free_text(self) -> bool:
        return FREE_TEXT in self._numbers


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


_Destination: TypeAlias = tuple[LabelColumn | None, int | None]
"""The labels that a column of the file belongs to, and its rater where its name tells."""


@dataclass(slots=True)
class Labels:
    """All labels, by column. Columns that are no field of the verdict are kept too: only the run can tell."""

    ids: dict[str, int] = field(default_factory=dict)
    raters: dict[str, int] = field(default_factory=dict)
    columns: dict[str, LabelColumn] = field(default_factory=dict)
    _rows: dict[tuple[int, int], str] = field(default_factory=dict)
    _destinations: dict[str, _Destination] = field(default_factory=dict)
    _forms: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any], place: str) -> None:
        """One row; raises `UsageProblem` for one without an id, and for a second one of the same case and rater."""
        own_id = case_id(row)
        if own_id is None:
            raise UsageProblem(
                f"{place}: no id of a case; name the column `id`, or say which it is with --map id=COLUMN "
                f"(the columns are {join_quoted(row)})"
            )
        case = self.ids.setdefault(own_id, len(self.ids))
        row_rater = self._rater_of(row, place)
        before = self._rows.setdefault((case, row_rater), place)
        if before is not place:
            whose = f" by rater {quote(row[RATER])}" if RATER in row else ""
            raise UsageProblem(
                f"{place}: a second row of case {quote(own_id)}{whose}, after {before}; keep one, "
                f"or tell the raters apart in a column `{RATER}`"
            )
        for name, value in row.items():
            column, own_rater = self._destinations.get(name) or self._find_destination(name, place)
            if column is None or value != value:  # nan, the one value unlike itself, is how frames write nothing
                continue
            if isinstance(value, float) and math.isinf(value):
                raise UsageProblem(f"{place}: the label {quote(value)} of {quote(name)} is too large for a number")
            column.add(case, row_rater if own_rater is None else own_rater, value, place)

    def _rater_of(self, row: Mapping[str, Any], place: str) -> int:
        if RATER not in row:
            return self._rater(PEOPLE)
        name = "" if row[RATER] is None else _rater_name(row[RATER])
        if not name:
            raise UsageProblem(f"{place}: the column `{RATER}` is empty; say who gave these labels")
        return self._rater(name)

    def _rater(self, name: str) -> int:
        return self.raters.setdefault(name, len(self.raters))

    def _find_destination(self, name: str, place: str) -> _Destination:
        """Where the values of a column go: `score` to the row's rater, `score:anna` to Anna, the id nowhere."""
        field_name, _, rater = (part.strip() for part in str(name).partition(":"))
        found: _Destination = (None, None)
        if name not in (RATER, *ID_FIELDS):
            by_column = bool(field_name and rater)
            field_name = field_name if by_column else str(name)
            known, was_by_column = self._forms.setdefault(field_name, (name, by_column))
            if was_by_column != by_column:
                raise UsageProblem(
                    f"{place}: columns {quote(known)} and {quote(name)} both give {quote(field_name)}; "
                    "write every rater as a column FIELD:RATER, or leave one of the two out"
                )
            found = (
                self.columns.setdefault(field_name, LabelColumn()),
                self._rater(_rater_name(rater)) if by_column else None,
            )
        self._destinations[name] = found
        return found


def _rater_name(given: Any) -> str:
    """One person is one rater, also where a name was copied with a soft hyphen or a character of no width in it."""
    return clean_name(str(given)).strip()


def read_labels(
    path: str | os.PathLike[str],
    *,
    format: Format = "auto",  # noqa: A002
    mapping: Mapping[str, str] | None = None,
) -> Labels:
    """The labels of a file in any format that cases can have. A row that cannot be read is an error, not a gap."""
    table = all(origin.format == "csv" for origin in find_origins([path], format))
    return _gathered(_rows_of_file(path, format, mapping, is_table=table), os.fspath(path))


def labels_from_rows(rows: Iterable[Mapping[str, Any]]) -> Labels:
    """The same from rows in memory: mappings, or a frame."""
    given = rows_of_frame(rows)
    numbered = ((row, f"row {number} of the labels") for number, row in enumerate(rows if given is None else given, 1))
    return _gathered(((_without_gaps(row, place), place) for row, place in numbered), "the labels")


def _without_gaps(row: Any, place: str) -> Mapping[str, Any]:
    """A row as plain values; a frame writes a cell without a label as nan, which is not the label null."""
    found = plain_record(row, place)
    return {name: value for name, value in found.items() if value is not None or row[name] is None}


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
    """A table has no null: an empty cell is no label, the word is the value. Exports mark what a spreadsheet would run
    as a formula (`-1`, `@anna`); here the marks come off, so that ids, raters and codes are what they were."""
    return {
        unmarked(name): None if value == "null" else _unmarked(value)
        for name, value in record.items()
        if value is not None or name == RATER
    }


def _unmarked(value: Any) -> Any:
    if isinstance(value, str):
        return unmarked(value)
    try:
        return orjson.loads(unmarked(orjson.dumps(value).decode()))  # it was JSON in its cell, and marked as such
    except orjson.JSONEncodeError:  # nested deeper than any label of ours
        return value


def parse_values(texts: Iterable[str]) -> dict[str, Any]:
    """`good=1,bad=0`, or of one field `faithfulness:good=1,bad=0`; the form that `agree` takes."""
    values: dict[str, Any] = {}
    for text in texts:
        field, colon, pairs = text.partition(":")
        field, pairs = (field.strip(), pairs) if colon else ("", text)
        home = values.setdefault(field, {}) if field else values
        for pair in pairs.split(","):
            word, equals, value = (part.strip() for part in pair.partition("="))
            if not (word and equals and value) or (colon and not field):
                raise UsageProblem(f"--values {text}: write it as good=1,bad=0 or, for one field, FIELD:good=1,bad=0")
            if word in home:
                raise UsageProblem(f"--values {text}: {quote(word)} is given twice; keep one")
            home[word] = value
    return values


def translate_values(labels: Labels, values: Mapping[str, Any], fields: Collection[str]) -> Labels:
    """The labels with those words replaced, in the columns that are fields of the verdict.

    A word that no label has is refused: a slip must not leave the labels as they were in silence.
    """
    if not values or not fields:
        return labels
    common = {_word(key): value for key, value in values.items() if not isinstance(value, Mapping)}
    own = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    columns = {name: column for name, column in labels.columns.items() if name in fields}
    for name in own:
        if name not in columns:
            guess = guessed(name, columns)
            raise UsageProblem(f"--values {name}: no such field in the labels{guess}; there are {join_quoted(columns)}")
    seen = {
        name: {_word(value) for value in column.pool.values if value is not None} for name, column in columns.items()
    }
    _refuse_unseen(common, set().union(*seen.values()), "")
    meanings = {}
    for name in columns:
        mine = {_word(key): value for key, value in own.get(name, {}).items()}
        _refuse_unseen(mine, seen[name], f"{name}:")
        meanings[name] = {**common, **mine}
    read = {name: _replaced(column, meanings[name]) for name, column in columns.items()}
    return replace(labels, columns={**labels.columns, **read})


def _refuse_unseen(meant: Mapping[str, Any], seen: set[str], field: str) -> None:
    for word in meant:
        if word not in seen:
            guess = guessed(word, seen)
            raise UsageProblem(
                f"--values {field}{word}: no label says so{guess}; the labels say {join_quoted(sorted(seen))}"
            )


def _replaced(column: LabelColumn, meanings: Mapping[str, Any]) -> LabelColumn:
    def meant(value: Any) -> Any:
        return value if value is None else meanings.get(_word(value), value)

    return LabelColumn(column.pool.replaced(meant), column.places, column.labels)


def _word(value: Any) -> str:
    """A label as somebody would type it; capitals do not matter."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return str(value).strip().casefold()
