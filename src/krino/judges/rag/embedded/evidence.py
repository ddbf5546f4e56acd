"""Finds the windows of the passages, and the sentences in them, that a claim or a question could rest on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from functools import cache
from heapq import nlargest
from typing import NamedTuple

from krino.judges.lazy import lazy
from krino.judges.rag.facts import PassageSentence, RagFacts
from krino.judges.rag.reading.words import Reading
from krino.judges.rag.tables import table
from krino.text.words import stem

_PREFIX_CREDIT = 0.6
"""What a word is worth that shares only its first five letters ("Belgian" for "Belgium")."""
_RESTATED = 0.4
"""Words that the answer merely takes over from the question weigh less."""
_QUESTION_PULL = 0.25
_VALUE_BOOST = 1.5
_NAME_BOOST = 1.3
_MOST_WORDS = 130
"""Words of one window: what the entailment model reads whole."""
_MOST_GATHERED, _MOST_WINDOWS = 5, 3
"""Sentences that are put together from all passages, and passages of which a window is read."""
_MOST_PLACES = 500
"""Sentences that are looked up for one word; a word that more of them share tells them apart no longer."""
_NEAREST = 4
"""Sentences that are read as one text, where no single one answers."""
_SPEAKERS, _SPEAKERS_ALONE, _MOST_SPEAKERS = 1, 6, 64
"""Sentences of a passage that the model is asked about: of several passages, of the only one, and of all together."""


class Window(NamedTuple):
    """Sentences that are read as one text, with the one that is nearest to what was looked for."""

    sentences: tuple[PassageSentence, ...]
    best: PassageSentence

    @property
    def text(self) -> str:
        return " ".join(item.full_text for item in self.sentences)


class Index:
    """The passages' sentences by word, with a weight for each word: the rarer, the heavier."""

    def __init__(self, facts: RagFacts) -> None:
        self.facts = facts
        self.sentences = facts.passage_sentences
        by_stem: dict[str, list[int]] = defaultdict(list)
        by_prefix: dict[str, list[int]] = defaultdict(list)
        by_passage: dict[int, list[int]] = defaultdict(list)
        for place, item in enumerate(self.sentences):
            by_passage[item.passage].append(place)
            for root in item.reading.stems:
                by_stem[root].append(place)
            for prefix in item.reading.prefixes:
                by_prefix[prefix].append(place)
        self._by_stem, self._by_prefix, self._by_passage = dict(by_stem), dict(by_prefix), dict(by_passage)

    def sentences_of(self, passage: int) -> list[PassageSentence]:
        return [self.sentences[place] for place in self._by_passage.get(passage, ())]

    # --- weights ---------------------------------------------------------------------------------

    def _rarity(self, root: str) -> float:
        return math.log(1.0 + (len(self.sentences) + 1.0) / (1.0 + len(self._by_stem.get(root, ()))))

    def weigh(self, reading: Reading) -> dict[str, float]:
        """The content words of a question, less those that only say how to answer."""
        return {root: self._rarity(root) for root in reading.content if root not in _asking()}

    def weigh_claim(self, reading: Reading) -> dict[str, float]:
        """Weighs the content words of a claim: rare ones in the passages more, values and names still more, and those
        of the question less."""
        keys, asked = reading.value_keys, self.facts.question_reading.stems
        weights: dict[str, float] = {}
        for root in (*reading.content, *keys):
            boost = _VALUE_BOOST if root in keys else _NAME_BOOST if root in reading.names else 1.0
            weights[root] = self._rarity(root) * boost * (_RESTATED if root in asked else 1.0)
        return weights

    def share_anywhere(self, weights: Mapping[str, float]) -> float:
        """The share of weighted words that the passages hold, wherever they stand."""
        return _share(weights, self._by_stem.keys(), self._by_prefix.keys())

    @lazy
    def is_short(self) -> bool:
        """Whether all passages together have no more words than the entailment model reads whole."""
        return sum(item.length for item in self.sentences) <= _MOST_WORDS

    # --- windows ---------------------------------------------------------------------------------

    def find_windows(self, weights: Mapping[str, float]) -> list[Window]:
        """First the sentences of all passages that have most of the words, then the best window of each passage."""
        asked = self._question_scores
        scores: Mapping[int, float] = {
            place: score + _QUESTION_PULL * asked.get(place, 0.0) for place, score in self._score(weights).items()
        }
        # A claim in other words may rest on a sentence that shares none with it.
        scores = scores or asked or dict.fromkeys(range(min(len(self.sentences), _MOST_GATHERED)), 0.0)
        best = {
            passage: max(found, key=lambda place: (scores[place], -place))
            for passage, places in self._by_passage.items()
            if (found := [place for place in places if place in scores])
        }
        windows = [self._window(place, weights) for place in best.values()]
        ranked = sorted(windows, key=lambda window: -coverage(weights, [item.reading for item in window.sentences]))
        if not ranked:
            return []
        gathered = self._gathered(scores)
        others = [window for window in ranked[:_MOST_WINDOWS] if window.sentences != gathered.sentences]
        return [gathered, *others]

    def _gathered(self, scores: Mapping[int, float]) -> Window:
        """The sentences with the highest scores, in their order, up to a number of words."""
        ranked = sorted(scores, key=lambda place: (-scores[place], place))
        chosen, room = ranked[:1], _MOST_WORDS - self.sentences[ranked[0]].length
        for place in ranked[1:]:
            if len(chosen) < _MOST_GATHERED and self.sentences[place].length <= room:
                chosen.append(place)
                room -= self.sentences[place].length
        return Window(tuple(self.sentences[place] for place in sorted(chosen)), self.sentences[ranked[0]])

    def _window(self, best: int, weights: Mapping[str, float]) -> Window:
        """The sentences around one, up to a number of words; on each side those come first that hold more words."""
        places = self._by_passage[self.sentences[best].passage]
        first = last = places.index(best)
        room = _MOST_WORDS - self.sentences[best].length
        gain = [coverage(weights, (self.sentences[place].reading,)) for place in places]
        while True:
            sides = [side for side in (first - 1, last + 1) if 0 <= side < len(places)]
            sides = [side for side in sides if self.sentences[places[side]].length <= room]
            if not sides:
                break
            side = max(sides, key=lambda side: gain[side])
            room -= self.sentences[places[side]].length
            first, last = min(first, side), max(last, side)
        return Window(tuple(self.sentences[place] for place in places[first : last + 1]), self.sentences[best])

    # --- the question ----------------------------------------------------------------------------

    @lazy
    def question_weights(self) -> Mapping[str, float]:
        return self.weigh(self.facts.question_reading)

    @lazy
    def _question_scores(self) -> Mapping[int, float]:
        return self._score(self.question_weights)

    @lazy
    def _asked_shares(self) -> Mapping[int, float]:
        total = sum(self.question_weights.values())
        return {id(self.sentences[place]): score / total for place, score in self._question_scores.items()}

    def asked_share(self, item: PassageSentence) -> float:
        """The share of the question's words that one of the sentences holds."""
        return self._asked_shares.get(id(item), 0.0)

    @lazy
    def speakers(self) -> tuple[PassageSentence, ...]:
        """Sentences that may answer the question: those of each passage that have most of its words."""
        most = _SPEAKERS_ALONE if len(self._by_passage) == 1 else _SPEAKERS
        found = (
            item
            for passage in self._by_passage
            for item in nlargest(most, self.sentences_of(passage), self.asked_share)
        )
        chosen = nlargest(_MOST_SPEAKERS, found, key=self.asked_share)
        limits = table("local")["relevance"]
        nearest = self.asked_share(chosen[0]) if chosen else 0.0
        least = limits["speaks"] * nearest if nearest >= limits["useful"] else 0.0
        return tuple(item for item in chosen if self.asked_share(item) >= least)

    @lazy
    def nearest(self) -> tuple[PassageSentence, ...]:
        """The sentences of all passages that have most of the question's words, in their order."""
        chosen = {id(item) for item in nlargest(_NEAREST, self.sentences, key=self.asked_share)}
        return tuple(item for item in self.sentences if id(item) in chosen)

    def _score(self, weights: Mapping[str, float]) -> dict[int, float]:
        scores: dict[int, float] = defaultdict(float)
        for root, weight in weights.items():
            for place in self._by_stem.get(root, ())[:_MOST_PLACES]:
                scores[place] += weight
            if len(root) >= 6:
                for place in self._by_prefix.get(root[:5], ())[:_MOST_PLACES]:
                    if root not in self.sentences[place].reading.stems:
                        scores[place] += weight * _PREFIX_CREDIT
        return scores


@cache
def _asking() -> frozenset[str]:
    """Words of a question that only say how to answer it."""
    return frozenset(stem(word) for word in table("questions")["words"].split())


def coverage(weights: Mapping[str, float], readings: Sequence[Reading]) -> float:
    """The share of weighted words that the readings hold together; 0.0 for no words at all."""
    if len(readings) == 1:
        return _share(weights, readings[0].stems, readings[0].prefixes)
    nothing = frozenset[str]()
    stems, prefixes = (
        nothing.union(*(one.stems for one in readings)),
        nothing.union(*(one.prefixes for one in readings)),
    )
    return _share(weights, stems, prefixes)


def _share(weights: Mapping[str, float], stems: Container[str], prefixes: Container[str]) -> float:
    total = held = 0.0
    for root, weight in weights.items():
        total += weight
        if root in stems:
            held += weight
        elif len(root) >= 6 and root[:5] in prefixes:
            held += weight * _PREFIX_CREDIT
    return held / total if total else 0.0
