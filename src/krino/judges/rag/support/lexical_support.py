"""Decides whether evidence supports a claim: the seam behind which better models can stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from krino.judges.rag.labels import ClaimLabel
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.values import Value, comparable, stated
from krino.judges.rag.reading.words import Reading, opposed_words, opposite_words
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.tables import table
from krino.text.words import stem

MISPLACED = "the passages have it, but not where they speak of what is asked"
_ALIKE = 0.5
"""Share of the deciding sentence that question and claim must repeat before a negation tells them apart."""
_SMALL_COUNT = 12
"""Spelled-out numbers up to here often count what the answer lists ("three reasons"), so they prove nothing."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim and the sentences it could rest on, as text for models and as readings for word matching."""

    question: str
    claim: str
    evidence: tuple[str, ...]
    shown: str
    """The evidence and what completes it, as one text for a model."""
    asked: Reading
    claimed: Reading
    found: tuple[Reading, ...]
    weights: Mapping[str, float]
    """How much each word of the claim counts."""
    anywhere: float
    """The share of those words that stand anywhere in the passages."""
    strangers: tuple[str, ...]
    """Names of the claim that stand in no passage and not in the question."""
    absent: tuple[Value, ...]
    """Its values of which that is true."""
    language: str | None
    company: bool
    """Whether the answer makes other claims beside this one."""
    misplaced: bool = False
    """A bare name or value that stands in the passages, but not where they speak of what is asked."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """What the deciding sentence says otherwise; `plain` where that needs no second opinion."""

    text: str
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Support:
    """`score` is how likely the claim is supported, in [0, 1]; `why` says what decided."""

    label: ClaimLabel
    score: float
    why: str


class SupportModel(Protocol):
    """Labels claims by their evidence, many at once."""

    def score(self, pairs: Sequence[Pair]) -> list[Support]: ...


class LexicalSupport:
    """Word matching with weights, and letter-exact checks of numbers, dates, names and negations."""

    def score(self, pairs: Sequence[Pair]) -> list[Support]:
        return [self._one(pair) for pair in pairs]

    def _one(self, pair: Pair) -> Support:
        if not pair.found:
            return Support("unsupported", 0.0, "no passage comes near it")
        share = coverage(pair.weights, pair.found)
        measure = f"{share:.0%} of its weighted words found"
        if conflict := find_conflict(pair, share):
            return Support("contradicted", share, conflict.text)
        if pair.misplaced:
            return Support("unsupported", share, MISPLACED)
        if absent := [*(value.text for value in absent_values(pair)), *pair.strangers]:
            return Support("unsupported", share, f"no evidence for {', '.join(absent[:5])}; {measure}")
        label: ClaimLabel = "supported" if share >= table("local")["thresholds"]["supported"] else "unsupported"
        return Support(label, share, measure)


def find_conflict(pair: Pair, share: float) -> Conflict | None:
    """What the deciding sentence says otherwise: a value, a denial, an opposite, or a name where one is asked for."""
    limits: Mapping[str, Any] = table("local")["thresholds"]
    if conflict := _value_conflict(pair, limits["topical"]):
        return conflict
    if share >= limits["negation"] and (conflict := _negation_conflict(pair)):
        return conflict
    return _opposite_conflict(pair, limits["negation"]) or _name_conflict(pair, limits["negation"])


def _known_keys(pair: Pair) -> frozenset[str]:
    return pair.asked.offered.union(*(reading.offered for reading in pair.found))


def absent_values(pair: Pair) -> list[Value]:
    """Numbers and dates of the claim that its evidence and the question lack, small counts in words aside."""
    known = _known_keys(pair)
    return [value for value in pair.claimed.values if not stated(value, known) and not _small_count(value)]


def _small_count(value: Value) -> bool:
    """A number word that counts things, and may count what the answer lists."""
    return value.spelled and value.keys[0].isdecimal() and int(value.keys[0]) <= _SMALL_COUNT


def _value_conflict(pair: Pair, topical: float) -> Conflict | None:
    """The deciding sentence is about the same thing but has another date, time or quantity of the same kind."""
    known, best = _known_keys(pair), pair.found[0]
    missing = [value for value in pair.claimed.values if not stated(value, known)]
    if not missing or _topic_share(pair) < topical:
        return None
    claimed = pair.claimed.offered
    for value in missing:
        for other in best.values:
            if comparable(value, other) and not stated(other, claimed):
                plain = any(value.keys == absent.keys for absent in pair.absent)
                return Conflict(f"it says {value.text}, the passage {other.text}", plain)
    return None


def _topic_share(pair: Pair) -> float:
    """How well the deciding sentence matches, values aside; a bare value is matched by the question instead."""
    keys = pair.claimed.value_keys
    weights = {root: weight for root, weight in pair.weights.items() if root not in keys}
    if not weights:
        weights = dict.fromkeys(pair.asked.content, 1.0)
    return coverage(weights, pair.found[:1])


def _negation_conflict(pair: Pair) -> Conflict | None:
    """A word that one side denies and the other states, where no other evidence agrees with the claim."""
    best = pair.found[0]
    if len((pair.claimed.stems | pair.asked.stems) & best.stems) < _ALIKE * len(best.stems):
        return None
    for root in opposed_words(pair.claimed, best):
        denied = root in pair.claimed.negated
        if all((root in reading.negated) != denied for reading in pair.found if root in reading.stems):
            return Conflict(f"only one of the two denies '{pair.claimed.surface[root]}'")
    return None


def _opposite_conflict(pair: Pair, topical: float) -> Conflict | None:
    """The rest matches closely, and the sentence has the opposite of a word in its place."""
    best = pair.found[0]
    words = opposite_words(pair.claimed, best)
    if words is None or any(words[0] in reading.poles for reading in pair.found):
        return None
    rest = {root: weight for root, weight in pair.weights.items() if root != stem(words[0])}
    if not rest or coverage(rest, pair.found[:1]) < topical:
        return None
    return Conflict(f"it says '{words[0]}', the passage '{words[1]}'", plain=True)


def _name_conflict(pair: Pair, topical: float) -> Conflict | None:
    """A name is asked for, the rest matches closely, and the sentence has another name in its place."""
    if not pair.strangers or not any(part.kind in ("person", "place") for part in question_parts(pair.question)):
        return None
    best = pair.found[0]
    others = sorted(best.names - pair.claimed.stems - pair.asked.stems)
    missing = {stem(name.lower()) for name in pair.strangers}
    rest = {root: weight for root, weight in pair.weights.items() if root not in missing}
    if not others or not rest or coverage(rest, pair.found[:1]) < topical:
        return None
    instead = ", ".join(best.surface.get(name, name) for name in others[:3])
    return Conflict(f"it names {', '.join(pair.strangers[:3])}, the passage {instead}")
