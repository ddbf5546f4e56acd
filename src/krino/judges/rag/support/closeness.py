"""How much of a claim the deciding sentence holds, some of its words set aside."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from krino.judges.rag.reading.amounts import share_roots
from krino.judges.rag.reading.grammar import root_of, word_list
from krino.judges.rag.reading.words import Reading
from krino.judges.rag.support.claim_and_evidence import ClaimAndEvidence
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.tables import table
from krino.text.words import plain_words


def matter_share(pair: ClaimAndEvidence) -> float:
    """How much of the claim the deciding sentence holds, words of how many aside: "lost many races", "never lost"."""
    rest = {root: weight for root, weight in pair.weights.items() if root not in share_roots()}
    return coverage(rest, pair.found[:1])


def is_close(pair: ClaimAndEvidence, reading: Reading, least: str = "back") -> bool:
    """Whether claim and sentence are, but for a word or two, about the same: each has most of the other's words."""
    limits = table("local")["decided"]
    known = pair.claimed.stems | pair.asked.stems
    claimed = [root for root in pair.claimed.content if root not in share_roots()]
    back = sum(root in known for root in reading.content)
    held = sum(root in reading.stems for root in claimed)
    return bool(held >= limits["close"] * len(claimed) and back >= limits[least] * len(reading.content))


def share_without(pair: ClaimAndEvidence, told: str, readings: Sequence[Reading] = ()) -> float:
    """How much of the claim, these words aside, the deciding sentence or other readings hold."""
    said = {root_of(word, pair.language) for word in plain_words(told)} | light_roots()
    rest = {root: weight for root, weight in pair.weights.items() if root not in said}
    return coverage(rest, readings or pair.found[:1])


@cache
def light_roots() -> frozenset[str]:
    """Words that change nothing in what a sentence is about."""
    return frozenset(map(root_of, word_list("words", "light")))


def topic_share(pair: ClaimAndEvidence) -> float:
    """How well the deciding sentence matches, values aside; a bare value is matched by the question instead."""
    keys = pair.claimed.value_keys
    weights = {root: weight for root, weight in pair.weights.items() if root not in keys}
    if not weights:
        weights = dict.fromkeys(pair.asked.content, 1.0)
    return coverage(weights, pair.found[:1])
