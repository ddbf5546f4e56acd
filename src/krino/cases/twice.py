"""Finds a key that stands twice in one JSON object: a parser keeps the last value and says nothing."""

from __future__ import annotations

import re
from typing import Any

import orjson

_SHOWN_KEY = 80
_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_TOKEN = re.compile(rb'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]', re.DOTALL)


class KeyTwice(ValueError):
    """Says which key it is."""

    def __init__(self, key: str) -> None:
        shown = key[:_SHOWN_KEY]
        super().__init__(f"the key `{shown}` stands twice in one object: which of them is meant? Keep one")
        self.key = shown


def check_keys(text: bytes, value: Any) -> None:
    """Raise `KeyTwice` where an object of the text has a key twice; `value` is what a parser made of the text.

    Every pair has its colon, so that a pair which the parser has dropped leaves the text with more of them than the
    value has when it is written again. This costs a fraction of the parsing, looking at every key several times it.
    """
    try:
        again = orjson.dumps(value)
    except orjson.JSONEncodeError:  # nested deeper than it can be written
        _look_at_every_key(text)
        return
    if text.startswith(again):  # nothing was lost: so do most programs write
        return
    if _colons(text) != _colons(again) or (b"\\" in text and _ESCAPED_COLON.search(text)):
        _look_at_every_key(text)


def _colons(text: bytes) -> int:
    return len(text) - len(text.replace(b":", b""))  # several times faster than `count`


def _look_at_every_key(text: bytes) -> None:
    """The text is valid JSON: a string before a colon is a key of the innermost object that is open."""
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
                raise KeyTwice(key)
            open_objects[-1].add(key)
