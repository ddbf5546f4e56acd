"""What the question asks, what the answer covers of it, and which passages help, by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Directness
from krino.judges.rag.reading.question import QuestionPart
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.support.draft_claims import Desk, Draft
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.support.nearness import TextPair, reads
from krino.judges.rag.tables import table

_TERSE = 4
"""Content words up to which an answer to "who" or "when" may be the bare name or date."""
_SENTENCES_LOOKED_AT = 2
"""Sentences of a passage, those with most words of the question, that speak for it."""


def open_pairs(desk: Desk, parts: tuple[QuestionPart, ...]) -> Iterator[TextPair]:
    """The texts whose nearness decides where words alone do not."""
    facts = desk.facts
    if not reads(facts.language):
        return
    for item in facts.passages:
        if _words_held(desk, item.number) < _limit("useful"):
            yield from _speakers(desk, item.number)
    for part in parts:
        if _answered_by_words(desk, part) is None:
            yield part.text, facts.said


def is_useful(desk: Desk, number: int, rests_on_it: bool, near: Mapping[TextPair, float]) -> bool:
    share = _words_held(desk, number)
    if share >= _limit("useful") or (rests_on_it and share >= _limit("useful_as_evidence")):
        return True
    return any(near.get(pair, 0.0) >= _limit("useful_by_meaning") for pair in _speakers(desk, number))


def _words_held(desk: Desk, number: int) -> float:
    return coverage(desk.index.question_weights, desk.index.by_passage.get(number, ()))


def _speakers(desk: Desk, number: int) -> list[TextPair]:
    """The question beside the sentences of a passage that are nearest to it in words."""
    weights = desk.index.question_weights
    sentences = [item for item in desk.index.sentences if item.passage == number]
    sentences.sort(key=lambda item: -coverage(weights, (item.reading,)))
    return [(desk.facts.case.question, item.sentence.text) for item in sentences[:_SENTENCES_LOOKED_AT]]


def is_held(desk: Desk, part: QuestionPart) -> bool:
    """Whether one place of the passages has the words of the part, and a value of the kind it asks for."""
    weights = desk.index.weigh(_read_part(desk.facts, part))
    sentences = desk.index.sentences
    for place, item in enumerate(sentences):
        window = [item.reading]
        if place + 1 < len(sentences) and sentences[place + 1].passage == item.passage:
            window.append(sentences[place + 1].reading)
        if coverage(weights, window) >= _limit("held") and any(_has_kind(reading, part) for reading in window):
            return True
    return False


def _has_kind(reading: Reading, part: QuestionPart) -> bool:
    return part.kind not in ("date", "number") or bool(reading.values)


def is_answered(desk: Desk, part: QuestionPart, near: Mapping[TextPair, float]) -> bool:
    """Whether the answer, read with the sentences it rests on, is about the part and of the kind it asks for."""
    by_words = _answered_by_words(desk, part)
    if by_words is not None:
        return by_words
    return near.get((part.text, desk.facts.said), 0.0) >= _limit("answered_by_meaning")


def _answered_by_words(desk: Desk, part: QuestionPart) -> bool | None:
    """None where words leave it open."""
    facts = desk.facts
    said = [reading for number, reading in enumerate(facts.readings, 1) if number not in facts.instructions]
    if not any(_has_kind(reading, part) for reading in said):
        return False
    weights = desk.index.weigh(_read_part(facts, part))
    drafts = _answering(desk)
    if not weights or any(draft.polarity is not None for draft in drafts):
        return True
    readings = [*said, *(reading for draft in drafts for reading in draft.pair.found[:1])]
    share = coverage(weights, readings)
    if part.kind is not None and (share > 0 or sum(len(item.content) for item in readings) <= _TERSE):
        return True
    return True if share >= _limit("answered") else None


def _answering(desk: Desk) -> list[Draft]:
    """The claims of sentences that speak to the one who asked, not to whoever judges the answer."""
    return [draft for draft in desk.drafts if draft.sentence not in desk.facts.instructions]


def directness(desk: Desk, any_answered: bool) -> Directness:
    """Full when the first sentence that states anything is on topic, partly when a later one is."""
    if not any_answered:
        return "no"
    weights = desk.index.question_weights
    drafts = _answering(desk)
    if not drafts or not weights:
        return "full"
    first = drafts[0]
    readings = (desk.facts.readings[first.sentence - 1], *first.pair.found[:1])
    return "full" if first.polarity is not None or coverage(weights, readings) >= _limit("on_topic") else "partly"


def _read_part(facts: RagFacts, part: QuestionPart) -> Reading:
    return read_sentence(part.text, facts.question_language or facts.language)


def _limit(name: str) -> float:
    limit: float = table("local")["thresholds"][name]
    return limit
