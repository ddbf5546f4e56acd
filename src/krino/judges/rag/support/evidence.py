"""Finds, among the sentences of the passages, those that a claim or a question could rest on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from heapq import nlargest

from krino.judges.lazy import lazy
from krino.judges.rag.facts import PassageSentence, RagFacts
from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.reading.values import Value
from krino.judges.rag.reading.words import Reading
from krino.judges.rag.tables import table
from krino.text.words import stem

PREFIX_CREDIT = 0.6
"""What a word is worth that shares only its first five letters ("Belgian" for "Belgium")."""
_QUESTION_PULL = 0.25
_RESTATED = 0.4
"""Words that the answer merely takes over from the question weigh less."""
_VALUE_BOOST = 1.5
_NAME_BOOST = 1.3
_MOST_EVIDENCE = 3
_WORTH_ADDING = 0.12
_MOST_SHOWN = 5
_MOST_WORDS = 120
"""How much of the passages a model is shown beside one claim. Neighbours of the sentences add cost, not agreement."""
_FEW_WORDS = 60
"""Passages up to here are shown whole: a claim in other words may rest on a sentence that shares none with it."""
_MOST_TOGETHER = 220
"""Words of passages up to which a model can read all of them at once."""
_SPEAKERS = 1
"""Sentences of a passage, those with most words of the question, that a model is asked about."""
_SPEAKERS_ALONE = 6
"""The same where there is one passage only."""
_MOST_SPEAKERS = 64
"""The same for all passages together."""
_TOGETHER = 4
"""Sentences that are read as one text, where no single one answers."""
_MOST_PLACES = 500
"""Sentences that are looked up for one word; a word that more of them share tells them apart no longer."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Up to three sentences, the one that decides first; empty where nothing in the passages comes near."""

    sentences: tuple[PassageSentence, ...]

    @property
    def best(self) -> PassageSentence | None:
        return self.sentences[0] if self.sentences else None


class Index:
    """The passages' sentences by word, with a weight for each word: the rarer, the heavier."""

    def __init__(self, facts: RagFacts) -> None:
        self.facts = facts
        self.sentences = facts.passage_sentences
        by_stem: dict[str, list[int]] = defaultdict(list)
        by_prefix: dict[str, list[int]] = defaultdict(list)
        by_passage: dict[int, list[PassageSentence]] = defaultdict(list)
        for place, item in enumerate(self.sentences):
            by_passage[item.passage].append(item)
            for root in item.reading.stems:
                by_stem[root].append(place)
            for prefix in item.reading.prefixes:
                by_prefix[prefix].append(place)
        self._by_stem = dict(by_stem)
        self._by_prefix = dict(by_prefix)
        self.by_passage: Mapping[int, list[PassageSentence]] = dict(by_passage)
        self._found: dict[tuple[str, ...], Evidence] = {}

    def rarity(self, root: str) -> float:
        return math.log(1.0 + (len(self.sentences) + 1.0) / (1.0 + len(self._by_stem.get(root, ()))))

    def knows(self, root: str) -> bool:
        """Whether some sentence has the word."""
        return root in self._by_stem

    @lazy
    def question_weights(self) -> Mapping[str, float]:
        """The question's content words, less those that only say how to answer."""
        return self.weigh(self.facts.question_reading)

    @lazy
    def absent(self) -> Mapping[int, list[Value]]:
        """By sentence of the answer: its values that stand in no passage."""
        found: dict[int, list[Value]] = defaultdict(list)
        for number, value in self.facts.absent_values:
            found[number].append(value)
        return found

    def asked_share(self, item: PassageSentence) -> float:
        """The share of the question's words that one of the sentences holds."""
        return self._asked_shares.get(self._places[id(item)], 0.0)

    def spoken_share(self, item: PassageSentence) -> float:
        """The same with words that are told where others are asked for: "acquired" where who "bought" is asked."""
        return self._spoken_shares.get(self._places[id(item)], 0.0)

    @lazy
    def speakers(self) -> tuple[PassageSentence, ...]:
        """Sentences that may answer the question: those of each passage that speak of it most, the nearest first.

        Those with next to no words of the question are left out, where another has most of them.
        """
        most = _SPEAKERS_ALONE if len(self.by_passage) == 1 else _SPEAKERS
        found = [item for items in self.by_passage.values() for item in nlargest(most, items, key=self.spoken_share)]
        chosen = nlargest(_MOST_SPEAKERS, found, key=self.spoken_share)
        nearest = self.spoken_share(chosen[0]) if chosen else 0.0
        limits = table("local")["thresholds"]
        least = limits["speaks"] * nearest if nearest >= limits["useful"] else 0.0
        return tuple(item for item in chosen if self.spoken_share(item) >= least)

    @lazy
    def nearest(self) -> tuple[PassageSentence, ...]:
        """The sentences of all passages that speak most of the question, in their order."""
        chosen = nlargest(_TOGETHER, self.sentences, key=self.spoken_share)
        return tuple(sorted(chosen, key=lambda item: self._places[id(item)]))

    @lazy
    def _spoken_shares(self) -> dict[int, float]:
        weights = self.question_weights
        total = sum(weights.values())
        shares = {place: share * total for place, share in self._asked_shares.items()}
        for root, weight in weights.items():
            for place in {place for other in told_for(root) for place in self._by_stem.get(other, ())}:
                if root not in self.sentences[place].reading.stems:
                    shares[place] = shares.get(place, 0.0) + weight * PREFIX_CREDIT
        return {place: min(share / total, 1.0) for place, share in shares.items()}

    @lazy
    def _asked_shares(self) -> dict[int, float]:
        total = sum(self.question_weights.values())
        return {place: score / total for place, score in self._score(self.question_weights, None).items()}

    def weigh(self, reading: Reading) -> dict[str, float]:
        return {root: self.rarity(root) for root in reading.content if root not in _asking()}

    def weigh_claim(self, reading: Reading) -> dict[str, float]:
        """The words of a claim: values and names count for more, words of the question for less."""
        keys = reading.value_keys
        asked = self.facts.question_reading.stems
        weights: dict[str, float] = {}
        for root in (*reading.content, *keys):
            weight = self.rarity(root)
            if root in keys:
                weight *= _VALUE_BOOST
            elif root in reading.names:
                weight *= _NAME_BOOST
            weights[root] = weight * _RESTATED if root in asked else weight
        return weights

    def share_anywhere(self, weights: Mapping[str, float]) -> float:
        """The share of weighted words that the passages hold, wherever they stand."""
        total = sum(weights.values())
        held = 0.0
        for root, weight in weights.items():
            if root in self._by_stem:
                held += weight
            elif len(root) >= 6 and root[:5] in self._by_prefix:
                held += weight * PREFIX_CREDIT
        return held / total if total else 0.0

    def find(self, weights: Mapping[str, float]) -> Evidence:
        """The sentence that holds most of the words, then those that add what it lacks."""
        key = tuple(weights)
        if key not in self._found:
            self._found[key] = self._search(weights)
        return self._found[key]

    def _search(self, weights: Mapping[str, float]) -> Evidence:
        scores = self._score(weights)
        asked = self._question_scores
        pulled = {place: score + asked.get(place, 0.0) for place, score in scores.items()}
        if self._nearest_to_question is not None:
            pulled.setdefault(self._nearest_to_question, asked[self._nearest_to_question])
        if not pulled:
            return Evidence(())
        best = min(pulled, key=lambda place: (-pulled[place], place))
        chosen = [best]
        total = sum(weights.values()) or 1.0
        missing = self._uncovered(weights, best)
        while missing and len(chosen) < _MOST_EVIDENCE:
            added = self._add(weights, missing, scores, chosen)
            if added is None or self._gain(missing, added) < _WORTH_ADDING * total:
                break
            chosen.append(added)
            missing = self._uncovered(missing, added)
        return Evidence(tuple(self.sentences[place] for place in chosen))

    def surroundings(self, weights: Mapping[str, float], evidence: Evidence) -> str:
        """The evidence with further sentences that hold words it lacks, in the order of the passages."""
        if self._whole:
            return self._whole
        chosen = {self._places[id(item)]: item for item in evidence.sentences}
        missing = {root: weight for root, weight in weights.items() if not _stands_in(root, chosen.values())}
        room = _MOST_WORDS - sum(item.length for item in chosen.values())
        while missing and len(chosen) < _MOST_SHOWN:
            gains = self._score(missing)
            fitting = [place for place in gains if place not in chosen and self.sentences[place].length <= room]
            if not fitting:
                break
            place = min(fitting, key=lambda place: (-gains[place], place))
            chosen[place] = self.sentences[place]
            room -= chosen[place].length
            missing = self._uncovered(missing, place)
        return " ".join(chosen[place].told for place in sorted(chosen))

    @lazy
    def few(self) -> str:
        """All sentences, where they are few enough to be read as one text; else nothing."""
        return " ".join(item.told for item in self.sentences) if self._words <= _MOST_TOGETHER else ""

    @lazy
    def _words(self) -> int:
        return sum(item.length for item in self.sentences)

    @lazy
    def _whole(self) -> str:
        """All sentences, where they are few; else nothing."""
        return " ".join(item.told for item in self.sentences) if self._words <= _FEW_WORDS else ""

    @lazy
    def _places(self) -> dict[int, int]:
        return {id(item): place for place, item in enumerate(self.sentences)}

    def _add(
        self,
        weights: Mapping[str, float],
        missing: Mapping[str, float],
        scores: Mapping[int, float],
        chosen: list[int],
    ) -> int | None:
        """A stray number elsewhere proves nothing: the sentence must share more, or be of the same passage."""
        gains = self._score(missing)
        home = self.sentences[chosen[0]].passage
        allowed = [
            place
            for place, gain in gains.items()
            if place not in chosen and (self.sentences[place].passage == home or scores[place] > gain)
        ]
        return min(allowed, key=lambda place: (-gains[place], place), default=None)

    @lazy
    def _question_scores(self) -> dict[int, float]:
        return {place: score * _QUESTION_PULL for place, score in self._score(self.question_weights).items()}

    @lazy
    def _nearest_to_question(self) -> int | None:
        asked = self._question_scores
        return min(asked, key=lambda place: (-asked[place], place), default=None)

    def _score(self, weights: Mapping[str, float], most: int | None = _MOST_PLACES) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        for root, weight in weights.items():
            for place in self._by_stem.get(root, ())[:most]:
                scores[place] += weight
            if len(root) >= 6:
                for place in self._by_prefix.get(root[:5], ())[:most]:
                    if root not in self.sentences[place].reading.stems:
                        scores[place] += weight * PREFIX_CREDIT
        return scores

    def _gain(self, missing: Mapping[str, float], place: int) -> float:
        return covered_weight(missing, (self.sentences[place].reading,))

    def _uncovered(self, weights: Mapping[str, float], place: int) -> dict[str, float]:
        stems = self.sentences[place].reading.stems
        return {root: weight for root, weight in weights.items() if root not in stems}


@cache
def _asking() -> frozenset[str]:
    """Words of a question that only say how to answer it."""
    return frozenset(stem(word) for word in table("questions")["words"].split())


@cache
def _told_for() -> dict[str, frozenset[str]]:
    groups = [frozenset(map(root_of, group.split())) for group in table("questions")["told"]["groups"]]
    roots = frozenset[str]().union(*groups)
    return {root: frozenset[str]().union(*(group for group in groups if root in group)) - {root} for root in roots}


def told_for(root: str) -> frozenset[str]:
    """The roots of words that a passage may have where a question has this one."""
    return _told_for().get(root, frozenset())


def _stands_in(root: str, sentences: Iterable[PassageSentence]) -> bool:
    return any(root in item.reading.stems for item in sentences)


def covered_weight(weights: Mapping[str, float], readings: Iterable[Reading]) -> float:
    """The weight of the words that the readings hold together."""
    stems, prefixes = _together(tuple(readings))
    total = 0.0
    for root, weight in weights.items():
        if root in stems:
            total += weight
        elif len(root) >= 6 and root[:5] in prefixes:
            total += weight * PREFIX_CREDIT
    return total


def _together(readings: tuple[Reading, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The words that any of the readings has, and their beginnings."""
    if len(readings) == 1:
        return readings[0].stems, readings[0].prefixes
    nothing = frozenset[str]()
    return nothing.union(*(item.stems for item in readings)), nothing.union(*(item.prefixes for item in readings))


def coverage(weights: Mapping[str, float], readings: Iterable[Reading]) -> float:
    """The share of weighted words that the readings hold together; 0.0 for no words at all."""
    total = sum(weights.values())
    return covered_weight(weights, readings) / total if total else 0.0
