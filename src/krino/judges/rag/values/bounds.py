"""Detects a number that one text has as the least and the other as the most, or by another stretch of time.

English only.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.rag.tables import table
from krino.judges.rag.values.finding import find_values
from krino.judges.rag.values.value import Value

_LOOK_BACK = 30
_LONGEST = 4_000
_RATE = re.compile(r"[ \u00a0]?(?:per |an? |each |every |/ ?)?([^\W\d_]+)")


class _Bounded(NamedTuple):
    """A value with 1 where it is the least, -1 where it is the most, else 0, in what words, and its rate."""

    value: Value
    sign: int
    words: str
    rate: str


def find_other_bound(claim: str, found: str) -> tuple[str, str] | None:
    """Returns what both texts say of the same number, where that differs.

    None where a sentence has it as the claim does.
    """
    theirs = _read_bounds(found[:_LONGEST])
    for ours in _read_bounds(claim[:_LONGEST]):
        alike = [other for other in theirs if other.value.keys == ours.value.keys]
        for other in alike:
            if ours.sign * other.sign < 0 and all(one.sign != ours.sign for one in alike):
                return ours.words, other.words
            if ours.rate and other.rate and all(one.rate != ours.rate for one in alike):
                return f"{ours.value.text} per {ours.rate}", f"per {other.rate}"
    return None


@lru_cache(maxsize=8_192)
def _read_bounds(text: str) -> tuple[_Bounded, ...]:
    lowered = text.lower()
    return tuple(_read_bound(lowered, value) for value in find_values(text))


def _read_bound(lowered: str, value: Value) -> _Bounded:
    """Returns a value with the bound and rate in the words around it."""
    before = lowered[max(0, value.start - _LOOK_BACK) : value.start]
    rate = _RATE.match(lowered, value.end)
    per = _rates().get(rate.group(1), "") if rate else ""
    below, above = ("from_below", "from_above") if value.kind == "number" else ("after", "until")
    found = [
        (place.start(), sign, place)
        for sign, name in ((-1, above), (1, below))
        if (place := _pattern(name).search(before))
    ]
    if not found and value.kind == "number":
        behind = ((-1, "behind_from_above"), (1, "behind_from_below"))
        found = [(0, sign, place) for sign, name in behind if (place := _pattern(name).match(lowered, value.end))]
    if not found:
        return _Bounded(value, 0, "", per)
    _, sign, place = min(found, key=lambda item: item[0])  # "no fewer than" holds "fewer than"
    return _Bounded(value, sign, " ".join(place.group().split()), per)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    words = table("values")["bounds"][name]
    behind = name.startswith("behind")
    return re.compile(rf"\s*(?:{words})\b" if behind else rf"\b(?:{words})\s*(?:\w+\s+)?[€$£]?\s*$")


@cache
def _rates() -> dict[str, str]:
    return {word: name for name, words in table("values")["bounds"]["rates"].items() for word in words.split()}
