"""Finds to the letter in what an answer cannot agree with its reference: a value, a denial, an opposite, a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.reading.values import comparable, find_names, offered, stated
from krino.judges.rag.reading.words import Reading, opposed_words, opposite_words, read_sentence
from krino.text.words import stem, stop_words

_LONGEST = 20_000
_MOST_COMPARED = 40
"""Sentences of each side that are held against each other."""
_FRAME = 0.6
"""Share of the shorter text that both must have beside two opposites, so that they are said of the same thing."""


def find_difference(question: str, answer: str, reference: str, language: str | None) -> str | None:
    """What tells them apart, in words; None where nothing does to the letter."""
    ours, theirs = _read(answer, language), _read(reference, language)
    if difference := _other_value(ours, theirs, read_sentence(question, language).stems):
        return difference
    for reading in ours:
        for other in theirs:
            if words := opposed_words(reading, other):
                return f"only one of the two denies '{reading.surface[words[0]]}'"
            if (pair := opposite_words(reading, other)) and _same_frame(reading, other, pair):
                return f"the answer says '{pair[0]}', the reference '{pair[1]}'"
    if language == "de":  # where every noun has a capital
        return None
    opens = any(part.wants_name for part in question_parts(question))
    here, there = _content(ours) - _content(theirs), _content(theirs) - _content(ours)
    if here <= _names_of(answer, opens, language) and there <= _names_of(reference, opens, language):
        return _other_name(sorted(here), sorted(there))
    return None


def _read(text: str, language: str | None) -> list[Reading]:
    return [read_sentence(item.text, language) for item in split_sentences(text[:_LONGEST])][:_MOST_COMPARED]


def _content(readings: Iterable[Reading]) -> frozenset[str]:
    return frozenset(root for reading in readings for root in reading.content)


def _other_value(ours: Sequence[Reading], theirs: Sequence[Reading], asked: frozenset[str]) -> str | None:
    our_values = [value for reading in ours for value in reading.values]
    their_values = [value for reading in theirs for value in reading.values]
    ours_offered, theirs_offered = offered(our_values), offered(their_values)
    missing = [value for value in their_values if not stated(value, ours_offered)]
    instead = [value for value in our_values if not stated(value, theirs_offered) and asked.isdisjoint(value.keys)]
    for value in missing:
        for other in instead:
            alike = value.kind == other.kind == "number" and value.unit == other.unit
            if alike or comparable(value, other):
                return f"the answer says {other.text}, the reference {value.text}"
    return None


def _same_frame(first: Reading, second: Reading, pair: tuple[str, str]) -> bool:
    """Whether the rest of the two is much the same, or there is no rest."""
    poles = {stem(word) for word in pair}
    ours, theirs = frozenset(first.content) - poles, frozenset(second.content) - poles
    return len(ours & theirs) >= _FRAME * min(len(ours), len(theirs))


def _other_name(here: Sequence[str], there: Sequence[str]) -> str | None:
    """Each side names something that the other does not, and no name could be short for the other."""
    if not here or not there or any(_may_be_short_for(first, second) for first in here for second in there):
        return None
    return f"the answer names {', '.join(here[:3])}, the reference {', '.join(there[:3])}"


def _names_of(text: str, opens: bool, language: str | None) -> frozenset[str]:
    """Names inside its sentences; where a name is asked for, also a capitalised word that opens one."""
    sentences = [item.text for item in split_sentences(text[:_LONGEST])]
    found = {name for sentence in sentences for name in find_names(sentence)}
    if opens:
        openings = [sentence.split()[0].strip("\"'“«(,.") for sentence in sentences]
        found.update(word for word in openings if word[:1].isupper() and word.lower() not in stop_words(language))
    return frozenset(stem(name.lower()) for name in found)


def _may_be_short_for(first: str, second: str) -> bool:
    """ "US" for "United", "Rob" for "Robert": a short form is no other name."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short[:3]) or (len(short) <= 4 and long[0] == short[0])
