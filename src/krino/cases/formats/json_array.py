"""Reads a JSON file: a list of cases, element by element; one object or list that is one case; or one case a line."""

from __future__ import annotations

import io
import re
import reprlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import ijson
import orjson

from krino.cases.formats import jsonl
from krino.cases.item import Row, bad_row, describe_type, excerpt, whole_list
from krino.cases.open_files import MAX_CASE_BYTES, READ_ERRORS, empty, rest_unreadable, skip_mark_and_blanks
from krino.cases.strict_json import DuplicateKey, check_keys, explain
from krino.contract import AnyJudge, ReadsRecords
from krino.errors import UsageProblem

Path: TypeAlias = tuple[str, ...]
"""Names of the objects that lead to a list in a document; empty for a file that is the list."""
_WHOLE_FILE: tuple[Path, ...] = ((),)
_CHUNK_BYTES = 1 << 16
_START_BYTES = 1 << 23
_MAX_DEPTH = 1_000
_MEBIBYTE = 1024 * 1024
_LONGEST_ESCAPE = len(r"\ud83d\ude00")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F])|.)", re.DOTALL)


class _BadJson(Exception):
    """What is wrong in the text, for faults that ijson accepts or reports badly."""


def rows(stream: io.BufferedReader, shown: str, judge: AnyJudge | None = None) -> Iterator[Row]:
    """Yields the elements of a list; the objects of a file with one a line; or one case, if the file holds one object
    or a list that the judge reads as one case."""
    try:
        start, passed = skip_mark_and_blanks(stream)
        check_start(start, shown)
        if start == b"{":
            yield from _read_objects(stream, shown, passed + 1, judge)
            return
    except READ_ERRORS as error:
        yield bad_row(1, rest_unreadable(shown, error))
        return
    yield from _read_elements(stream, shown, judge)


def rows_at(stream: io.BufferedReader, shown: str, paths: Sequence[Path]) -> Iterator[Row]:
    """Yields the elements of the lists at these paths of a document, numbered throughout."""
    skip_mark_and_blanks(stream)
    yield from _read_elements(stream, shown, None, paths)


def first_elements(stream: io.BufferedReader, paths: Sequence[Path]) -> Iterator[tuple[Path, Any]]:
    """Yields the path and the first element of each list at these paths, as far as they are near the start of the
    document."""
    first, _ = skip_mark_and_blanks(stream)
    if first != b"{":
        return
    try:
        for path, elements in _find_lists(_Feed(_Start(stream)), paths):
            for value, _ in elements:
                yield path, value
                break
    except (ijson.JSONError, _BadJson, UnicodeError):  # broken, or cut here; reading it says where
        return


def check_start(first: bytes, shown: str) -> None:
    """Raises `UsageProblem` unless the first byte opens a list or an object."""
    if not first:
        raise empty(shown)
    if first not in b"[{":
        raise UsageProblem(f"{shown}: this is no JSON list and no JSON object; give a list of cases: [{{…}}, …]")


# --- one object ------------------------------------------------------------------------------------


def _read_objects(stream: io.BufferedReader, shown: str, number: int, judge: AnyJudge | None) -> Iterator[Row]:
    """Yields the one object of the file; or one object a line, as some log writers put into `.json` files."""
    head = stream.readline(MAX_CASE_BYTES + 1)
    record = _parse_object(head)
    if record is not None:
        following, blank = skip_mark_and_blanks(stream)
        if following == b"{":
            yield _row_of_object(number, head, record, f"{shown}:{number}")
            yield from jsonl.rows(stream, shown, number + 1 + blank, judge)
            return
    yield from _read_single(head + stream.read(MAX_CASE_BYTES + 1 - len(head)), shown, judge)


def _parse_object(line: bytes) -> dict[str, Any] | None:
    """Returns the object that a line of JSON holds, or None."""
    try:
        found = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _read_single(data: bytes, shown: str, judge: object) -> Iterator[Row]:
    """Yields the only case of a file, or a bad row. Raises `UsageProblem` if it is too large, or an object around a
    list of cases."""
    if len(data) > MAX_CASE_BYTES:
        raise UsageProblem(
            f"{shown}: one object of more than {MAX_CASE_BYTES // _MEBIBYTE} MiB; "
            "give a list of cases, or one case a line"
        )
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError:
        problem = f"{shown}: not valid JSON: {explain(data.rstrip())}; fix the file or remove it"
        yield bad_row(1, problem, excerpt(data))
        return
    if _wraps_a_list(record) and not (isinstance(judge, ReadsRecords) and judge.is_case(record)):
        key = next(iter(record))[:80]
        raise UsageProblem(
            f"{shown}: one object whose only field `{key}` is a list; "
            f"give the list itself as the file (jq '.[\"{key}\"]' takes it out)"
        )
    yield _row_of_object(1, data, record, shown)


def _row_of_object(number: int, text: bytes, record: dict[str, Any], where: str) -> Row:
    """Returns an object as a row, or as a bad row if a key occurs twice in it."""
    try:
        check_keys(text, record)
    except DuplicateKey as problem:
        return bad_row(number, f"{where}: {problem}", excerpt(text))
    return number, record, None, None


def _wraps_a_list(record: dict[str, Any]) -> bool:
    return len(record) == 1 and isinstance(next(iter(record.values())), list)


# --- a list ----------------------------------------------------------------------------------------


def _read_elements(
    stream: io.BufferedReader, shown: str, judge: AnyJudge | None, paths: Sequence[Path] = _WHOLE_FILE
) -> Iterator[Row]:
    """Yields the elements of a list one by one, without reading the whole file into memory.

    A list that the judge reads as one case is one row. Broken JSON is a bad row, and ends the reading.
    """
    feed = _Feed(stream)
    number = 0
    whole: dict[str, Any] | None = None
    ambiguous: str | None = None
    try:
        for value, problem in _find_elements(feed, paths):
            number += 1
            if number == 1:
                whole = whole_list([value], judge)
            elif whole is not None:
                next(iter(whole.values())).append(value)
            if problem is not None:
                ambiguous = ambiguous or f"{shown}: element {number}: {problem}"
            if whole is not None:
                continue
            feed.mark_element()
            if problem is not None:
                yield bad_row(number, f"{shown}: element {number}: {problem}", reprlib.repr(value))
            elif isinstance(value, dict):
                yield number, value, None, None
            elif (inner := whole_list(value, judge)) is not None:
                yield number, inner, None, None
            else:
                wrong = f"{shown}: element {number}: {describe_type(value)}, not an object; fix or remove it"
                yield bad_row(number, wrong, reprlib.repr(value))
        if whole is not None:
            yield (1, whole, None, None) if ambiguous is None else bad_row(1, ambiguous)
    except READ_ERRORS as error:
        yield bad_row(number + 1, rest_unreadable(f"{shown}: element {number + 1}", error))
    except (ijson.JSONError, _BadJson, UnicodeError) as error:
        reason, where, near = feed.diagnose(error)
        broken = (
            f"{shown}: element {number + 1}: not valid JSON: {reason} {where}; "
            "the rest of the file could not be read: fix the list there"
        )
        yield bad_row(number + 1, broken, near)


def _find_elements(feed: _Feed, paths: Sequence[Path]) -> Iterator[tuple[Any, DuplicateKey | None]]:
    """Yields the elements of the lists at these paths, each with its duplicate key, if any."""
    for _, elements in _find_lists(feed, paths):
        yield from elements


def _find_lists(feed: _Feed, paths: Sequence[Path]) -> Iterator[tuple[Path, Iterator[tuple[Any, DuplicateKey | None]]]]:
    """Yields each list at one of these paths as (path, elements); elements that the caller does not consume are
    skipped."""
    events = ijson.basic_parse(feed, use_float=True)
    keys: list[str] = []  # of the objects around the list
    for event, value in events:
        if event == "start_array" and tuple(keys) in paths:
            elements = _build_elements(events)
            yield tuple(keys), elements
            for _ in elements:
                feed.mark_element()
        elif event == "start_map":
            keys.append("")
        elif event == "map_key":
            keys[-1] = value
            feed.mark_element()
        elif event == "end_map":
            keys.pop()
        elif event == "start_array":
            _skip_array(events)


def _skip_array(events: Iterator[tuple[str, Any]]) -> None:
    """Consumes the events up to the end of an array whose start was consumed."""
    depth = 1
    for event, _ in events:
        depth += (event == "start_array") - (event == "end_array")
        if not depth:
            return


def _build_elements(events: Iterator[tuple[str, Any]]) -> Iterator[tuple[Any, DuplicateKey | None]]:
    """The elements of an array whose start was consumed, up to its end.

    ijson's own builder keeps a path for every level, which is quadratic in the depth.
    """
    stack: list[tuple[dict[str, Any] | list[Any], str]] = []
    holder: dict[str, Any] | list[Any] = []  # the list of cases itself stays empty: its elements are yielded
    key = ""
    problem: DuplicateKey | None = None
    for event, value in events:
        if event == "map_key":
            key = value
            if problem is None and isinstance(holder, dict) and key in holder:
                problem = DuplicateKey(key)
            continue
        if event == "start_map" or event == "start_array":
            if len(stack) > _MAX_DEPTH:
                raise _BadJson(f"nested deeper than {_MAX_DEPTH} levels")
            stack.append((holder, key))
            holder = {} if event == "start_map" else []
            continue
        if event == "end_map" or event == "end_array":
            if not stack:
                return
            value = holder
            holder, key = stack.pop()
        if not stack:
            yield value, problem
            problem = None
        elif isinstance(holder, dict):
            holder[key] = value
        else:
            holder.append(value)


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Start:
    """The first bytes of a stream."""

    def __init__(self, stream: _Readable) -> None:
        self._stream = stream
        self._left = _START_BYTES

    def read(self, size: int, /) -> bytes:
        found = self._stream.read(min(size, self._left))
        self._left -= len(found)
        return found


class _Feed:
    """The stream as ijson reads it. Checks what yajl does not, and knows its position in the file."""

    def __init__(self, stream: _Readable) -> None:
        self._stream = stream
        self._chunk = b""
        self._before = 0
        self._lines_before = 0
        self._element_start = 0
        self._fault: int | None = None

    def read(self, size: int = -1) -> bytes:
        """Returns the next piece of the file for the parser, and refuses a case that is too large."""
        if size == 0:
            return b""
        if self._fault is not None:
            raise _BadJson("half of a surrogate pair (a lone \\ud800 to \\udfff escape)")
        self._before += len(self._chunk)
        self._lines_before += self._chunk.count(b"\n")
        self._chunk = b""
        if self._before - self._element_start > MAX_CASE_BYTES:
            raise _BadJson(f"one case is larger than {MAX_CASE_BYTES // _MEBIBYTE} MiB")
        self._chunk = self._read_whole_escapes()
        self._fault = _lone_surrogate(self._chunk)
        return self._chunk if self._fault is None else self._chunk[: self._fault]

    def mark_element(self) -> None:
        """Notes that the next bytes belong to another element: the size limit counts from here."""
        self._element_start = self._before

    def diagnose(self, error: Exception) -> tuple[str, str, str | None]:
        """Returns what is wrong, where, and the text around it (if yajl reports it)."""
        given = error.args[0] if error.args and not isinstance(error, UnicodeError) else str(error)
        text = given.decode("utf-8", "replace") if isinstance(given, bytes) else str(given)
        reason, _, around = text.partition("\n")
        shown_bytes = given.split(b"\n") if isinstance(given, bytes) else text.encode().split(b"\n")
        offset = self._offset(shown_bytes[1] if len(shown_bytes) > 1 else b"")
        line = self._lines_before + self._chunk[:offset].count(b"\n") + 1
        near = around.partition("\n")[0].strip() or None
        return _plain_reason(reason), f"near line {line}, byte {self._before + offset + 1}", near

    def _offset(self, around: bytes) -> int:
        """Returns the offset of a fault in the current piece, found through the text that the parser quotes."""
        if self._fault is not None:
            return self._fault
        caret = 40  # yajl pads the text so that the fault is in this column
        padding = len(around) - len(around.lstrip())
        found = self._chunk.replace(b"\n", b" ").find(around.strip()) if around.strip() else -1
        return found + max(caret - padding - 1, 0) if found >= 0 else 0

    def _read_whole_escapes(self) -> bytes:
        """A chunk that ends outside any escape, so that a surrogate pair is never cut in two."""
        chunk = self._stream.read(_CHUNK_BYTES)
        while b"\\" in chunk[-_LONGEST_ESCAPE:] and len(chunk) <= MAX_CASE_BYTES:
            more = self._stream.read(len(chunk))
            if not more:
                break
            chunk += more
        return chunk


def _lone_surrogate(chunk: bytes) -> int | None:
    """The offset of half a surrogate pair, which yajl would silently replace by a question mark; None without one."""
    if not _SURROGATE.search(chunk):
        return None
    return next((match.start() for match in _ESCAPE.finditer(chunk) if match.group(1)), None)


def _plain_reason(reason: str) -> str:
    """Returns the parser's message in plain words."""
    if "integer overflow" in reason:
        return "an integer of more than 64 bits (write it as a string)"
    if "premature EOF" in reason:
        return "unexpected end of data"
    return reason.removeprefix("lexical error: ").removeprefix("parse error: ").rstrip(". ")
