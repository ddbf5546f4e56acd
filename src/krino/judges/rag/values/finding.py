"""Finds the values of a text: numbers with their units, dates, times, weekdays, and how often."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import replace
from functools import lru_cache

from krino.judges.rag.reading.same_length import lower, without_citations
from krino.judges.rag.values.dates import find_dates, find_times
from krino.judges.rag.values.frequencies import frequencies, often_words, rate_behind
from krino.judges.rag.values.numbers import find_numbers
from krino.judges.rag.values.spelled_numbers import has_compound, read_compound
from krino.judges.rag.values.value import Value
from krino.judges.rag.values.vocabulary import LETTERS, has_digit, speaking_words, value_words
from krino.text.words import word_set

_PLAIN_TEXT = re.compile(r"[A-Za-z ,.;:!?()'\"-]*")


def may_hold_values(text: str, words: Set[str]) -> bool:
    """Has a text, or its words in lower case, a digit, a month or a number word? A first, cheap look."""
    return not words.isdisjoint(value_words()) or has_digit(text) or has_compound(text.lower())


def plainly_no_values(text: str) -> bool:
    """Is a text plain English prose in which no word speaks of a value? A first, cheap look."""
    if not _PLAIN_TEXT.fullmatch(text):  # a digit is nothing plain either
        return False
    return value_words().isdisjoint(word_set(text)) and not has_compound(text.lower())


@lru_cache(maxsize=16_384)
def find_values(text: str) -> tuple[Value, ...]:
    """Returns the values of a text in order, cached. Spelled-out numbers are read; reference marks are not."""
    if plainly_no_values(text):
        return ()
    plain = without_citations(text)
    lowered = lower(plain)
    digits = has_digit(plain)
    compounds = has_compound(lowered)
    words = [
        found
        for found in LETTERS.finditer(lowered)
        if found.group() in speaking_words() or (compounds and read_compound(found.group()) is not None)
    ]
    often = not often_words().isdisjoint(LETTERS.findall(lowered))  # days of the week among them
    if not digits and not words and not often:
        return ()
    taken = [
        *find_dates(plain, lowered, digits, {word.group() for word in words}),
        *find_times(lowered, digits, words),
        *(_frequencies(plain, lowered) if often else ()),
    ]
    spans = sorted((value.start, value.end) for value in taken)
    numbers = find_numbers(plain, lowered, digits, [word.start() for word in words], spans)
    found = [*taken, *(_with_rate(value, lowered) for value in numbers)]
    return tuple(sorted(found, key=lambda value: value.start))


def _frequencies(plain: str, lowered: str) -> Iterator[Value]:
    for found in frequencies(plain, lowered):
        yield Value("frequency", found.keys, plain[found.start : found.end], *found[:2], also=found.also)


def _with_rate(value: Value, lowered: str) -> Value:
    """ "25 euros a month" tells too how often they are paid."""
    often = rate_behind(lowered, value.end)
    return replace(value, also=(*often, *value.also)) if often else value
