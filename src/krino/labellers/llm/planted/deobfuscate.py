"""Undoes disguises of a text: look-alike and invisible letters, escapes, comments, and simple codes.

Whoever plants an answer in a case may disguise it in ways that a model reads through without trouble. Every reading
made here is one that a model may have had; they serve to compare, and none is shown to anybody.
"""

from __future__ import annotations

import base64
import codecs
import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import NamedTuple

from krino.text.clean import unescape_html

MOST_LAYERS = 6  # escapes inside escapes; deeper ones no model reads through
BACKSLASH = re.compile(
    r"\\(?:u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{3})|([\s\S]))"
)
PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2})+")
# Escapes that may encode a letter. All others do not change the letters around them, which is enough at first.
LETTER_ESCAPE = re.compile(r"\\(?:[uU][0-9a-fA-F{]|x[0-9a-fA-F]|[0-7]{3})|&(?:#|amp;|AMP;)|%[0-9a-fA-F]{2}")
WHITESPACE = frozenset("nrtbfv")
LINE_COMMENT = re.compile(r"(?://|#)[^\n]*")
BLOCK_COMMENTS = (("/*", "*/"), ("<!--", "-->"))
BASE64_RUN = re.compile(rb"[A-Za-z0-9+/]+")
HEX_RUN = re.compile(r"(?:0x)?[0-9a-fA-F](?:[\s:,=-]{0,2}(?:0x)?[0-9a-fA-F]){15,}")
NUMBER_RUN = re.compile(r"(?<!\d)\d{2,8}(?:[\s,;]{1,3}\d{2,8}){7,}")
LONG_RUN = 60  # characters of base64 without a break: hardly any text has so long a word
_LONG_WORD = re.compile(rf"\S{{{LONG_RUN}}}")
MIXED_WORD = re.compile(r"\b(?=\d*[A-Za-z_]\d*[A-Za-z_])(?=\w*\d)\w+\b")  # ids such as `a1` stay
HIDDEN_BYTES = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}|[\U000e0020-\U000e007e]{8,}")
URL_SAFE = bytes.maketrans(b"-_", b"+/")
LAYOUT = (
    b" \t\n\r\v\f|>.,;:\"'()[]"  # what stands between the lines of a text that is wrapped, quoted or shown in a trace
)

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
# Letters in boxes, circles and flags that Unicode's rules leave as they are.
BOXED = {first + place: chr(ord("a") + place) for first in (0x1F130, 0x1F150, 0x1F170, 0x1F1E6) for place in range(26)}
LOOK_ALIKES = {ord(other): latin for latin, others in LIKE.items() for other in others} | BOXED
HIDDEN = frozenset({"Mn", "Me", "Cf"})  # accents, enclosing marks, everything that is not seen
FIRST_BOXED = chr(min(BOXED))
FILLERS = frozenset("\u115f\u1160\u3164\uffa0")  # letters by their class, blank to the eye

# One byte for each ASCII character and each letter that looks like one, and then the small Latin letter for each.
_ASCII, _OTHERS = bytes(range(128)), "".join(others for latin, others in LIKE.items() if latin.isalpha())
ONE_BYTE = codecs.charmap_build(_ASCII.decode() + _OTHERS.ljust(128, "\ufffe"))
LOWER = _ASCII.lower() + "".join(LOOK_ALIKES[ord(other)] for other in _OTHERS).ljust(128).encode()
NOT_RARE = bytes(
    code for code in range(256) if not (chr(code).isascii() and (chr(code).isupper() or chr(code).isdigit()))
)
NO_CONTENT = bytes(code for code in range(128) if not chr(code).isalnum())


def fold_to_latin(text: str) -> str:
    """Returns the text with plain Latin letters for look-alikes, without accents and without invisible characters."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text)
    seen = (char for char in plain if char.isascii() or not _is_hidden(char))
    return "".join(seen).translate(LOOK_ALIKES)


def _is_hidden(char: str) -> bool:
    return unicodedata.category(char) in HIDDEN or char in FILLERS


def fold_to_letters(text: str) -> bytes:
    """Folds a text for a quick look: Latin letters and digits alone, in lower case; every case is folded, so it is
    cheap."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = text.translate(BOXED) if max(text) >= FIRST_BOXED else text
    if ("\\" in text or "&" in text or "%" in text) and LETTER_ESCAPE.search(text):
        text = "\n".join(layers(text))
    plain = text.encode() if text.isascii() else codecs.charmap_encode(text, "ignore", ONE_BYTE)[0]
    return plain.translate(LOWER, NO_CONTENT)


# --- layers ----------------------------------------------------------------------------------------


def layers(text: str) -> Iterator[str]:
    """Yields the text folded to Latin, then again after each layer of escapes is undone, up to `MOST_LAYERS`."""
    for _ in range(MOST_LAYERS):
        text = fold_to_latin(text)
        yield text
        inner = _unescape_once(text)
        if inner == text:
            return
        text = inner


def _unescape_once(text: str) -> str:
    """Undoes HTML entities, percent escapes and backslash escapes, one layer deep."""
    text = unescape_html(text)
    text = PERCENT.sub(_from_percent, text) if "%" in text else text
    if "\\" not in text:
        return text
    # Two halves of a character beyond the first 65,536, each escaped by itself, become that character.
    return BACKSLASH.sub(_from_backslash, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _from_percent(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")


def _from_backslash(match: re.Match[str]) -> str:
    """Returns the character that a backslash escape stands for; an impossible one becomes a space."""
    *hexes, octal, other = match.groups()
    if other is not None:
        return " " if other in WHITESPACE else other
    code = int(octal, 8) if octal else int(next(filter(None, hexes)), 16)
    return chr(code) if code <= 0x10FFFF else " "


def strip_comments(text: str) -> str:
    """Returns a text without the comments of programs and pages (`/* */`, `<!-- -->`, `//`, `#`)."""
    for opening, closing in BLOCK_COMMENTS:
        first, *rest = text.split(opening)
        text = first + "".join(part.partition(closing)[2] for part in rest)
    return LINE_COMMENT.sub("", text)


# --- codes -----------------------------------------------------------------------------------------


LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALPHABET = LETTERS.encode()
FEWEST_DIGITS = 8
"""A text with fewer digits has no name in hexadecimal or as the numbers of its letters."""
LEET = str.maketrans("0134578", "oieastb")
LEET_BYTES = bytes.maketrans(b"0134578", b"oieastb")
# Ciphers that put one letter for another: the alphabet shifted (rot13 is one of them) or turned round.
CIPHERS = [LETTERS[shift:] + LETTERS[:shift] for shift in range(1, 26)] + [LETTERS[::-1]]
OUT_OF_CIPHERS = [str.maketrans(cipher + cipher.upper(), LETTERS + LETTERS.upper()) for cipher in CIPHERS]


class Code(NamedTuple):
    """How one name looks in each code."""

    plain: bytes
    ciphers: tuple[bytes, ...]
    backwards: bytes
    hexadecimal: tuple[bytes, ...]
    numbers: tuple[tuple[int, bytes], ...]
    """By the base that the numbers of the characters are written in."""
    base64: tuple[bytes, ...]
    base64_rare: tuple[frozenset[int], ...]
    """The capitals and digits of each of them: without all of these in a text, the code is not in it either."""


@lru_cache(maxsize=256)
def _encode_name(name: str) -> Code:
    """Returns how a name looks in the simple codes that are searched for."""
    plain = fold_to_letters(name).decode()
    ciphers = tuple(plain.translate(str.maketrans(LETTERS, cipher)).encode() for cipher in CIPHERS) if plain else ()
    raw, wide = name.encode(), name.encode("utf-16-le")
    marks = (*_in_base64(raw), *_in_base64(wide))
    hexadecimal = (raw.hex(), wide.hex(), "".join(f"0x{byte:02x}" for byte in raw))
    numbers = {10: "d", 8: "03o", 2: "08b"}
    return Code(
        plain=plain.encode(),
        ciphers=ciphers,
        backwards=plain[::-1].encode(),
        hexadecimal=tuple(mark.encode() for mark in hexadecimal),
        numbers=tuple((base, "".join(format(byte, form) for byte in raw).encode()) for base, form in numbers.items()),
        base64=marks,
        base64_rare=tuple(frozenset(mark.translate(None, NOT_RARE)) for mark in marks),
    )


def _in_base64(name: bytes) -> Iterator[bytes]:
    """Yields a name in base64, once for each place in a group of three bytes where it may begin, without the letters
    that also depend on its neighbours."""
    for before in range(3):
        code = base64.b64encode(bytes(before) + name)
        yield code[-(-before * 8 // 6) : (before + len(name)) * 8 // 6]


def decode_around(text: str, seen: bytes, names: Collection[str]) -> Iterator[str]:
    """Yields the text decoded from every simple code in which it has one of these names, and what is in nested base64
    or invisible characters. `seen` is `fold_to_letters(text)`."""
    codes = [_encode_name(name) for name in names]
    leet = seen.translate(LEET_BYTES)
    has_numbers = len(seen.translate(None, ALPHABET)) >= FEWEST_DIGITS
    rare = frozenset(text.encode("utf-8", "replace").translate(None, NOT_RARE))
    for code in codes:
        for place in [place for place, mark in enumerate(code.ciphers) if mark in seen]:
            yield text.translate(OUT_OF_CIPHERS[place])
        if code.plain and code.plain not in seen and code.plain in leet:
            yield MIXED_WORD.sub(lambda word: word[0].translate(LEET), text)
        if code.backwards and code.backwards in seen:
            yield from _reverse(text)
        if has_numbers:
            yield from _from_numbers(text, seen, code)
        if any(letters <= rare for letters in code.base64_rare):
            yield from _from_base64(text, code)
    if _has_long_word(text):
        yield from _from_nested_base64(text)
    if not text.isascii():
        for hidden in HIDDEN_BYTES.findall(text):
            yield bytes(map(_decode_hidden, hidden)).decode("utf-8", "replace")


def _reverse(text: str) -> Iterator[str]:
    """Yields the text reversed as a whole, line by line, and word by word."""
    yield text[::-1]
    yield "\n".join(line[::-1] for line in text.split("\n"))
    yield re.sub(r"\w+", lambda word: word[0][::-1], text)


def _from_numbers(text: str, seen: bytes, code: Code) -> Iterator[str]:
    """Yields texts that are written as hexadecimal or as lists of numbers, if the name occurs in them."""
    if any(mark in seen for mark in code.hexadecimal):
        for run in HEX_RUN.findall(text):
            digits = "".join(filter(str.isalnum, run.replace("0x", "")))
            for start in range(2):  # the end of a word before it may look like a digit
                pairs = digits[start : start + (len(digits) - start) // 2 * 2]
                yield _decode_text(bytes.fromhex(pairs))
    for base, mark in code.numbers:
        if mark in seen:
            for run in NUMBER_RUN.findall(text):
                yield "".join(_decode_character(number, base) for number in re.findall(r"\d+", run))


def _from_base64(text: str, code: Code) -> Iterator[str]:
    """Yields texts that are written in base64, if the name occurs in them."""
    tight = text.encode("utf-8", "replace").translate(URL_SAFE, LAYOUT)
    if marks := [mark for mark in code.base64 if mark in tight]:
        for run in BASE64_RUN.findall(tight):
            if any(mark in run for mark in marks):
                for start in range(4):  # words that stand before it shift its groups of four
                    yield _decode_text(_decode_base64(run[start:]))


def _has_long_word(text: str) -> bool:
    """Whether any word has `LONG_RUN` characters. It would cover one whole stretch of half its length, and most texts
    have a blank in each: a quick look first."""
    half = LONG_RUN // 2
    stretches = (text[at : at + half] for at in range(0, len(text), half))
    return any(" " not in stretch for stretch in stretches) and _LONG_WORD.search(text) is not None


def _from_nested_base64(text: str) -> Iterator[str]:
    """Yields text that is in base64 twice, or backwards in base64: no name can be searched for before it is decoded."""
    for run in BASE64_RUN.findall(text.encode("utf-8", "replace").translate(URL_SAFE)):
        if len(run) >= LONG_RUN and (inner := _decode_base64(run)).isascii():
            whole = BASE64_RUN.fullmatch(inner.rstrip(b"=\n"))
            yield _decode_text(_decode_base64(whole[0])) if whole else inner.decode()[::-1]


def _decode_base64(run: bytes) -> bytes:
    """Decodes a run of base64 letters that may lack its padding; a last letter that is too much is dropped."""
    run = run[: len(run) - (len(run) % 4 == 1)]  # a single letter encodes no byte
    return base64.b64decode(run + b"=" * (-len(run) % 4))


def _decode_text(raw: bytes) -> str:
    return raw.replace(b"\0", b"").decode("utf-8", "replace")


def _decode_character(number: str, base: int) -> str:
    """Returns the ASCII character of a number, or a space."""
    try:
        code = int(number, base)
    except ValueError:
        return " "
    return chr(code) if code < 128 else " "


def _decode_hidden(char: str) -> int:
    """Returns the byte that an invisible character encodes: variation selectors count bytes, tags are ASCII with an
    offset."""
    code = ord(char)
    if code >= 0xE0100:
        return code - 0xE0100 + 16
    return code - 0xE0000 if code >= 0xE0000 else code - 0xFE00
