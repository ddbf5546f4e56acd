"""Finds cues in a matcher's reasoning: what it mentions, in which order, and what it claims to agree."""

from __future__ import annotations

import re
from functools import lru_cache

from krino.judges.citation.belgium.dates import fold_letters
from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.patterns import has_cue
from krino.judges.citation.reasoning.reasoning_sentences import ReasoningSentence, split_reasoning
from krino.judges.lazy import lazy

LONGEST = 8_000
"""Characters of a reasoning that are read."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_DAMAGED_APOSTROPHE = str.maketrans({"`": "'", "\u00b4": "'"})


class Cues:
    """What the words of a reasoning show; each cue is looked for when it is first used: most cases need few.

    `text` is in lower case and without accents; its offsets are those of the reasoning.
    """

    def __init__(self, text: str | None) -> None:
        """Folds a text to plain small letters; a missing one is empty."""
        plain = fold_letters((text or "")[:LONGEST])
        if "`" in plain or "\u00b4" in plain:
            plain = plain.translate(_DAMAGED_APOSTROPHE)
        self._plain = plain
        self.text = plain.lower()
        self.written = bool(self.text.strip())

    @lazy
    def sentences(self) -> list[ReasoningSentence]:
        """The sentences of the reasoning, each with the aspects that it mentions."""
        return list(split_reasoning(self._plain))

    @lazy
    def words(self) -> list[str]:
        """Its words of three letters and more: French writes more of the shorter ones than English and Dutch."""
        return find_words(self.text)

    @lazy
    def _first_mentions(self) -> dict[str, int]:
        """The sentence that first mentions each aspect."""
        first: dict[str, int] = {}
        for place, sentence in enumerate(self.sentences):
            for name, _ in sentence.mentions:
                first.setdefault(name, place)
        return first

    @lazy
    def court_at(self) -> int | None:
        """The first sentence that mentions the court; None where none does."""
        return self._first_mentions.get("court")

    @lazy
    def number_at(self) -> int | None:
        """The first sentence that mentions the number; None where none does."""
        return self._first_mentions.get("number")

    @lazy
    def context_at(self) -> int | None:
        """The first sentence that mentions the context; None where none does."""
        return self._first_mentions.get("context")

    @lazy
    def mentions_ecli(self) -> bool:
        return "ecli" in self._first_mentions

    def court_comes_first(self, *, numbered: bool) -> bool:
        """Does the reasoning mention the court before it argues from number or context?

        Where no number is cited (`numbered`), nothing can be argued from one: to say so first skips no step.
        """
        if self.court_at is None:
            return False
        before = (self.number_at, self.context_at) if numbered else (self.context_at,)
        return all(at is None or self.court_at <= at for at in before)

    @lazy
    def names_a_national_court(self) -> bool:
        """Does the reasoning name a court of which there is only one?"""
        words = "|".join(table("cues")["national_courts"]["words"])
        return re.search(rf"(?<![a-z])(?:{words})(?![a-z])", self.text) is not None

    @lazy
    def claims_number_match(self) -> bool:
        """Does a sentence say that the numbers agree?"""
        return self.number_at is not None and any(sentence.claims_number_match() for sentence in self.sentences)

    @lazy
    def claims_ecli_match(self) -> bool:
        """Does a sentence say that an ECLI agrees as a whole?"""
        return self.mentions_ecli and any(sentence.claims_ecli_match() for sentence in self.sentences)

    @lazy
    def says_number_is_missing(self) -> bool:
        """Does the reasoning say that the citation gives no number?"""
        return has_cue("no_number", self.text)

    @lazy
    def rejects_others(self) -> bool:
        """Does the reasoning mention the other candidates?"""
        return has_cue("others", self.text)

    @lazy
    def doubts_ecli(self) -> bool:
        """Does a sentence say that an ECLI, a date or a year does not fit?"""
        return any(
            has_cue("negation", sentence.text)
            for sentence in self.sentences
            if sentence.mentions_aspect("ecli") or sentence.mentions_aspect("date")
        )

    @lazy
    def doubts_court_of_ecli(self) -> bool:
        """Does a sentence say that an ECLI, or the court code in it, does not fit?"""
        return any(
            has_cue("negation", sentence.text)
            for sentence in self.sentences
            if sentence.mentions_aspect("ecli") or has_cue("code", sentence.text)
        )


def find_words(text: str) -> list[str]:
    """Returns the words of three letters and more in a text in lower case."""
    return _WORD.findall(text)


@lru_cache(maxsize=64)
def read_reasoning(text: str | None) -> Cues:
    """Returns the cues of a reasoning, cached; a missing one has none."""
    return Cues(text)
