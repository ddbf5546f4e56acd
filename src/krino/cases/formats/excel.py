"""Reads the first sheet of an Excel file row by row, under a required header. Cells of text are read as in CSV."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from krino.cases.formats.arrow_values import convert_value
from krino.cases.formats.csv_table import cell_readings
from krino.cases.item import Row, bad_row
from krino.cases.strict_json import DuplicateKey
from krino.errors import UsageProblem

_SHOWN_NAME = 60


def rows(
    stream: io.BufferedReader,
    shown: str,
    texts: Collection[str] = (),
    lists: Collection[str] = (),
    *,
    as_text: bool = False,
) -> Iterator[Row]:
    """One row for each row under the header that is not blank, numbered as in Excel. Parameters as for CSV."""
    table = _rows_of_sheet(_open_first_sheet(stream, shown))
    _, names = _read_header(table, shown)
    readings = cell_readings(names, texts, lists, as_text=as_text)
    for number, cells in table:
        if all(cell is None for cell in cells):
            continue
        yield _build_record(cells, names, readings, shown, number)


def check_header(stream: io.BufferedReader, shown: str) -> None:
    """Raises `UsageProblem` unless the sheet begins with a usable header."""
    _read_header(_rows_of_sheet(_open_first_sheet(stream, shown)), shown)


def sheets_not_read(stream: io.BufferedReader, shown: str) -> list[str]:
    """The names of the sheets after the first."""
    return [str(name) for name in _open_book(stream, shown).sheetnames[1:]]


def _open_first_sheet(stream: io.BufferedReader, shown: str) -> Any:
    """Opens an Excel file and returns its first sheet; refuses a file without one."""
    book = _open_book(stream, shown)
    if not book.worksheets:
        raise UsageProblem(f"{shown}: the file holds no sheet with cells; give one with a table of cases")
    return book.worksheets[0]


def _open_book(stream: io.BufferedReader, shown: str) -> Any:
    """Opens an Excel file for reading row by row; raises `UsageProblem` if it cannot be read."""
    try:
        import openpyxl
    except ImportError:
        raise UsageProblem(
            "reading Excel files needs openpyxl, which is not installed: pip install 'krino[excel]'"
        ) from None
    try:
        return openpyxl.load_workbook(stream, read_only=True, data_only=True)
    except Exception as error:  # it raises what zipfile, XML and its own checks raise
        raise UsageProblem(f"{shown}: this is no readable Excel file (.xlsx): {error}; save it again") from None


def _rows_of_sheet(sheet: Any) -> Iterator[tuple[int, Sequence[Any]]]:
    """The cells of each row with its number in the sheet."""
    return enumerate(sheet.iter_rows(values_only=True), 1)


def _read_header(table: Iterator[tuple[int, Sequence[Any]]], shown: str) -> tuple[int, list[str]]:
    """Reads the first row with cells: its number, and the column names ("" for a column without one). Refuses a header
    that is missing, holds numbers or repeats a name."""
    number, cells = next(((at, cells) for at, cells in table if any(cell is not None for cell in cells)), (0, ()))
    if not cells:
        raise UsageProblem(f"{shown}: the first sheet is empty; its first row must name the columns")
    if wrong := [cell for cell in cells if cell is not None and not isinstance(cell, str)]:
        raise UsageProblem(
            f"{shown}: no header: the first row of the first sheet holds `{str(wrong[0])[:_SHOWN_NAME]}`; put a row "
            "with the names of the columns first"
        )
    names = [str(cell or "").strip() for cell in cells]
    if twice := [name for name, times in Counter(filter(None, names)).items() if times > 1]:
        raise UsageProblem(f"{shown}: the header names `{twice[0][:_SHOWN_NAME]}` twice; rename one of them")
    return number, names


def _build_record(
    cells: Sequence[Any], names: list[str], readings: list[Callable[[str], Any]], shown: str, number: int
) -> Row:
    """Converts the cells of a row into a record; a bad row if a cell has no column name or cannot be converted."""
    record: dict[str, Any] = {}
    for at, cell in enumerate(cells):
        name = names[at] if at < len(names) else ""
        if not name:
            if cell is not None:
                where = f"{shown}:{number}: column {at + 1}"
                return bad_row(number, f"{where} has a value and no name in the header; name the column")
            continue
        try:
            record[name] = readings[at](cell) if isinstance(cell, str) else convert_value(cell)
        except (DuplicateKey, ValueError) as problem:
            return bad_row(number, f"{shown}:{number}: column `{name[:_SHOWN_NAME]}`: {problem}")
    return number, record | {name: None for name in names[len(cells) :] if name}, None, None
