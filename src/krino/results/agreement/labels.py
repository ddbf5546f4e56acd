"""Reads people's labels from a file or rows into `Labels`: one row or one column per rater, words mapped to values."""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import BaseModel

from krino.cases import read_cases
from krino.cases.from_python import plain_record, rows_of_frame
from krino.cases.item import ID_FIELDS, case_id
from krino.cases.mapping import FieldMissing, field_map
from krino.cases.origin import Format, find_origins
from krino.errors import UsageProblem
from krino.results.field_kinds import is_too_long_for_label
from krino.results.formatting import join_quoted, quote
from krino.text.clean import clean_name
from krino.text.formulas import unescape_formula
from krino.text.guessing import did_you_mean

_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


FREE_TEXT: Final = object()
"""Replaces any text too long to be a label, which is not kept."""


@dataclass(slots=True)
class Pool:
    """Distinct values, numbered in order of first appearance."""

    values: list[Any] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        """The number of a value, the same for equal values; a new value is added. 1, 1.0 and "1" are different values
        here.

        All texts that are too long to be labels count as one value, `FREE_TEXT`.
        """
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

    def translate(self, meant: Callable[[Any], Any]) -> Pool:
        """The same pool with translated values."""
        return Pool([meant(value) for value in self.values], self._numbers)

    @property
    def has_free_text(self) -> bool:
        return FREE_TEXT in self._numbers


RATER = "rater"
PEOPLE = "people"
"""The name of the rater if the labels name none."""


@dataclass(slots=True)
class LabelColumn:
    """The labels of one field."""

    pool: Pool = field(default_factory=Pool)
    places: list[str] = field(default_factory=list)
    """Where each distinct value first appeared, for messages."""
    labels: array[int] = field(default_factory=lambda: array("q"))
    """Case, rater and value number of every label, flattened."""

    def add(self, case: int, rater: int, value: Any, place: str) -> None:
        """Adds the label of one rater for one case."""
        number = self.pool.number(value)
        if number == len(self.places):
            self.places.append(place)
        self.labels.extend((case, rater, number))

    def table(self) -> NDArray[np.int64]:
        """One row for each label: case, rater, value number."""
        return np.array(self.labels, np.int64).reshape(-1, 3)


_Destination: TypeAlias = tuple[LabelColumn | None, int | None]
"""The field that a column of the file belongs to, and its rater if the column name has one."""


@dataclass(slots=True)
class Labels:
    """All labels by column. Columns are kept even if they may be no field of the verdict, which only the run knows."""

    ids: dict[str, int] = field(default_factory=dict)
    raters: dict[str, int] = field(default_factory=dict)
    columns: dict[str, LabelColumn] = field(default_factory=dict)
    _rows: dict[tuple[int, int], str] = field(default_factory=dict)
    _destinations: dict[str, _Destination] = field(default_factory=dict)
    _forms: dict[str, tuple[str, bool]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any], place: str) -> None:
        """Adds a row. Raises `UsageProblem` if it has no id, or is the second of the same case and rater."""
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
            # nan, the only value unequal to itself, is a missing cell of a data frame
            if column is None or value != value:
                continue
            if isinstance(value, float) and math.isinf(value):
                raise UsageProblem(f"{place}: the label {quote(value)} of {quote(name)} is too large for a number")
            column.add(case, row_rater if own_rater is None else own_rater, value, place)

    def _rater_of(self, row: Mapping[str, Any], place: str) -> int:
        """Returns the number of the rater whom a row names, or of `people` if rows name none."""
        if RATER not in row:
            return self._number_rater(PEOPLE)
        name = "" if row[RATER] is None else _clean_rater_name(row[RATER])
        if not name:
            raise UsageProblem(f"{place}: the column `{RATER}` is empty; say who gave these labels")
        return self._number_rater(name)

    def _number_rater(self, name: str) -> int:
        return self.raters.setdefault(name, len(self.raters))

    def _find_destination(self, name: str, place: str) -> _Destination:
        """The field and rater of a column: `score` has the row's rater, `score:anna` has Anna, the id has neither."""
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
                self._number_rater(_clean_rater_name(rater)) if by_column else None,
            )
        self._destinations[name] = found
        return found


def _clean_rater_name(given: Any) -> str:
    """The name without invisible characters, such as soft hyphens, so that one person is one rater."""
    return clean_name(str(given)).strip()


def read_labels(
    path: str | os.PathLike[str],
    *,
    format: Format = "auto",  # noqa: A002
    mapping: Mapping[str, str] | None = None,
) -> Labels:
    """Reads labels from a file in any format of cases. A row that cannot be read is an error."""
    table = all(origin.format in ("csv", "excel") for origin in find_origins([path], format))
    return _collect_labels(_read_rows(path, format, mapping, is_table=table), os.fspath(path))


def labels_from_rows(rows: Iterable[Mapping[str, Any]], mapping: Mapping[str, str] | None = None) -> Labels:
    """Labels from rows in memory: mappings, models or dataclasses, or a data frame; `mapping` renames their columns."""
    given = rows_of_frame(rows)
    if given is None and (isinstance(rows, bytes | Mapping | BaseModel) or not isinstance(rows, Iterable)):
        raise UsageProblem(
            "labels must be a file, rows (mappings, models or dataclasses), or a table of pandas, Polars or Arrow, "
            f"not a {type(rows).__name__}"
        )
    numbered = ((row, f"row {number} of the labels") for number, row in enumerate(rows if given is None else given, 1))
    plain = ((_drop_missing(row, place), place) for row, place in numbered)
    return _collect_labels(_map_rows(plain, mapping), "the labels")


def _drop_missing(row: Any, place: str) -> Mapping[str, Any]:
    """A row as plain values, without the nan cells of a data frame, which are not labels of null."""
    found = plain_record(row, place)
    given = row.get if isinstance(row, Mapping) else partial(getattr, row)
    return {name: value for name, value in found.items() if value is not None or given(name, None) is None}


def _map_rows(
    rows: Iterator[tuple[Mapping[str, Any], str]], mapping: Mapping[str, str] | None
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yields the rows with their columns renamed. Raises `UsageProblem` for a source that no row has.

    A row may lack a label, as a cell of a table may be empty.
    """
    fields = field_map(mapping)
    if fields is None:
        yield from rows
        return
    optional = frozenset(target for target, _ in fields.pairs if target not in ID_FIELDS)
    fields, unmet = replace(fields, may_be_absent=optional), dict(fields.pairs)
    for row, place in rows:
        present = set(fields.found_in(dict(row)))
        unmet = {target: source for target, source in unmet.items() if target not in present}
        try:
            mapped = fields.apply(dict(row))
        except FieldMissing as missing:
            raise UsageProblem(f"{place}: {missing}") from None
        absent = optional - present - row.keys()
        yield {name: value for name, value in mapped.items() if name not in absent}, place
    for target, source in unmet.items():
        raise UsageProblem(f"mapping `{target}={source}`: no row of the labels has `{source}`")


def _collect_labels(rows: Iterable[tuple[Mapping[str, Any], str]], name: str) -> Labels:
    """Adds all rows to a new set of labels, and returns it; refuses an empty one."""
    labels = Labels()
    for row, place in rows:
        labels.add(row, place)
    if not labels.ids:
        raise UsageProblem(f"{name}: there is no label in it; give one row a case, with the column `id`")
    return labels


def _read_rows(
    path: str | os.PathLike[str],
    format: Format,  # noqa: A002
    mapping: Mapping[str, str] | None,
    *,
    is_table: bool,
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yields the rows of a file of labels with their places, and refuses rows that cannot be read."""
    for item in read_cases([path], format=format, mapping=mapping):
        if item.record is None:
            raise UsageProblem(f"{item.problem}")
        yield (_clean_table_row(item.record) if is_table else item.record), str(item.source)


def _clean_table_row(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row of a table without empty cells, which are no labels; the word "null" is the value.

    Exports mark text that a spreadsheet would run as a formula (`-1`, `@anna`); the marks are removed here, so that
    ids, raters and codes are unchanged.
    """
    return {
        unescape_formula(name): None if value == "null" else _remove_mark(value)
        for name, value in record.items()
        if value is not None or name == RATER
    }


def _remove_mark(value: Any) -> Any:
    """Removes the mark that keeps a spreadsheet from running a cell as a formula."""
    if isinstance(value, str):
        return unescape_formula(value)
    try:
        return orjson.loads(unescape_formula(orjson.dumps(value).decode()))  # JSON in a cell, marked as a whole
    except orjson.JSONEncodeError:  # nested deeper than any real label
        return value


def parse_values(texts: Iterable[str]) -> dict[str, Any]:
    """Parses `good=1,bad=0`, or for one field `faithfulness:good=1,bad=0`, into the form that `agree` takes. Refuses
    a repeated word."""
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
    """The labels with words translated, in the columns that are fields of the verdict.

    A word that no label has is refused, because a typing error would silently translate nothing.
    """
    if not values or not fields:
        return labels
    common = {_normalise_word(key): value for key, value in values.items() if not isinstance(value, Mapping)}
    own = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    columns = {name: column for name, column in labels.columns.items() if name in fields}
    for name in own:
        if name not in columns:
            guess = did_you_mean(name, columns)
            raise UsageProblem(f"--values {name}: no such field in the labels{guess}; there are {join_quoted(columns)}")
    used = {
        name: {_normalise_word(value) for value in column.pool.values if value is not None}
        for name, column in columns.items()
    }
    _refuse_unused(common, set().union(*used.values()), "")
    meanings = {}
    for name in columns:
        mine = {_normalise_word(key): value for key, value in own.get(name, {}).items()}
        _refuse_unused(mine, used[name], f"{name}:")
        meanings[name] = {**common, **mine}
    read = {name: _translate_column(column, meanings[name]) for name, column in columns.items()}
    return replace(labels, columns={**labels.columns, **read})


def _refuse_unused(meant: Mapping[str, Any], used: set[str], field: str) -> None:
    """Refuses a word in `--values` that no label has."""
    for word in meant:
        if word not in used:
            guess = did_you_mean(word, used)
            raise UsageProblem(
                f"--values {field}{word}: no label has it{guess}; the labels have {join_quoted(sorted(used))}"
            )


def _translate_column(column: LabelColumn, meanings: Mapping[str, Any]) -> LabelColumn:
    """Returns the column with its words replaced by their meanings."""

    def translate(value: Any) -> Any:
        return value if value is None else meanings.get(_normalise_word(value), value)

    return LabelColumn(column.pool.translate(translate), column.places, column.labels)


def _normalise_word(value: Any) -> str:
    """A label as somebody would type it, in lower case."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return str(value).strip().casefold()
