"""Reads Arrow files batch by batch: streams, as Hugging Face `datasets` writes them, and Feather files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from krino.cases.formats.arrow_values import first_line, import_arrow, read_records
from krino.cases.item import Row, bad_row
from krino.cases.open_files import rest_unreadable
from krino.errors import UsageProblem

_WITH_INDEX = b"ARROW1"


def rows(path: Path, shown: str) -> Iterator[Row]:
    """One row for each row of the table, numbered from 1."""
    arrow = import_arrow()
    number = 0
    with _open_batches(path, shown) as batches:
        try:
            for batch in batches:
                for record, problem in read_records(batch):
                    number += 1
                    if problem is None:
                        yield number, record, None, None
                    else:
                        yield bad_row(number, f"{shown}: row {number}: {problem}; fix the row or remove it")
        except (arrow.lib.ArrowException, OSError) as error:
            where = f"{shown}: row {number + 1}"
            yield bad_row(number + 1, rest_unreadable(where, first_line(error)))


def check_table(path: Path, shown: str) -> None:
    """Raises `UsageProblem` unless the file is an Arrow table."""
    with _open_batches(path, shown):
        pass


@contextmanager
def _open_batches(path: Path, shown: str) -> Iterator[Iterator[Any]]:
    """Opens a file and gives its batches one by one; raises `UsageProblem` if it cannot be read."""
    arrow = import_arrow()
    try:
        with path.open("rb") as file:
            has_index = file.read(len(_WITH_INDEX)) == _WITH_INDEX
        source = arrow.memory_map(str(path))
        reader = arrow.ipc.open_file(source) if has_index else arrow.ipc.open_stream(source)
    except (arrow.lib.ArrowException, OSError) as error:
        raise UsageProblem(f"{shown}: this is no readable Arrow file: {first_line(error)}") from None
    with source:
        yield (reader.get_batch(place) for place in range(reader.num_record_batches)) if has_index else iter(reader)
