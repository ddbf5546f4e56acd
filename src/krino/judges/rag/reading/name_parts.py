"""A name with another part: "Anna Berger" where the sentence has "Anna Keller".

For German, where every noun has a capital, so that a name which stands nowhere is not seen by its capital.
"""

from __future__ import annotations

import re

from krino.text.words import stop_words

_PAIR = re.compile(r"(?=(?<!\w)([^\W\d_]+) ([^\W\d_]+)(?!\w))")
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 600
_ALIKE = 4
"""Letters that two forms of one word share."""


def other_part(claim: str, found: str) -> tuple[str, str] | None:
    """The name of the claim and that of the sentence, where they share one part and differ in the other."""
    ours, theirs = (_names(text) for text in (claim, found))
    said, told = (frozenset(_WORD.findall(text[:_LONGEST])) for text in (claim, found))
    for first, last in ours:
        for other_first, other_last in theirs:
            if (first == other_first) == (last == other_last):
                continue
            mine, yours = (last, other_last) if first == other_first else (first, other_first)
            if mine not in told and yours not in said and mine[:_ALIKE] != yours[:_ALIKE]:
                return f"{first} {last}", f"{other_first} {other_last}"
    return None


def _names(text: str) -> list[tuple[str, str]]:
    """Two words in a row, each with a capital; an article that opens the sentence is no part of a name."""
    pairs = (found.groups() for found in _PAIR.finditer(text[:_LONGEST]))
    return [
        (first, last)
        for first, last in pairs
        if first[0].isupper() and last[0].isupper() and first.lower() not in stop_words("de")
    ]
