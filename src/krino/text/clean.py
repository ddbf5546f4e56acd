"""Makes text from strangers harmless for a terminal, and names comparable, without escapes and invisible characters."""

from __future__ import annotations

import html
import re
import unicodedata

_ESCAPES = re.compile(
    r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]?"  # CSI: colours, cursor moves
    r"|[\x1b]\][^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?"  # OSC: window titles, links, the clipboard
    r"|\x1b[PX^_][^\x1b\x9c]{0,4096}(?:\x1b\\|\x9c)?"  # DCS and its kin
    r"|\x1b[ -/]{0,8}[0-~]?"
    r"|\x9b[0-?]{0,64}[ -/]{0,8}[@-~]?"
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"
    "\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff"  # invisible, or they turn the line around
    "\ud800-\udfff]"  # lone surrogates cannot be written at all
)


_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Soft hyphens, characters without width, those that turn the line around, fillers, variation selectors, tags."""
_LONGEST_COMPOSED = 1_000
"""Characters: to compose letters takes time that grows with the square of a run of accents."""


def clean(text: str) -> str:
    """The text without control characters, escape sequences and marks that turn a line around. Keeps line breaks and
    tabs."""
    if text.isprintable():  # by far the most common: nothing in it acts
        return text
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def clean_name(text: str) -> str:
    """A name or an id as it is kept and compared: composed letters (NFC), without invisible characters."""
    if text.isascii():
        return text
    name = _UNSEEN.sub("", text)
    return unicodedata.normalize("NFC", name) if len(name) <= _LONGEST_COMPOSED else name


def has_unseen(name: str) -> bool:
    """Whether a name holds an invisible character."""
    return _UNSEEN.search(name) is not None


def sound(text: str) -> str:
    """The text with lone surrogates replaced: a Python string may hold them, but they cannot be written."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cut(text: str, most: int) -> str:
    """The text shortened to `most` characters; the last one is `…` if it was cut."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def clean_line(text: str, most: int | None = None) -> str:
    """The text cleaned and on one line, shortened to `most` characters."""
    line = " ".join(clean(text if most is None else text[: 8 * most]).split())
    return line if most is None else cut(line, most)


# --- HTML entities -----------------------------------------------------------------------------------

_LEADING_ZEROS = re.compile(r"&#0+(?=[0-9])")
_BEYOND_UNICODE = re.compile(r"&#[0-9]{8,};?")


def unescape_html(text: str) -> str:
    """The text without entities. The standard library's own function raises `ValueError` at numbers of more than 4,300
    digits; like any other number beyond Unicode they become U+FFFD here."""
    if "&" not in text:
        return text
    if "&#" in text:
        text = _BEYOND_UNICODE.sub("\ufffd", _LEADING_ZEROS.sub("&#", text))
    return html.unescape(text)
