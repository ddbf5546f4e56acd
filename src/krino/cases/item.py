"""What readers yield: a `Row` for each record of a file, a `CaseItem` for each case, or why it cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from krino.contract import ReadsRecords, Source
from krino.text.clean import clean_name

ID_FIELDS = ("id", "case_id", "_id", "uid")

RAW_LIMIT = 2_000
"""Characters of a text that could not be parsed which are kept for the record."""
_EXACT = 2**53  # a larger float may be several whole numbers

Row: TypeAlias = tuple[int, dict[str, Any] | None, str | None, str | None]
"""Number, record, problem, raw text. The number is the line (JSONL, CSV), the row (Parquet) or the element (JSON), from
1. A bare tuple: one is made for every case, and a class would slow JSONL down."""


@dataclass(slots=True)  # not frozen: one is made for every case, and that would take three times as long
class CaseItem:
    """One case. `record` is None exactly when `problem` says why (what was wrong, where, what to do)."""

    index: int
    id: str
    record: Mapping[str, Any] | None
    source: Source | None = None
    problem: str | None = None
    raw: str | None = None
    """The text that could not be parsed, cut to a sensible length."""
    place: int | None = None
    """Position in the whole input, for a case of a shard."""


def case_id(record: Mapping[str, Any]) -> str | None:
    """The record's own id without invisible characters; None if it has none."""
    for field in ID_FIELDS:
        value = record.get(field)
        if value.__class__ is float and value.is_integer() and abs(value) < _EXACT:
            value = int(value)  # tables with gaps write whole numbers as floats
        if value.__class__ is int:
            return str(value)
        if value.__class__ is str and (name := clean_name(value)):
            return name
    return None


def storable_text(name: str) -> str:
    """A file name as text that can be written as UTF-8; on some systems names are arbitrary bytes."""
    return name.encode("utf-8", "replace").decode()


# --- rows ------------------------------------------------------------------------------------------


def bad_row(number: int, problem: str, raw: str | None = None) -> Row:
    """Makes the row of a record that cannot be read."""
    return number, None, problem, raw


def whole_list(value: Any, judge: object) -> dict[str, Any] | None:
    """The record of a list that this judge reads as one case (a bare trace), else None."""
    if not isinstance(judge, ReadsRecords) or not isinstance(value, list) or not value:
        return None
    field = judge.list_field(value[0])
    return None if field is None else {field: value}


def excerpt(data: bytes) -> str:
    """The start of bytes that could not be parsed, as valid text."""
    return data[:RAW_LIMIT].decode("utf-8", "replace")


def describe_type(value: Any) -> str:
    """The JSON type of a value, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"
