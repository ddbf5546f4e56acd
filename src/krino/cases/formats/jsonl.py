"""Reads JSONL: one JSON object a line. A bad line is reported, and reading continues."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import partial

import orjson

from krino.cases.item import Row, bad_row, describe_type, excerpt, whole_list
from krino.cases.open_files import BOM, MAX_CASE_BYTES, READ_ERRORS, rest_unreadable
from krino.cases.strict_json import DuplicateKey, check_keys, explain
from krino.contract import AnyJudge

_ADVICE = "fix the line or remove it"


def rows(stream: io.BufferedReader, shown: str, first_line: int = 1, judge: AnyJudge | None = None) -> Iterator[Row]:
    """Yields one row for each line that is not blank; a bad row for one that is no object, and reads on. `first_line`:
    number of the stream's first line."""
    number = first_line - 1
    next_line = partial(stream.readline, MAX_CASE_BYTES + 1)
    try:
        for line in iter(next_line, b""):
            number += 1
            if number == 1 and line.startswith(BOM):
                line = line[len(BOM) :]
            if len(line) > MAX_CASE_BYTES and not line.endswith(b"\n"):
                _skip_rest_of_line(stream)
                yield _too_long(line, f"{shown}:{number}", number)
                continue
            try:
                record = orjson.loads(line)
                check_keys(line, record)
            except DuplicateKey as ambiguous:
                yield bad_row(number, f"{shown}:{number}: {ambiguous}", excerpt(line))
                continue
            except orjson.JSONDecodeError:
                if line and not line.isspace():
                    problem = f"{shown}:{number}: not valid JSON: {explain(line.rstrip())}; {_ADVICE}"
                    yield bad_row(number, problem, excerpt(line))
                continue
            if record.__class__ is dict:
                yield number, record, None, None
            elif (whole := whole_list(record, judge)) is not None:
                yield number, whole, None, None
            else:
                yield bad_row(number, _no_object(record, f"{shown}:{number}"), excerpt(line))
    except READ_ERRORS as error:
        yield bad_row(number + 1, rest_unreadable(f"{shown}:{number + 1}", error))


def _no_object(value: object, where: str) -> str:
    return f"{where}: the line holds {describe_type(value)}, not an object; write one JSON object a line"


def _too_long(line: bytes, where: str, number: int) -> Row:
    limit = MAX_CASE_BYTES // (1024 * 1024)
    problem = f"{where}: the line is longer than {limit} MiB; shorten the case or split it"
    return bad_row(number, problem, excerpt(line))


def _skip_rest_of_line(stream: io.BufferedReader) -> None:
    while (piece := stream.readline(1 << 20)) and not piece.endswith(b"\n"):
        pass
