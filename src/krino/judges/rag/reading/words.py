"""Reads a sentence for comparison: its content words as stems, its values and its names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, lru_cache

from krino.judges.rag.reading.names import find_names
from krino.judges.rag.reading.same_length import without_citations
from krino.judges.rag.tables import table
from krino.judges.rag.values.finding import find_values
from krino.judges.rag.values.value import Value, offered
from krino.text.forms import straighten
from krino.text.words import stem, stop_words

_LONGEST = 4_000
"""Characters of one sentence that are compared; no real sentence is longer, hostile text is."""
_TOKEN = re.compile(r"[^\W_]+(?:'t\b)?")
_NO_SPACE_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence as a set of things to match."""

    content: tuple[str, ...]
    stems: frozenset[str]
    prefixes: frozenset[str]
    values: tuple[Value, ...]
    names: frozenset[str]
    surface: Mapping[str, str]
    """For each content word its form in the text, to be shown."""

    @property
    def value_keys(self) -> frozenset[str]:
        """The exact keys of all values."""
        return frozenset(key for value in self.values for key in value.keys)

    @property
    def offered(self) -> frozenset[str]:
        """All keys under which the values can be found, exact and alternative ones."""
        return offered(self.values)


def may_deny(text: str, words: Set[str]) -> bool:
    """Could anything in a text deny, in whatever language it is? A first, cheap look."""
    return "n't" in text or "n’t" in text or not words.isdisjoint(_denying())


@cache
def _denying() -> frozenset[str]:
    lists = (*table("words")["negation"].values(), table("words")["soft_negation"]["words"])
    return frozenset(word for words in lists for word in words.split())


@lru_cache(maxsize=8_192)
def read_sentence(text: str, language: str | None) -> Reading:
    """Returns the reading of one sentence, cached because the same passages come back in case after case."""
    plain = straighten(without_citations(text[:_LONGEST]))
    values = find_values(plain)
    stops = stop_words(language)
    surface: dict[str, str] = {}
    for token, value in _tokens(plain, values):
        roots = value.keys if value is not None else () if token in stops else (stem(token),)
        for root in roots:
            surface.setdefault(root, token)
    content = tuple(surface)
    return Reading(
        content=content,
        stems=frozenset(content) | offered(values) if values else frozenset(content),
        prefixes=frozenset([root[:5] for root in content if len(root) >= 6 and root[0].isalpha()]),
        values=values,
        names=frozenset() if language == "de" else frozenset([stem(name.lower()) for name in find_names(plain)]),
        surface=surface,
    )


def _tokens(text: str, values: tuple[Value, ...]) -> list[tuple[str, Value | None]]:
    """Returns words in lower case, and each value as one.

    Scripts written without spaces are cut into pairs of characters.
    """
    spaced = text.isascii() or not _NO_SPACE_SCRIPT.search(text)
    if spaced and not values:  # as most sentences are
        return [(token, None) for token in _TOKEN.findall(text.lower())]
    return list(_tokens_between(text, values, spaced))


def _tokens_between(text: str, values: tuple[Value, ...], spaced: bool) -> Iterator[tuple[str, Value | None]]:
    """Yields the words and values of a text in order; scripts without spaces give pairs of letters."""
    waiting = iter(values)
    value = next(waiting, None)
    for found in _TOKEN.finditer(text.lower()):
        while value is not None and found.start() >= value.end:
            yield value.text.lower(), value
            value = next(waiting, None)
        if value is not None and found.end() > value.start:
            continue
        token = found.group()
        if spaced or len(token) <= 2 or not _NO_SPACE_SCRIPT.search(token):
            yield token, None
        else:
            yield from ((token[place : place + 2], None) for place in range(len(token) - 1))
    for left in (value, *waiting):
        if left is not None:
            yield left.text.lower(), left
