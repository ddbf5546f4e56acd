"""Places an answer and its reference on the similarity scale by their words, values and negations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import sqrt

from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Similarity
from krino.judges.rag.sentences import split_sentences
from krino.judges.rag.tables import table
from krino.judges.rag.texts import canonical
from krino.judges.rag.words import Reading, opposed_words, read_sentence

_STEPS: tuple[Similarity, ...] = ("same", "close", "partial", "little")
_LONGEST = 20_000
_MOST_COMPARED = 40
"""Sentences of each side that are held against each other for a conflict."""
_LETTERS_SHARE = 0.3
_CONTAINED = 0.8
"""An answer that holds the whole reference and more is close to it, not the same."""


def place_on_scale(facts: RagFacts, reference: str) -> tuple[Similarity, str]:
    """A step and why. Words that the question already has say nothing, so they are set aside first."""
    expected = [read_sentence(item.text, facts.language) for item in split_sentences(reference[:_LONGEST])]
    ours, theirs = _stems(facts.readings), _stems(expected)
    asked = facts.question_reading.stems
    if ours - asked and theirs - asked:
        ours, theirs = ours - asked, theirs - asked
    shared = len(ours & theirs)
    precision, recall = shared / max(1, len(ours)), shared / max(1, len(theirs))
    words = 2 * precision * recall / (precision + recall) if shared else 0.0
    letters = _letter_share(facts.case.answer[:_LONGEST], reference[:_LONGEST])
    nearness = (1 - _LETTERS_SHARE) * words + _LETTERS_SHARE * letters
    if theirs and recall == 1.0:
        nearness = max(nearness, words, _CONTAINED)
    steps = table("local")["similarity_steps"]
    step: Similarity = next((name for name in _STEPS if nearness >= steps[name]), "none")
    why = f"{shared} of the reference's {len(theirs)} content words found, nearness {nearness:.2f}"
    if conflict := _conflict(facts.readings, expected, asked):
        step = step if step in ("little", "none") else "little"
        why = f"{why}; {conflict}"
    return step, why


def _stems(readings: Iterable[Reading]) -> frozenset[str]:
    return frozenset(root for reading in readings for root in reading.stems)


def _conflict(ours: Iterable[Reading], theirs: Iterable[Reading], asked: frozenset[str]) -> str | None:
    """A different value, or a word that only one of the two denies."""
    ours, theirs = tuple(ours)[:_MOST_COMPARED], tuple(theirs)[:_MOST_COMPARED]
    our_values = {value.key: value for reading in ours for value in reading.values}
    their_values = {value.key: value for reading in theirs for value in reading.values}
    missing = [value for key, value in their_values.items() if key not in our_values]
    instead = [value for key, value in our_values.items() if key not in their_values and key not in asked]
    for value in missing:
        for other in instead:
            if other.kind == value.kind:
                return f"the answer says {other.text}, the reference {value.text}"
    for reading in ours:
        for expected in theirs:
            if words := opposed_words(reading, expected):
                return f"only one of the two denies '{reading.surface[words[0]]}'"
    return None


def _letter_share(first: str, second: str) -> float:
    """Cosine of the counts of three-letter pieces: what is left when words are inflected or compounded."""
    ours, theirs = _pieces(first), _pieces(second)
    if not ours or not theirs:
        return 0.0
    shared = sum(count * theirs[piece] for piece, count in ours.items() if piece in theirs)
    return shared / sqrt(
        sum(count * count for count in ours.values()) * sum(count * count for count in theirs.values())
    )


def _pieces(text: str) -> Counter[str]:
    plain = f" {canonical(text)} "
    return Counter(plain[place : place + 3] for place in range(len(plain) - 2))
