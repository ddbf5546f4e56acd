"""Reads a sentence for comparison: its content words as stems, its values and names, and what it negates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from krino.judges.rag.reading.values import Value, canonical_number, find_names, find_values, without_citations
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stem, stop_words

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:'t\b)?|[,;:(]")
_NO_SIGNS = str.maketrans(dict.fromkeys(".,;:!?()[]{}\"'’‘“”«»-–—/\n\t", " "))
_NO_SPACE_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NEGATION_REACH = 4
_CLAUSE_ENDS = frozenset([",", ";", ":", "(", "but", "mais", "maar", "aber", "sondern"])
_LIMITS = frozenset({"only", "just", "merely", "seulement", "uniquement", "alleen", "enkel", "nur"})
"""After a negation these take it back: "not only" denies nothing."""
_LONGEST_SENTENCE = 4_000
"""Characters of one sentence that are compared; no real sentence is longer, hostile text is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence as a set of things to match."""

    content: tuple[str, ...]
    stems: frozenset[str]
    prefixes: frozenset[str]
    values: tuple[Value, ...]
    names: frozenset[str]
    negated: frozenset[str]
    denials: int
    """How many words of it deny something; those that do so softly ("without") make it -1: it cannot be told."""
    surface: Mapping[str, str]
    """For each content word its form in the text, to be shown."""

    @property
    def value_keys(self) -> frozenset[str]:
        return frozenset(value.key for value in self.values)


@cache
def _negations(language: str | None) -> frozenset[str]:
    words = table("words")["negation"]
    return frozenset(words.get(language or "en", words["en"]).split())


@cache
def _any_negation() -> tuple[str, ...]:
    return tuple({f" {word} " for words in table("words")["negation"].values() for word in words.split()})


def may_deny(text: str) -> bool:
    """A first, cheap look: whether a word that denies, in any of the languages, stands in a text."""
    padded = f" {text.lower().translate(_NO_SIGNS)} "
    return "n t " in padded or any(word in padded for word in _any_negation())


@cache
def _soft_negations() -> frozenset[str]:
    return frozenset(table("words")["soft_negation"]["words"].split())


@lru_cache(maxsize=8_192)
def read_sentence(text: str, language: str | None) -> Reading:
    """The reading of one sentence, kept because the same passages come back in case after case."""
    plain = straighten(without_citations(text[:_LONGEST_SENTENCE]))
    stops, negations = stop_words(language), _negations(language)
    content: list[str] = []
    negated: set[str] = set()
    surface: dict[str, str] = {}
    reach = denials = 0
    soft = False
    for token in _tokens(plain):
        if token in negations or token.endswith("n't"):
            reach = _NEGATION_REACH
            denials += 1
            continue
        if token in _CLAUSE_ENDS:
            reach = 0
            continue
        soft = soft or token in _soft_negations()
        reach = 0 if token in _LIMITS and reach == _NEGATION_REACH else reach - 1
        if token in stops:
            continue
        root = canonical_number(token) if token[0].isdecimal() else stem(token)
        content.append(root)
        surface.setdefault(root, token)
        if reach > 0:
            negated.add(root)
    values = find_values(plain)
    stems = frozenset(content) | {value.key for value in values}
    return Reading(
        content=tuple(dict.fromkeys(content)),
        stems=stems,
        prefixes=frozenset(root[:5] for root in stems if len(root) >= 6),
        values=values,
        names=frozenset() if language == "de" else frozenset(stem(n.lower()) for n in find_names(plain)),
        negated=frozenset(negated),
        denials=-1 if soft else denials,
        surface=surface,
    )


def opposed_words(first: Reading, second: Reading) -> tuple[str, ...]:
    """Content words that both have and only one denies, where one text denies nothing at all."""
    if min(first.denials, second.denials) != 0 or first.denials == second.denials:
        return ()
    return tuple(
        root for root in first.content if root in second.stems and (root in first.negated) != (root in second.negated)
    )


@cache
def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for first, second in table("words")["opposites"]["pairs"]:
        found.setdefault(stem(first), set()).add(stem(second))
        found.setdefault(stem(second), set()).add(stem(first))
    return {root: frozenset(others) for root, others in found.items()}


def opposite_words(first: Reading, second: Reading) -> tuple[str, str] | None:
    """A word of the first that the second replaces by its opposite, where neither text denies anything."""
    if first.denials != 0 or second.denials != 0:
        return None
    for root in first.content:
        if root in second.stems:
            continue
        for other in _opposites().get(root, ()):
            if other in second.stems and other not in first.stems:
                return root, other
    return None


def _tokens(text: str) -> list[str]:
    """Words in lower case; scripts written without spaces are cut into pairs of characters."""
    tokens = _TOKEN.findall(text.lower())
    if text.isascii() or not _NO_SPACE_SCRIPT.search(text):
        return tokens
    cut: list[str] = []
    for token in tokens:
        if _NO_SPACE_SCRIPT.search(token) and len(token) > 2:
            cut.extend(token[place : place + 2] for place in range(len(token) - 1))
        else:
            cut.append(token)
    return cut
