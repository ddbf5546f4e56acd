"""Whether a quotation carries evidence: whole words and numbers of the text, and more than one letter or digit."""

from __future__ import annotations

import re
from itertools import islice

_FEWEST = 2  # letters or digits
_CONTENT = re.compile(r"[^\W_]")
# Decimals and thousands are one number; a date written with points is three.
_NUMBER = re.compile(r"(?<![.,\d])(?:\d+[.,]\d+|\d{1,3}(?:[.,]\d{3})+)(?![.,]?\d)")
_INSIDE = (".", ",")
_MOST_PLACES = 1_000  # a text that occurs more often is no evidence anyway
_LOOK = 30  # letters to either side in which a number that is cut must show
TOO_LITTLE = "shows nothing by itself: quote the words that decide it"


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a stretch of a text cuts no word or number: "possible" is no quotation from "impossible"."""
    return not _cuts(text, start) and not _cuts(text, end)


def widened(text: str, start: int, end: int) -> tuple[int, int]:
    """The stretch with what is missing of its first and its last word."""
    while _cuts(text, start):
        start -= 1
    while _cuts(text, end):
        end += 1
    return start, end


def find_whole(wanted: str, text: str) -> int:
    """Returns where a quotation begins, preferably where it cuts no word or number; -1 if it does not occur."""
    first = place = text.find(wanted)
    for _ in range(_MOST_PLACES):
        if place < 0 or is_whole(text, place, place + len(wanted)):
            break
        place = text.find(wanted, place + 1)
    else:
        place = -1
    return first if place < 0 else place


def says_too_little(quote: str, text: str) -> bool:
    """Whether a text is too short to be evidence: a single letter or digit occurs in nearly every longer text."""
    if len(quote) >= _FEWEST and quote[:_FEWEST].isalnum():  # as nearly every quotation begins
        return False
    content = _content(quote)
    return content < _FEWEST and _content(text) > content


def _content(text: str) -> int:
    """How many letters and digits there are, counted no further than matters."""
    return sum(1 for _ in islice(_CONTENT.finditer(text), _FEWEST))


def _cuts(text: str, place: int) -> bool:
    """Whether this place is inside a word or a number."""
    before, after = text[max(0, place - 1) : place], text[place : place + 1]
    if before.isalnum() and after.isalnum():
        return _is_spaced(before) and _is_spaced(after)
    if not (before.isdigit() and after in _INSIDE) and not (after.isdigit() and before in _INSIDE):
        return False
    start = max(0, place - _LOOK)
    numbers = _NUMBER.finditer(text[start : place + _LOOK])
    return any(found.start() < place - start < found.end() for found in numbers)


def _is_spaced(char: str) -> bool:
    """Latin, Greek, Cyrillic, Armenian; others write without spaces, or put articles and endings onto the word."""
    return char < "\u0590" or "\u1e00" <= char <= "\u1fff"
