"""Finds the names of a text: codes, and words with a capital inside a sentence."""

from __future__ import annotations

import re
from functools import lru_cache

from krino.judges.rag.reading.same_length import without_citations
from krino.judges.rag.values.vocabulary import has_digit

_NAME = re.compile(r"[^\W\d_a-z][^\W\d_]+")
_ASCII_NAME = re.compile(r"[A-Z][A-Za-z]+")
"""The same where there are no other letters, and found much faster."""
_CODE = re.compile(r"\b(?!Q[1-4]\b|H[12]\b)[A-Z][A-Za-z]*\d[A-Za-z\d]*\b")
"""A model, a form, a flight: "B20"; "Q3" is a time."""
_SENTENCE_OPENERS = '.!?:…\n"“«'


@lru_cache(maxsize=16_384)
def find_names(text: str) -> tuple[str, ...]:
    """Returns codes, and capitalised words inside sentences.

    One that opens a sentence is left out: that may be any word.
    """
    plain = without_citations(text)
    names = _CODE.findall(plain) if has_digit(plain) else []
    for match in (_ASCII_NAME if plain.isascii() else _NAME).finditer(plain):
        word = match.group()
        if not word[0].isupper():
            continue
        before = plain[max(0, match.start() - 3) : match.start()].rstrip(" ")
        if before and before[-1] not in _SENTENCE_OPENERS and (before[-1] != "-" or len(before) > 1):
            names.append(word)
    return tuple(names)
