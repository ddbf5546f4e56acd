"""What every format reader hands over: one raw record with its number in the file, or what is wrong there."""

from __future__ import annotations

from typing import Any, TypeAlias

from krino.contract import ReadsRecords

RAW_LIMIT = 2_000


Row: TypeAlias = tuple[int, dict[str, Any] | None, str | None, str | None]
"""Number, record, problem, raw text. The number is the line (JSONL, CSV), the row (Parquet) or the element
(JSON), counted from 1. A bare tuple: one is made for every case, and a class would slow JSONL down."""


def bad_row(number: int, problem: str, raw: str | None = None) -> Row:
    return number, None, problem, raw


def whole_list(value: Any, judge: object) -> dict[str, Any] | None:
    """The record of a list that is one case to this judge (a trace without anything around it), else None."""
    if not isinstance(judge, ReadsRecords) or not isinstance(value, list) or not value:
        return None
    field = judge.list_field(value[0])
    return None if field is None else {field: value}


def excerpt(data: bytes) -> str:
    """The start of bytes that could not be parsed, as text that can always be stored."""
    return data[:RAW_LIMIT].decode("utf-8", "replace")


def describe_type(value: Any) -> str:
    """What a JSON value is, in the words of JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"
