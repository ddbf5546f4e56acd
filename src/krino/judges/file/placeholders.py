"""Finds the placeholders of a prompt: `{{ question }}`, `{question}` and `${QUESTION}`, and fragments `{{> tone }}`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from krino.judges.file.problems import Place

_NAME = r"[A-Za-z][A-Za-z0-9_]{0,63}"
_FOUND = re.compile(
    rf"\\(?P<literal>\{{\{{?|\$\{{)"
    rf"|\{{\{{>[ \t]*(?P<fragment>[A-Za-z0-9_-]{{1,64}})[ \t]*\}}\}}"
    rf"|\{{\{{[ \t]*(?P<double>{_NAME})[ \t]*\}}\}}"
    rf"|\$\{{(?P<dollar>{_NAME})\}}"
    rf"|\{{(?P<single>{_NAME})\}}"
)


class Placeholder(NamedTuple):
    """`name` as an input is called: `${QUESTION}` is `question`."""

    kind: Literal["input", "fragment", "literal"]
    name: str
    start: int
    end: int


def find_placeholders(text: str) -> list[Placeholder]:
    """Returns all placeholders of a text in order."""
    found = []
    for match in _FOUND.finditer(text):
        kind = match.lastgroup
        name = match.group(kind or 0)
        if kind == "literal":
            found.append(Placeholder("literal", name, match.start(), match.end()))
        elif kind == "fragment":
            found.append(Placeholder("fragment", name, match.start(), match.end()))
        else:
            found.append(Placeholder("input", name.lower() if name.isupper() else name, match.start(), match.end()))
    return found


def replace_placeholders(text: str, replacement: Callable[[Placeholder], str]) -> str:
    """Returns the text with every placeholder replaced; what replaces them is not searched again."""
    parts, place = [], 0
    for found in find_placeholders(text):
        parts += [text[place : found.start], replacement(found)]
        place = found.end
    return "".join([*parts, text[place:]])


def place_in(text: str, offset: int, first_line: int) -> Place:
    """Returns line and column in the file of a character of the body."""
    line_start = text.rfind("\n", 0, offset) + 1
    return Place(first_line + text.count("\n", 0, offset), offset - line_start + 1)
