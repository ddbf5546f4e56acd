"""What the answer covers of the question, and which sentences of the passages help: by asking what a text answers.

The entailment model also reads questions: it tells whether a text answers one wholly, in part or not at all. Words
choose which texts it is asked about, and of a sentence they are weighed too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from krino.judges.rag.embedded.evidence import Index, coverage
from krino.judges.rag.embedded.roles import Roles
from krino.judges.rag.embedded.support import Draft
from krino.judges.rag.facts import PassageSentence, RagFacts
from krino.judges.rag.labels import Directness
from krino.judges.rag.reading.question import QuestionPart, question_parts
from krino.judges.rag.reading.words import read_sentence
from krino.judges.rag.tables import table
from krino.judges.rag.values.value import Value

if TYPE_CHECKING:
    from krino.models.entailment import Answered

_LONG = 180
"""Words of an answer up to which all of it is read; of a longer one, the sentences that speak most of the question."""
_LEAST = 0.01
"""Probabilities count up to so near 0 or 1."""
_MEASURES = frozenset({"money", "mass", "area", "speed", "length", "duration", "volume", "data", "power"})

Heard = Mapping[tuple[str, str], "Answered"]
"""What the model says of a text and a question."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One case while it is labelled."""

    facts: RagFacts
    index: Index
    roles: Roles
    drafts: tuple[Draft, ...]

    @property
    def parts(self) -> tuple[QuestionPart, ...]:
        return question_parts(self.facts.case.question)


def asked_of(desk: Desk) -> Iterator[tuple[str, str]]:
    """The texts that are put before the model, each with the question that it may answer."""
    questions = [part.asked for part in desk.parts]
    for question in questions:
        yield from ((item.sentence.text, question) for item in desk.index.speakers)
    if len(questions) > 1:
        questions.append(desk.facts.case.question)
    yield from ((said_of(desk), question) for question in questions)
    if desk.roles.refusals:
        yield from ((text, part.asked) for text in (rest_of(desk), together_of(desk)) if text for part in desk.parts)


def asked_further(desk: Desk, heard: Heard) -> Iterator[tuple[str, str]]:
    """The nearest sentences as one text, where a part of the question is answered by none of them alone."""
    if len(desk.index.sentences) > 1:
        yield from ((together_of(desk), part.asked) for part in desk.parts if _alone(desk, part, heard) is None)


def asked_of_claims(desk: Desk, sentences: Collection[int]) -> Iterator[tuple[str, str]]:
    """Claims that may be critical: whether they answer the question."""
    for draft in desk.drafts:
        if draft.sentence in sentences:
            yield from ((draft.hypothesis, part.asked) for part in desk.parts)


def said_of(desk: Desk) -> str:
    """The answer, or what of a long one speaks most of the question."""
    facts = desk.facts
    if len(facts.answer.split()) <= _LONG:
        return facts.answer
    return _nearest_of(desk, range(1, len(facts.sentences) + 1))


def rest_of(desk: Desk) -> str:
    """What the answer says beside declining; empty where it claims nothing else."""
    numbers = sorted(desk.roles.claims - desk.roles.refusals)
    return _nearest_of(desk, numbers) if numbers else ""


def _nearest_of(desk: Desk, numbers: Iterable[int]) -> str:
    facts, weights = desk.facts, desk.index.question_weights
    shares = {number: coverage(weights, (facts.readings[number - 1],)) for number in numbers}
    chosen: dict[int, str] = {}
    room = _LONG
    for number in sorted(shares, key=lambda number: (-shares[number], number)):
        text = facts.sentences[number - 1].text
        if (room := room - len(text.split())) < 0 and chosen:
            break
        chosen[number] = text
    return " ".join(chosen[number] for number in sorted(chosen))


def together_of(desk: Desk) -> str:
    return " ".join(item.sentence.text for item in desk.index.nearest)


def answers_part(heard: Heard, text: str, question: str, limit: str) -> bool:
    found = heard[text, question]
    return found.whole + found.part / 2 >= _limit(limit)


# --- the passages ----------------------------------------------------------------------------------


def useful_sentences(desk: Desk, heard: Heard) -> dict[int, list[int]]:
    """By passage, the numbers of the sentences that answer the question or a part of it, whatever the answer says.

    Where sentences answer only when read together, all of those do. A sentence that the model was not asked about is
    useful by a large share of the question's words.
    """
    asked = {id(item): _bears_on(desk, item, heard) for item in desk.index.speakers}
    only_together = any(answers_part(heard, *pair, "held") for pair in asked_further(desk, heard))
    together = desk.index.nearest if only_together else ()
    return {item.number: _useful_in(desk, item.number, asked, together) for item in desk.facts.passages}


def _useful_in(desk: Desk, number: int, asked: Mapping[int, bool], together: Sequence[PassageSentence]) -> list[int]:
    sentences, share = desk.index.sentences_of(number), desk.index.asked_share
    useful = {item.number for item in sentences if asked.get(id(item), share(item) >= _limit("useful"))}
    useful = useful or {item.number for item in together if item.passage == number}
    if useful:
        useful |= {item.number for item in sentences if share(item) >= _limit("useful_beside")}
    if useful == {0}:  # the title alone speaks of it: what stands below is about it too
        useful = {item.number for item in sentences}
    return sorted(useful - {0})


def _bears_on(desk: Desk, item: PassageSentence, heard: Heard) -> bool:
    """It answers a part of the question, or a part of a part: that may be one of two things that are asked for."""
    return any(_bearing(desk, item, part, heard, in_part=1.0) >= 0 for part in desk.parts)


def _bearing(desk: Desk, item: PassageSentence, part: QuestionPart, heard: Heard, *, in_part: float) -> float:
    """Log odds that a sentence answers; `in_part` is what an answer in part counts."""
    found, weights = heard[item.sentence.text, part.asked], table("local")["bearing"]
    balance: float = weights["start"]
    for name, value in traits(desk, item, part, found.whole + in_part * found.part).items():
        balance += weights[name] * value
    return balance


def traits(desk: Desk, item: PassageSentence, part: QuestionPart, answers: float) -> dict[str, float]:
    """What is weighed, by the names in `[bearing]`; `answers` is how likely it answers by the model."""
    share, nearest = desk.index.asked_share(item), desk.index.asked_share(desk.index.speakers[0])
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


def _fits(value: Value, part: QuestionPart) -> bool:
    """Whether a value is of the kind that is asked for: a date, time or span for "when", a quantity for "how many"."""
    if part.kind == "date":
        return value.kind != "number" or value.unit == "duration"
    if value.kind != "number":
        return False
    measure = part.measure
    return measure is None or value.unit not in _MEASURES or value.unit == measure


def held_in(desk: Desk, part: QuestionPart, heard: Heard) -> int | None:
    """The passage that holds what a part asks for: in one sentence, or in some that are read together."""
    alone = _alone(desk, part, heard)
    if alone is not None or len(desk.index.sentences) < 2:
        return alone
    together = answers_part(heard, together_of(desk), part.asked, "held")
    return desk.index.nearest[0].passage if together else None


def holds_declined(desk: Desk, part: QuestionPart, heard: Heard) -> bool:
    """Whether the passages answer a part that the answer declines, so that declining it is wrong.

    Such a label calls an answer wrong, so the nearest sentences must answer when read together.
    """
    pair = together_of(desk), part.asked
    return pair in heard and heard[pair].whole >= _limit("declined")


def _alone(desk: Desk, part: QuestionPart, heard: Heard) -> int | None:
    """The passage of the sentence that answers the part best, if any does."""
    balances = [_bearing(desk, item, part, heard, in_part=0.5) for item in desk.index.speakers]
    best = max(range(len(balances)), key=lambda place: balances[place], default=None)
    return desk.index.speakers[best].passage if best is not None and balances[best] >= 0 else None


# --- the answer ------------------------------------------------------------------------------------


def answering_sentence(desk: Desk, part: QuestionPart, heard: Heard) -> int | None:
    """The answer sentence that says most of the part, where the answer covers it; None where it goes unanswered."""
    facts, said = desk.facts, said_of(desk)
    whole = (said, facts.case.question)
    answered = whole in heard and heard[whole].whole >= _limit("answered")
    if not (answered or answers_part(heard, said, part.asked, "answered")):
        return None
    weights = desk.index.weigh(read_sentence(part.matter, facts.matter_language))
    numbers = sorted(desk.roles.claims - desk.roles.refusals) or range(1, len(facts.sentences) + 1)
    return max(numbers, key=lambda number: coverage(weights, (facts.readings[number - 1],)))


def directness(desk: Desk, answering: Collection[int], useful: Mapping[int, Sequence[int]]) -> Directness:
    """Full when what it states first is on topic; partly when only something later is.

    `answering`: the sentences that answer a part of the question. An answer may also begin with what rests on a passage
    that has something useful in it: a reason, a step or a condition need not repeat the question's words.
    """
    if not answering:
        return "no"
    if not desk.drafts or not desk.index.question_weights:
        return "full"
    first = desk.drafts[0]
    rests = first.best is not None and bool(useful.get(first.best.passage))
    if rests or min(answering) <= first.sentence:
        return "full"
    share = coverage(desk.index.question_weights, (desk.facts.readings[first.sentence - 1],))
    return "full" if share >= _limit("on_topic") else "partly"


def _limit(name: str) -> float:
    limit: float = table("local")["relevance"][name]
    return limit
