"""Reads how often something happens, as the stretch between two times: "twice a year" is every six months."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from krino.judges.rag.tables import table

_DAY = 86_400


class Frequency(NamedTuple):
    """Where it stands, the key of the stretch between two times (and of the day of the week, if one is given), and
    the keys under which it can be found too."""

    start: int
    end: int
    keys: tuple[str, ...]
    also: tuple[str, ...]


Stretch = tuple[Fraction, bool]
"""How long, and whether in months (else in seconds)."""


@cache
def frequency_words() -> frozenset[str]:
    """Words that alone say how often: "daily"."""
    return frozenset(word for words in table("values")["frequencies"]["adverbs"].values() for word in words.split())


@cache
def _stretches() -> dict[str, Stretch]:
    """Returns every name of a stretch of time with its length, also the words that say it of how often."""
    units, known = table("values")["units"], table("values")["frequencies"]
    found: dict[str, Stretch] = {}
    for dimension, months in (("duration", False), ("months", True)):
        for name, unit in units[dimension].items():
            length = Fraction(unit["x"]), months
            said = f"{unit['names']} {known['stretches'].get(name, '')} {known['adverbs'].get(name, '')}"
            found.update(dict.fromkeys(said.split(), length))
    found.update(dict.fromkeys(known["adverbs"]["half_year"].split(), (Fraction(6), True)))
    own = {word for words in known["stretches"].values() for word in words.split()}
    return {word: length for word, length in found.items() if len(word) > 2 or word in own}


@cache
def often_words() -> frozenset[str]:
    """Returns the words of which a text has one if it says how often something happens."""
    return frozenset(_stretches()) | frequency_words() | frozenset(_weekdays())


@cache
def _counts() -> dict[str, int]:
    """Returns the number that each word of counting means, such as "twice"."""
    known = table("values")["frequencies"]
    small = table("values")["numbers"]["small"]
    words = {word: int(number) for number in small if number.isdecimal() for word in small[number].split()}
    often = {phrase: number for number, name in ((1, "once"), (2, "twice"), (3, "thrice")) for phrase in known[name]}
    return words | often | dict.fromkeys(known["second"], 2)


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


@cache
def _pattern() -> re.Pattern[str]:
    """Returns the pattern of how often: "twice a year", "three times weekly", "every two weeks", "daily"."""
    known, stretch = table("values")["frequencies"], _any(_stretches())
    number = rf"\d{{1,3}}|{_any(word for word in _counts() if ' ' not in word)}"
    counted = rf"(?:{number})(?=[ -](?:{_any(known['times'])})\b)"
    often = rf"(?P<often>{_any([*known['once'], *known['twice'], *known['thrice']])}|{counted})"
    many = rf"{often}(?:[ -](?:{_any(known['times'])}))?(?: (?:{_any(known['in'])}))? (?P<per>{stretch})"
    days = _any(_weekdays())
    every = rf"(?:{_any(known['each'])}) (?:(?P<number>{number}|{_any(known['second'])}|{_any(known['half'])})[ -])?"
    every += rf"(?:(?P<unit>{stretch})|(?P<day>{days}))"
    return re.compile(rf"\b(?:{many}|{every}|(?P<adverb>{_any(frequency_words())}))\b")


@cache
def _rate() -> re.Pattern[str]:
    """What may follow a quantity: "a month", "per year"."""
    known = table("values")["frequencies"]
    return re.compile(rf" ?(?:(?:{_any(known['in'])}) |/ ?)({_any(_stretches())})\b")


def frequencies(plain: str, lowered: str) -> Iterator[Frequency]:
    """Yields how often things happen, of a text that is given in lower case too.

    What has a capital inside a sentence is a name ("Daily Mail").
    """
    for found in _pattern().finditer(lowered):
        if found.start() and plain[found.start()].isupper() and lowered[found.start() - 2] not in ".!?:":
            continue
        unit, day = found["per"] or found["unit"] or found["adverb"], found["day"]
        length, months = (Fraction(7 * _DAY), False) if day else _stretches()[unit]
        count = _read_number(found["often"] or found["number"])
        between = length / count if found["often"] else length * count
        also = (_duration(length * count, months), str(count)) if found["number"] and not day else ()
        keys = (_key(between, months), *((f"#weekday {_weekdays()[day]}",) if day else ()))
        yield Frequency(*found.span(), keys, (*_find_equivalents(between, months), *also))


def rate_behind(lowered: str, end: int) -> tuple[str, ...]:
    """Returns the keys of how often, if a quantity that ends here is given by the month or the year; else nothing."""
    found = _rate().match(lowered, end)
    if found is None:
        return ()
    length, months = _stretches()[found.group(1)]
    return _key(length, months), *_find_equivalents(length, months)


def _read_number(word: str | None) -> Fraction:
    """Returns the number that a word means, 1 for no word."""
    if word is None:
        return Fraction(1)
    if word in table("values")["frequencies"]["half"]:
        return Fraction(1, 2)
    return Fraction(max(1, int(word) if word.isdecimal() else _counts()[word]))


@cache
def _weekdays() -> dict[str, int]:
    """Each name of a day in the singular: what happens on "Mondays" does not say how often."""
    days = table("values")["dates"]["weekdays"]
    return {name: number for number, names in enumerate(days, 1) for name in names.split() if not name.endswith("days")}


def _key(length: Fraction, months: bool) -> str:
    return f"#every {length} {'months' if months else 'seconds'}"


def _duration(length: Fraction, months: bool) -> str:
    return f"#{'months' if months else 'duration'} {length}"


def _find_equivalents(length: Fraction, months: bool) -> Iterator[str]:
    """Yields the keys of what counts as the same. A month is four weeks or 30 days, a year is 52 weeks or 365 days."""
    for number, days in table("values")["frequencies"]["about"]:
        if months and length == number:
            yield _key(Fraction(days * _DAY), months=False)
        elif not months and length == days * _DAY:
            yield _key(Fraction(number), months=True)
