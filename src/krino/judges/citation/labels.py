"""The labels of one case: the candidate that the snippet points to, and six answers about the reasoning."""

from __future__ import annotations

import re
from functools import lru_cache

from pydantic import BaseModel, ConfigDict

from krino.judges.citation.belgium.topics import Strength
from krino.judges.citation.facts import CitationFacts, shown_text
from krino.text.language import READ_LANGUAGES
from krino.text.quoting import TOO_LITTLE, find_whole, is_whole, says_too_little
from krino.text.words import stop_words

_WORD = re.compile(r"\w+")


class _Strict(BaseModel):
    """No field may be missing and none added: what a reply does not say is never guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# A model writes the fields in this order: the reason comes before the label, so that the label follows from it.


class Subject(_Strict):
    candidate: int | None
    quote: str | None
    strength: Strength


class YesNo(_Strict):
    why: str
    yes: bool


class Reasoning(_Strict):
    court_first: YesNo
    languages_as_one: YesNo
    number_compared: YesNo
    missing_told_apart: YesNo
    context_cited: YesNo
    others_rejected: YesNo


class CitationLabels(_Strict):
    """All labels of a case; candidates count from 1, as they are shown."""

    subject: Subject
    reasoning: Reasoning


def check_labels(facts: CitationFacts, labels: CitationLabels) -> list[str]:
    """Returns the problems of the labels, checked against the case; empty if there are none."""
    subject = labels.subject
    if subject.candidate is None:
        problems = []
        if subject.strength != "none":
            problems.append(f"subject.strength is {subject.strength} without a candidate: name one, or say none")
        if subject.quote:
            problems.append("subject.quote is given without a candidate: name the candidate it comes from, or null")
        return problems
    if not 1 <= subject.candidate <= len(facts.shown):
        allowed = f"1 to {len(facts.shown)}, or null" if facts.shown else "null: no candidate is shown"
        return [f"subject.candidate is {subject.candidate}: it must be {allowed}"]
    problems = []
    if subject.strength == "none":
        problems.append("subject.strength is none although a candidate is named: set candidate to null, or a strength")
    if not subject.quote or not subject.quote.strip():
        problems.append("subject.quote is missing: copy the words of the candidate's text that show its subject")
    elif problem := _check_quote(subject.quote, shown_text(facts.shown[subject.candidate - 1])):
        problems.append(f"subject.quote {problem.format(subject.candidate)}")
    return problems


def _check_quote(quote: str, text: str) -> str | None:
    """Returns what is wrong with a quote (`{}` is the place of the candidate's number), or None."""
    wanted, given = _normalise(quote), _normalise(text)
    start = find_whole(wanted, given)
    if start < 0:
        return "does not occur in candidate {}: copy it letter by letter"
    if says_too_little(wanted, given) or _has_only_function_words(wanted):
        return TOO_LITTLE
    return None if is_whole(given, start, start + len(wanted)) else "cuts a word or number of candidate {} in two"


def _has_only_function_words(quote: str) -> bool:
    """Is it a quotation like "de la", which nearly every text contains?"""
    words = _WORD.findall(quote)
    return bool(words) and any(all(word in stop_words(code) for word in words) for code in READ_LANGUAGES)


@lru_cache(maxsize=4_096)
def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())
