"""Reads a question: its parts, and what kind of thing each part asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, get_args

from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.tables import table

Asked = Literal["date", "number", "person", "place"]
_MOST_PARTS = 8
_LONGEST = 4_000
_LONGEST_LEAD = 40
"""Words; more are a story, and a model would read them instead of the question."""


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One thing that is asked; `kind` where a date, a number, a person or a place is called for.

    `lead` is the text around the questions: "My washer shows E18. What should I do?"
    """

    text: str
    kind: Asked | None
    lead: str = ""

    @property
    def asked(self) -> str:
        """The question as it is put before a model, with what it cannot be understood without."""
        return f"{self.lead} {self.text}" if self.lead else self.text

    @property
    def measure(self) -> str | None:
        """What a number must measure to answer it, where that is plain: money for a price; else None."""
        if self.kind != "number":
            return None
        named = (name for name in table("questions")["measures"] if _pattern("measures", name).search(self.text))
        return next(named, None)

    @property
    def matter(self) -> str:
        """What it asks about: of "in which country does it lie" only that it lies."""
        asked = _pattern("kinds", self.kind).sub(" ", self.text) if self.kind in ("date", "place") else self.text
        return f"{self.lead} {asked}" if self.lead else asked


@cache
def _pattern(section: str, name: str) -> re.Pattern[str]:
    return re.compile(table("questions")[section][name], re.I)


@lru_cache(maxsize=8_192)
def question_parts(question: str) -> tuple[QuestionPart, ...]:
    """Returns the parts of a question: its questions one by one, cut before "and what", "and how".

    The text around them, unless it is long, is their lead.
    """
    sentences = [sentence.text for sentence in split_sentences(question[:_LONGEST])]
    asked = [text for text in sentences if text.endswith("?")]
    lead = " ".join(text for text in sentences if not text.endswith("?")) if asked else ""
    if len(lead.split()) > _LONGEST_LEAD:
        lead = ""
    asked = asked or [" ".join(sentences) or question.strip()]
    pieces = [piece.strip() for text in asked for piece in _pattern("parts", "cut").split(text) if piece.strip(" ?,")]
    listed = [item for piece in pieces for item in _split_list(piece)]
    return tuple(QuestionPart(piece, _kind(piece), lead) for piece in listed[:_MOST_PARTS] or [question.strip()])


def _kind(text: str) -> Asked | None:
    """The kind whose words come first: "How old was she when she died?" asks for a number."""
    found = [(match.start(), kind) for kind in get_args(Asked) if (match := _pattern("kinds", kind).search(text))]
    return min(found, key=lambda item: item[0])[1] if found else None


def _split_list(piece: str) -> list[str]:
    """Returns a question for each thing that one asks about: "What are the price and the weight of it?" asks two."""
    found = _pattern("parts", "listed").search(piece)
    if found is None:
        return [piece]
    items = [item.strip() for item in _pattern("parts", "item").split(found["items"]) if item.strip()]
    return [f"{found['ask']} {item}{found['of'] or ''}" for item in items] if len(items) > 1 else [piece]
