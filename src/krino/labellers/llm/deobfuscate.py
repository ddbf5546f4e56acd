"""Undoes disguises of a text: look-alike and invisible letters, escapes, comments, and simple codes.

Whoever plants an answer in a case may disguise it in ways that a model reads through without trouble. Every reading
made here is one that a model may have had; they serve to compare, and none is shown to anybody.
"""

from __future__ import annotations

import base64
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

MOST_LAYERS = 6  # escapes inside escapes; deeper ones no model reads through
BACKSLASH = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{3})|([\s\S]))"
)
PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
# Escapes that stand for a letter. All others leave the letters around them as they are, for a first look at least.
LETTER_ESCAPE = re.compile(r"\\(?:[uU][0-9a-fA-F{]|x[0-9a-fA-F]|[0-7]{3})|&(?:#|amp;|AMP;)|%[0-9a-fA-F]{2}")
BLANKS = frozenset("nrtbfv")
LINE_COMMENT = re.compile(r"(?://|#)[^\n]*")
BLOCK_COMMENTS = (("/*", "*/"), ("<!--", "-->"))
BASE64_RUN = re.compile(rb"[A-Za-z0-9+/]+")
HEX_RUN = re.compile(r"[0-9a-fA-F](?:[\s:,-]?[0-9a-fA-F]){15,}")
URL_SAFE = bytes.maketrans(b"-_", b"+/")
LAYOUT = b" \t\n\r\v\f|>"  # what stands between the lines of a text that is wrapped, quoted or shown in a trace

# Letters of other scripts that look like Latin ones, and typographic quotes and dashes. What differs in form only
# (wide, bold, circled letters, ligatures) is folded by Unicode's own rules.
LIKE = {
    "a": "аАαΑɑᴀ",
    "b": "ВΒЬƄʙ",
    "c": "сСςᴄ",
    "d": "ԁԀɗᴅ",
    "e": "еЕєЄΕҽᴇ",
    "f": "ꜰ",
    "g": "ɡɢց",
    "h": "һҺНΗհʜ",
    "i": "іІιΙıɪ",
    "j": "јЈϳᴊ",
    "k": "кКκΚᴋ",
    "l": "ӏӀʟ",
    "m": "мМΜᴍ",
    "n": "ηΝոɴ",
    "o": "оОοΟσօᴏ",
    "p": "рРρΡᴘ",
    "q": "ԛԚգ",
    "r": "гʀ",
    "s": "ѕЅꜱ",
    "t": "тТτΤᴛ",
    "u": "υսᴜ",
    "v": "νѵѴᴠ",
    "w": "ԝԜωաᴡ",
    "x": "хХχΧ",
    "y": "уУүҮγΥʏ",
    "z": "Ζᴢ",
    '"': "“”„‟«»",
    "'": "‘’‚‛‹›′",
    "-": "−‐‑‒–—",
}
LOOK_ALIKES = {ord(other): latin for latin, others in LIKE.items() for other in others}
HIDDEN = frozenset({"Mn", "Me", "Cf"})  # accents, enclosing marks, everything that is not seen
FILLERS = frozenset("\u115f\u1160\u3164\uffa0")  # letters by their class, blank to the eye

# One byte for each ASCII character and each letter that looks like one, and then the small Latin letter for each.
_ASCII, _OTHERS = bytes(range(128)), "".join(others for latin, others in LIKE.items() if latin.isalpha())
ONE_BYTE = codecs.charmap_build(_ASCII.decode() + _OTHERS.ljust(128, "\ufffe"))
LOWER = _ASCII.lower() + "".join(LOOK_ALIKES[ord(other)] for other in _OTHERS).ljust(128).encode()
NO_CONTENT = bytes(code for code in range(128) if not chr(code).isalnum())


def fold(text: str) -> str:
    """The text with plain Latin letters wherever it shows some, without accents and without what is not seen."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text)
    seen = (char for char in plain if char.isascii() or not _is_hidden(char))
    return "".join(seen).translate(LOOK_ALIKES)


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in HIDDEN or char in FILLERS


def glance(text: str) -> bytes:
    """The same for a quick look: Latin letters and digits alone, in lower case; taken of every case, so it is cheap."""
    text = text if text.isascii() else unicodedata.normalize("NFKD", text)
    if ("\\" in text or "&" in text or "%" in text) and LETTER_ESCAPE.search(text):
        text = "\n".join(layers(text))
    plain = text.encode() if text.isascii() else codecs.charmap_encode(text, "ignore", ONE_BYTE)[0]
    return plain.translate(LOWER, NO_CONTENT)


# --- layers ----------------------------------------------------------------------------------------


def layers(text: str) -> Iterator[str]:
    """The text, then what it is with its escapes undone, once and again."""
    for _ in range(MOST_LAYERS):
        text = fold(text)
        yield text
        inner = _unescaped(text)
        if inner == text:
            return
        text = inner


def _unescaped(text: str) -> str:
    text = html.unescape(text) if "&" in text else text
    text = PERCENT.sub(_from_percent, text) if "%" in text else text
    if "\\" not in text:
        return text
    # Two halves of a character beyond the first 65,536, each escaped by itself, become that character.
    return BACKSLASH.sub(_from_backslash, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _from_percent(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _from_backslash(match: re.Match[str]) -> str:
    *hexes, octal, other = match.groups()
    if other is not None:
        return " " if other in BLANKS else other
    code = int(octal, 8) if octal else int(next(filter(None, hexes)), 16)
    return chr(code) if code <= 0x10FFFF else " "


def without_comments(text: str) -> str:
    """What is left of a text when remarks, as programs and pages hold them, are cut out."""
    for opening, closing in BLOCK_COMMENTS:
        first, *rest = text.split(opening)
        text = first + "".join(part.partition(closing)[2] for part in rest)
    return LINE_COMMENT.sub("", text)


# --- codes -----------------------------------------------------------------------------------------


class Code(NamedTuple):
    """How one name looks in each code."""

    rot13: bytes
    backwards: bytes
    hexadecimal: bytes
    base64: tuple[bytes, ...]
    base64_letters: tuple[str, ...]
    """Of each of them the letters and digits, those that are rare in prose first: without one of them in a text, the
    code is not in it either."""


@lru_cache(maxsize=256)
def _coded(name: str) -> Code:
    plain = glance(name).decode()
    rot13 = codecs.encode(plain, "rot13").encode()
    marks = tuple(_in_base64(name.encode()))
    letters = tuple("".join(sorted(filter(str.isalnum, set(mark.decode())))) for mark in marks)
    return Code(rot13, plain[::-1].encode(), name.encode().hex().encode(), marks, letters)


def _in_base64(name: bytes) -> Iterator[bytes]:
    """By where in a group of three bytes a name begins; only the letters that it decides by itself."""
    for before in range(3):
        code = base64.b64encode(bytes(before) + name)
        yield code[-(-before * 8 // 6) : (before + len(name)) * 8 // 6]


def decoded(text: str, seen: bytes, name: str) -> Iterator[str]:
    """The text out of every simple code in which this name stands there; `seen` is the glance at the text."""
    code = _coded(name)
    if code.rot13 and code.rot13 in seen:
        yield codecs.encode(text, "rot13")
    if code.backwards and code.backwards in seen:
        yield text[::-1]
    if code.hexadecimal in seen:
        for run in HEX_RUN.findall(text):
            digits = "".join(filter(str.isalnum, run))
            for start in range(2):  # the end of a word before it may look like a digit
                pairs = digits[start : start + (len(digits) - start) // 2 * 2]
                yield bytes.fromhex(pairs).decode("utf-8", "replace")
    if not any(all(map(text.__contains__, letters)) for letters in code.base64_letters):
        return
    tight = text.encode("utf-8", "replace").translate(URL_SAFE, LAYOUT)
    if marks := [mark for mark in code.base64 if mark in tight]:
        yield from _from_base64(tight, marks)


def _from_base64(tight: bytes, marks: list[bytes]) -> Iterator[str]:
    for run in BASE64_RUN.findall(tight):
        if any(mark in run for mark in marks):
            for start in range(4):  # words that stand before it shift its groups of four
                code = run[start : len(run) - ((len(run) - start) % 4 == 1)]  # one letter alone is no byte
                yield base64.b64decode(code + b"=" * (-len(code) % 4)).decode("utf-8", "replace")
