"""Reads Parquet batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krino.cases.formats.arrow_values import first_line, import_arrow, read_records
from krino.cases.item import Row, bad_row
from krino.cases.open_files import rest_unreadable
from krino.errors import UsageProblem

_BATCH_ROWS = 256
_PAGE_BUFFER_BYTES = 1 << 18


def rows(path: Path, shown: str) -> Iterator[Row]:
    """One row for each row of the table, numbered from 1."""
    arrow = import_arrow()
    number = 0
    with _open(path, shown) as table:
        try:
            for batch in table.iter_batches(batch_size=_BATCH_ROWS):
                for record, problem in read_records(batch):
                    number += 1
                    if problem is None:
                        yield number, record, None, None
                    else:
                        text = f"{shown}: row {number}: {problem}; fix the row or remove it"
                        yield bad_row(number, text)
        except (arrow.lib.ArrowException, OSError) as error:
            where = f"{shown}: row {number + 1}"
            yield bad_row(number + 1, rest_unreadable(where, first_line(error)))


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
    """Opens a Parquet file; raises `UsageProblem` if it cannot be read."""
    arrow = import_arrow()
    try:
        # A page buffer makes iter_batches read pages as they are needed, not whole column chunks.
        return arrow.parquet.ParquetFile(path, buffer_size=_PAGE_BUFFER_BYTES, pre_buffer=False)
    except (arrow.lib.ArrowException, OSError) as error:
        raise UsageProblem(f"{shown}: this is no readable Parquet file: {first_line(error)}") from None
