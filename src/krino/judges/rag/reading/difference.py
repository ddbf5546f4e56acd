"""Finds a value or an identifier in which an answer cannot agree with its reference."""

from __future__ import annotations

from collections.abc import Iterable

from krino.judges.rag.reading.names import find_names
from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.reading.words import read_sentence
from krino.judges.rag.values.finding import may_hold_values
from krino.judges.rag.values.value import Value, comparable, offered, stated
from krino.judges.rag.values.vocabulary import has_digit
from krino.text.words import word_set

_LONGEST = 20_000
_MOST_COMPARED = 40
"""Sentences of each side that are held against each other."""


def find_exact_difference(question: str, answer: str, reference: str, language: str | None) -> str | None:
    """Returns a value of the answer and the other one of the reference, in words; None where none differs.

    A value is a number, date, time or identifier. How often something happens ("daily", "each spring") is left out,
    since words for it vary.
    """
    if not (has_digit(answer) or has_digit(reference)) and not _may_both_hold_values(answer, reference):
        return None
    asked = read_sentence(question, language).stems
    if difference := _find_other_value(_values(answer, language), _values(reference, language), asked):
        return difference
    ours_named, theirs_named = _codes_of(answer), _codes_of(reference)
    here, there = ours_named - theirs_named, theirs_named - ours_named
    if len(here) == len(there) == 1:
        return f"the answer names {min(here)}, the reference {min(there)}"
    return None


def _may_both_hold_values(answer: str, reference: str) -> bool:
    return all(may_hold_values(text, word_set(text)) for text in (answer[:_LONGEST], reference[:_LONGEST]))


def _codes_of(text: str) -> frozenset[str]:
    """Identifiers: names with a digit, such as "B20"."""
    return frozenset(name.upper() for name in find_names(text[:_LONGEST]) if has_digit(name))


def _values(text: str, language: str | None) -> list[Value]:
    sentences = split_sentences(text[:_LONGEST])[:_MOST_COMPARED]
    read = (value for item in sentences for value in read_sentence(item.text, language).values)
    return [value for value in read if value.kind != "frequency"]


def _find_other_value(ours: Iterable[Value], theirs: Iterable[Value], asked: frozenset[str]) -> str | None:
    """Names a value of the answer and the other one that the reference has, or returns None."""
    ours, theirs = list(ours), list(theirs)
    ours_offered, theirs_offered = offered(ours), offered(theirs)
    missing = [value for value in theirs if not stated(value, ours_offered)]
    instead = [value for value in ours if not stated(value, theirs_offered) and asked.isdisjoint(value.keys)]
    for value in missing:
        for other in instead:
            alike = value.kind == other.kind == "number" and value.unit == other.unit
            if alike or comparable(value, other):
                return f"the answer says {other.text}, the reference {value.text}"
    return None
