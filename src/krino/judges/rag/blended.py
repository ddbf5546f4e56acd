"""Decides support by words and meaning together: a logistic rule over shares of words and the nearest sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from krino.judges.rag.evidence import coverage
from krino.judges.rag.labels import ClaimLabel
from krino.judges.rag.meaning import TextPair, measure, reads
from krino.judges.rag.support import LexicalSupport, Pair, Support, absent_values, find_conflict
from krino.judges.rag.tables import table


class BlendedSupport:
    """Conflicts are found to the letter, as in word matching; for the rest words and meaning are weighed.

    The sentence model is asked only where its answer could tip the balance. It reads English: claims in other
    languages go to word matching alone.
    """

    def __init__(self) -> None:
        self._by_words = LexicalSupport()

    def score(self, pairs: Sequence[Pair]) -> list[Support]:
        near = measure(texts for pair in pairs if _in_doubt(pair) for texts in _texts(pair))
        return [self._one(pair, near) for pair in pairs]

    def _one(self, pair: Pair, near: Mapping[TextPair, float]) -> Support:
        if not pair.found or not reads(pair.language):
            return self._by_words.score([pair])[0]
        share = coverage(pair.weights, pair.found)
        words = f"{share:.0%} of its weighted words found"
        if conflict := find_conflict(pair, share):
            return Support("contradicted", share, conflict)
        if pair.strangers:
            return Support("unsupported", share, f"no passage has {', '.join(pair.strangers[:5])}; {words}")
        least = _weigh_words(pair)
        cosine = max((near[texts] for texts in _texts(pair) if texts in near), default=None)
        # Where the model was not asked, words decide whatever it would say.
        balance = least if cosine is None else least + _weight("nearness") * cosine
        label: ClaimLabel = "supported" if balance >= 0 else "unsupported"
        missing = [value.text for value in absent_values(pair)]
        why = words if cosine is None else f"{words}, nearness in meaning {cosine:.2f}"
        if missing and label == "unsupported":
            why = f"no evidence for {', '.join(missing[:5])}; {why}"
        return Support(label, 1 / (1 + math.exp(-balance)), why)


def _texts(pair: Pair) -> list[TextPair]:
    return [(pair.claim, sentence) for sentence in pair.evidence]


def _in_doubt(pair: Pair) -> bool:
    """Whether any cosine from 0 to 1 could change the label that words give."""
    if not pair.found or pair.strangers or not reads(pair.language):
        return False
    least = _weigh_words(pair)
    return least < 0 <= least + _weight("nearness")


def _weigh_words(pair: Pair) -> float:
    balance = _weight("start")
    balance += _weight("evidence_words") * coverage(pair.weights, pair.found)
    balance += _weight("passage_words") * pair.anywhere
    return balance + (_weight("absent_value") if absent_values(pair) else 0.0)


def _weight(name: str) -> float:
    weight: float = table("local")["blend"][name]
    return weight
