"""A run as CSV for spreadsheets: no cell of it can run as a formula.

Everything in a case is text from strangers, and a spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` (also
in their full-width forms, or after a tab or a line break). Such text gets an apostrophe in front, which spreadsheets
take for "this is text"; control characters and escape sequences are left out. Numbers stay numbers.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import IO

from krino.exports.columns import Record, Value, as_kind, columns_of, row_of
from krino.reports.clean import clean

RUNS_AS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_csv(sink: IO[bytes], judgements: Callable[[], Iterable[Record]]) -> int:
    """Read twice: first for the columns, then to write the rows. Gives the number of rows."""
    kinds = columns_of(judgements())
    text = TextIOWrapper(sink, "utf-8", errors="replace", newline="", write_through=True)
    count = 0
    try:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(map(harmless, kinds))
        for judgement in judgements():
            row = row_of(judgement)
            table.writerow([cell(as_kind(kind, row.get(name))) for name, kind in kinds.items()])
            count += 1
    finally:
        text.detach()  # the sink belongs to the caller
    return count


def cell(value: Value) -> str | int | float:
    """Null is an empty cell, a boolean is `true` or `false`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return harmless(value) if isinstance(value, str) else value


def harmless(text: str) -> str:
    shown = clean(text)
    return f"'{shown}" if shown.startswith(RUNS_AS_FORMULA) else shown
