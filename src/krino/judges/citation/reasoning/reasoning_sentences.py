"""Splits a reasoning into sentences; all other modules take their sentences from here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.patterns import cue_pattern, has_cue

# A full stop ends a sentence only before a space and no small letter: numbers and abbreviations hold stops too.
_END = r"[!?](?=\s|$)|\.(?=\s*$|\s+(?![\sa-z\u00bb]))|\n"
SENTENCE_END = re.compile(_END)
_PART_END = re.compile(rf"{_END}|;(?=\s|$)|\s[-\u2013\u2014]\s")
_NEAR = 30
"""Characters between a word of agreement and a number behind it that it may belong to."""


class ReasoningSentence(NamedTuple):
    """A sentence, or a part of one that a semicolon or a dash cuts off: its text in lower case and its offsets.

    `mentions`: the aspects of a citation that it names (court, number, context, ...), in order, with their offsets.
    """

    text: str
    start: int
    mentions: tuple[tuple[str, int], ...]

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def mentions_aspect(self, aspect: str) -> bool:
        return any(name == aspect for name, _ in self.mentions)

    def claims_number_match(self) -> bool:
        """Does it say that the numbers agree? A word of agreement goes with the topic before it, or close behind it."""
        if not self.mentions_aspect("number") or has_cue("negation", self.text):
            return False
        for word in cue_pattern("words", "match").finditer(self.text):
            before = [name for name, at in self.mentions if at < word.start()]
            behind = [name for name, at in self.mentions if 0 <= at - word.end() <= _NEAR]
            of_number = (before and before[-1] == "number") or (not before and behind[:1] == ["number"])
            if of_number and not self._is_hypothetical(word):
                return True
        return False

    def claims_ecli_match(self) -> bool:
        """Does it say that an ECLI agrees, as a whole and not only in its court or year?"""
        return (
            self.mentions_aspect("ecli")
            and has_cue("match", self.text)
            and not has_cue("negation", self.text)
            and not has_cue("part_of_ecli", self.text)
        )

    def _is_hypothetical(self, word: re.Match[str]) -> bool:
        """Is the agreement only required or supposed, between the commas around it: "would have to match"?"""
        low, high = self.text.rfind(",", 0, word.start()) + 1, self.text.find(",", word.end())
        before, behind = self.text[low : word.start()], self.text[word.end() : high if high > 0 else None]
        return has_cue("supposed", before) or has_cue("wanted", behind)


def split_reasoning(text: str) -> Iterator[ReasoningSentence]:
    """Yields the sentences of a text, cut at semicolons and dashes too, each with the aspects that it mentions.

    The text must be without accents; empty sentences are left out.
    """
    pattern, names = _aspects()
    start = 0
    for end, after in (*(match.span() for match in _PART_END.finditer(text)), (len(text), len(text))):
        if piece := text[start:end].lower():
            found = pattern.finditer(piece)
            yield ReasoningSentence(
                piece, start, tuple((names[(match.lastindex or 1) - 1], match.start()) for match in found)
            )
        start = after


@cache
def _aspects() -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Returns one pattern of everything a sentence can be about, and the aspect of each of its groups.

    By first letter and then by aspect, so that most words fail at the first comparison: it runs on every reasoning.
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
