"""A claim beside the sentences it could rest on: what it shares with them, and what of it they lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from krino.judges.lazy import lazy
from krino.judges.rag.labels import ClaimLabel
from krino.judges.rag.reading.grammar import verb_form, word_list
from krino.judges.rag.reading.sums import cue_words, is_reckoned
from krino.judges.rag.reading.values import Value, stated
from krino.judges.rag.reading.words import Reading
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.tables import table

_BARE = 3
"""Content words up to which an answer is the bare name or value that was asked for."""
_SMALL_COUNT = 12
"""Spelled-out numbers up to here often count what the answer lists ("three reasons"), so they prove nothing."""


@dataclass(frozen=True)
class ClaimAndEvidence:
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
    whole: tuple[str, str] | None = None
    """The passages and the answer, to be read as one; None where it makes only one claim, or they are too long."""
    few: bool = False
    """Whether the passages are short enough to be read at once: then nothing that it could rest on was overlooked."""
    misplaced: bool = False
    """A bare name or value that stands in the passages, but not where they speak of what is asked."""
    misquoted: str = ""
    """What it puts in quotation marks though no passage has these words."""
    nearby: tuple[Value, ...] = ()
    """The values of the passage that it rests on, where some of its own stand in none and there are few."""

    @lazy
    def share(self) -> float:
        """How much of the claim's words the sentences hold."""
        return coverage(self.weights, self.found)

    @lazy
    def reckoned(self) -> frozenset[Value]:
        """Its values that stand in no evidence, but follow from those that do."""
        known = known_keys(self)
        missing = [value for value in self.claimed.values if not stated(value, known)]
        if not missing or len(self.claimed.content) > table("local")["decided"]["words"]:
            return frozenset()
        words = cue_words(self.claim, self.claimed, self.evidence)
        found = [*self.nearby] or [value for reading in self.found for value in reading.values]
        beside = [*self.claimed.values, *self.asked.values]
        return frozenset(value for value in missing if is_reckoned(value, found, beside, words))


@dataclass(frozen=True, slots=True)
class Conflict:
    """What the deciding sentence says otherwise; `plain` where that needs no second opinion, and `hint` where it counts
    only if a model speaks against the claim too."""

    text: str
    plain: bool = False
    label: ClaimLabel = "contradicted"
    hint: bool = False


def is_english(pair: ClaimAndEvidence) -> bool:
    return pair.language is None or pair.language == "en"


def known_keys(pair: ClaimAndEvidence) -> frozenset[str]:
    return pair.asked.offered.union(*(reading.offered for reading in pair.found))


def absent_values(pair: ClaimAndEvidence) -> list[Value]:
    """Numbers and dates of the claim that its evidence and the question lack; not what tells how often, nor small
    counts in words."""
    known = known_keys(pair)
    missing = [value for value in pair.claimed.values if not stated(value, known) and value.kind != "frequency"]
    return [value for value in missing if not _small_count(value) and value not in pair.reckoned]


def _small_count(value: Value) -> bool:
    """A number word that counts things, and may count what the answer lists."""
    return value.spelled and value.keys[0].isdecimal() and int(value.keys[0]) <= _SMALL_COUNT


def is_bare(claimed: Reading, text: str) -> bool:
    """A name or value alone: "1904". "It is measured in f-stops" and "Eva is director" say something by themselves."""
    if not 0 < len(claimed.content) <= _BARE or not word_list("auxiliary").isdisjoint(text.lower().split()):
        return False
    return all(verb_form(word) is None for word in claimed.surface.values() if f" {word}" in text)
