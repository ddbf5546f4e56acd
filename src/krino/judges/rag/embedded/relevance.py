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

ModelAnswers = Mapping[tuple[str, str], "Answered"]
"""What the model says about each pair of text and question."""


@dataclass(frozen=True, slots=True)
class CaseInProgress:
    """One case while it is labelled."""

    facts: RagFacts
    index: Index
    roles: Roles
    drafts: tuple[Draft, ...]

    @property
    def parts(self) -> tuple[QuestionPart, ...]:
        return question_parts(self.facts.case.question)


def question_pairs(current: CaseInProgress) -> Iterator[tuple[str, str]]:
    """Yields the pairs of text and question that the model is asked about."""
    questions = [part.asked for part in current.parts]
    for question in questions:
        yield from ((item.sentence.text, question) for item in current.index.speakers)
    if len(questions) > 1:
        questions.append(current.facts.case.question)
    yield from ((answer_excerpt(current), question) for question in questions)
    if current.roles.refusals:
        yield from (
            (text, part.asked)
            for text in (non_refusal_text(current), joined_text(current))
            if text
            for part in current.parts
        )


def joined_pairs(current: CaseInProgress, model_answers: ModelAnswers) -> Iterator[tuple[str, str]]:
    """Yields the nearest sentences as one text, for parts of the question that none of them answers alone."""
    if len(current.index.sentences) > 1:
        yield from (
            (joined_text(current), part.asked) for part in current.parts if _alone(current, part, model_answers) is None
        )


def claim_pairs(current: CaseInProgress, sentences: Collection[int]) -> Iterator[tuple[str, str]]:
    """Yields claims that may be critical with the question, since a claim that answers it is."""
    for draft in current.drafts:
        if draft.sentence in sentences:
            yield from ((draft.hypothesis, part.asked) for part in current.parts)


def answer_excerpt(current: CaseInProgress) -> str:
    """Returns the answer, or the sentences of a long one that share most with the question."""
    facts = current.facts
    if len(facts.answer.split()) <= _LONG:
        return facts.answer
    return _choose_nearest(current, range(1, len(facts.sentences) + 1))


def non_refusal_text(current: CaseInProgress) -> str:
    """Returns what the answer claims apart from its refusal; empty if it claims nothing else."""
    numbers = sorted(current.roles.claims - current.roles.refusals)
    return _choose_nearest(current, numbers) if numbers else ""


def _choose_nearest(current: CaseInProgress, numbers: Iterable[int]) -> str:
    facts, weights = current.facts, current.index.question_weights
    shares = {number: coverage(weights, (facts.readings[number - 1],)) for number in numbers}
    chosen: dict[int, str] = {}
    room = _LONG
    for number in sorted(shares, key=lambda number: (-shares[number], number)):
        text = facts.sentences[number - 1].text
        if (room := room - len(text.split())) < 0 and chosen:
            break
        chosen[number] = text
    return " ".join(chosen[number] for number in sorted(chosen))


def joined_text(current: CaseInProgress) -> str:
    return " ".join(item.sentence.text for item in current.index.nearest)


def answers_part(model_answers: ModelAnswers, text: str, question: str, limit: str) -> bool:
    found = model_answers[text, question]
    return found.whole + found.part / 2 >= _limit(limit)


# --- the passages ----------------------------------------------------------------------------------


def useful_sentences(current: CaseInProgress, model_answers: ModelAnswers) -> dict[int, list[int]]:
    """By passage, the numbers of the sentences that answer the question or a part of it, whatever the answer says.

    Where sentences answer only when read together, all of those do. A sentence that the model was not asked about is
    useful by a large share of the question's words.
    """
    asked = {id(item): _bears_on(current, item, model_answers) for item in current.index.speakers}
    only_together = any(answers_part(model_answers, *pair, "held") for pair in joined_pairs(current, model_answers))
    together = current.index.nearest if only_together else ()
    return {item.number: _find_useful(current, item.number, asked, together) for item in current.facts.passages}


def _find_useful(
    current: CaseInProgress, number: int, asked: Mapping[int, bool], together: Sequence[PassageSentence]
) -> list[int]:
    sentences, share = current.index.sentences_of(number), current.index.asked_share
    useful = {item.number for item in sentences if asked.get(id(item), share(item) >= _limit("useful"))}
    useful = useful or {item.number for item in together if item.passage == number}
    if useful:
        useful |= {item.number for item in sentences if share(item) >= _limit("useful_beside")}
    if useful == {0}:  # the title alone speaks of it: what stands below is about it too
        useful = {item.number for item in sentences}
    return sorted(useful - {0})


def _bears_on(current: CaseInProgress, item: PassageSentence, model_answers: ModelAnswers) -> bool:
    """It answers a part of the question, or a part of a part: that may be one of two things that are asked for."""
    return any(_bearing(current, item, part, model_answers, in_part=1.0) >= 0 for part in current.parts)


def _bearing(
    current: CaseInProgress, item: PassageSentence, part: QuestionPart, model_answers: ModelAnswers, *, in_part: float
) -> float:
    """Log odds that a sentence answers; `in_part` is what an answer in part counts."""
    found, weights = model_answers[item.sentence.text, part.asked], table("local")["bearing"]
    balance: float = weights["start"]
    for name, value in traits(current, item, part, found.whole + in_part * found.part).items():
        balance += weights[name] * value
    return balance


def traits(current: CaseInProgress, item: PassageSentence, part: QuestionPart, answers: float) -> dict[str, float]:
    """What is weighed, by the names in `[bearing]`; `answers` is how likely it answers by the model."""
    share, nearest = current.index.asked_share(item), current.index.asked_share(current.index.speakers[0])
    valued = part.kind in ("date", "number")
    fits = valued and any(_fits(value, part) for value in item.reading.values)
    return {
        "answers": log_odds(answers),
        "words": share,
        "nearest": share / nearest if nearest else 0.0,
        "kind": float(fits),
        "no_kind": float(valued and not fits),
    }


def log_odds(share: float) -> float:
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


def held_in(current: CaseInProgress, part: QuestionPart, model_answers: ModelAnswers) -> int | None:
    """The passage that holds what a part asks for: in one sentence, or in some that are read together."""
    alone = _alone(current, part, model_answers)
    if alone is not None or len(current.index.sentences) < 2:
        return alone
    together = answers_part(model_answers, joined_text(current), part.asked, "held")
    return current.index.nearest[0].passage if together else None


def holds_declined(current: CaseInProgress, part: QuestionPart, model_answers: ModelAnswers) -> bool:
    """Whether the passages answer a part that the answer declines, so that declining it is wrong.

    Such a label calls an answer wrong, so the nearest sentences must answer when read together.
    """
    pair = joined_text(current), part.asked
    return pair in model_answers and model_answers[pair].whole >= _limit("declined")


def _alone(current: CaseInProgress, part: QuestionPart, model_answers: ModelAnswers) -> int | None:
    """The passage of the sentence that answers the part best, if any does."""
    balances = [_bearing(current, item, part, model_answers, in_part=0.5) for item in current.index.speakers]
    best = max(range(len(balances)), key=lambda place: balances[place], default=None)
    return current.index.speakers[best].passage if best is not None and balances[best] >= 0 else None


# --- the answer ------------------------------------------------------------------------------------


def answering_sentence(current: CaseInProgress, part: QuestionPart, model_answers: ModelAnswers) -> int | None:
    """The answer sentence that says most of the part, where the answer covers it; None where it goes unanswered."""
    facts, said = current.facts, answer_excerpt(current)
    whole = (said, facts.case.question)
    answered = whole in model_answers and model_answers[whole].whole >= _limit("answered")
    if not (answered or answers_part(model_answers, said, part.asked, "answered")):
        return None
    weights = current.index.weigh(read_sentence(part.matter, facts.matter_language))
    numbers = sorted(current.roles.claims - current.roles.refusals) or range(1, len(facts.sentences) + 1)
    return max(numbers, key=lambda number: coverage(weights, (facts.readings[number - 1],)))


def directness(current: CaseInProgress, answering: Collection[int], useful: Mapping[int, Sequence[int]]) -> Directness:
    """Full when what it states first is on topic; partly when only something later is.

    `answering`: the sentences that answer a part of the question. An answer may also begin with what rests on a passage
    that has something useful in it: a reason, a step or a condition need not repeat the question's words.
    """
    if not answering:
        return "no"
    if not current.drafts or not current.index.question_weights:
        return "full"
    first = current.drafts[0]
    rests = first.best is not None and bool(useful.get(first.best.passage))
    if rests or min(answering) <= first.sentence:
        return "full"
    share = coverage(current.index.question_weights, (current.facts.readings[first.sentence - 1],))
    return "full" if share >= _limit("on_topic") else "partly"


def _limit(name: str) -> float:
    limit: float = table("local")["relevance"][name]
    return limit
