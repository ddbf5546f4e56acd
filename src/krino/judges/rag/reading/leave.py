"""Whether something may be done, must be, need not be or must not be: "you can drive" is no "avoid driving"."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.rag.tables import table
from krino.text.forms import straighten

_KINDS = ("optional", "forbidden", "obliged", "permitted")
_EXCLUDE = frozenset({frozenset({"permitted", "forbidden"}), frozenset({"obliged", "optional"})})
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 600


class Leave(NamedTuple):
    """Which of the four it is, in what words, and the words that bound when it holds."""

    kind: str
    text: str
    limits: frozenset[str]


def other_leave(claim: str, found: str, language: str | None) -> tuple[str, str] | None:
    """The words in which the claim gives leave and the sentence refuses it, or the other way round."""
    ours, theirs = read_leave(claim, language), read_leave(found, language)
    if ours is None or theirs is None or frozenset({ours.kind, theirs.kind}) not in _EXCLUDE:
        return None
    if ours.limits and theirs.limits and ours.limits != theirs.limits:
        return None  # "not without a ticket" and "with a ticket" agree
    return ours.text, theirs.text


@lru_cache(maxsize=8_192)
def read_leave(text: str, language: str | None) -> Leave | None:
    """What a text says of it; None where it says nothing, or more than one thing."""
    code = language if language in table("scope")["leave"] else "en"
    lowered = straighten(text[:_LONGEST]).lower()
    told: list[tuple[str, str]] = []
    for kind in _KINDS:
        pattern = _pattern(code, kind)
        if found := pattern.search(lowered):
            told.append((kind, found.group()))
            lowered = pattern.sub(" ", lowered)
    if len(told) != 1:
        return None
    return Leave(*told[0], _limits(code).intersection(_WORD.findall(lowered)))


@cache
def _pattern(code: str, kind: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{table('scope')['leave'][code][kind]})(?!\w)")


@cache
def _limits(code: str) -> frozenset[str]:
    return frozenset(table("scope")["leave"]["limits"][code].split())
