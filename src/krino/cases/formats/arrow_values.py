"""Converts batches of Arrow tables to records of plain JSON types."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from typing import Any

from krino.cases.strict_json import DuplicateKey
from krino.errors import UsageProblem


def import_arrow() -> Any:
    """Imports pyarrow; raises `UsageProblem` with how to install it if it is missing."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise UsageProblem(
            "reading Parquet and Arrow files needs pyarrow, which is not installed: pip install 'krino[parquet]'"
        ) from None
    return pyarrow


def read_records(batch: Any) -> Iterator[tuple[dict[str, Any] | None, str | None]]:
    """Yields each row of a batch as (record, None), or as (None, problem) if one of its values cannot be read."""
    try:
        records = batch.to_pylist()
    except (ValueError, OverflowError):
        # One value that Python cannot represent fails the whole batch: read the rows one by one.
        for at in range(batch.num_rows):
            try:
                records = batch.slice(at, 1).to_pylist()
            except (ValueError, OverflowError) as error:
                yield None, f"a value that cannot be read ({first_line(error)})"
            else:
                yield _convert_record(records[0])
        return
    for record in records:
        yield _convert_record(record)


def _convert_record(record: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """Converts all values of a row in place; returns (record, None), or (None, problem) if one has no JSON type."""
    for name, value in record.items():
        if value.__class__ is not str:
            try:
                record[name] = convert_value(value)
            except ValueError as error:
                return None, f"field `{name}`: {error}"
    return record, None


def convert_value(value: Any) -> Any:
    """Converts a value to a JSON type: NaN becomes None, bytes and unknown types become text; refuses infinity."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError("infinity is no JSON value")
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {str(key): convert_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, tuple) for item in value):  # how pyarrow represents a map
            return _convert_map(value)
        return [convert_value(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return _decode_bytes(value)
    return str(value)


def _convert_map(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """Converts a Parquet map to an object; raises `DuplicateKey` if two keys are equal as text."""
    found: dict[str, Any] = {}
    for key, item in pairs:
        if str(key) in found:
            raise DuplicateKey(str(key))
        found[str(key)] = convert_value(item)
    return found


def _decode_bytes(value: bytes) -> str:
    """Returns bytes as UTF-8 text, or in base64 if they are not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
