"""A run as CSV for spreadsheets: no cell of it can run as a formula.

Everything in a case is text from strangers: what would run is marked (`krino.text.formulas`), control characters and
escape sequences are left out. Numbers stay numbers. `krino agree` takes the marks off again.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import IO

from krino.exports.columns import Record, Value, columns_of, for_people, rows_of
from krino.text.clean import clean
from krino.text.formulas import marked


def write_csv(sink: IO[bytes], judgements: Callable[[], Iterable[Record]], *, every_column: bool = False) -> None:
    """Read twice: first for the columns, then to write the rows.

    The columns that a person reads, or every one.
    """
    kinds = columns_of(judgements())
    kinds = kinds if every_column else for_people(kinds)
    text = TextIOWrapper(sink, "utf-8", errors="replace", newline="", write_through=True)
    try:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(map(harmless, kinds))
        for row in rows_of(judgements(), kinds):
            table.writerow(map(cell, row))
    finally:
        text.detach()  # the sink belongs to the caller


def cell(value: Value) -> str | int | float:
    """Null is an empty cell, a boolean is `true` or `false`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return harmless(value) if isinstance(value, str) else value


def harmless(text: str) -> str:
    return marked(clean(text))
