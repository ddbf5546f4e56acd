"""Reads a question: its parts, and what kind of thing each part asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.tables import table

Asked = Literal["date", "number", "name"]
_MOST_PARTS = 8
_LONGEST = 4_000


@dataclass(frozen=True, slots=True)
class QuestionPart:
    """One thing that is asked; `kind` where a date, a number or a name is called for."""

    text: str
    kind: Asked | None


@cache
def _patterns() -> tuple[re.Pattern[str], tuple[tuple[Asked, re.Pattern[str]], ...]]:
    data = table("local")["asking"]
    kinds: tuple[Asked, ...] = ("date", "number", "name")
    return re.compile(data["part"], re.I), tuple((kind, re.compile(data[kind], re.I)) for kind in kinds)


@lru_cache(maxsize=8_192)
def question_parts(question: str) -> tuple[QuestionPart, ...]:
    """Questions one by one, cut before "and what", "and how"; what is said around a question is left out."""
    cutter, kinds = _patterns()
    sentences = [sentence.text for sentence in split_sentences(question[:_LONGEST])]
    asked = [text for text in sentences if text.endswith("?")] or [" ".join(sentences) or question.strip()]
    pieces = [piece.strip() for text in asked for piece in cutter.split(text) if piece.strip(" ?")]
    parts = []
    for piece in pieces[:_MOST_PARTS] or [question.strip()]:
        kind = next((kind for kind, pattern in kinds if pattern.search(piece)), None)
        parts.append(QuestionPart(piece, kind))
    return tuple(parts)
