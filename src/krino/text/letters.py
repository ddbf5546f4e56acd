"""Reads letters by what they look like: full-width, bold or circled, Cyrillic that looks Latin, s p a c e d out.

A person reads "ｏｐｅｎ" and "оpеn" as "open"; what compares words must do the same.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from krino.text.forms import INVISIBLE

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
    """The text in plain letters, of the same length, so that every offset holds."""
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
    return _SPACED.sub(_join, seen)


def _join(found: re.Match[str]) -> str:
    words = _WORD_GAP.split(found.group())
    if sum(map(str.isalpha, found.group())) < sum(map(str.isdecimal, found.group())):  # a row of numbers
        return found.group()
    if len(words) == 1 and len(found.group()) > 24:  # no gap shows where a word ends
        return found.group()
    return " ".join("".join(word.split()) for word in words)


@cache
def _plain_forms() -> dict[int, str]:
    codes = (code for first, last in _STYLED_RANGES for code in range(first, last + 1))
    named = ((code, unicodedata.decomposition(chr(code)).split()) for code in codes)
    return {code: chr(int(parts[1], 16)) for code, parts in named if len(parts) == 2 and parts[0] in _STYLED}
