"""A run as CSV for spreadsheets: no cell of it can run as a formula.

Everything in a case is text from strangers: what would run is marked (`krino.text.formulas`), control characters and
escape sequences are left out. Numbers stay numbers. `krino agree` takes the marks off again.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import IO

from krino.exports.columns import Record, Value, find_columns, readable_columns, table_rows
from krino.text.clean import clean
from krino.text.formulas import marked


def write_csv(sink: IO[bytes], judgements: Callable[[], Iterable[Record]], *, every_column: bool = False) -> None:
    """Read twice: first for the columns, then to write the rows.

    The columns that a person reads, or every one.
    """
    kinds = find_columns(judgements())
    kinds = kinds if every_column else readable_columns(kinds)
    text = TextIOWrapper(sink, "utf-8", errors="replace", newline="", write_through=True)
    try:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(map(defuse_formula, kinds))
        for row in table_rows(judgements(), kinds):
            table.writerow(map(csv_cell, row))
    finally:
        text.detach()  # the sink belongs to the caller


def csv_cell(value: Value) -> str | int | float:
    """Null is an empty cell, a boolean is `true` or `false`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return defuse_formula(value) if isinstance(value, str) else value


def defuse_formula(text: str) -> str:
    return marked(clean(text))
