"""Finds cues in a matcher's reasoning: what it mentions, in which order, and what it claims to agree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.citation.belgium.dates import fold_letters
from krino.judges.citation.reasoning import table
from krino.judges.lazy import lazy

LONGEST = 8_000
_NEAR = 30
# A full stop ends a sentence only before a space and no small letter: numbers and abbreviations hold stops too.
SENTENCE_END = re.compile(r"[;!?](?=\s|$)|\.(?=\s*$|\s+(?![\sa-z\u00bb]))|\n|\s[-\u2013\u2014]\s")
_DAMAGED_APOSTROPHE = str.maketrans({"`": "'", "\u00b4": "'"})


@cache
def _pattern(section: str, name: str) -> re.Pattern[str]:
    return re.compile(f"(?<![a-z0-9])(?:{alternation(table('cues')[section][name])})")


def alternation(forms: Iterable[str]) -> str:
    """Joins forms into one alternation, grouped by first letter, so that most words fail at the first comparison."""
    by_letter: dict[str, list[str]] = {}
    others = []
    for form in forms:
        if form[:1].isalpha() and form[1:2] not in ("?", "*", "+", "{"):
            by_letter.setdefault(form[0], []).append(form[1:])
        else:
            others.append(form)
    grouped = [f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items()]
    return "|".join((*grouped, *(f"(?:{form})" for form in others)))


@cache
def _aspects() -> tuple[re.Pattern[str], tuple[str, ...]]:
    """One alternation of everything a sentence can be about, and the aspect of each of its groups.

    By first letter and then by aspect, so that most words fail at once.
    """
    by_letter: dict[str, dict[str, list[str]]] = {}
    for name, forms in table("cues")["aspects"].items():
        for form in forms:
            plain = form[:1].isalpha() and form[1:2] not in ("?", "*", "+", "{")
            by_letter.setdefault(form[0] if plain else "", {}).setdefault(name, []).append(form[1:] if plain else form)
    grouped = [
        f"{letter}(?:{'|'.join('(' + '|'.join(forms) + ')' for forms in aspects.values())})"
        for letter, aspects in by_letter.items()
    ]
    names = tuple(name for aspects in by_letter.values() for name in aspects)
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(grouped)})"), names


@cache
def aspect_pattern(name: str) -> re.Pattern[str]:
    return _pattern("aspects", name)


def _says(name: str, text: str) -> bool:
    return _pattern("words", name).search(text) is not None


class Sentence(NamedTuple):
    """One sentence and its topics in order, each with its offset."""

    text: str
    mentions: tuple[tuple[str, int], ...]

    def about(self, aspect: str) -> bool:
        return any(name == aspect for name, _ in self.mentions)

    def claims_number_match(self) -> bool:
        """Does a word of agreement belong to the number: the last topic before it, or the next one close behind?"""
        if not self.about("number") or _says("negation", self.text):
            return False
        for word in _pattern("words", "match").finditer(self.text):
            before = [name for name, at in self.mentions if at < word.start()]
            behind = [name for name, at in self.mentions if 0 <= at - word.end() <= _NEAR]
            of_number = (before and before[-1] == "number") or (not before and behind[:1] == ["number"])
            if of_number and not self._only_supposes(word):
                return True
        return False

    def _only_supposes(self, word: re.Match[str]) -> bool:
        """Is the agreement only required or supposed between its commas: "would have to match"?"""
        low, high = self.text.rfind(",", 0, word.start()) + 1, self.text.find(",", word.end())
        before, behind = self.text[low : word.start()], self.text[word.end() : high if high > 0 else None]
        return _says("supposed", before) or _says("wanted", behind)


def _split(text: str) -> tuple[list[Sentence], dict[str, int]]:
    """The sentences of a reasoning, and in which of them each aspect is first named."""
    sentences: list[Sentence] = []
    first: dict[str, int] = {}
    found, names = _aspects()
    for piece in (piece.lower() for piece in SENTENCE_END.split(text) if piece):
        mentions = tuple((names[(match.lastindex or 1) - 1], match.start()) for match in found.finditer(piece))
        for name, _ in mentions:
            first.setdefault(name, len(sentences))
        sentences.append(Sentence(piece, mentions))
    return sentences, first


class Cues:
    """What the words of a reasoning show; each cue is looked for when it is first asked for.

    `court_at`, `number_at` and `context_at` are the sentences that first speak of them; None where none does.
    """

    def __init__(self, text: str | None) -> None:
        written = fold_letters((text or "")[:LONGEST])
        if "`" in written or "\u00b4" in written:
            written = written.translate(_DAMAGED_APOSTROPHE)
        self._written = written
        self.text = written.lower()
        self.written = bool(self.text.strip())

    @lazy
    def _parts(self) -> tuple[list[Sentence], dict[str, int]]:
        return _split(self._written)

    @lazy
    def sentences(self) -> list[Sentence]:
        return self._parts[0]

    @lazy
    def court_at(self) -> int | None:
        return self._parts[1].get("court")

    @lazy
    def number_at(self) -> int | None:
        return self._parts[1].get("number")

    @lazy
    def context_at(self) -> int | None:
        return self._parts[1].get("context")

    @lazy
    def says_ecli(self) -> bool:
        return "ecli" in self._parts[1]

    def quotes(self, words: str) -> bool:
        """Does the reasoning contain these words, whatever their case and accents?"""
        return fold_letters(words).lower() in self.text

    def court_comes_first(self, *, numbered: bool) -> bool:
        """Does the reasoning mention the court before it argues from number or context?

        Where no number is cited (`numbered`), nothing can be argued from one: to say so first jumps no step.
        """
        if self.court_at is None:
            return False
        before = (self.number_at, self.context_at) if numbered else (self.context_at,)
        return all(at is None or self.court_at <= at for at in before)

    @lazy
    def writes_a_court_out(self) -> bool:
        """Whether the reasoning itself holds the full name of a court."""
        words = "|".join(table("cues")["court_words"]["words"])
        return re.search(rf"(?<![a-z])(?:{words})(?![a-z])", self.text) is not None

    @lazy
    def names_a_national_court(self) -> bool:
        words = "|".join(table("cues")["court_words"]["alone"])
        return re.search(rf"(?<![a-z])(?:{words})(?![a-z])", self.text) is not None

    @lazy
    def claims_number_match(self) -> bool:
        return self.number_at is not None and any(sentence.claims_number_match() for sentence in self.sentences)

    @lazy
    def claims_ecli_match(self) -> bool:
        """Whether it says that an ECLI agrees, the whole of it and not only its court or year."""
        return self.says_ecli and any(
            sentence.about("ecli")
            and _says("match", sentence.text)
            and not _says("negation", sentence.text)
            and not _says("part_of_ecli", sentence.text)
            for sentence in self.sentences
        )

    @lazy
    def says_no_number(self) -> bool:
        return _says("no_number", self.text)

    @lazy
    def others(self) -> bool:
        return _says("others", self.text)

    @lazy
    def remarks_ecli(self) -> bool:
        """Whether an ECLI, a date or a year is said to be odd."""
        return self._one_says("negation", about=("ecli", "date"))

    @lazy
    def remarks_ecli_court(self) -> bool:
        """Whether the court in an ECLI, or the ECLI as a whole, is said to be odd."""
        return self._one_says("negation", about=("ecli",)) or self._one_says("negation", "code")

    def _one_says(self, *names: str, about: tuple[str, ...] = ()) -> bool:
        """Whether one sentence, about one of these things where any are named, says all of this."""
        return any(
            all(_says(name, sentence.text) for name in names)
            for sentence in self.sentences
            if not about or any(sentence.about(aspect) for aspect in about)
        )


@lru_cache(maxsize=64)
def read_reasoning(text: str | None) -> Cues:
    """The cues of a reasoning; a missing one has none."""
    return Cues(text)
