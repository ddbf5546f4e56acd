"""Everything about a RAG case that needs no opinion; what only some labellers need is worked out on demand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from krino.errors import CannotJudge
from krino.judges.lazy import lazy
from krino.judges.rag.case import Passage, RagCase
from krino.judges.rag.reading.answer import Unit, add_headers, read_units
from krino.judges.rag.reading.difference import find_exact_difference
from krino.judges.rag.reading.goals import Goal, read_goal
from krino.judges.rag.reading.names import find_names
from krino.judges.rag.reading.quotations import find_quotations, is_quoted, proves_nothing
from krino.judges.rag.reading.same_length import without_citations, without_numbering
from krino.judges.rag.reading.sentences import Sentence, split_sentences
from krino.judges.rag.reading.words import Reading, may_deny, read_sentence
from krino.judges.rag.tables import table
from krino.judges.rag.values.finding import find_values, plainly_no_values
from krino.judges.rag.values.value import Value, offered, stated
from krino.text.forms import canonical_text, is_blank, locate, plain_letters, readable, same_text
from krino.text.language import READ_LANGUAGES, foreign_language, guess_language, is_gibberish
from krino.text.words import word_set

_MARK_BEFORE = re.compile(r"^\[\^?\d{1,3}\]:?\s+(?=\S)")
"""The mark of a source or a footnote before a sentence."""
_SAME_STEM = 4
"""Letters that a name and another form of it must share: "Canadian" where a passage has "Canada"."""
_SENTENCE_NUMBER = re.compile(r"(?:^|(?<=\s))\[\d{1,4}\]\s?")
_LIST_NUMBER = re.compile(r"\d{1,2}(?:[.)]\s+|\s{2,})(?=[^\W\d_])")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
_BARE = 3
"""Words of an answer that is a bare yes or no."""
_OPENING = 40
"""Characters in which an answer's yes or no is looked for."""
_BROKEN = "\x00\ufffd"
_BROKEN_SHARE = 10
"""A text is broken when one character in so many is."""
_JOINED = (".", ",", "-")
_MEASURED = frozenset({"money", "length", "mass", "duration", "percent"})
_MOST_PLACES = 200
"""Places of a value that are looked at; a text that has it more often is read as values instead."""
_STEP_DIGITS = 2
"""Digits of a number that may count steps or parts."""
_FEWEST_KNOWN = 2
"""Words of a possible statement that the passages must have."""


class NumberedPassage(NamedTuple):
    """A passage with text, under its place in the case (from 1): blank ones keep their number and are not shown."""

    number: int
    passage: Passage
    text: str
    """What is shown of it: its title and its text."""
    sentences: tuple[Sentence, ...]
    """The sentences below its title, by which precision counts; numbered from 1."""

    @classmethod
    def of(cls, number: int, passage: Passage) -> NumberedPassage:
        """Makes a passage with its number, the text that is shown, and its sentences."""
        return cls(number, passage, passage.shown, split_sentences(passage.text))

    @property
    def label(self) -> str:
        """How explanations call it: its number, and the retriever's own id where there is one."""
        return f"passage {self.number}" + (f" ({self.passage.id})" if self.passage.id else "")


@dataclass(frozen=True, slots=True)
class PassageSentence:
    """A sentence of a passage that may be cited; `number` counts as `NumberedPassage.sentences` does, 0: its title."""

    passage: int
    number: int
    sentence: Sentence
    reading: Reading
    full_text: str
    """Its text as it reads by itself: a row of a table with its headers; the reading is of this."""

    @property
    def length(self) -> int:
        """In words, as far as spaces tell."""
        return self.sentence.text.count(" ") + 1


@dataclass(frozen=True, slots=True)
class Open:
    """What the facts leave to a labeller, beside what the answer says to the question: that is always open."""

    claims: bool
    context: bool
    similarity: bool


class RagFacts:
    """Facts of one case. Raises `CannotJudge` when question or answer is missing, or is nothing that can be read."""

    def __init__(self, case: RagCase, default_goal: str = "balanced") -> None:
        """Reads passages, goal and sentences of a case.

        Raises `CannotJudge` if question or answer is missing, unreadable or gibberish.
        """
        if is_blank(case.question):
            raise CannotJudge("no question: the user question is missing or blank")
        if is_blank(case.answer):
            raise CannotJudge("no answer: the generated answer is missing or blank")
        for what, text in (("question", case.question), ("answer", case.answer)):
            if problem := _describe_unreadable(text):
                raise CannotJudge(f"the {what} cannot be read: {problem}")
        self.case = case
        self.goal: Goal = read_goal(case.goal if case.goal is not None else default_goal)
        self.passages = tuple(
            NumberedPassage.of(number, passage)
            for number, passage in enumerate(case.context, 1)
            if not is_blank(passage.text)
        )
        self.answer = plain_letters(case.answer)
        """The answer in plain letters; every offset is that of the answer as it was given."""
        self.units: tuple[Unit, ...] = read_units(self.answer)
        self.sentences: tuple[Sentence, ...] = tuple(_as_read(unit.sentence) for unit in self.units)
        for what, text in (("question", case.question), ("answer", readable(self.answer))):
            if is_gibberish(text) and not self._stands_in_passages(text):
                raise CannotJudge(f"the {what} is gibberish: its letters make no words of any language")

    def with_passages(self, passages: tuple[NumberedPassage, ...]) -> RagFacts:
        """Returns the same facts with the passages in another order."""
        moved = copy(self)
        moved.passages = passages
        return moved

    def _stands_in_passages(self, text: str) -> bool:
        """A code or a name that looks like nothing is text all the same where the passages have it."""
        known = {word for item in self.passages for word in item.text.lower().split()}
        return not known.isdisjoint(text.lower().split())

    @property
    def has_context(self) -> bool:
        """Was any passage retrieved that has text?"""
        return bool(self.passages)

    @lazy
    def may_decline(self) -> bool:
        """Does any word of the answer deny or ask? Without one, nothing is declined.

        True in languages that are not read.
        """
        if "?" in self.case.answer or self.answer_language not in (None, *READ_LANGUAGES):
            return True
        return may_deny(self.case.answer, word_set(self.case.answer)) or foreign_language(self.case.answer) is not None

    @lazy
    def statements(self) -> frozenset[int]:
        """Numbers of the sentences that state something: a name, a value, or words of the question or the passages.

        Not those that ask or look like no claim.
        """
        return frozenset(number for number in range(1, len(self.sentences) + 1) if self._is_statement(number))

    def is_bare_answer(self, number: int) -> bool:
        """Does a sentence say yes or no and nothing else?"""
        text = self.sentences[number - 1].text
        return opens_with_yes_or_no(text) and len(text.split()) <= _BARE and len(self.readings[number - 1].content) <= 1

    def is_answered(self, number: int) -> bool:
        """Does the next sentence answer this one with yes or no?"""
        return number < len(self.sentences) and opens_with_yes_or_no(self.sentences[number].text)

    def may_state(self, number: int) -> bool:
        """Can a sentence state something? Questions and sentences in `no_claims` cannot."""
        return number not in self.no_claims and not self.sentences[number - 1].text.endswith("?")

    def states_number(self, number: int) -> bool:
        """Does a sentence have a figure in it and so make a claim? Not if it asks, or is a title or a lead-in.

        The number of an item or of a source is no figure; nor is one of the question where the sentence may
        decline.
        """
        text = self.sentences[number - 1].text
        if not self.may_state(number):
            return False
        known = self.question_reading.offered if may_deny(text, word_set(text)) else frozenset[str]()
        return any(
            not value.spelled and value.kind != "weekday" and any(map(str.isdecimal, value.text))
            for value in self.values[number - 1]
            if not self.is_numbering(number, value) and not known.issuperset(value.keys)
        )

    def _is_statement(self, number: int) -> bool:
        """Does a sentence of the answer state something that passages could support or contradict?"""
        reading = self.readings[number - 1]
        if not self.may_state(number):
            return False
        if reading.values or reading.names or opens_with_yes_or_no(self.sentences[number - 1].text):
            return True
        return len(reading.content) >= _FEWEST_KNOWN and not self.matter.isdisjoint(reading.content)

    @lazy
    def no_claims(self) -> frozenset[int]:
        """Numbers of the units that are a heading, a lead-in or a source by markup, and have no value of their own.

        Empty where the answer is nothing else: then that is the answer.
        """
        marked = [number for number, unit in enumerate(self.units, 1) if unit.hint is not None]
        found = frozenset(number for number in marked if not self._has_new_value(number))
        return found if len(found) < len(self.units) else frozenset()

    def _has_new_value(self, number: int) -> bool:
        """Does a sentence have a value that no passage has? The number of a step is none."""
        if self.units[number - 1].hint == "source":
            return False
        text = self.sentences[number - 1].text.rstrip("*_ :")
        found = (value for place, value in self.absent_values if place == number)
        return any(not value.text.isdecimal() or len(value.text) > _STEP_DIGITS or ":" in text for value in found)

    @lazy
    def same_as_reference(self) -> bool:
        """Is the answer the reference, word for word? False without a reference."""
        reference = self.case.reference
        return reference is not None and same_text(reference, self.case.answer)

    @lazy
    def exact_difference(self) -> str | None:
        """A number, date, unit or identifier in which answer and reference differ; None where none does."""
        reference = self.case.reference
        if reference is None or self.same_as_reference:
            return None
        return find_exact_difference(self.case.question, self.answer, reference, self.language)

    @lazy
    def open(self) -> Open:
        """Which labels are still open; all others are given by facts."""
        return Open(
            claims=self.has_context,
            context=self.has_context,
            similarity=self.case.reference is not None and not self.same_as_reference,
        )

    def passage(self, number: int | None) -> NumberedPassage | None:
        """Returns the passage of this number; None if it is blank or not there."""
        return None if number is None else self._by_number.get(number)

    @lazy
    def _by_number(self) -> dict[int, NumberedPassage]:
        return {item.number: item for item in self.passages}

    def find_quote(self, number: int | None, quote: str | None) -> tuple[int, int] | None:
        """Returns start and end of a quotation in a passage; None if it is not there."""
        passage = self.passage(number)
        return None if passage is None or quote is None else locate_quote(quote, passage.text)

    # --- worked out on demand ----------------------------------------------------------------------

    @lazy
    def question_language(self) -> str | None:
        return guess_language(self.case.question)

    @lazy
    def answer_language(self) -> str | None:
        return guess_language(readable(self.answer))

    @lazy
    def context_language(self) -> str | None:
        return guess_language(" ".join(item.text[:300] for item in self.passages[:4]))

    @lazy
    def values(self) -> tuple[tuple[Value, ...], ...]:
        """The quantities, dates and times of each answer sentence. Most answers are seen to have none at once."""
        texts = [sentence.text for sentence in self.sentences]
        return ((),) * len(texts) if plainly_no_values(" ".join(texts)) else tuple(map(find_values, texts))

    @lazy
    def absent_values(self) -> tuple[tuple[int, Value], ...]:
        """Quantities, dates and times of the answer, by sentence, that appear neither in a passage nor in the question.

        They are compared as values: 1.5 km is 1,500 metres, and 40 euros are not found in 40,000.
        """
        found = [(number, value) for number, values in enumerate(self.values, 1) for value in values]
        unseen = {value for value in {value for _, value in found} if not self._is_found_exactly(value)}
        if not unseen:
            return ()
        known = offered(find_values(self.case.question))
        for passage in self.passages:  # to read values is dear: no further than until all are found
            unseen = {value for value in unseen if not stated(value, known)}
            if not unseen:
                return ()
            known |= offered(find_values(passage.text))
        return tuple((number, value) for number, value in found if value in unseen and not stated(value, known))

    def is_numbering(self, number: int, value: Value) -> bool:
        """Does a value of a sentence only count items or sources: the 2 of "2." or of "see passage 2"?

        An answer that is nothing but a number gives that number.
        """
        text = self.sentences[number - 1].text
        left = without_numbering(text)
        return not left[value.start : value.end].strip() and (len(self.units) > 1 or bool(left.strip(" .:)")))

    def _is_found_exactly(self, value: Value) -> bool:
        """Is a value in passages or question exactly so, and not as part of a longer one?

        This first, cheap look may miss it.
        """
        if value.kind == "number" and (not value.unit or value.unit not in _MEASURED):
            return False  # what follows a bare number could make it another one ("4.1 million")
        known, lowered = self._known_text, value.text.lower()
        place = known.find(lowered)
        for _ in range(_MOST_PLACES):
            if place < 0:
                return False
            end = place + len(lowered)
            before, after = known[place - 1 : place], known[end : end + 2]
            begins = not before.isalnum() and before not in _JOINED
            if begins and not after[:1].isalnum() and not after[1:].isdecimal():
                return True
            place = known.find(lowered, end)
        return False

    @lazy
    def absent_names(self) -> tuple[tuple[int, str], ...]:
        """Capitalised words of the answer, by sentence, that appear neither in a passage nor in the question.

        Those that are values, as days of the week are, are compared as values.
        """
        stated = [
            (number, name) for number, sentence in enumerate(self.sentences, 1) for name in find_names(sentence.text)
        ]
        known = self._known_text if stated else ""
        absent = [(number, name) for number, name in stated if name.lower() not in known and not find_values(name)]
        return tuple((number, name) for number, name in absent if name.lower()[:_SAME_STEM] not in known)

    @lazy
    def misquoted(self) -> dict[int, str]:
        """By sentence, what it quotes although neither the passages nor the question have these words."""
        if not self.passages:
            return {}
        texts = [self.case.question, *(item.text for item in self.passages)]
        wrong = [item for item in find_quotations(self.answer) if not is_quoted(item.text, texts)]
        return {
            number: item.text
            for item in wrong
            for number, sentence in enumerate(self.sentences, 1)
            if sentence.start < item.end and item.start < sentence.end
        }

    @lazy
    def strangers(self) -> dict[int, tuple[str, ...]]:
        """The absent names by sentence; none in German, where every noun is capitalised."""
        found: dict[int, list[str]] = {}
        for number, name in () if self.language == "de" else self.absent_names:
            found.setdefault(number, []).append(name)
        return {number: tuple(names) for number, names in found.items()}

    @lazy
    def _known_text(self) -> str:
        return "\n".join([self.case.question, *(item.text for item in self.passages)]).lower()

    @lazy
    def language(self) -> str | None:
        """The language of the exchange: a short answer is taken to be in the question's, or the passages'."""
        return self.answer_language or self.question_language or self.context_language

    @property
    def matter_language(self) -> str | None:
        """The language of question and passages: the answer has no say in how what was retrieved is read."""
        return self.question_language or self.context_language

    @lazy
    def question_reading(self) -> Reading:
        return read_sentence(self.case.question, self.matter_language)

    @lazy
    def readings(self) -> tuple[Reading, ...]:
        """The answer's sentences as sets of things to match."""
        language = self.language
        return tuple(read_sentence(sentence.text, language) for sentence in self.sentences)

    @lazy
    def passage_sentences(self) -> tuple[PassageSentence, ...]:
        """The sentences of passages and titles that may be cited as evidence, without those that prove nothing."""
        language = self.context_language or self.question_language
        return tuple(
            PassageSentence(item.number, number, sentence, read_sentence(full_text, language), full_text)
            for item in self.passages
            for text in (item.text,)
            for (number, sentence), full_text in _with_full_texts(list(_place_sentences(item)))
            if not proves_nothing(sentence.text, text)
        )

    @lazy
    def matter(self) -> frozenset[str]:
        """Every word, as a root, that the question or a sentence of the passages has."""
        return self.question_reading.stems.union(*(item.reading.stems for item in self.passage_sentences))

    @lazy
    def copies(self) -> Mapping[int, PassageSentence]:
        """By number, the passage sentence that an answer sentence repeats.

        Case, spacing and reference marks may differ.
        """
        whole = {canonical_text(item.sentence.text): item for item in reversed(self.passage_sentences)}
        found = (
            (number, whole.get(canonical_text(without_citations(item.text))))
            for number, item in enumerate(self.sentences, 1)
        )
        return {number: source for number, source in found if source is not None}


def _as_read(sentence: Sentence) -> Sentence:
    """A sentence as its words are compared: without a mark, invisible characters or s p a c e d letters."""
    text = _MARK_BEFORE.sub("", readable(sentence.text)) or sentence.text
    return sentence if text is sentence.text else sentence._replace(text=text)


@cache
def _yes_and_no() -> frozenset[str]:
    polarity = table("words")["polarity"]
    return frozenset([*polarity["yes"], *polarity["no"]])


def opens_with_yes_or_no(text: str) -> bool:
    """Does a text open with a yes or a no, and so say something whatever follows?"""
    first = _FIRST_WORD.search(text[:_OPENING])
    return first is not None and first.group().lower() in _yes_and_no()


def _place_sentences(item: NumberedPassage) -> Iterator[tuple[int, Sentence]]:
    """Yields the sentences of a passage with number and place in what is shown: the title first, as number 0."""
    title = item.passage.title
    shift = len(title) + 1 if title else 0
    for sentence in split_sentences(title) if title else ():
        yield 0, sentence
    for number, sentence in enumerate(item.sentences, 1):
        yield number, Sentence(sentence.text, sentence.start + shift, sentence.end + shift)


def _with_full_texts(sentences: list[tuple[int, Sentence]]) -> Iterator[tuple[tuple[int, Sentence], str]]:
    """Sentences in a row, each with its text as it reads by itself: no list number, and a row with its headers."""
    return zip(sentences, add_headers([_unnumbered(sentence.text) for _, sentence in sentences]), strict=True)


def _unnumbered(text: str) -> str:
    """The text less the number of a list before it, which is no quantity: "2)  Peel the garlic"."""
    found = _LIST_NUMBER.match(text) if text[:1].isdecimal() else None
    return text if found is None else text[found.end() :]


def locate_quote(quote: str, text: str) -> tuple[int, int] | None:
    """Returns start and end of a quotation, or None; also where the numbers of the sentences were copied with it."""
    return locate(quote, text) or (locate(_SENTENCE_NUMBER.sub("", quote), text) if "[" in quote else None)


def _describe_unreadable(text: str) -> str | None:
    """Returns what is wrong with a text that holds nothing to read, or None.

    That is no letters or digits, or too many broken characters.
    """
    broken = sum(text.count(character) for character in _BROKEN)
    if broken and broken * _BROKEN_SHARE >= len(text.strip()):
        return "it is full of NUL or replacement characters, as text is that was decoded wrongly"
    if not any(map(str.isalnum, text)):
        return f"it has no letter or digit ({text.strip()[:20]!r})"
    return None
