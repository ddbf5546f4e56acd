"""Writes a run as CSV in which no cell can run as a formula.

Cases contain untrusted text: formulas are marked (`krino.text.formulas`), control characters and escape sequences are
removed. Numbers stay numbers. `krino agree` removes the marks.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import IO

from krino.exports.columns import Record, Value, find_columns, readable_columns, table_rows
from krino.text.clean import clean
from krino.text.formulas import escape_formula


def write_csv(sink: IO[bytes], judgements: Callable[[], Iterable[Record]], *, every_column: bool = False) -> None:
    """Writes the columns for people, or every one. Judgements are read twice: for the columns, then for the rows."""
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
    """A value as it is written into a cell: null as an empty cell, a boolean as `true` or `false`, text that cannot run
    as a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return defuse_formula(value) if isinstance(value, str) else value


def defuse_formula(text: str) -> str:
    """The text without control characters, and marked if a spreadsheet would run it as a formula."""
    return escape_formula(clean(text))
