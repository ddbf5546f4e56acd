"""Reads a matcher's reasoning for what it looked at, in which order, and what it blamed: by words, no model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.citation.dates import fold_letters
from krino.judges.citation.tables import table
from krino.judges.lazy import lazy

_LONGEST = 8_000
_NEAR = 30
# A full stop ends a sentence only before a space: case numbers and abbreviations hold stops too.
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)|\n|\s[-\u2013\u2014]\s")
# Every claim that a court is absent holds one of these: a cheap look before the dear one.
_DENIALS = ("no", "aucun", "geen", "niet", "pas ")
_DAMAGED_APOSTROPHE = str.maketrans({"`": "'", "\u00b4": "'"})


@cache
def _pattern(section: str, name: str) -> re.Pattern[str]:
    return re.compile(f"(?<![a-z0-9])(?:{_alternation(table('reasoning_cues')[section][name])})")


def _alternation(forms: Iterable[str]) -> str:
    """One alternation of all forms, those with the same first letter together: most words then fail at once."""
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
def _aspects() -> re.Pattern[str]:
    """One alternation of everything a sentence can be about, each under its name."""
    named = (f"(?P<{name}>{_alternation(forms)})" for name, forms in table("reasoning_cues")["aspects"].items())
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(named)})")


def _says(name: str, text: str) -> bool:
    return _pattern("words", name).search(text) is not None


class _Sentence(NamedTuple):
    """One sentence with what it speaks about, in order: aspect and place of each mention."""

    text: str
    mentions: tuple[tuple[str, int], ...]

    def about(self, aspect: str) -> bool:
        return any(name == aspect for name, _ in self.mentions)

    def claims_number_match(self) -> bool:
        """A word of agreement that belongs to the number: the last thing named before it, or just behind it."""
        if not self.about("number") or _says("negation", self.text):
            return False
        for word in _pattern("words", "match").finditer(self.text):
            before = [name for name, at in self.mentions if at < word.start()]
            behind = [name for name, at in self.mentions if 0 <= at - word.end() <= _NEAR]
            if (before and before[-1] == "number") or (not before and behind[:1] == ["number"]):
                return True
        return False


def _split(text: str) -> tuple[list[_Sentence], dict[str, int]]:
    """The sentences of a reasoning, and in which of them each aspect is first named."""
    sentences: list[_Sentence] = []
    first: dict[str, int] = {}
    for piece in filter(None, _SENTENCE_END.split(text)):
        mentions = tuple((match.lastgroup or "", match.start()) for match in _aspects().finditer(piece))
        for name, _ in mentions:
            first.setdefault(name, len(sentences))
        sentences.append(_Sentence(piece, mentions))
    return sentences, first


class Cues:
    """What the words of a reasoning show; each cue is looked for when it is first asked for.

    `court_at`, `number_at` and `context_at` are the sentences that first speak of them; None where none does.
    """

    def __init__(self, text: str | None) -> None:
        self._text = fold_letters((text or "")[:_LONGEST]).translate(_DAMAGED_APOSTROPHE).lower()
        self._sentences, first = _split(self._text)
        self.written = bool(self._text.strip())
        self.court_at, self.number_at, self.context_at = first.get("court"), first.get("number"), first.get("context")
        self.says_ecli = "ecli" in first

    def quotes(self, words: str) -> bool:
        """Whether these words stand in the reasoning, whatever their case and accents."""
        return fold_letters(words).lower() in self._text

    @property
    def court_comes_first(self) -> bool:
        """Whether no sentence argues from the number or the context before one speaks of the court."""
        if self.court_at is None:
            return False
        return all(at is None or self.court_at <= at for at in (self.number_at, self.context_at))

    @lazy
    def writes_a_court_out(self) -> bool:
        """Whether the reasoning itself holds the full name of a court."""
        words = "|".join(table("reasoning_cues")["court_words"]["words"])
        return re.search(rf"(?<![a-z])(?:{words})(?![a-z])", self._text) is not None

    @lazy
    def claims_number_match(self) -> bool:
        return any(sentence.claims_number_match() for sentence in self._sentences)

    @lazy
    def claims_ecli_match(self) -> bool:
        """Whether it says that an ECLI agrees."""
        return any(
            sentence.about("ecli") and _says("match", sentence.text) and not _says("negation", sentence.text)
            for sentence in self._sentences
        )

    @lazy
    def says_no_number(self) -> bool:
        return _says("no_number", self._text)

    @lazy
    def says_not_found(self) -> bool:
        return self._one_says("not_found", about=("number",))

    @lazy
    def penalises_missing(self) -> bool:
        """Whether a missing number is held against the match, at once or in a next sentence about nothing else."""
        if not self.says_no_number:
            return False
        return any(self._penalises(place) for place in range(len(self._sentences)))

    def _penalises(self, place: int) -> bool:
        if not _says("no_number", self._sentences[place].text):
            return False
        said = [self._sentences[place]]
        said += [sentence for sentence in self._sentences[place + 1 : place + 2] if not sentence.mentions]
        return any(_says("penalty", item.text) and not _says("rightful_cap", item.text) for item in said)

    @lazy
    def blames_jurisdiction(self) -> bool:
        """Whether the jurisdiction is held against a court; that it is open and every court fits is no blame."""
        return any(
            _says("penalty", sentence.text)
            or (_says("uncertain", sentence.text) and not _says("all_fit", sentence.text))
            for sentence in self._sentences
            if _says("jurisdiction", sentence.text)
        )

    @lazy
    def courts_differ(self) -> bool:
        if _says("courts_differ", self._text):
            return True
        if not any(denial in self._text for denial in _DENIALS):
            return False
        return any(
            _says("court_absent", sentence.text)
            for sentence in self._sentences
            if not any(sentence.about(aspect) for aspect in ("number", "context", "date"))
        )

    @lazy
    def abbreviation(self) -> bool:
        return _says("abbreviation", self._text)

    @lazy
    def language(self) -> bool:
        return _says("language", self._text)

    @lazy
    def keywords(self) -> bool:
        return _says("keywords", self._text)

    @lazy
    def others(self) -> bool:
        return _says("others", self._text)

    @lazy
    def remarks_ecli(self) -> bool:
        """Whether an ECLI, a date or a year is said to be odd."""
        return self._one_says("negation", about=("ecli", "date"))

    def _one_says(self, *names: str, about: tuple[str, ...] = ()) -> bool:
        """Whether one sentence, about one of these things where any are named, says all of this."""
        return any(
            all(_says(name, sentence.text) for name in names)
            for sentence in self._sentences
            if not about or any(sentence.about(aspect) for aspect in about)
        )


@lru_cache(maxsize=64)
def read_reasoning(text: str | None) -> Cues:
    """The cues of a reasoning; a missing one has none."""
    return Cues(text)
