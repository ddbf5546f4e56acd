"""What an answer declines: wholly or in part, for which reason, and whether rightly."""

from __future__ import annotations

from functools import cache
from operator import mul
from typing import NamedTuple

from krino.judges.rag.embedded.relevance import (
    CaseInProgress,
    ModelAnswers,
    held_in,
    holds_declined,
    log_odds,
    non_refusal_text,
)
from krino.judges.rag.embedded.roles import CLAIM, REFUSAL
from krino.judges.rag.labels import RefusalCategory, RefusalLabel
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import plain_words

_LONGEST = 1_000
_STATES = 0.5
"""Probability of a claim, a hedge or a refusal from which on a sentence is the first that counts."""
_SURROUNDING = 0.3
"""Probability from which a sentence about the passages, or a question, belongs to what is declined."""


class Declined(NamedTuple):
    """Whether an answer declines all that is asked, and the label; no label where it declines nothing."""

    whole: bool
    label: RefusalLabel | None


def read_refusal(current: CaseInProgress, model_answers: ModelAnswers) -> Declined:
    """A whole refusal is one by how the answer opens, how much it states, and whether the rest of it answers."""
    if not current.roles.refusals:
        return Declined(False, None)
    whole = _declines_all(current, model_answers)
    held = current.facts.has_context and all(
        holds_declined(current, part, model_answers) if whole else held_in(current, part, model_answers) is not None
        for part in current.parts
    )
    text = _declining_text(current)
    words = frozenset(plain_words(text))
    named = _names_what_is_missing(current, words)
    category = _category(words, named, asks=text.rstrip().endswith("?"))
    label = RefusalLabel(
        why="the passages hold what the question asks" if held else _why_right(current, category),
        is_refusal=whole,
        reason_stated=category is not None or not words.isdisjoint(_cues("because")),
        category=category,
        validity_shown=category is not None and (named or category != "insufficient_context"),
        right_to_refuse=not held,
    )
    return Declined(whole, label)


def _why_right(current: CaseInProgress, category: RefusalCategory | None) -> str:
    if category is None:
        return "its wording gives no reason"
    return "the passages do not hold what the question asks" if current.facts.has_context else "nothing was retrieved"


def _declines_all(current: CaseInProgress, model_answers: ModelAnswers) -> bool:
    weights, found = table("local")["refusal"], signs(current, model_answers)
    if not non_refusal_text(current):
        return True
    if found["rest"] >= log_odds(weights["answered"]):
        return False
    balance: float = weights["start"] + sum(weights[name] * value for name, value in found.items())
    return balance >= 0


def signs(current: CaseInProgress, model_answers: ModelAnswers) -> dict[str, float]:
    """What is weighed of an answer with a refusal, by the names of the weights in `[refusal]`."""
    shares, rest = current.roles.shares, non_refusal_text(current)
    stating = [found[CLAIM] + found["hedge"] for found in shares]
    counted = current.roles.claims | current.roles.refusals
    first = next((place for place in range(len(shares)) if place + 1 in counted or stating[place] > _STATES), 0)
    words = [len(sentence.text.split()) for sentence in current.facts.sentences]
    answered = [model_answers[rest, part.asked] for part in current.parts] if rest else []
    return {
        "first": log_odds(shares[first][REFUSAL]),
        "claiming": sum(map(mul, stating, words)) / max(1, sum(words)),
        "rest": log_odds(max((found.whole + found.part / 2 for found in answered), default=0.0)),
    }


def _declining_text(current: CaseInProgress) -> str:
    """The sentences that decline, with what is said around them of the passages, and questions that are asked back."""
    around = ("about_passages", "question")
    return " ".join(
        straighten(sentence.text[:_LONGEST]).lower()
        for number, (sentence, shares) in enumerate(zip(current.facts.sentences, current.roles.shares, strict=True), 1)
        if number in current.roles.refusals or max(shares[role] for role in around) >= _SURROUNDING
    )


def _names_what_is_missing(current: CaseInProgress, words: frozenset[str]) -> bool:
    """Whether the refusal repeats what the question asks about; with nothing retrieved, that there is no context."""
    if not current.facts.has_context and not words.isdisjoint(_cues("sources")):
        return True
    asked = frozenset(current.index.question_weights)
    readings = [current.facts.readings[number - 1] for number in current.roles.refusals]
    return any(not asked.isdisjoint(reading.stems) for reading in readings)


def _category(words: frozenset[str], named: bool, *, asks: bool) -> RefusalCategory | None:
    lacking = not words.isdisjoint(_cues("sources"))
    if not words.isdisjoint(_cues("scope")):
        return "out_of_scope"
    if not words.isdisjoint(_cues("safety")) and not lacking:
        return "safety"
    if asks and not lacking:
        return "ambiguous"
    return "insufficient_context" if lacking or named else None


@cache
def _cues(name: str) -> frozenset[str]:
    return frozenset(table("words")["refusal"][name].split())
