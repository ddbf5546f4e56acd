"""Reads Parquet batch by batch and converts every value to a plain JSON type."""

from __future__ import annotations

import base64
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from krino.cases.item import Row, bad_row
from krino.cases.open_files import rest_unreadable
from krino.cases.strict_json import DuplicateKey
from krino.errors import UsageProblem

_BATCH_ROWS = 256
_PAGE_BUFFER_BYTES = 1 << 18


def rows(path: Path, shown: str) -> Iterator[Row]:
    """One row for each row of the table, numbered from 1."""
    arrow = _import_arrow()
    number = 0
    with _open(path, shown) as table:
        try:
            for batch in table.iter_batches(batch_size=_BATCH_ROWS):
                for record, problem in _read_records(batch):
                    number += 1
                    if problem is None:
                        yield number, record, None, None
                    else:
                        text = f"{shown}: row {number}: {problem}; fix the row or remove it"
                        yield bad_row(number, text)
        except (arrow.lib.ArrowException, OSError) as error:
            where = f"{shown}: row {number + 1}"
            yield bad_row(number + 1, rest_unreadable(where, _first_line(error)))


def check_table(path: Path, shown: str) -> None:
    """Raises `UsageProblem` unless the file is a Parquet table with distinct column names."""
    with _open(path, shown) as table:
        names = table.schema_arrow.names
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise UsageProblem(f"{shown}: two columns are named `{twice[0]}`; rename one of them")


def row_count(path: Path, shown: str) -> int:
    """The number of rows by the table's metadata."""
    with _open(path, shown) as table:
        return int(table.metadata.num_rows)


def _open(path: Path, shown: str) -> Any:
    """Opens a Parquet file, or says why it cannot be read."""
    arrow = _import_arrow()
    try:
        # A page buffer makes iter_batches read pages as they are needed, not whole column chunks.
        return arrow.parquet.ParquetFile(path, buffer_size=_PAGE_BUFFER_BYTES, pre_buffer=False)
    except (arrow.lib.ArrowException, OSError) as error:
        raise UsageProblem(f"{shown}: this is no readable Parquet file: {_first_line(error)}") from None


def _import_arrow() -> Any:
    """Imports pyarrow, or says how to install it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UsageProblem(
            "reading Parquet needs pyarrow, which is not installed: pip install 'krino[parquet]'"
        ) from None
    return pyarrow


def _read_records(batch: Any) -> Iterator[tuple[dict[str, Any] | None, str | None]]:
    """Yields each row of a batch, or the problem with it."""
    try:
        records = batch.to_pylist()
    except (ValueError, OverflowError):
        # One value that Python cannot represent fails the whole batch: read the rows one by one.
        for at in range(batch.num_rows):
            try:
                records = batch.slice(at, 1).to_pylist()
            except (ValueError, OverflowError) as error:
                yield None, f"a value that cannot be read ({_first_line(error)})"
            else:
                yield _convert_record(records[0])
        return
    for record in records:
        yield _convert_record(record)


def _convert_record(record: dict[str, Any]) -> tuple[dict[str, Any] | None, str | None]:
    """Converts all values of a row to JSON types; returns the problem if one cannot be converted."""
    for name, value in record.items():
        if value.__class__ is not str:
            try:
                record[name] = _convert_value(value)
            except ValueError as error:
                return None, f"field `{name}`: {error}"
    return record, None


def _convert_value(value: Any) -> Any:
    """Converts a value to a JSON type."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError("infinity is no JSON value")
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {str(key): _convert_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if value and all(isinstance(item, tuple) for item in value):  # how pyarrow represents a map
            return _convert_map(value)
        return [_convert_value(item) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return _decode_bytes(value)
    return str(value)


def _convert_map(pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    """Converts a Parquet map to an object, and refuses a repeated key."""
    found: dict[str, Any] = {}
    for key, item in pairs:
        if str(key) in found:
            raise DuplicateKey(str(key))
        found[str(key)] = _convert_value(item)
    return found


def _decode_bytes(value: bytes) -> str:
    """Returns bytes as UTF-8 text, or in base64 if they are not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
