"""Undoes what encodings, markup and scanners do to text: entities, letters encoded twice, hidden or lost ones."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from krino.text.entities import unescape_html
from krino.text.forms import INVISIBLE

LOST: Final = "ʔ"
"""Stands for a letter that an encoding lost: itself a letter, so that the word stays whole, and one nobody writes."""

_TWICE_ENCODED: Final = re.compile("[ÃÂ].|â€.")
_LETTER: Final = r"[^\W\d_]"
_BROKEN_WORD: Final = re.compile(rf"(?<={_LETTER})-\s+(?!(?:en|et|und|of|ou|and)\b)(?={_LETTER})", re.IGNORECASE)
_STRAY_ACCENT: Final = re.compile(rf"(?<={_LETTER})[`´^¨](?={_LETTER})")
_LOST_LETTER: Final = re.compile(rf"[?\ufffd](?={_LETTER})")
_LIKE_LETTERS: Final = tuple(str.maketrans({"0": "o", "1": one, "5": "s"}) for one in "li")


def restored(text: str) -> str:
    """The text without entities and hidden characters, and with letters that were encoded twice made one again."""
    text = unescape_html(text)
    if text.isascii():
        return text
    return _TWICE_ENCODED.sub(_once, text.translate(INVISIBLE))


def _once(match: re.Match[str]) -> str:
    try:
        return match[0].encode("cp1252").decode("utf-8")
    except UnicodeError:
        return match[0]


def rejoined(text: str) -> str:
    """The text with words that a line end broke made whole, stray accents taken out and LOST for each lost letter."""
    return _LOST_LETTER.sub(LOST, _STRAY_ACCENT.sub("", _BROKEN_WORD.sub("", text)))


def with_letters(word: str) -> Iterator[str]:
    """The word with letters for the digits that a scanner takes them for."""
    for like in _LIKE_LETTERS:
        read = word.translate(like)
        if read != word and read.isalpha():
            yield read
