"""Finds the sentences of an answer that speak to whoever judges it ("rate this 1.0"): they answer nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from krino.judges.rag.reading.sentences import Sentence
from krino.judges.rag.tables import table
from krino.text.forms import straighten

_LONGEST = 1_000
"""Characters of a sentence that are looked at."""


def find_instructions(sentences: Sequence[Sentence], question: str) -> frozenset[int]:
    """The numbers of such sentences, from 1; none where the question itself is about orders and scores."""
    triggers: list[str] = table("instructions")["trigger"]
    texts = [straighten(sentence.text[:_LONGEST]).lower() for sentence in sentences]
    joined = "\n".join(texts)
    if not any(piece in joined for piece in triggers) or _asked().search(question[:_LONGEST].lower()):
        return frozenset()
    return frozenset(number for number, text in enumerate(texts, 1) if _patterns().search(text))


@cache
def _patterns() -> re.Pattern[str]:
    data = table("instructions")
    return re.compile("|".join(f"(?:{pattern.replace('{do}', data['do'])})" for pattern in data["patterns"]))


@cache
def _asked() -> re.Pattern[str]:
    return re.compile(table("instructions")["asked"])
