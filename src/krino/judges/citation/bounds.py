"""What labels of one citation can hold: a candidate that is shown, and lines of its text as quotations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import get_args

from krino.contract.bounds import NULL, Bound
from krino.judges.citation.belgium.topics import Strength
from krino.judges.citation.facts import CitationFacts, shown_text
from krino.judges.citation.labels import Reasoning

_WHY, _SHORT, _QUOTE = Bound.text(200), Bound.text(60), Bound.text(400)
_STRENGTHS = tuple(strength for strength in get_args(Strength) if strength != "none")
_NOTHING = Bound.holding(candidate=NULL, strength=Bound.only("none"), quote=NULL)
_MOST_QUOTES, _LONGEST_QUOTE, _SHORTEST_QUOTE = 20, 300, 12


def bounds_of(facts: CitationFacts, exact: bool) -> Bound:
    if not exact:
        return _shape(len(facts.shown))
    kinds = [
        Bound.holding(candidate=Bound.only(number), strength=Bound.one_of(_STRENGTHS), quote=Bound.one_of(quotes))
        for number, candidate in enumerate(facts.shown, 1)
        if (quotes := list(_quotes(shown_text(candidate))))
    ]
    return Bound.holding(subject=Bound.either(*kinds, _NOTHING), reasoning=_reasoning(exact))


@lru_cache(maxsize=256)
def _shape(candidates: int) -> Bound:
    candidate = Bound.one_of((*range(1, candidates + 1), None))
    subject = Bound.holding(candidate=candidate, quote=_QUOTE) if candidates else _NOTHING
    return Bound.holding(subject=subject, reasoning=_reasoning(False))


@lru_cache(maxsize=2)
def _reasoning(exact: bool) -> Bound:
    return Bound.holding(**dict.fromkeys(Reasoning.model_fields, Bound.holding(why=_SHORT if exact else _WHY)))


def _quotes(text: str) -> Iterator[str]:
    lines = (line.strip() for line in text.splitlines())
    useful = [line for line in lines if _SHORTEST_QUOTE <= len(line) <= _LONGEST_QUOTE]
    yield from useful[:_MOST_QUOTES]
