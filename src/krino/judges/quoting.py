"""Whether a quotation carries evidence: whole words and numbers of the text, and more than one letter or digit."""

from __future__ import annotations

import re

_FEWEST = 2  # letters or digits
_CONTENT = re.compile(r"[^\W_]")
# Decimals and thousands belong to the number before them; a date written with points is three numbers.
_REST_OF_NUMBER = re.compile(r"[.,]\d+(?![.,]?\d)")
_START_OF_NUMBER = re.compile(r"(?<![.,\d])\d+[.,]\Z")
_LOOK_BACK = 30
TOO_LITTLE = "shows nothing by itself: quote the words that decide it"


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a stretch of a text cuts no word and no number: "possible" is no quotation from "impossible"."""
    if start < end and _runs_on(text[start - 1 : start], text[start]):
        return False
    if start < end and _runs_on(text[end - 1], text[end : end + 1]):
        return False
    if text[start : start + 1].isdigit() and _START_OF_NUMBER.search(text[max(0, start - _LOOK_BACK) : start]):
        return False
    return not (text[end - 1 : end].isdigit() and _REST_OF_NUMBER.match(text, end))


def find_whole(wanted: str, text: str) -> int:
    """Where a quotation begins, the first place where it cuts nothing before all others; -1 where it is nowhere."""
    first = place = text.find(wanted)
    while place >= 0 and not is_whole(text, place, place + len(wanted)):
        place = text.find(wanted, place + 1)
    return place if place >= 0 else first


def says_too_little(quote: str, text: str) -> bool:
    """A single letter or digit stands in nearly every text; it is evidence only where the text is no longer."""
    content = _CONTENT.findall(quote)
    return len(content) < _FEWEST and len(_CONTENT.findall(text)) > len(content)


def _runs_on(before: str, after: str) -> bool:
    """Whether two neighbours are of one word, as far as their script sets words apart."""
    return before.isalnum() and after.isalnum() and _is_spaced(before) and _is_spaced(after)


def _is_spaced(char: str) -> bool:
    """Latin, Greek, Cyrillic, Armenian; others write without spaces, or put articles and endings onto the word."""
    return char < "\u0590" or "\u1e00" <= char <= "\u1fff"
