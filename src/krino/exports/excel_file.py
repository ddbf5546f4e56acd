"""Writes a run as an Excel workbook without formulas; needs XlsxWriter (`pip install 'krino[excel]'`).

All text is written as text; what looks like a formula is also marked as quoted, so that it stays text when the cell is
edited. Rows are written to disk one by one: memory does not grow with the run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any

from krino.errors import UsageProblem
from krino.exports.columns import LISTS, Kind, Record, Value, find_columns, readable_columns, table_rows
from krino.text.clean import clean
from krino.text.formulas import RUNS_AS_FORMULA

MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
LONGEST_CELL = 32_767
"""Excel's limits; the rows include the heading, and a cell is measured in UTF-16 units."""
_EXACT = 2**53  # larger integers would be rounded
_WIDTHS: Mapping[Kind, int] = {"bool": 10, "int": 10, "float": 12, "text": 30}
_WIDE = 50
_ROW_HEIGHT = 62  # four lines, so that long texts do not push the next case off the screen


def write_excel(
    sink: IO[bytes],
    judgements: Callable[[], Iterable[Record]],
    *,
    every_column: bool = False,
    scales: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Writes the columns for people, or every one. Judgements are read twice: for the columns, then for the rows.

    Raises `UsageProblem` for a run that is larger than a sheet. `scales` has the worst and the best value of verdict
    fields, by which their columns are coloured.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise UsageProblem("Excel files need XlsxWriter: pip install 'krino[excel]'") from None
    kinds = find_columns(judgements())
    kinds = kinds if every_column else readable_columns(kinds)
    if len(kinds) > MOST_COLUMNS:
        raise UsageProblem(f"an Excel sheet holds {MOST_COLUMNS:,} columns, the run has {len(kinds):,}: write csv")
    with xlsxwriter.Workbook(sink, {"constant_memory": True}) as book:
        sheet = _Sheet(book, kinds)
        for row in table_rows(judgements(), kinds):
            sheet.add(row)
        sheet.finish(scales or {})


class _Sheet:
    """One sheet, filled row by row from the top."""

    def __init__(self, book: Any, kinds: Mapping[str, Kind]) -> None:
        self.kinds = kinds
        self.rows = 0
        self._sheet = book.add_worksheet("judgements")
        self._plain = book.add_format({"text_wrap": True, "valign": "top"})
        self._quoted = book.add_format({"text_wrap": True, "valign": "top", "quote_prefix": True})
        heading = book.add_format({"bold": True, "bottom": 1})
        self._sheet.freeze_panes(1, 1)
        self._sheet.set_default_row(_ROW_HEIGHT)
        self._sheet.set_row(0, 18)
        for place, (name, kind) in enumerate(kinds.items()):
            own = _WIDTHS["text" if kind in LISTS else kind]
            self._sheet.set_column(place, place, _WIDE if name.startswith("inputs_") else own)
            self._sheet.write_string(0, place, _fit_cell(clean(name)), heading)

    def add(self, row: Sequence[Value]) -> None:
        """Writes a row; raises `UsageProblem` if a sheet holds no more."""
        self.rows += 1
        if self.rows >= MOST_ROWS:
            raise UsageProblem(f"an Excel sheet holds {MOST_ROWS - 1:,} cases, the run has more: write csv or parquet")
        for place, value in enumerate(row):
            self._write(place, value)

    def finish(self, scales: Mapping[str, tuple[float, float]]) -> None:
        """Adds a filter, and a colour scale to each score."""
        if self.rows:
            self._sheet.autofilter(0, 0, self.rows, len(self.kinds) - 1)
        for place, name in enumerate(self.kinds):
            if self.rows and (scale := scales.get(name.removeprefix("verdict_"))) and name.startswith("verdict_"):
                self._sheet.conditional_format(1, place, self.rows, place, _colour_scale(*scale))

    def _write(self, place: int, value: Value) -> None:
        """Writes one cell, nothing for null. Text that could run as a formula is marked as quoted; numbers that Excel
        would round are text."""
        if value is None:
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(self.rows, place, value, self._plain)
        elif isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _EXACT:
            self._sheet.write_number(self.rows, place, value, self._plain)
        else:
            text = _fit_cell(clean(str(value)))
            formula = text.startswith(RUNS_AS_FORMULA) or text.lstrip().startswith(RUNS_AS_FORMULA)
            style = self._quoted if formula else self._plain
            self._sheet.write_string(self.rows, place, text, style)


def _colour_scale(worst: float, best: float) -> dict[str, Any]:
    """The options of a colour scale: red at the worst end, white in the middle, green at the best."""
    low, high = min(worst, best), max(worst, best)
    colours = ("#F8C9C9", "#FFFFFF", "#CDE8D5") if worst < best else ("#CDE8D5", "#FFFFFF", "#F8C9C9")
    ends = {"min_value": low, "mid_value": (low + high) / 2, "max_value": high}
    names = {f"{end}_color": colour for end, colour in zip(("min", "mid", "max"), colours, strict=True)}
    return {"type": "3_color_scale", "min_type": "num", "mid_type": "num", "max_type": "num", **ends, **names}


def _fit_cell(text: str) -> str:
    """The text, cut with a note if it is longer than a cell."""
    if len(text) <= LONGEST_CELL // 2:
        return text
    units = text.encode("utf-16-le", "replace")
    if len(units) <= 2 * LONGEST_CELL:
        return text
    mark = f"… (cut: {len(text):,} characters)"
    room = LONGEST_CELL - len(mark)
    return units[: 2 * room].decode("utf-16-le", "ignore") + mark
