"""The judge's one tokeniser: texts inside values, their words and numbers, and the parts of tool names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from krino.judges.efficiency.data_files import words
from krino.text.forms import INVISIBLE

WORD = re.compile(r"[^\W_]+")
CODE_WORD = re.compile(r"\w+")
"""For wordings that may be code: `read_file` stays one word. Split, three of 658 pairs of real logs change order."""
MAX_TEXT = 20_000
"""Longer texts are read up to here: comparing steps must take time that grows only with their number."""
_LONG_WORD = re.compile(r"[^\W_]{3,}|(?<![^\W_])\d{1,2}(?![^\W_])")
"""Words of at least three letters, and all numbers."""
_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ESCAPE = re.compile(r"\\[a-zA-Z]")
_ENDINGS = ("s", "es", "d", "ed", "ing", "n")
_MAX_DEPTH = 20


def texts_in(value: object, depth: int = 0) -> Iterator[str]:
    """Yields every text and number inside a value; no truth values and no keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        for item in value.values():
            yield from texts_in(item, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _MAX_DEPTH:
        for item in value:
            yield from texts_in(item, depth + 1)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def keys_in(value: object, depth: int = 0) -> Iterator[str]:
    """Yields every field name inside a value, with spaces for underscores."""
    if isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        for key, item in value.items():
            yield str(key).replace("_", " ")
            yield from keys_in(item, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _MAX_DEPTH:
        for item in value:
            yield from keys_in(item, depth + 1)


def tokens_in(text: str) -> list[str]:
    """Returns all words of a text in order, short ones and stop words too."""
    return WORD.findall(text[:MAX_TEXT].lower())


def tokens_of(value: object) -> set[str]:
    """Returns the words inside a value but stop words; an id may be a single letter.

    Regex escapes (`\\s`) are not letters.
    """
    text = " ".join(texts_in(value))[:MAX_TEXT]
    return set(tokens_in(_ESCAPE.sub(" ", text) if "\\" in text else text)) - words("cues", "stop_words")


def words_in(text: str) -> set[str]:
    """Returns the words and numbers of a text without stop words and without words of one or two letters."""
    return set(_LONG_WORD.findall(text[:MAX_TEXT].lower())) - words("cues", "stop_words")


def collect_words(value: object) -> set[str]:
    """Returns `words_in` of every text inside a value."""
    if isinstance(value, str):
        return words_in(value)
    return set().union(*map(words_in, texts_in(value)))


def strip_plural(word: str, shortest: int = 4) -> str:
    """Removes a final "s" (but not of "ss"); words of fewer letters than `shortest` stay.

    "sans" is no plural in a question, "cats" is one in a task.
    """
    return word[:-1] if len(word) >= shortest and word.endswith("s") and not word.endswith("ss") else word


def inflect(found: Collection[str]) -> set[str]:
    """Returns the words with the endings that they may have elsewhere: book, books, booked, booking."""
    every = set(found)
    for word in found:
        if len(word) < 4 or word.isdigit():
            continue
        cut = {word.removesuffix(ending) for ending in _ENDINGS}
        every |= cut | {stem + ending for stem in cut | {word.removesuffix("e")} for ending in _ENDINGS}
        every |= {f"{stem}e" for stem in cut}
    return every


def remove_invisible(text: str) -> str:
    """Returns the text without characters that are not shown, such as soft hyphens and zero-width spaces."""
    return text if text.isascii() else text.translate(INVISIBLE)


def normalise_text(text: str) -> str:
    """Returns the text in lower case, with single spaces and without invisible characters."""
    return " ".join(remove_invisible(text).split()).casefold()


# --- names of tools ---------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def name_parts(name: str) -> tuple[str, ...]:
    """Returns the words of a tool's name, cut at underscores, dots and capitals: `getOrder` is get, order."""
    return tuple(part.lower() for part in _NAME_PART.findall(name[:200]))


def has_name_part(name: str, family: str) -> bool:
    """Whether the name of a tool has a word of this cue list."""
    return not words("cues", family).isdisjoint(name_parts(name))
