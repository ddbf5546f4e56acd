"""Splits a reasoning into clauses and reads the cues of each: agree, differ, unknown, costs, ..., and about what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from krino.judges.citation.reasoning.patterns import (
    CITED,
    FOUND,
    PLACE,
    affirms,
    cue_pattern,
    is_negated,
    join_pattern,
    phrase_pattern,
)
from krino.judges.citation.reasoning.reasoning_sentences import SENTENCE_END
from krino.judges.lazy import lazy

_ASPECTS = ("number", "court", "context", "date", "ecli")
_TOPICS = ("short", "language", "jurisdiction", "chamber")
_STANCES = ("agree", "known", "differ", "unrelated", "unknown", "given", "lack", "costs")
_CEILINGS = ("90", "95")  # the caps of `generic` and `no_number` in ceilings.toml, as written in a reasoning


class Stance(NamedTuple):
    """What a cue says, whether it is negated, and its topic."""

    kind: str
    negated: bool
    topic: str | None

    @property
    def is_against(self) -> bool:
        """Does it count against a match: a difference, something unknown, a cost, or a denied agreement?"""
        return (
            self.negated if self.kind == "agree" else self.kind in ("differ", "unknown", "costs") and not self.negated
        )

    @property
    def is_lack(self) -> bool:
        """Does it say that something is missing: a lack, or not given, or not known?"""
        return self.negated if self.kind in ("given", "known") else self.kind == "lack" and not self.negated


class Cue(NamedTuple):
    """A phrase of the checklist in a clause, with its offsets there."""

    kind: str
    negated: bool
    start: int
    end: int


class Clause:
    """One clause of a reasoning in small letters; `start` is its offset, `sentence` counts the sentences before it."""

    def __init__(self, text: str, start: int, sentence: int) -> None:
        self.text, self.start, self.sentence = text, start, sentence
        self.stances: list[Stance] = []

    def has_phrase(self, section: str, name: str) -> bool:
        """Does the clause hold a phrase of this list in `claims.toml`, negated or not?"""
        return phrase_pattern(section, name).search(self.text) is not None

    @lazy
    def topics(self) -> list[tuple[str, int, int]]:
        """What the clause is about, each with its offsets."""
        text = self._without_idioms()
        found = [(name, *match.span()) for name in _ASPECTS for match in cue_pattern("aspects", name).finditer(text)]
        found += [(name, *match.span()) for name in _TOPICS for match in phrase_pattern("topics", name).finditer(text)]
        found += [("context", *match.span()) for match in phrase_pattern("topics", "meaning").finditer(text)]
        found += [("court", *match.span()) for match in re.finditer(f"[{CITED}{FOUND}]+", text)]
        found += [("jurisdiction", *match.span()) for match in re.finditer(f"{PLACE}+", text)]
        return sorted(found, key=lambda item: item[1])

    @lazy
    def topic_names(self) -> frozenset[str]:
        """The names of the topics that the clause is about, without their places."""
        return frozenset(name for name, *_ in self.topics)

    @property
    def is_about_names(self) -> bool:
        """Is it about how a court is called, not only about which court it is?"""
        return FOUND in self.text or not self.topic_names.isdisjoint({"language", "short"})

    @property
    def states_ceiling(self) -> bool:
        """Does it name a limit that the rubric itself sets? Stating it takes nothing off."""
        return any(limit in self.text for limit in _CEILINGS) and self.has_phrase("marks", "limit")

    def affirms_topic(self, topic: str) -> bool:
        """Does the clause hold a phrase of this topic that is not negated?"""
        return affirms("topics", topic, self._without_idioms())

    def _without_idioms(self) -> str:
        return phrase_pattern("who", "idioms").sub(_blank, self.text)

    def cues(self) -> Iterator[Cue]:
        """Yields the cues of the clause, negated ones marked."""
        for match in phrase_pattern("stances", "excused").finditer(self.text):
            yield Cue("excused", False, *match.span())
        text = phrase_pattern("stances", "excused").sub(_blank, self.text)
        text = phrase_pattern("stances", "names_differ").sub(_blank, text)
        topics = [start for _, start, _ in self.topics]
        for kind in _STANCES:
            for match in phrase_pattern("stances", kind).finditer(text):
                # "no court mismatch" negates the mismatch, "no number, mismatch" the number
                yield Cue(kind, is_negated(text, *match.span(), () if kind == "differ" else topics), *match.span())
        for match in phrase_pattern("stances", "rises").finditer(text):
            if is_negated(text, *match.span()):  # "cannot go above" costs, "above" alone says nothing
                yield Cue("costs", False, *match.span())

    def nearest_topic(self, cue: Cue) -> str | None:
        """Returns the topic next to a cue, or None; one inside the cue's own words counts only if there is no other."""
        others = [item for item in self.topics if item[1] >= cue.end or item[2] <= cue.start]

        def gap(item: tuple[str, int, int]) -> tuple[int, bool]:
            return max(item[1] - cue.end, cue.start - item[2], 0), item[0] != "jurisdiction"

        best = min(others or self.topics, key=gap, default=None)
        return best[0] if best else None


def split_clauses(text: str) -> Iterator[Clause]:
    """Yields the clauses of a text with their offsets."""
    start, ends = 0, [match.span() for match in SENTENCE_END.finditer(text)]
    text = text.lower()
    for sentence, (end, after) in enumerate([*ends, (len(text), len(text))]):
        at = start
        for match in join_pattern().finditer(text, start, end):
            if text[at : match.start()].strip(" ,"):
                yield Clause(text[at : match.start()], at, sentence)
            at = match.end() if match["mark"] else match.start()
        if text[at:end].strip(" ,"):
            yield Clause(text[at:end], at, sentence)
        start = after


def earlier_topic(before: list[Clause], clause: Clause, *, crosses_sentences: bool) -> str | None:
    """Returns the topic that a clause without one continues, or None.

    It is the last lack before it, else the last topic of its sentence. `crosses_sentences`: a lack of an earlier
    sentence counts too.
    """
    inside = [earlier for earlier in before if earlier.sentence == clause.sentence]
    if not inside and not crosses_sentences:
        return None
    for earlier in reversed(inside or before):
        lacking = [item.topic for item in earlier.stances if item.topic and (item.is_against or item.is_lack)]
        if lacking or (earlier.topics and (inside or not crosses_sentences)):
            return lacking[-1] if lacking else earlier.topics[-1][0]
    return None


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
