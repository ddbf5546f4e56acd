"""Makes text from strangers harmless for a terminal: no escape sequences, nothing invisible that acts."""

from __future__ import annotations

import re

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


def clean(text: str) -> str:
    """Keeps line breaks and tabs."""
    if text.isprintable():  # by far the most common: nothing in it acts
        return text
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))


def sound(text: str) -> str:
    """The text with a mark for half a character, which can stand in a Python string and be written nowhere."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cut(text: str, most: int) -> str:
    """Shortened to `most` characters, with a mark that it was."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def clean_line(text: str, most: int | None = None) -> str:
    """On one line, shortened to `most` characters."""
    line = " ".join(clean(text if most is None else text[: 8 * most]).split())
    return line if most is None else cut(line, most)
