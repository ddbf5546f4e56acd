"""What leads to what, and what comes before what: tells a cause from its effect and a first step from the next.

A sentence with one word of the kind has two sides. Those of a claim are held against those of a sentence: exchanged, or
with another cause for the same effect, it says something else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from krino.judges.rag.reading.grammar import in_one_word, root_of
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stop_words

Kind = Literal["cause", "order"]
_KINDS: tuple[Kind, ...] = ("cause", "order")
_WORD = re.compile(r"[^\W_]+")
_LONGEST = 400
_SAME = 0.6
"""Share of the words of an effect that both must have for it to be the same one."""


class Relation(NamedTuple):
    """What comes first, or causes, and what follows from it, as roots."""

    first: frozenset[str]
    then: frozenset[str]


def are_turned(claim: str, found: str, language: str | None) -> bool:
    """Whether the claim has cause and effect, or first and then, the other way round."""
    for kind in _KINDS:
        ours, theirs = read_relation(claim, kind, language), read_relation(found, kind, language)
        if ours is None or theirs is None:
            continue
        early = (ours.first - theirs.first) & (theirs.then - ours.then)
        late = (theirs.first - ours.first) & (ours.then - theirs.then)
        if early and late and len(early) + len(late) > len(ours.first & theirs.first) + len(ours.then & theirs.then):
            return True
    return False


def has_another_cause(claim: str, found: Sequence[str], language: str | None) -> bool:
    """Whether a sentence tells the cause of the same effect, and the claim another thing that the rest tells of.

    In English it must be told there, or it could be the same in other words, which a model sees and words do not.
    """
    ours = read_relation(claim, "cause", language)
    told = [read_relation(text, "cause", language) for text in found] if ours else []
    for place, theirs in enumerate(told):
        if ours is None or theirs is None or not theirs.first.isdisjoint(ours.first):
            continue
        if len(ours.then & theirs.then) < _SAME * max(len(ours.then), 1):
            continue
        beside = _roots(" ".join(text for at, text in enumerate(found) if at != place), language)
        if language not in (None, "en") or ours.first <= beside | theirs.then:
            return True
    return False


@lru_cache(maxsize=8_192)
def read_relation(text: str, kind: Kind, language: str | None) -> Relation | None:
    """The two sides; None where there is no word of the kind, or more than one."""
    code = language if language is not None and language in table("relations")[kind] else "en"
    plain = straighten(text[:_LONGEST]).lower()
    back, on = ([*_pattern(kind, code, way).finditer(plain)] for way in ("back", "on"))
    inside = [found for found in on if not any(other.start() <= found.start() < other.end() for other in back)]
    if len(back) + len(inside) != 1:
        return None
    found = (back or inside)[0]
    before, behind = plain[: found.start()], plain[found.end() :]
    if not _WORD.search(before):
        left, comma, right = behind.partition(",")
        if not comma or not back:
            return None
        before, behind = right, left
    sides = (behind, before) if back else (before, behind)
    first, then = (_roots(side, language) for side in sides)
    return Relation(first, then) if first and then else None


def _roots(text: str, language: str | None) -> frozenset[str]:
    told = in_one_word(text) if language in (None, "en") else text
    words = (word for word in _WORD.findall(told.lower()) if word not in stop_words(language or "en"))
    return frozenset(root_of(word, language) for word in words)


@cache
def _pattern(kind: Kind, code: str, way: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{table('relations')[kind][code][way]})(?:(?<=')|(?!\w))")
