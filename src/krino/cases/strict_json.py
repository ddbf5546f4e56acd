"""Strict JSON: explains why a text is not JSON, and finds keys that an object has twice.

A parser keeps the last value of a duplicate key and reports nothing.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_SHOWN_KEY = 80
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_TOKEN = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]', re.DOTALL)
_NOT_A_NUMBER = re.compile(r"[+-]?(?:NaN|Inf(?:inity)?)\b")


class DuplicateKey(ValueError):
    """Names the key."""

    def __init__(self, key: str) -> None:
        shown = key[:_SHOWN_KEY]
        super().__init__(f"the key `{shown}` appears twice in one object: which of them is meant? Keep one")
        self.key = shown


def check_keys(text: bytes, value: Any) -> None:
    """Raises `DuplicateKey` if an object of the text has a key twice; `value` is the parsed text.

    Every pair has a colon. If the parser dropped a pair, the text has more colons than the value has when it is written
    again. This costs a fraction of the parsing; looking at every key costs several times as much.
    """
    try:
        again = orjson.dumps(value)
    except orjson.JSONEncodeError:  # nested deeper than it can be written
        _check_every_key(text)
        return
    if text.startswith(again):  # nothing was lost; most programs write JSON like this
        return
    if _count_colons(text) != _count_colons(again) or (b"\\" in text and _ESCAPED_COLON.search(text)):
        _check_every_key(text)


def _count_colons(text: bytes) -> int:
    return len(text) - len(text.replace(b":", b""))  # several times faster than `count`


def _check_every_key(text: bytes) -> None:
    """Raises `DuplicateKey` for the first key that an object has twice. The text is valid JSON, so a string before a
    colon is a key of the innermost open object."""
    open_objects: list[set[bytes | str]] = []
    for token in _TOKEN.finditer(text):
        string, colon = token.groups()
        if string is None:
            if token[0] == b"{":
                open_objects.append(set())
            else:
                open_objects.pop()
        elif colon is not None:
            key = orjson.loads(string)
            if key in open_objects[-1]:
                raise DuplicateKey(key)
            open_objects[-1].add(key)


def explain(data: bytes) -> str:
    """Why bytes are not JSON, and at which column (and line, if there are several)."""
    try:
        data.decode()
        orjson.loads(data)
    except UnicodeDecodeError as broken:
        return f"invalid UTF-8 (byte 0x{data[broken.start]:02x}) at byte {broken.start + 1}"
    except orjson.JSONDecodeError as error:
        return _explain_syntax(error)
    return "white space that JSON does not know at the end"


def _explain_syntax(error: orjson.JSONDecodeError) -> str:
    """Describes a syntax error and where it is."""
    where = f"column {error.colno}" if error.lineno == 1 else f"line {error.lineno}, column {error.colno}"
    text = error.doc[max(error.pos - 1, 0) : error.pos + 10] if isinstance(error.doc, str) else ""
    if _NOT_A_NUMBER.search(text):
        return f"NaN and Infinity are not JSON (write null) at {where}"
    if "surrogate" in error.msg:
        return f"half of a surrogate pair (a lone \\ud800 to \\udfff escape) at {where}"
    return f"{error.msg} at {where}"
