"""From an input to its rows: chooses the reader of its format, and recognises the files of other tools."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple, cast

from krino.cases.content import names_read
from krino.cases.formats import archive, arrow, csv_table, excel, json_array, jsonl, parquet
from krino.cases.item import Row, bad_row
from krino.cases.open_files import READ_ERRORS, OpenFiles, check_not_empty, empty, open_bytes, skip_mark_and_blanks
from krino.cases.origin import Format, Origin, find_origins
from krino.cases.tools.case_parts import Tool
from krino.cases.tools.recognising import DOCUMENT_PATHS, tool_of, tool_of_rows
from krino.cases.tools.rows_to_cases import read_tool_rows
from krino.contract import AnyJudge
from krino.errors import UsageProblem


class Opener(NamedTuple):
    """Where the bytes of an input come from, and the tools that were recognised in it."""

    stdin: BinaryIO | None
    files: OpenFiles
    tools: dict[Origin, Recognised | None]


class TableColumns(NamedTuple):
    """The columns of a table whose cells stay text, and those that hold lists."""

    texts: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    as_text: bool = False
    """All cells stay text."""


def check_start(origin: Origin, files: OpenFiles) -> None:
    """Raises `UsageProblem` for faults at the start of a file, before the first case is read."""
    if origin.path is None:
        return
    shown = origin.shown
    try:
        if origin.format == "parquet":
            parquet.check_table(origin.path, shown)
            return
        if origin.format == "arrow":
            arrow.check_table(origin.path, shown)
            return
        with open_bytes(origin.path, files) as stream:
            if origin.format == "excel" or origin.format == "inspect":
                (excel.check_header if origin.format == "excel" else archive.check_archive)(stream, shown)
                return
            check_not_empty(stream, shown)
            if origin.format == "json":
                json_array.check_start(stream.peek(1)[:1], shown)
        if origin.format == "csv":
            with open_bytes(origin.path, files) as stream:
                csv_table.check_header(stream, shown, origin.delimiter)
    except READ_ERRORS as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageProblem(f"{shown}: the file cannot be read: {reason}") from None


# --- rows ------------------------------------------------------------------------------------------


def rows_of(origin: Origin, opener: Opener, judge: AnyJudge | None, columns: TableColumns) -> Iterator[Row]:
    """Yields the rows of an input. A file that cannot be used raises `UsageProblem`; in a folder it is one bad row."""
    if not origin.in_folder:
        return _rows_of_cases(origin, opener, judge, columns)
    return _rows_of_member(origin, opener, judge, columns)


def _rows_of_member(origin: Origin, opener: Opener, judge: AnyJudge | None, columns: TableColumns) -> Iterator[Row]:
    """Yields the rows of a file in a folder; a file that cannot be used is one bad row and does not end the reading."""
    if not origin.is_regular:
        yield bad_row(1, f"{origin.shown}: not a regular file but a pipe, a device or a broken link; name it by itself")
        return
    try:
        yield from _rows_of_cases(origin, opener, judge, columns)
    except UsageProblem as problem:
        yield bad_row(1, str(problem))


def _rows_of_cases(origin: Origin, opener: Opener, judge: AnyJudge | None, columns: TableColumns) -> Iterator[Row]:
    """The rows of a file, or the cases in it if another tool wrote it."""
    found = _recognise(origin, opener)
    if found is None:
        return _rows_of_file(origin, opener, judge, columns)
    return read_tool_rows(
        found.tool, lambda: _rows_of_tool(origin, opener, found), origin.shown, keeps_traces=_reads_traces(judge)
    )


def _rows_of_file(origin: Origin, opener: Opener, judge: AnyJudge | None, columns: TableColumns) -> Iterator[Row]:
    """Yields the rows of a file with the reader of its format."""
    if origin.format == "parquet" and origin.path is not None:
        yield from parquet.rows(origin.path, origin.shown)
        return
    if origin.format == "arrow" and origin.path is not None:
        yield from arrow.rows(origin.path, origin.shown)
        return
    with _open(origin, opener) as stream:
        if origin.format == "csv":
            yield from csv_table.rows(
                stream, origin.shown, origin.delimiter, columns.texts, columns.lists, as_text=columns.as_text
            )
        elif origin.format == "excel":
            yield from excel.rows(stream, origin.shown, columns.texts, columns.lists, as_text=columns.as_text)
        elif origin.format == "inspect":
            yield from archive.rows(stream, origin.shown)
        elif origin.format == "json":
            yield from json_array.rows(stream, origin.shown, judge)
        elif origin.format == "jsonl":
            yield from jsonl.rows(stream, origin.shown, judge=judge)
        else:
            yield from _rows_by_first_byte(stream, origin.shown, judge)


# --- files of other tools --------------------------------------------------------------------------

_AS_TEXT = TableColumns(as_text=True)
_TRACE = "trace"


class Recognised(NamedTuple):
    """The tool that wrote a file, and where in a JSON document its rows are."""

    tool: Tool
    inside: bool


def _recognise(origin: Origin, opener: Opener) -> Recognised | None:
    """The tool that wrote a file, remembered in `opener`; None if no other tool did. Only what can be read again is
    looked at; stdin is read from a copy in a run."""
    if not origin.recognised or not origin.is_regular:
        return None
    if origin not in opener.tools:
        opener.tools[origin] = _look_at(origin, opener)
    return opener.tools[origin]


def holds_rows_of_traces(origin: Origin, files: OpenFiles) -> bool:
    """Are several rows of the file one case?"""
    found = _recognise(origin, Opener(None, files, {}))
    return found is not None and found.tool.trace_of is not None


def _look_at(origin: Origin, opener: Opener) -> Recognised | None:
    """Recognises a tool by the first row of a file, or by the first elements of lists in a JSON document; None if it is
    no tool's."""
    try:
        if origin.format == "json":
            with _open(origin, opener) as stream:
                for path, row in json_array.first_elements(stream, DOCUMENT_PATHS):
                    if (tool := tool_of(row, path)) is not None:
                        return Recognised(tool, inside=True)
        tool = tool_of_rows(_rows_of_file(origin, opener, None, _AS_TEXT))
    except (UsageProblem, *READ_ERRORS):  # reported when the file is read
        return None
    return None if tool is None else Recognised(tool, inside=False)


def _rows_of_tool(origin: Origin, opener: Opener, found: Recognised) -> Iterator[Row]:
    """The rows of the tool as they are in its file."""
    if not found.inside:
        yield from _rows_of_file(origin, opener, None, _AS_TEXT)
        return
    with _open(origin, opener) as stream:
        yield from json_array.rows_at(stream, origin.shown, [path for path in found.tool.paths if path])


def _reads_traces(judge: AnyJudge | None) -> bool:
    """Can the judge do something with a trace that led to no output?"""
    if judge is None:
        return False
    names = names_read(judge)
    return names is None or _TRACE in names


def _rows_by_first_byte(stream: io.BufferedReader, shown: str, judge: AnyJudge | None) -> Iterator[Row]:
    """Yields the rows of a stream: of a JSON array if it begins with `[`, else one case a line. Refuses an empty
    stream."""
    try:
        first, lines = skip_mark_and_blanks(stream)
    except READ_ERRORS as error:
        raise UsageProblem(f"{shown}: the input cannot be read: {error}") from None
    if not first:
        raise empty(shown)
    if first == b"[":
        return json_array.rows(stream, shown, judge)
    return jsonl.rows(stream, shown, first_line=lines + 1, judge=judge)


@contextmanager
def _open(origin: Origin, opener: Opener) -> Iterator[io.BufferedReader]:
    """Opens an input, or stdin, for reading its bytes. Stdin is left open."""
    if origin.path is None:
        with _buffered(opener.stdin or sys.stdin.buffer) as stream:
            yield stream
        return
    try:
        stream = open_bytes(origin.path, opener.files)
    except OSError as error:
        raise UsageProblem(f"{origin.shown}: the file cannot be read: {error.strerror}") from None
    with stream:
        yield stream


@contextmanager
def _buffered(stream: BinaryIO) -> Iterator[io.BufferedReader]:
    """The caller's stream as a buffered reader; it is left open."""
    if isinstance(stream, io.BufferedReader):
        yield stream
        return
    buffered: io.BufferedReader = io.BufferedReader(cast(io.RawIOBase, stream))
    try:
        yield buffered
    finally:
        buffered.detach()


# --- notes for users ---------------------------------------------------------------------------


def describe_inputs(
    inputs: Sequence[str | os.PathLike[str]],
    format: Format = "auto",  # noqa: A002
    files: OpenFiles | None = None,
) -> list[str]:
    """One line for each file of another tool, and for each Excel file of which a sheet is not read."""
    opener = Opener(None, files or OpenFiles(), {})
    return [line for origin in find_origins(inputs, format) for line in _describe_input(origin, opener)]


def _describe_input(origin: Origin, opener: Opener) -> Iterator[str]:
    """Yields a line for a file of another tool, and one for an Excel file with sheets that are not read."""
    if (found := _recognise(origin, opener)) is not None:
        plain = "" if origin.format == "inspect" else f" (--format {origin.format} takes its rows as they are)"
        name = found.tool.name
        case = f"each {name}" if found.tool.trace_of is None else f"all of one trace ({name}s)"
        yield f"{origin.shown}: read as the file of another tool, {case} as a case{plain}"
    if origin.format == "excel":
        with _open(origin, opener) as stream:
            if left := excel.sheets_not_read(stream, origin.shown):
                yield f"{origin.shown}: only the first sheet is read, and not {', '.join(left)}"
