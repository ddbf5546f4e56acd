"""Reads every object out of a text, whatever its notation: JSON, Python, JavaScript, with or without quotes.

It never fails and never guesses twice: one pass over the text, brackets that do not match are closed where they can be,
and what is no object is passed over. Values stay texts; the one who compares knows what they should be.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Loose = dict[str, Any]
OPENING = re.compile(r"[{\[]")
SIGN = re.compile(r"[{}\[\],;:=]|[^\s{}\[\],;:=\"'`]+|[\"'`]")
STRING = re.compile(r'"(?:[^"\\]|\\.)*+"|\'(?:[^\'\\]|\\.)*+\'|`(?:[^`\\]|\\.)*+`', re.DOTALL)
LONGEST_STRING = 20_000  # a lost quote must not make each quote after it look for its end through the whole text
DEEPEST = 100


@dataclass(slots=True)
class _Open:
    """A bracket that is still open: what it holds so far, and what is being read."""

    sign: str
    pairs: Loose = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    key: str | None = None
    read: list[str] = field(default_factory=list)
    inner: Any = None

    def name(self) -> None:
        """What was read is a name; a second colon or equals sign is part of the value."""
        if self.key is None and self.read:
            self.key, self.read = " ".join(self.read), []

    def end_value(self, squeeze: Callable[[str], str]) -> None:
        value = " ".join(self.read) if self.inner is None else self.inner
        if self.key is not None:
            self.pairs[squeeze(self.key)] = value
        elif self.read or self.inner is not None:
            self.items.append(value)
        self.key, self.read, self.inner = None, [], None

    @property
    def value(self) -> Any:
        return self.pairs or self.items


def objects_in(text: str, squeeze: Callable[[str], str]) -> Iterator[Loose]:
    """Everything in brackets that has named values, at any depth; the names are squeezed."""
    stack: list[_Open] = []
    opened: Counter[str] = Counter()
    at = 0
    while True:
        found = SIGN.search(text, at) if stack else OPENING.search(text, at)
        if found is None:
            return
        sign, at = found[0], found.end()
        if sign in "{[":
            if len(stack) >= DEEPEST:  # brackets for their own sake: begin anew
                stack.clear()
                opened.clear()
            stack.append(_Open(sign))
            opened[sign] += 1
        elif sign in "}]":
            wanted = "{" if sign == "}" else "["
            while opened[wanted]:
                closed = stack.pop()
                opened[closed.sign] -= 1
                closed.end_value(squeeze)
                if closed.pairs:
                    yield closed.pairs
                if stack:
                    stack[-1].inner = closed.value
                if closed.sign == wanted:
                    break
        elif sign in ",;":
            stack[-1].end_value(squeeze)
        elif sign in ":=":
            stack[-1].name()
        else:  # a quote inside a value is an apostrophe, or joins a text to another
            end = found.start() + LONGEST_STRING
            string = None if stack[-1].read else STRING.match(text, found.start(), end)
            at = string.end() if string else at
            stack[-1].read.append(string[0][1:-1] if string else sign)
