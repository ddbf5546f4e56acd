"""Reads the entities of HTML (`&eacute;`, `&#233;`), however many digits a stranger gives them."""

from __future__ import annotations

import html
import re

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
