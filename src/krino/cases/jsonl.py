"""Read JSONL: one JSON object a line; a bad line is reported and reading goes on."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import partial

import orjson

from krino.cases.row import Row, bad_row, describe_type, excerpt, whole_list
from krino.cases.stream import BOM, MAX_CASE_BYTES, READ_ERRORS, rest_unreadable
from krino.cases.twice import KeyTwice, check_keys
from krino.contract import AnyJudge

_NOT_A_NUMBER = re.compile(r"[+-]?(?:NaN|Inf(?:inity)?)\b")
_ADVICE = "fix the line or remove it"


def rows(stream: io.BufferedReader, shown: str, first_line: int = 1, judge: AnyJudge | None = None) -> Iterator[Row]:
    """One row for each line that is not blank; `first_line` is the number of the stream's first line."""
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
            except KeyTwice as ambiguous:
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


def explain(data: bytes) -> str:
    """Why bytes are not JSON and at which column (and line, when there are several)."""
    try:
        data.decode()
        orjson.loads(data)
    except UnicodeDecodeError as broken:
        return f"invalid UTF-8 (byte 0x{data[broken.start]:02x}) at byte {broken.start + 1}"
    except orjson.JSONDecodeError as error:
        return _explain_syntax(error)
    return "white space that JSON does not know at the end"


def _explain_syntax(error: orjson.JSONDecodeError) -> str:
    where = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    text = error.doc[max(error.pos - 1, 0) : error.pos + 10] if isinstance(error.doc, str) else ""
    if _NOT_A_NUMBER.search(text):
        return f"NaN and Infinity are not JSON (write null) at {where}"
    if "surrogate" in error.msg:
        return f"half of a surrogate pair (a lone \\ud800 to \\udfff escape) at {where}"
    return f"{error.msg} at {where}"


def _no_object(value: object, where: str) -> str:
    return f"{where}: the line holds {describe_type(value)}, not an object; write one JSON object a line"


def _too_long(line: bytes, where: str, number: int) -> Row:
    limit = MAX_CASE_BYTES // (1024 * 1024)
    problem = f"{where}: the line is longer than {limit} MiB; shorten the case or split it"
    return bad_row(number, problem, excerpt(line))


def _skip_rest_of_line(stream: io.BufferedReader) -> None:
    while (piece := stream.readline(1 << 20)) and not piece.endswith(b"\n"):
        pass
