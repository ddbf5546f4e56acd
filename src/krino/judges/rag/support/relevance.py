"""What the answer covers of the question, and which sentences of the passages help: by asking what a text answers.

The entailment model also reads questions: it tells whether a text answers one wholly, in part or not at all. Words
choose which texts are put before it, and of a sentence they are weighed too: how much of the question it has, and
whether it has a value of the kind that is asked for. What is told of another name than the one asked about answers
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING

from krino.judges.rag.facts import PassageSentence, RagFacts
from krino.judges.rag.labels import Directness
from krino.judges.rag.reading.question import QuestionPart, question_parts
from krino.judges.rag.reading.values import Value, stated
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.support.draft_claims import Desk, Draft
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.support.nearness import TextPair
from krino.judges.rag.support.other_things import all_of_another, is_of_another
from krino.judges.rag.tables import table

if TYPE_CHECKING:
    from krino.models.entailment import Answered

_LONG = 180
"""Words of an answer up to which all of it is read; of a longer one, the sentences that speak most of the question."""
_LEAST = 0.01
"""Probabilities count up to so near 0 or 1."""
_OF_ANOTHER = -9.0
"""Log odds that a sentence answers which tells of another thing than the one asked about."""
_FEWEST_PADDED = 4
_MEASURES = frozenset({"money", "mass", "area", "speed", "length", "duration", "volume", "data", "power"})
_WORD = re.compile(r"[^\W\d_]+")

Heard = Mapping[TextPair, "Answered"]


def asked_of(desk: Desk) -> Iterator[TextPair]:
    """The texts that are put before the model, each with the question that it may answer."""
    facts = desk.facts
    parts = question_parts(facts.case.question)
    for part in parts:
        yield from ((item.sentence.text, part.asked) for item in desk.index.speakers)
    if not declines(facts):
        asked = [part.asked for part in parts] + ([facts.case.question] if len(parts) > 1 else [])
        yield from ((_said(desk), question) for question in asked)
        yield from ((text, part.asked) for text in _background(facts) for part in parts)
    if facts.refusal is not None:
        yield from ((_together(desk), part.asked) for part in parts)


def asked_together(desk: Desk, heard: Heard) -> Iterator[TextPair]:
    """The nearest sentences as one text, where a part of the question is answered by none of them alone."""
    if len(desk.index.sentences) > 1:
        for part in question_parts(desk.facts.case.question):
            if _alone(desk, part, heard) is None and not all_of_another(desk, part, heard):
                yield _together(desk), part.asked


def _said(desk: Desk) -> str:
    """The answer, or what of a long one speaks most of the question."""
    facts = desk.facts
    if len(facts.said.split()) <= _LONG:
        return facts.said
    weights = desk.index.question_weights
    chosen: dict[int, str] = {}
    room = _LONG
    shares = {number: coverage(weights, (reading,)) for number, reading in enumerate(facts.readings, 1)}
    for number in sorted(shares.keys() - facts.instructions, key=lambda number: (-shares[number], number)):
        text = facts.sentences[number - 1].text
        if (room := room - len(text.split())) < 0 and chosen:
            break
        chosen[number] = text
    return " ".join(chosen[number] for number in sorted(chosen))


def _together(desk: Desk) -> str:
    return " ".join(item.sentence.text for item in desk.index.nearest)


def declines(facts: RagFacts) -> bool:
    return facts.refusal is not None and facts.refusal.whole


def declines_all(facts: RagFacts, heard: Heard) -> bool:
    """Whether an answer declines all that is asked: what follows its refusal answers no part of the question."""
    if declines(facts):
        return True
    parts = question_parts(facts.case.question)
    limit = "answered_after" if len(parts) == 1 else "answered_part_after"
    background = _background(facts)
    return bool(background) and not any(_answers(heard, background[0], part.asked, limit) for part in parts)


def holds_declined(desk: Desk, part: QuestionPart, heard: Heard) -> bool:
    """Whether the passages answer a part that the answer declines, so that declining it is wrong.

    Such a label calls an answer wrong, so the nearest sentences must answer when read together. Of 58 whole refusals
    in production-like logs that is right for 50; sentence by sentence it is right for about half.
    """
    return heard[_together(desk), part.asked].whole >= _limit("declined")


def _background(facts: RagFacts) -> list[str]:
    """The text around a refusal that opens an answer; none where the answer opens otherwise, or only declines."""
    refusal = facts.refusal
    if refusal is None or not refusal.opens or refusal.whole:
        return []
    left = [item.text for number, item in enumerate(facts.sentences, 1) if number not in refusal.sentences]
    return [" ".join(" ".join(left).split()[:_LONG])]


def _answers(heard: Heard, text: str, question: str, limit: str) -> bool:
    found = heard[text, question]
    return found.whole + found.part / 2 >= _limit(limit)


# --- the passages ----------------------------------------------------------------------------------


def useful_sentences(desk: Desk, heard: Heard) -> dict[int, list[int]]:
    """By passage, the numbers of the sentences that answer the question or a part of it, whatever the answer says.

    Where sentences answer only when read together, all of those do. A sentence that nobody asked about is useful by a
    large share of the question's words.
    """
    asked = {id(item): _bears_on(desk, item, heard) for item in desk.index.speakers}
    together = desk.index.nearest if _only_together(desk, heard) else ()
    return {item.number: _useful_in(desk, item.number, asked, together) for item in desk.facts.passages}


def _useful_in(desk: Desk, number: int, asked: Mapping[int, bool], together: Sequence[PassageSentence]) -> list[int]:
    sentences, share = desk.index.by_passage.get(number, []), desk.index.spoken_share
    useful = {item.number for item in sentences if asked.get(id(item), share(item) >= _limit("useful"))}
    useful = useful or {item.number for item in together if item.passage == number}
    if useful and _asks_for_all(desk.facts.case.question):
        useful |= {item.number for item in sentences if share(item) >= _limit("useful_together")}
    if useful == {0}:  # the title alone speaks of it: what stands below is about it too
        useful = {item.number for item in sentences}
    return sorted(useful - {0})


def _bears_on(desk: Desk, item: PassageSentence, heard: Heard) -> bool:
    """It answers a part of the question, or a part of a part: that may be one of two things that are asked for."""
    parts = question_parts(desk.facts.case.question)
    return any(
        _bearing(desk, item, part, found := heard[item.sentence.text, part.asked], found.part) >= 0 for part in parts
    )


def _bearing(desk: Desk, item: PassageSentence, part: QuestionPart, found: Answered, in_part: float) -> float:
    """Log odds that a sentence answers; `in_part` is what counts of an answer in part."""
    weights = table("local")["bearing"]
    if is_of_another(desk, item, part, found):
        return _OF_ANOTHER
    told = traits(desk, item, part, found.whole + in_part)
    balance: float = weights["start"] + sum(weights[name] * value for name, value in told.items())
    return balance


def traits(desk: Desk, item: PassageSentence, part: QuestionPart, answers: float) -> dict[str, float]:
    """What is weighed, by the names in `[bearing]`; `answers` is how likely it answers by the model."""
    share, nearest = desk.index.spoken_share(item), desk.index.spoken_share(desk.index.speakers[0])
    valued = part.kind in ("date", "number")
    fits = valued and any(_fits(value, part) for value in item.reading.values)
    return {
        "answers": _log_odds(answers),
        "words": share,
        "nearest": share / nearest if nearest else 0.0,
        "kind": float(fits),
        "no_kind": float(valued and not fits),
    }


def _log_odds(share: float) -> float:
    held = min(max(share, _LEAST), 1 - _LEAST)
    return log(held / (1 - held))


def _only_together(desk: Desk, heard: Heard) -> bool:
    """Whether some part is answered by the nearest sentences read as one text, and by none of them alone."""
    return any(_answers(heard, text, question, "held") for text, question in asked_together(desk, heard))


def _asks_for_all(question: str) -> bool:
    """ "Describe the ferry": whatever is told of it bears on the question."""
    return not frozenset(table("questions")["open"].split()).isdisjoint(_WORD.findall(question.lower()))


def held_in(desk: Desk, part: QuestionPart, heard: Heard) -> int | None:
    """The passage that holds what a part asks for: in one sentence, or in some that are read together."""
    alone = _alone(desk, part, heard)
    if alone is not None or len(desk.index.sentences) < 2 or all_of_another(desk, part, heard):
        return alone
    return desk.index.nearest[0].passage if _answers(heard, _together(desk), part.asked, "held") else None


def _alone(desk: Desk, part: QuestionPart, heard: Heard) -> int | None:
    """The passage of the sentence that answers the part best, if any does."""

    def balance(item: PassageSentence) -> float:
        found = heard[item.sentence.text, part.asked]
        return _bearing(desk, item, part, found, found.part / 2)

    best = max(desk.index.speakers, key=balance, default=None)
    return best.passage if best is not None and balance(best) >= 0 else None


def several_hold(desk: Desk, part: QuestionPart) -> bool:
    """Whether the passages have more than one value for what is asked, so that the question is ambiguous there."""
    weights = desk.index.weigh(_read_part(desk.facts, part))
    found = {
        value.keys
        for item in desk.index.sentences
        if coverage(weights, (item.reading,)) >= _limit("several")
        for value in item.reading.values
        if _fits(value, part)
    }
    return len(found) > 1


def several_named(desk: Desk, part: QuestionPart) -> bool:
    """Whether the answer itself names more than one such value of the passages, as who asks back does."""
    held = frozenset[str]().union(*(item.reading.offered for item in desk.index.sentences))
    told = (read_sentence(item.text, desk.facts.language) for item in desk.facts.sentences)
    named = {value.keys for reading in told for value in reading.values if _fits(value, part) and stated(value, held)}
    return len(named) > 1


def _fits(value: Value, part: QuestionPart) -> bool:
    """Whether a value is of the kind that is asked for: a date, time or span for "when", a quantity for "how many"."""
    if part.kind == "date":
        return value.kind != "number" or value.unit == "duration"
    return value.kind == "number" and not _measures_another(value, part)


def _measures_another(value: Value, part: QuestionPart) -> bool:
    """ "280 kilometres" to a question for a price; a number of things may answer anything."""
    measure = part.measure
    return measure is not None and value.unit in _MEASURES and value.unit != measure


# --- the answer ------------------------------------------------------------------------------------


def answering_sentence(desk: Desk, part: QuestionPart, heard: Heard) -> int | None:
    """The answer sentence that says most of the part, where the answer covers it; None where it goes unanswered."""
    facts = desk.facts
    said, question = _said(desk), facts.case.question
    whole = (said, question) in heard and heard[said, question].whole >= _limit("answered")
    answered = whole or _answers(heard, said, part.asked, "answered") or _tells_of_it(desk, part)
    if not answered or (heard[said, part.asked].whole < _limit("certain") and _tells_of_another(desk, part)):
        return None
    beside = facts.instructions | facts.no_claims
    numbers = [number for number in range(1, len(facts.sentences) + 1) if number not in beside]
    weights = desk.index.weigh(_read_part(facts, part))
    return max(numbers, key=lambda number: coverage(weights, (facts.readings[number - 1],)), default=None)


def _tells_of_it(desk: Desk, part: QuestionPart) -> bool:
    """ "Tell me about the ferry" is answered by whatever is told of it."""
    if not _asks_for_all(part.text):
        return False
    weights = desk.index.weigh(_read_part(desk.facts, part))
    told = [_with_evidence(desk.facts.readings[draft.sentence - 1], draft) for draft in _answering(desk)]
    return coverage(weights, [reading for readings in told for reading in readings]) >= _limit("useful")


def _tells_of_another(desk: Desk, part: QuestionPart) -> bool:
    """It says what is asked, but of another name, where the passages say it of the one that is asked about."""
    facts, asked = desk.facts, _read_part(desk.facts, part)
    said = [reading for number, reading in enumerate(facts.readings, 1) if number not in facts.instructions]
    others = frozenset[str]().union(*(reading.names for reading in said)) - asked.stems
    rests = [item.reading for draft in desk.drafts for item in draft.evidence.sentences[:1]]
    weights = desk.index.weigh(asked)
    frame = {root: weight for root, weight in weights.items() if root not in asked.names} or weights
    if not asked.names or not others or coverage(frame, said) < _limit("elsewhere"):
        return False
    if any(not asked.names.isdisjoint(reading.stems) for reading in (*said, *rests)):
        return False
    return any(
        asked.names <= item.reading.stems
        and others.isdisjoint(item.reading.stems)
        and coverage(frame, (item.reading,)) >= _limit("elsewhere")
        for item in desk.index.sentences
    )


def directness(desk: Desk, answering: Collection[int], useful: Mapping[int, Sequence[int]]) -> Directness:
    """Full when what it states first is on topic; partly when only something later is, or it is padded.

    `answering`: the sentences that answer a part of the question. Those are on topic, right or wrong. An answer may
    also begin with what rests on a passage that has something useful (`useful`) in it: a reason, a step or a condition
    need not repeat the question's words.
    """
    if not answering:
        return "no"
    drafts = _answering(desk)
    if not drafts or not desk.index.question_weights:
        return "full"
    parts = [desk.index.weigh(_read_part(desk.facts, part)) for part in question_parts(desk.facts.case.question)]
    asked = [*parts, desk.index.question_weights]
    on_topic = [draft.sentence in answering or _is_on_topic(desk, draft, asked) for draft in drafts]
    first = drafts[0]
    begins = on_topic[0] or _rests_on(first, useful) or min(answering) < first.sentence  # a bare "no" comes first
    return "full" if begins and not _is_padded(desk, on_topic) else "partly"


def _rests_on(draft: Draft, useful: Mapping[int, Sequence[int]]) -> bool:
    best = draft.evidence.best
    return best is not None and bool(useful.get(best.passage))


def _answering(desk: Desk) -> list[Draft]:
    """The claims of sentences that speak to the one who asked, not to whoever judges the answer."""
    return [draft for draft in desk.drafts if draft.sentence not in desk.facts.instructions]


def _is_on_topic(desk: Desk, draft: Draft, parts: Sequence[Mapping[str, float]]) -> bool:
    readings = _with_evidence(desk.facts.readings[draft.sentence - 1], draft)
    return draft.polarity is not None or any(coverage(part, readings) >= _limit("on_topic") for part in parts)


def _with_evidence(reading: Reading, draft: Draft) -> Iterable[Reading]:
    """A sentence and what it rests on, where that speaks of it at all: the nearest sentence need not."""
    if coverage(draft.pair.weights, draft.pair.found[:1]) < _limit("rests"):
        return (reading,)
    return (reading, draft.pair.found[0])


def _is_padded(desk: Desk, on_topic: Sequence[bool]) -> bool:
    """A question for one thing got its answer and, for the greater part, something else. Open ones invite length."""
    closed = all(part.kind is not None or part.wants_name for part in question_parts(desk.facts.case.question))
    beside = on_topic.count(False)
    return closed and len(on_topic) >= _FEWEST_PADDED and beside > _limit("padded") * len(on_topic)


def _read_part(facts: RagFacts, part: QuestionPart) -> Reading:
    return read_sentence(part.matter, facts.matter_language)


def _limit(name: str) -> float:
    limit: float = table("local")["thresholds"][name]
    return limit
