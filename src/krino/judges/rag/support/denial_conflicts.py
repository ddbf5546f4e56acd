"""Finds what only one of a claim and its evidence denies, or for which the evidence has the opposite word."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from krino.judges.rag.reading.claims import clauses
from krino.judges.rag.reading.frames import told_from_far_end
from krino.judges.rag.reading.grammar import root_of, word_list
from krino.judges.rag.reading.scope import is_taken_out, read_scope, supposed
from krino.judges.rag.reading.values import stated
from krino.judges.rag.reading.words import opposed_poles, opposed_words, opposite_words, read_sentence
from krino.judges.rag.support.claim_and_evidence import ClaimAndEvidence, Conflict, is_english
from krino.judges.rag.support.closeness import is_close, light_roots
from krino.judges.rag.support.evidence import coverage
from krino.text.words import plain_words

_ALIKE = 0.5
"""Share of the deciding sentence that question and claim must repeat before a negation tells them apart."""
_TWICE = 2


def negation_conflict(pair: ClaimAndEvidence) -> Conflict | None:
    """A word that one side denies and the other states, where no other evidence agrees with the claim."""
    best = pair.found[0]
    if len((pair.claimed.stems | pair.asked.stems) & best.stems) < _ALIKE * len(best.stems):
        return None
    for root in _opposed(pair):
        denied = root in pair.claimed.negated
        if all((root in reading.negated) != denied for reading in pair.found if root in reading.stems):
            return Conflict(
                f"only one of the two denies '{pair.claimed.surface[root]}'", plain=is_close(pair, best, "denied")
            )
    return None


def _opposed(pair: ClaimAndEvidence) -> Iterator[str]:
    """The words that one side denies, in the clause that is about the claim; none of what an exception is made for."""
    if is_taken_out(pair.claim, pair.evidence[0], pair.language):
        return
    best = pair.found[0]
    halves = clauses(pair.evidence[0]) if is_english(pair) else ()
    if len(halves) > 1:
        best = max(
            (read_sentence(half, pair.language) for half in halves), key=lambda half: coverage(pair.weights, (half,))
        )
    twice = abs(pair.claimed.denials - best.denials) == _TWICE
    if twice and "without" in plain_words(pair.evidence[0]) + plain_words(pair.claim):
        return  # "not without a ticket" and "with a ticket"
    yield from (root for root in opposed_words(pair.claimed, pair.found[0]) if root in best.stems)


def opposite_conflict(pair: ClaimAndEvidence, topical: float) -> Conflict | None:
    """The rest matches closely, and the sentence has the opposite of a word in its place."""
    best = pair.found[0]
    words = opposite_words(pair.claimed, best)
    if words is None or any(words[0] in reading.poles for reading in pair.found):
        return None
    if is_english(pair) and (_are_hours(words, pair) or told_from_far_end(pair.claim, pair.evidence[0])):
        return None
    if words[0] in _leaning() and _behind(words[0], pair.claim) != _behind(words[1], pair.evidence[0]):
        return None  # "from there" and "into sleep mode" speak of different things
    if words[0] in plain_words(supposed(pair.claim, pair.language)) and _states(pair.evidence[0], pair.language):
        return None
    turned = {root_of(word, pair.language) for word in (words[0], *opposed_poles(pair.claimed, best))} | light_roots()
    rest = {root: weight for root, weight in pair.weights.items() if root not in turned}
    if not rest or coverage(rest, pair.found[:1]) < topical:
        return None
    return Conflict(f"it says '{words[0]}', the passage '{words[1]}'", plain=True)


def _states(text: str, language: str | None) -> bool:
    """Whether it sets no condition."""
    return not read_scope(text, language).condition


def _are_hours(words: tuple[str, str], pair: ClaimAndEvidence) -> bool:
    """ "Closes at 17:00" is no opposite of "open until 17:00": both end at a time that the sentence has."""
    times = [value for value in pair.claimed.values if value.kind == "time"]
    return word_list("words", "hours").issuperset(words) and any(stated(time, pair.found[0].offered) for time in times)


@cache
def _leaning() -> frozenset[str]:
    """Words that say something only of the word behind them."""
    return word_list("prepositions") | word_list("adverbs", "quantifiers")


def _behind(leaning: str, text: str) -> str | None:
    """The word that such a word is put before, as its root."""
    words = [word for word in plain_words(text) if word not in word_list("determiners")]
    place = words.index(leaning) + 1 if leaning in words else len(words)
    return root_of(words[place]) if place < len(words) else None
