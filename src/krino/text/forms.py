"""Compares texts as a reader would: what is blank, what is the same, and where a quotation stands."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from krino.text.quoting import find_whole

_VISIBLE = re.compile(r"[^\s\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff]")
_EDGE_QUOTES = "\"'`“”„‟«»‹›‘’‚‛"
_EDGES = f" {_EDGE_QUOTES}"
_LOOK = 120
_OPENING_WORDS = 5  # the last one looked at may carry a final stop: short texts are compared in full
_OPENING = f" \t\r\n{_EDGE_QUOTES}\u2033\u00b4\u2032"
_QUOTE_CHARS = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‘’‚‛‹›`´′", "'"),
        **dict.fromkeys("‐‑‒–—−", "-"),
    }
)
INVISIBLE: Final = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
"""Characters that nobody sees, as a table for `str.translate`."""


def is_blank(text: str | None) -> bool:
    """Whether there is nothing to see: no text, white space or invisible characters only."""
    return text is None or _VISIBLE.search(text) is None


def straighten(text: str) -> str:
    """Typographic quotes and dashes as their plain forms; the length stays the same."""
    return text if text.isascii() else text.translate(_QUOTE_CHARS)


def canonical(text: str) -> str:
    """The form in which two texts count as the same: case, spaces, quote characters, final stop ignored."""
    plain = " ".join(straighten(text).split()).strip(_EDGES).rstrip(".!… ")
    return plain.casefold()


def same_text(first: str, second: str) -> bool:
    """Whether two texts have the same canonical form; texts that begin differently are told apart at once."""
    if min(len(first), len(second)) < _LOOK:
        return canonical(first) == canonical(second)
    openings = [
        straighten(text.lstrip(_OPENING)[:_LOOK]).casefold().split()[:_OPENING_WORDS] for text in (first, second)
    ]
    return openings[0] == openings[1] and canonical(first) == canonical(second)


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where a quotation stands in a text, whatever its white space, case and quote characters; if it can, whole."""
    wanted = quote.strip().strip(_EDGE_QUOTES).rstrip("….").strip()
    if not wanted:
        return None
    start = find_whole(wanted, text)
    if start >= 0:
        return start, start + len(wanted)
    if not _may_stand(wanted, text):
        return None
    folded, origin = _fold(text)
    needle = _fold(wanted)[0].strip()
    start = find_whole(needle, folded) if needle else -1
    if start < 0:
        return None
    return origin[start], origin[start + len(needle) - 1] + 1


def _may_stand(wanted: str, text: str) -> bool:
    """A quick look without places: most quotations that are not there to the letter are not there at all."""
    return _flat(wanted) in _flat(text)


@lru_cache(maxsize=256)
def _flat(text: str) -> str:
    return "".join(straighten(text).translate(INVISIBLE).casefold().split())


def _fold(text: str) -> tuple[str, list[int]]:
    """Lower case, plain quotes, single spaces; and for each character of that, its place in the original."""
    characters: list[str] = []
    origin: list[int] = []
    spaced = True
    for place, character in enumerate(straighten(text)):
        if ord(character) in INVISIBLE:
            continue
        if character.isspace():
            if spaced:
                continue
            character = " "
        spaced = character == " "
        for folded in character.casefold():
            characters.append(folded)
            origin.append(place)
    return "".join(characters), origin
