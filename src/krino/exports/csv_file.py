"""A run as CSV for spreadsheets: no cell of it can run as a formula.

Everything in a case is text from strangers, and a spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` (also
in their full-width forms, or after a tab or a line break). Such text gets an apostrophe in front, which spreadsheets
take for "this is text". Where the list separator is `;` or a tab, cells begin inside our text: there, and after each
line break, the sign gets its apostrophe too. Control characters and escape sequences are left out. Numbers stay
numbers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from io import TextIOWrapper
from typing import IO

from krino.exports.columns import Record, Value, columns_of, for_people, rows_of
from krino.text.clean import clean

RUNS_AS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# A run of separators is taken whole, sign or not, so that long runs cost no more than their length.
# The quotes around a cell do not protect it where another separator is in force, and may themselves come in between.
_AFTER_SEPARATOR = re.compile(r"([;\t\r\n][;\s\"]*)([=+\-@＝＋－＠]?)")


def write_csv(sink: IO[bytes], judgements: Callable[[], Iterable[Record]], *, every_column: bool = False) -> int:
    """Read twice: first for the columns, then to write the rows. Gives the number of rows.

    The columns that a person reads, or every one.
    """
    kinds = columns_of(judgements())
    kinds = kinds if every_column else for_people(kinds)
    text = TextIOWrapper(sink, "utf-8", errors="replace", newline="", write_through=True)
    count = 0
    try:
        table = csv.writer(text, lineterminator="\n")
        table.writerow(map(harmless, kinds))
        for row in rows_of(judgements(), kinds):
            table.writerow(map(cell, row))
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
    shown = _AFTER_SEPARATOR.sub(_marked, clean(text))
    return f"'{shown}" if shown.startswith(RUNS_AS_FORMULA) else shown


def _marked(found: re.Match[str]) -> str:
    before, sign = found.groups()
    return f"{before}'{sign}" if sign else before
