"""The words that speak of values, in five languages: number words, scales, units, months and days of the week."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from krino.judges.rag.tables import table
from krino.judges.rag.values.frequencies import frequency_words
from krino.text.words import stop_words

_DIGIT = re.compile(r"\d")
LETTERS = re.compile(r"[^\W\d_]+")
NEXT_WORD = re.compile(r"[ \u00a0\u202f-]?([^\W\d_]+)")
_MEASURED_AS = {"months": "duration", "celsius": "degrees", "fahrenheit": "degrees"}
LOOK_BACK = 16
"""Letters before a value among which the word that stands before it is looked for."""


def has_digit(text: str) -> bool:
    if text.isascii():  # bytes are looked at several times as fast
        return len(text.encode().translate(None, b"0123456789")) < len(text)
    return _DIGIT.search(text) is not None


def _by_word(words_of: Mapping[str, str]) -> dict[str, Decimal]:
    return {word: Decimal(number) for number, words in words_of.items() for word in words.split()}


@cache
def small_number_words() -> dict[str, Decimal]:
    """Returns the words for small numbers, each with its number."""
    return _by_word(table("values")["numbers"]["small"])


@cache
def number_words() -> tuple[str, ...]:
    """Returns the words for small numbers."""
    return tuple(small_number_words())


@cache
def scale_words() -> dict[str, Decimal]:
    """Returns the words such as "hundred" or "million", each with its number."""
    return _by_word(table("values")["numbers"]["scale"])


@cache
def words_for(section: str, name: str) -> frozenset[str]:
    """Returns the words of one entry of `values.toml`, as a set."""
    return frozenset(table("values")[section][name].split())


@cache
def numbered(name: str) -> dict[str, int]:
    """Returns the words for months, days or ordinals, each with its number in the list."""
    listed = table("values")["dates"][name]
    return {word: number for number, words in enumerate(listed, 1) for word in words.split()}


@cache
def unit_names() -> dict[str, tuple[str, str, Decimal]]:
    """Returns for each name of a unit what it measures, how its key begins, and its factor."""
    found: dict[str, tuple[str, str, Decimal]] = {}
    for dimension, units in table("values")["units"].items():
        for unit, row in units.items():
            prefix = unit if dimension == "money" else dimension
            measured = _MEASURED_AS.get(dimension, dimension)
            # Words are separated by spaces; names of several words are set apart by bars.
            pieces = row["names"].split("|")
            for name in (*(pieces[0].split()), *pieces[1:]):
                found[name] = (measured, prefix, Decimal(row["x"]))
    return found


@cache
def speaking_words() -> frozenset[str]:
    """Returns every word that may begin a value, for a quick check whether a text has any."""
    dates = table("values")["dates"]
    return frozenset(
        {*numbered("months"), *numbered("weekdays"), *small_number_words(), *scale_words(), *dates["noon"].split()}
        | {
            *dates["midnight"].split(),
            *words_for("numbers", "one"),
            *words_for("numbers", "half"),
            "a",
            "an",
            "quarter",
        }
    )


@cache
def and_half() -> re.Pattern[str]:
    """Returns the pattern of words such as "and a half"."""
    return re.compile(table("values")["numbers"]["and_half"])


@cache
def _telling_words() -> frozenset[str]:
    """The speaking words less articles and "one", which count only before a scale or a stretch of time."""
    return speaking_words() - words_for("numbers", "one") - words_for("numbers", "article")


@cache
def _stretches() -> frozenset[str]:
    return frozenset(name for name, unit in unit_names().items() if unit[0] == "duration") | scale_words().keys()


@cache
def value_words() -> frozenset[str]:
    """Returns every word that may speak of a value: of numbers, dates, stretches of time, and how often."""
    return _telling_words() | _stretches() | frequency_words()


@cache
def any_stop() -> frozenset[str]:
    """Returns the stop words of all five languages."""
    return frozenset[str]().union(*(stop_words(language) for language in ("en", "fr", "nl", "de", "es")))
