"""Whether a sentence of the passages tells of another thing than the one that is asked about.

"When was the mill of Varde built?" is not answered by what is told of the mill of Holm, nor by the figure of another
year, nor by Article 7 where Article 5 is asked for. To a model these are nearly the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from krino.judges.rag.facts import PassageSentence
from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.reading.question import QuestionPart
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.support.draft_claims import Desk
from krino.judges.rag.support.nearness import TextPair
from krino.judges.rag.tables import table
from krino.text.words import plain_words, stop_words

if TYPE_CHECKING:
    from krino.models.entailment import Answered

_NUMBERED = re.compile(r"\b([A-Z][^\W\d_]+) (\d{1,4})\b")


def all_of_another(desk: Desk, part: QuestionPart, heard: Mapping[TextPair, Answered]) -> bool:
    """Whether every sentence that may answer tells of another thing."""
    asked = ((item, heard[item.sentence.text, part.asked]) for item in desk.index.speakers)
    return all(is_of_another(desk, item, part, found) for item, found in asked)


def is_of_another(desk: Desk, item: PassageSentence, part: QuestionPart, found: Answered) -> bool:
    """The question has a year or a number behind a name that no passage has, and the sentence has another; or a name,
    and the sentence (or its passage, where it has none itself) has another. Where the model is sure, it may be another
    name for the same."""
    sure: float = table("local")["thresholds"]["sure"]
    if found.whole >= sure:
        return False
    asked = read_sentence(part.matter, desk.facts.matter_language)
    around = [sentence.reading for sentence in desk.index.by_passage[item.passage]]
    return (
        _names_another(desk, asked, item.reading, around)
        or _dates_another(desk, asked, item.reading, part.text)
        or _numbers_another(desk, item, part.text)
    )


def _names_another(desk: Desk, asked: Reading, said: Reading, around: Sequence[Reading]) -> bool:
    wanted = _names(asked)
    strange = [name for name in wanted if not desk.index.knows(name)]
    if not strange or 2 * len(strange) < len(wanted):
        return False
    others = _names(said) or frozenset[str]().union(*map(_names, around))
    return not others <= asked.stems


def _dates_another(desk: Desk, asked: Reading, said: Reading, question: str) -> bool:
    """Of a year as such: what was before 1900 may have been in 1854."""
    wanted = _years(asked)
    if not wanted or not _years(said) or not _bounds().isdisjoint(plain_words(question)):
        return False
    return all(wanted.isdisjoint(_years(item.reading)) for item in desk.index.sentences)


def _numbers_another(desk: Desk, item: PassageSentence, question: str) -> bool:
    wanted = _numbered(question, desk.facts.matter_language)
    told = {name for name, _ in _numbered(item.sentence.text, desk.facts.matter_language)}
    asked = {pair for pair in wanted if pair[0] in told}
    known = (_numbered(other.sentence.text, desk.facts.matter_language) for other in desk.index.sentences)
    return bool(asked) and all(map(asked.isdisjoint, known))


def _names(reading: Reading) -> frozenset[str]:
    return reading.names - _calendar()


def _years(reading: Reading) -> frozenset[str]:
    return frozenset(value.keys[0] for value in reading.values if value.kind == "date" and value.keys[0].isdecimal())


def _numbered(text: str, language: str | None) -> frozenset[tuple[str, str]]:
    """Article 5, Piper 3; no May 2023, and no year behind a word that opens a sentence ("Since 2010")."""
    found = ((name.lower(), number) for name, number in _NUMBERED.findall(text))
    no_names = _calendar() | _bounds() | stop_words(language)
    return frozenset((name, number) for name, number in found if root_of(name) not in no_names and name not in no_names)


@cache
def _bounds() -> frozenset[str]:
    return frozenset(table("questions")["bounds"].split())


@cache
def _calendar() -> frozenset[str]:
    """The roots of months and days, in all languages: they have capitals in some, but name no thing."""
    dates = table("values")["dates"]
    words = [word for names in (*dates["months"], *dates["weekdays"]) for word in names.split()]
    return frozenset(root_of(form) for word in words for form in (word, f"{word}s")) | frozenset(words)
