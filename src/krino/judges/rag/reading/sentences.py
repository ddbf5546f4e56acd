"""Cuts a text into sentences and keeps where each stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import NamedTuple

from krino.judges.rag.tables import table

PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff"
"""Signs and emoji, as a range of a pattern."""
_END = re.compile(rf"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？]+|\n|[{PICTURES}]\ufe0f?(?=\s+[A-Z])")
_MARKER = re.compile(r"\s*(?:[-*+•‣◦▪–—]\s+|\(?(?:\d{1,3}[.)]|[a-zA-Z]\))\s+|#{1,6}\s+|>\s+)*\s*")
_LIST_LINE = re.compile(r"[ \t]*(?:[-*+•‣◦▪–—]\s|\(?\d{1,3}[.)]\s|#{1,6}\s|\n|$)")
_LAST_WORD = re.compile(r"[^\s(\[\"'“«]{1,20}$")
_NEXT_WORD = re.compile(r"\s*[\"'“‘«(\[*_]*(\w*)")
_ALPHANUMERIC = re.compile(r"[^\W_]")
_ITEM = re.compile(r"\d{1,3}|[a-zA-Z]")
_PROSE = re.compile(rf"([A-Z] ?[a-z][^.!?…\n。！？{PICTURES}]* ([a-z]|[^\W\d_]{{2,}})[.!?])(?: (?=[A-Z])|$)|([\s\S]+)")
"""A sentence and its last word; or else all that is left, so that no text is read again and again."""
_ASCII_PROSE = re.compile(r"([A-Z] ?[a-z][^.!?\n]* ([a-z]|[A-Za-z]{2,})[.!?])(?: (?=[A-Z])|$)|([\s\S]+)")
"""The same of a text without any other letters or signs, read in half the time."""
_SETTING = re.compile(r"[\w.-]+ ?(?::|=) ?\S")
"""A line that sets something: "retries: 5"."""
_INDENT = 12
_LOOK_BACK = 24


class Sentence(NamedTuple):
    """A sentence and its place: `text == source[start:end]`."""

    text: str
    start: int
    end: int


_made = partial(tuple.__new__, Sentence)
"""A sentence of its three parts. Every case has dozens, and the usual way of making one takes twice as long."""


@dataclass(frozen=True, slots=True)
class _ShortForms:
    never_end: frozenset[str]
    before_number: frozenset[str]
    after_ordinal: frozenset[str]
    hours: frozenset[str]
    days: frozenset[str]


@cache
def _short_forms() -> _ShortForms:
    data, dates = table("sentences"), table("values")["dates"]
    return _ShortForms(
        frozenset(data["never_end"].split()),
        frozenset(data["before_number"].split()),
        frozenset(data["after_ordinal"].split()),
        frozenset(data["hours"].split()),
        frozenset(" ".join([*dates["weekdays"], *dates["months"]]).split()),
    )


@lru_cache(maxsize=2_048)
def split_sentences(text: str) -> tuple[Sentence, ...]:
    """The sentences in order, list markers cut off; a text that shows anything gives at least one."""
    plain = split_prose(text)
    return split_any(text) if plain is None else plain


def split_any(text: str) -> tuple[Sentence, ...]:
    """The sentences of any text, with its lists, short forms and wrapped lines."""
    found: list[Sentence] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end <= start:
            continue
        if match.group() == "\n":
            if _joins_lines(text, match.start(), end):
                continue
        elif text[match.start()] == "." and _is_inside(text, start, match.start(), end):
            continue
        _append(found, text, start, end)
        start = end
    _append(found, text, start, len(text))
    if not found and text.strip():
        begin = len(text) - len(text.lstrip())
        found.append(Sentence(text.strip(), begin, begin + len(text.strip())))
    return tuple(found)


def _append(found: list[Sentence], text: str, start: int, end: int) -> None:
    marker = _MARKER.match(text, start, end)
    if marker is not None and marker.end() < end:
        start = marker.end()
    stripped = text[start:end].rstrip()
    if _ALPHANUMERIC.search(stripped):
        found.append(Sentence(stripped, start, start + len(stripped)))


def _joins_lines(text: str, newline: int, after: int) -> bool:
    """A line that merely wraps: nothing ended before it and the next line goes on in lower case."""
    before = text[max(0, newline - _LOOK_BACK) : newline].rstrip()
    if not before or before[-1] in ".!?:;…" or _LIST_LINE.match(text, after):
        return False
    following = text[after : after + _LOOK_BACK].lstrip(" \t")
    return following[:1].islower() and _SETTING.match(following) is None


def _is_inside(text: str, start: int, dot: int, end: int) -> bool:
    """Whether the full stop belongs to a short form, an initial, an ordinal or a list marker."""
    following = _NEXT_WORD.match(text, end)
    after = following.group(1) if following is not None else ""
    if after[:1].islower():
        return True
    match = _LAST_WORD.search(text, max(start, dot - _LOOK_BACK), dot)
    if match is None:
        return False
    word = match.group()
    if match.start() - start <= _INDENT and not text[start : match.start()].strip() and _ITEM.fullmatch(word):
        return bool(after)
    if len(word) == 1 and word.isupper() and word != "I":
        return bool(after)
    forms = _short_forms()
    lowered = word.lower()
    if lowered in forms.never_end:
        return bool(after)
    if lowered in forms.hours:
        return after.lower() in forms.days
    if lowered in forms.before_number:
        return after[:1].isdecimal()
    return word.isdecimal() and len(word) <= 2 and after.lower() in forms.after_ordinal


def split_prose(text: str) -> tuple[Sentence, ...] | None:
    """The same for plain prose, the most common text by far and read cheaply; None where it is anything else.

    Each sentence begins with a capital and a small letter, has a second word, and ends with one that is no short form
    and no initial.
    """
    read = (_ASCII_PROSE if text.isascii() else _PROSE).findall(text)
    if not read or read[-1][2]:
        return None
    found: list[Sentence] = []
    place, short = 0, _any_short_form()
    for sentence, word, _ in read:
        if word.lower() in short:
            return None
        end = place + len(sentence)
        found.append(_made((sentence, place, end)))
        place = end + 1  # the space between two
    return tuple(found)


@cache
def _any_short_form() -> frozenset[str]:
    forms = _short_forms()
    return forms.never_end | forms.before_number | forms.after_ordinal | forms.hours
