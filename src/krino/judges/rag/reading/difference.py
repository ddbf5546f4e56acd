"""Finds to the letter in what an answer cannot agree with its reference: a value, a denial, an opposite, a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from krino.judges.rag.reading.amounts import may_tell_shares, other_amount
from krino.judges.rag.reading.finding_values import may_hold_values
from krino.judges.rag.reading.frames import compare_roles, told_from_far_end
from krino.judges.rag.reading.grammar import has_phrases, in_one_word, root_of
from krino.judges.rag.reading.names import find_names
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.reading.sides import are_exchanged
from krino.judges.rag.reading.value_words import any_stop, has_digit
from krino.judges.rag.reading.values import comparable, offered, stated
from krino.judges.rag.reading.words import (
    Reading,
    may_be_opposed,
    may_deny,
    opposed_words,
    opposite_words,
    read_sentence,
)
from krino.text.words import stem, stop_words, word_set

Told = tuple[str, Reading]

_LONGEST = 20_000
_MOST_COMPARED = 40
"""Sentences of each side that are held against each other."""
_FRAME = 0.6
"""Share of the shorter text that both must have beside two opposites, so that they are said of the same thing."""
_NEARLY_ALL = 0.75
"""Share of the longer sentence that both must have before the order of the words tells them apart."""
_MOST_SPACES = 40
"""Spaces up to which a text is short enough for that."""


def find_difference(question: str, answer: str, reference: str, language: str | None) -> str | None:
    """What tells them apart, in words; None where nothing does to the letter."""
    ours, theirs = _read(answer, language), _read(reference, language)
    if difference := _other_value(ours, theirs, read_sentence(question, language).stems):
        return difference
    for text, reading in ours:
        for other_text, other in theirs:
            if difference := _compare(text, reading, other_text, other, language):
                return difference
            if _are_brief(answer, reference) and _are_turned(text, reading, other_text, other, language):
                return "the same words, with who and whom or first and last exchanged"
    if language == "de":  # where every noun has a capital
        return None
    opens = any(part.wants_name for part in question_parts(question))
    here, there = _content(ours) - _content(theirs), _content(theirs) - _content(ours)
    if here <= _names_of(answer, opens, language) and there <= _names_of(reference, opens, language):
        return _other_name(sorted(here), sorted(there))
    return None


def find_exact_difference(question: str, answer: str, reference: str, language: str | None) -> str | None:
    """A number, date, time or identifier that the answer gives in place of the reference's; None where none differs.

    No rule of language is asked: what is denied, opposed or exchanged is for a reader to judge.
    """
    if not (has_digit(answer) or has_digit(reference)) and not _may_both_hold_values(answer, reference):
        return None
    ours, theirs = _read(answer, language), _read(reference, language)
    if difference := _other_value(ours, theirs, read_sentence(question, language).stems, exact=True):
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


def may_differ(answer: str, reference: str) -> bool:
    """A first, cheap look, by words alone and in any language: whether `find_difference` could find anything."""
    (answer, ours), (reference, theirs) = _words_of(answer[:_LONGEST]), _words_of(reference[:_LONGEST])
    if may_deny(answer, ours) or may_deny(reference, theirs) or may_be_opposed(ours, theirs):
        return True
    if may_hold_values(answer, ours) and may_hold_values(reference, theirs):
        return True
    if may_tell_shares(ours) and may_tell_shares(theirs):
        return True
    if _are_brief(answer, reference) and len(ours & theirs) >= _FRAME * min(len(ours), len(theirs)):
        return True
    return _own_are_names(ours, theirs, answer) and _own_are_names(theirs, ours, reference)


def _words_of(text: str) -> tuple[str, frozenset[str]]:
    """A text with one word for one thing, and its words."""
    if has_phrases(word_set(text)):
        text = in_one_word(text)
    return text, word_set(text)


def _own_are_names(ours: frozenset[str], theirs: frozenset[str], text: str) -> bool:
    """Whether all that one text has and the other lacks may be names; no plain word that the other has in no form."""
    own = ours - theirs
    names = frozenset(word for word in own if _has_capital(word, text))
    small = own - names - any_stop()
    if not small:
        return bool(own)
    known = theirs | names
    roots = frozenset(map(stem, known)) | frozenset(map(root_of, known))
    return all(stem(word) in roots or root_of(word) in roots for word in small)


def _has_capital(word: str, text: str) -> bool:
    """Whether a word stands in the text with a capital, or holds what is no letter and may be cut elsewhere."""
    first = word[0].upper()
    return not word.isalpha() or (first in text and (first + word[1:] in text or word.upper() in text))


def _are_brief(answer: str, reference: str) -> bool:
    """Whether both are so short that the order of their words can be compared."""
    return answer.count(" ") <= _MOST_SPACES and reference.count(" ") <= _MOST_SPACES


def _compare(text: str, reading: Reading, other_text: str, other: Reading, language: str | None) -> str | None:
    """What tells two sentences apart: a denial, an opposite or an amount."""
    if (words := opposed_words(reading, other)) and _same_frame(reading, other, ()):
        return f"only one of the two denies '{reading.surface[words[0]]}'"
    english = language is None or language == "en"
    pair = opposite_words(reading, other)
    if pair and _same_frame(reading, other, pair) and not (english and told_from_far_end(text, other_text)):
        return f"the answer says '{pair[0]}', the reference '{pair[1]}'"
    if not english or not _same_frame(reading, other, ()):
        return None
    if amounts := other_amount(text, other_text):
        return f"the answer says '{amounts[0]}', the reference '{amounts[1]}'"
    return None


def _are_turned(text: str, reading: Reading, other_text: str, other: Reading, language: str | None) -> bool:
    ours, theirs = frozenset(reading.content), frozenset(other.content)
    if len(ours & theirs) < _NEARLY_ALL * max(len(ours), len(theirs)):
        return False
    if language in (None, "en") and compare_roles(text, other_text) == "turned":
        return True
    return are_exchanged(text, other_text, language)


def _read(text: str, language: str | None) -> list[Told]:
    sentences = split_sentences(text[:_LONGEST])[:_MOST_COMPARED]
    return [(item.text, read_sentence(item.text, language)) for item in sentences]


def _content(told: Iterable[Told]) -> frozenset[str]:
    return frozenset(root for _, reading in told for root in reading.content)


def _other_value(
    ours: Sequence[Told], theirs: Sequence[Told], asked: frozenset[str], *, exact: bool = False
) -> str | None:
    """`exact`: how often something happens ("daily", "each spring") is left out, since words for it vary."""
    our_values, their_values = (
        [value for _, reading in told for value in reading.values if not (exact and value.kind == "frequency")]
        for told in (ours, theirs)
    )
    ours_offered, theirs_offered = offered(our_values), offered(their_values)
    missing = [value for value in their_values if not stated(value, ours_offered)]
    instead = [value for value in our_values if not stated(value, theirs_offered) and asked.isdisjoint(value.keys)]
    for value in missing:
        for other in instead:
            alike = value.kind == other.kind == "number" and value.unit == other.unit
            if alike or comparable(value, other):
                return f"the answer says {other.text}, the reference {value.text}"
    return None


def _same_frame(first: Reading, second: Reading, pair: Sequence[str]) -> bool:
    """Whether the rest of the two is much the same, or there is no rest."""
    poles = {root_of(word) for word in pair}
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
    return frozenset(root_of(name.lower(), language) for name in found)


def _may_be_short_for(first: str, second: str) -> bool:
    """ "US" for "United", "Rob" for "Robert": a short form is no other name."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short[:3]) or (len(short) <= 4 and long[0] == short[0])
