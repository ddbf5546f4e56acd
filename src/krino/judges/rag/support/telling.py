"""How a claim is put before the entailment model: in words that let it see what the claim says of the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from krino.judges.rag.reading.claims import resolve
from krino.judges.rag.reading.values import Value
from krino.judges.rag.reading.words import Reading
from krino.judges.rag.support.nearness import reads
from krino.judges.rag.support.pair import Pair
from krino.judges.rag.tables import table

_LONGEST = 2_000
"""Letters of a text that is reworded: of a longer one the model reads only the beginning."""


def told_claim(pair: Pair) -> str:
    """The claim as the model reads it: values and closing hours as the evidence tells them, without what leads it in,
    and with what the evidence is about for a pronoun that nothing before it explains.

    The model was taught that another subject is another claim, and takes "it" for one.
    """
    claim = in_its_hours(in_its_values(pair.claim, pair.claimed.values, pair.found), pair.evidence[0])
    return resolve([pair.evidence[0], bare_claim(claim)])[-1] if reads(pair.language) else claim


@cache
def _opening() -> re.Pattern[str]:
    openings = table("local")["openings"]
    named = "|".join([*openings["words"].split(), *openings["phrases"], openings["sources"]])
    return re.compile(rf"^(?:(?:(?:{named})[,:]|\d{{1,2}}[.)]|[-*•])\s+)+", re.IGNORECASE)


def bare_claim(claim: str) -> str:
    """The claim without what only leads it in: "Third, ..." says nothing about a third thing."""
    bare = _opening().sub("", claim)
    return bare[0].upper() + bare[1:] if bare else claim


def in_its_values(text: str, values: Iterable[Value], found: Sequence[Reading]) -> str:
    """The text with each value as the evidence writes the same one: "two hours" as "120 minutes".

    That both are the same is code's to know; a model of this size often does not.
    """
    if len(text) > _LONGEST:
        return text
    theirs = {value.keys: value.text for reading in reversed(found) for value in reading.values}
    known = {value.text.lower() for reading in found for value in reading.values}
    for value in values:
        same = theirs.get(value.keys)
        if same is not None and value.text.lower() not in known:
            text = _once(text, value.text, same)
    return text


def _once(text: str, old: str, new: str) -> str:
    """With the new put for the old where that stands once as a word of its own; else it could be another thing."""
    places = list(re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", text))
    return f"{text[: places[0].start()]}{new}{text[places[0].end() :]}" if len(places) == 1 else text


@cache
def _hours() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.I), told) for pattern, told in table("local")["hours"]["closing"])


@cache
def _open() -> re.Pattern[str]:
    return re.compile(table("local")["hours"]["open"], re.I)


def in_its_hours(claim: str, evidence: str) -> str:
    """ "Closes at 4" as "is open until 4" where the evidence tells when something is open, and not when it closes."""
    for pattern, told in _hours() if len(claim) <= _LONGEST else ():
        if pattern.search(claim) and _open().search(evidence) and not pattern.search(evidence):
            return pattern.sub(told, claim)
    return claim
