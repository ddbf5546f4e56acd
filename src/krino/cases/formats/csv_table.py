"""Reads CSV and TSV row by row, under a required header. A cell that holds a list or an object is parsed.

It may be written as JSON or as Python prints it; if the judge wants a list, also as texts with `|` between them. A cell
in which the judge wants text stays text: an answer that happens to be JSON is an answer.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import chain
from typing import Any

import orjson

from krino.cases.item import RAW_LIMIT, Row, bad_row
from krino.cases.open_files import MAX_CASE_BYTES, READ_ERRORS, empty, rest_unreadable
from krino.cases.strict_json import DuplicateKey, check_keys
from krino.errors import UsageProblem
from krino.text.python_values import parse_python

_DELIMITERS = ",;\t"
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"\s*[+-]?\d+(?:[.,]\d+)?\s*")
_BAR = re.compile(r"(?<=[.!?…:;)\]\"'»”])[ \t]{0,3}\|[ \t]{0,3}(?=[^\s|])")
_SHOWN_COLUMNS = 20
_SHOWN_NAME = 60


class _TooLong(Exception):
    """A line that is longer than one case may be."""


def rows(
    stream: io.BufferedReader,
    shown: str,
    delimiter: str | None = None,
    texts: Collection[str] = (),
    lists: Collection[str] = (),
    *,
    as_text: bool = False,
) -> Iterator[Row]:
    """One row for each record under the header. Without a delimiter, it is found in the header line.

    `texts`: columns whose cells stay text. `lists`: columns that the judge reads as lists. `as_text`: all stay text.
    """
    # The csv module knows one limit for the whole process; its default is too small for long passages.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CASE_BYTES))
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        lines = _Lines(text)
        table = _open_reader(lines, shown, delimiter)
        names = _read_header(table, shown)
        readings = cell_readings(names, texts, lists, as_text=as_text)
        yield from _read_records(table, names, readings, lines, shown)
    finally:
        text.detach()  # the caller closes the stream


def cell_readings(
    names: Sequence[str], texts: Collection[str], lists: Collection[str], *, as_text: bool
) -> list[Callable[[str], Any]]:
    """Returns for each column the function that converts its cells: to text, to a list, or by what they look like."""
    return [
        _text_or_none if as_text or name in texts else _parse_list_cell if name in lists else _parse_cell
        for name in names
    ]


def check_header(stream: io.BufferedReader, shown: str, delimiter: str | None = None) -> None:
    """Raises `UsageProblem` unless the table begins with a usable header."""
    text = io.TextIOWrapper(stream, "utf-8-sig", errors="surrogateescape", newline="")
    try:
        _read_header(_open_reader(_Lines(text), shown, delimiter), shown)
    finally:
        text.detach()


class _Lines:
    """The lines of a text, each bounded in length. `ended`: the last one was read."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text_or_none = text
        self.ended = False

    def __iter__(self) -> Iterator[str]:
        while line := self._text_or_none.readline(MAX_CASE_BYTES):
            if len(line) == MAX_CASE_BYTES and line[-1] not in "\r\n":
                raise _TooLong(f"a line longer than {MAX_CASE_BYTES // (1024 * 1024)} MiB")
            yield line
        self.ended = True


def _open_reader(lines: _Lines, shown: str, delimiter: str | None) -> Any:
    """Returns a CSV reader with the delimiter that was given or that the first line suggests; refuses an empty file."""
    source = iter(lines)
    try:
        first = next(source, "")
    except (*READ_ERRORS, _TooLong) as error:
        raise UsageProblem(f"{shown}: the header cannot be read: {error}") from None
    if not first:
        raise empty(shown)
    return csv.reader(chain([first], source), delimiter=delimiter or _sniff(first), strict=True)


def _sniff(header: str) -> str:
    bare = _QUOTED.sub("", header)
    return max(_DELIMITERS, key=bare.count)


def _read_header(table: Any, shown: str) -> list[str]:
    """Reads the column names. Raises `UsageProblem` for a header that is missing, repeats a name or leaves one out."""
    try:
        names = [name.strip() for name in next((row for row in table if row), [])]
        "".join(names).encode()
    except UnicodeEncodeError:
        raise UsageProblem(f"{shown}: the header is not UTF-8 text; save the table as UTF-8") from None
    except (csv.Error, _TooLong, *READ_ERRORS) as error:
        raise UsageProblem(f"{shown}: the header cannot be read: {error}") from None
    if not any(names):
        raise UsageProblem(f"{shown}: no header; the first line must name the columns")
    if nameless := [str(at) for at, name in enumerate(names, 1) if not name]:
        raise UsageProblem(
            f"{shown}: the header gives no name to column {', '.join(nameless[:_SHOWN_COLUMNS])}; "
            "name it or drop it (pandas: to_csv(index=False))"
        )
    if numbers := [name for name in names if _NUMBER.fullmatch(name)]:
        raise UsageProblem(
            f"{shown}: no header: the first line holds the number {numbers[0][:40]}; "
            "put a line with the names of the columns first"
        )
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise UsageProblem(f"{shown}: the header names `{twice[0][:_SHOWN_NAME]}` twice; rename one of them")
    return names


def _read_records(
    table: Any, names: list[str], readings: list[Callable[[str], Any]], lines: _Lines, shown: str
) -> Iterator[Row]:
    """Yields one row for each record that is not blank; one that cannot be read is a bad row."""
    width = len(names)
    start = table.line_num + 1
    try:
        for cells in _rows(table, lines):
            number, start = start, table.line_num + 1
            if not cells:
                continue
            if isinstance(cells, str):
                yield bad_row(number, f"{shown}:{number}: {cells}")
                continue
            problem = _row_problem(cells, names)
            if problem is None and len(cells) == width:
                yield _build_record(cells, names, readings, shown, number)
            else:
                yield bad_row(number, f"{shown}:{number}: {problem}", _join_raw(cells))
    except (csv.Error, _TooLong, *READ_ERRORS) as error:
        yield bad_row(start, rest_unreadable(f"{shown}:{start}", error))


def _rows(table: Any, lines: _Lines) -> Iterator[list[str] | str]:
    """Yields the cells of each row, or a string that says what is wrong with its quotes.

    A stray quote may swallow the rows that follow, and they would be missing without notice.
    """
    while True:
        try:
            yield next(table)
        except StopIteration:
            return
        except csv.Error as error:
            if lines.ended:
                yield "a quote that opens here is never closed, it takes in the rest of the file; close it"
            elif "expected after" in str(error):
                yield f"text follows a closing quote (up to line {table.line_num}); write a quote inside a field twice"
            else:
                raise


def _build_record(
    cells: list[str], names: list[str], readings: list[Callable[[str], Any]], shown: str, number: int
) -> Row:
    """Converts the cells of a row into a record; a bad row if an object in a cell has a key twice."""
    record: dict[str, Any] = {}
    for name, read, cell in zip(names, readings, cells, strict=True):
        try:
            record[name] = read(cell)
        except DuplicateKey as problem:
            where = f"{shown}:{number}: column `{name[:_SHOWN_NAME]}`"
            return bad_row(number, f"{where}: {problem}", _join_raw(cells))
    return number, record, None, None


def _row_problem(cells: list[str], names: list[str]) -> str | None:
    """Returns what is wrong with a row (another number of cells than names, no UTF-8), or None."""
    if len(cells) != len(names):
        columns = ", ".join(name[:_SHOWN_NAME] for name in names[:_SHOWN_COLUMNS])
        many = f"the row has {len(cells)} fields, the header names {len(names)} ({columns})"
        return f"{many}; fix the row or put quotes around fields that hold the delimiter"
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return "invalid UTF-8 in the row; save the table as UTF-8"
    return None


def _text_or_none(cell: str) -> str | None:
    return cell or None


def _parse_cell(cell: str) -> Any:
    """Converts a cell: empty becomes None, a list or object (JSON or Python) is parsed, all else stays text."""
    if not cell:
        return None
    if cell[0] in "[{":
        try:
            value = orjson.loads(cell)
        except orjson.JSONDecodeError:
            return _as_python(cell)
        check_keys(cell.encode(), value)
        return value
    return cell


def _as_python(cell: str) -> Any:
    """Parses a Python literal, as pandas writes lists; a cell that is none stays text."""
    try:
        return parse_python(cell)
    except ValueError:
        return cell  # a judge that wants a list refuses it


def _parse_list_cell(cell: str) -> Any:
    """Converts a cell like `_parse_cell`, and splits texts that are joined with bars, as some tools write lists: then
    each bar follows a sentence end."""
    value = _parse_cell(cell)
    if not isinstance(value, str) or "|" not in value or value.count("|") != len(_BAR.findall(value)):
        return value
    return [part.strip() for part in _BAR.split(value)]


def _join_raw(cells: list[str]) -> str:
    text = " | ".join(cell[:RAW_LIMIT] for cell in cells[:_SHOWN_COLUMNS])
    return text[:RAW_LIMIT].encode("utf-8", "backslashreplace").decode()
