"""Compares texts as a reader would: what is blank, what is the same, where a quotation is, which letters look alike."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
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
"""Invisible characters, as a table for `str.translate`."""


def is_blank(text: str | None) -> bool:
    """Whether there is nothing to see: no text, white space or invisible characters only."""
    return text is None or _VISIBLE.search(text) is None


def straighten(text: str) -> str:
    """Typographic quotes and dashes as their plain forms; the length stays the same."""
    return text if text.isascii() else text.translate(_QUOTE_CHARS)


def canonical_text(text: str) -> str:
    """The form in which two texts count as the same: case, spaces, quote characters, final stop ignored."""
    plain = " ".join(straighten(text).split()).strip(_EDGES).rstrip(".!… ")
    return plain.casefold()


def same_text(first: str, second: str) -> bool:
    """Whether two texts have the same canonical form; texts that begin differently are rejected early."""
    if min(len(first), len(second)) < _LOOK:
        return canonical_text(first) == canonical_text(second)
    openings = [
        straighten(text.lstrip(_OPENING)[:_LOOK]).casefold().split()[:_OPENING_WORDS] for text in (first, second)
    ]
    return openings[0] == openings[1] and canonical_text(first) == canonical_text(second)


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Returns where a quotation occurs in a text (start, end), ignoring white space, case and quote characters; whole
    words if possible. None if it does not."""
    wanted = quote.strip().strip(_EDGE_QUOTES).rstrip("….").strip()
    if not wanted:
        return None
    start = find_whole(wanted, text)
    if start >= 0:
        return start, start + len(wanted)
    if not _may_contain(wanted, text):
        return None
    folded, origin = _fold(text)
    needle = _fold(wanted)[0].strip()
    start = find_whole(needle, folded) if needle else -1
    if start < 0:
        return None
    return origin[start], origin[start + len(needle) - 1] + 1


def _may_contain(wanted: str, text: str) -> bool:
    """May the quotation be in the text? A quick test: most that are not there to the letter are not there at all."""
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


# --- letters that look like others -------------------------------------------------------------------

_STYLED = ("<font>", "<wide>", "<circle>", "<square>")
"""Decompositions that change how a letter looks, not what it is. Superscripts stay: m² is not m2."""
_STYLED_RANGES = ((0x2100, 0x214F), (0x2460, 0x24FF), (0xFF01, 0xFF5E), (0x1D400, 0x1D7FF), (0x1F130, 0x1F169))
_LOOKS_LATIN = str.maketrans(
    "асеорхуіјѕԁһԛѡАВСЕНКМОРТХУІЈЅαοικνυρτχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aceopxyijsdhqwABCEHKMOPTXYIJSaoikvuptxABEZHIKMNOPTYX",
)
_OTHER_LETTER = re.compile(r"[\u0370-\u03ff\u0400-\u052f]")
_LATIN_LETTER = re.compile(r"[A-Za-z]")
_SPACED = re.compile(r"(?<!\S)\w(?:[ \t]{1,3}[^\s]){5,}(?!\S)")
_WORD_GAP = re.compile(r"[ \t]{2,}")


def plain_letters(text: str) -> str:
    """The text with styled letters, and Greek or Russian ones in Latin words, as plain letters; of the same length, so
    that every offset holds."""
    if text.isascii():
        return text
    plain = text.translate(_plain_forms())
    if _OTHER_LETTER.search(plain) is None:
        return plain
    # Real Greek or Russian has letters that look like no Latin one; a disguise has not.
    latin = plain.translate(_LOOKS_LATIN)
    disguised = _OTHER_LETTER.search(latin) is None and _LATIN_LETTER.search(plain) is not None
    return latin if disguised else plain


def readable(text: str) -> str:
    """The text without invisible characters, and with s p a c e d words joined; its length may change."""
    seen = text if text.isascii() else text.translate(INVISIBLE)
    return _SPACED.sub(_join_letters, seen)


def _join_letters(found: re.Match[str]) -> str:
    """Joins spaced letters to words, where that is what they are."""
    words = _WORD_GAP.split(found.group())
    if sum(map(str.isalpha, found.group())) < sum(map(str.isdecimal, found.group())):  # a row of numbers
        return found.group()
    if len(words) == 1 and len(found.group()) > 24:  # no gap shows where a word ends
        return found.group()
    return " ".join("".join(word.split()) for word in words)


@cache
def _plain_forms() -> dict[int, str]:
    """The plain letters of styled ones (bold, full-width, circled), as a table for `str.translate`."""
    codes = (code for first, last in _STYLED_RANGES for code in range(first, last + 1))
    named = ((code, unicodedata.decomposition(chr(code)).split()) for code in codes)
    return {code: chr(int(parts[1], 16)) for code, parts in named if len(parts) == 2 and parts[0] in _STYLED}
