"""The words, values and identifiers of texts and arguments, as the finders compare them."""

from __future__ import annotations

import re
from collections.abc import Collection

from krino.judges.efficiency.finders.calls import texts_in
from krino.judges.efficiency.tables import words

WORD = re.compile(r"[^\W_]+")
MAX_TEXT = 20_000
_LONG_WORD = re.compile(r"[^\W_]{3,}|(?<![^\W_])\d{1,2}(?![^\W_])")
"""Words of three letters and more, and all numbers."""
_ESCAPE = re.compile(r"\\[a-zA-Z]")
_ENDINGS = ("s", "es", "d", "ed", "ing", "n")


def words_in(text: str) -> set[str]:
    """The words and numbers of a text, without little words."""
    return set(_LONG_WORD.findall(text[:MAX_TEXT].lower())) - words("cues", "stop_words")


def words_of(value: object) -> set[str]:
    if isinstance(value, str):
        return words_in(value)
    found: set[str] = set()
    for text in texts_in(value):
        found |= words_in(text)
    return found


def tokens_in(text: str) -> list[str]:
    """All words of a text in their order, little ones and short ones too."""
    return WORD.findall(text[:MAX_TEXT].lower())


def tokens_of(value: object) -> set[str]:
    """All words of arguments, short ones too: an id may be a letter. Escapes of patterns are no letters."""
    text = " ".join(texts_in(value))[:MAX_TEXT]
    return set(tokens_in(_ESCAPE.sub(" ", text) if "\\" in text else text)) - words("cues", "stop_words")


def stems(found: Collection[str]) -> set[str]:
    return {word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found}


def forms(found: Collection[str]) -> set[str]:
    """The words with the endings that they may have elsewhere: book, books, booked, booking."""
    every = set(found)
    for word in found:
        if len(word) < 4 or word.isdigit():
            continue
        cut = {word.removesuffix(ending) for ending in _ENDINGS}
        every |= cut | {stem + ending for stem in cut | {word.removesuffix("e")} for ending in _ENDINGS}
        every |= {f"{stem}e" for stem in cut}
    return every
