"""Splits a plain text into sentences with their offsets; `answer` uses it on an answer with its markup."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from string import ascii_lowercase
from typing import NamedTuple

from krino.judges.rag.reading.same_length import without_citations
from krino.judges.rag.tables import table

PICTURES = "\u2600-\u27bf\U0001f000-\U0001faff"
"""Signs and emoji, as a range of a pattern."""
_MARKED = r"(?:\[\d{1,3}(?:[ ,;–-]+\d{1,3})*\])+"
_END = re.compile(rf"[.!?…]+[\"'”’»)\]]*(?:[ ]?{_MARKED})?(?=\s|$)|[。！？]+|\n|[{PICTURES}]\ufe0f?(?=\s+[A-Z])")
"""Where a sentence may end; a reference mark behind its full stop is part of it ("5 euros. [1] It ...")."""
_MARKER = re.compile(r"\s*(?:[-*+•‣◦▪–—]\s+|\(?(?:\d{1,3}[.)]|[a-zA-Z]\))\s+|#{1,6}\s+|>\s+)*\s*")
_LIST_LINE = re.compile(r"[ \t]*(?:[-*+•‣◦▪–—]\s|\(?\d{1,3}[.)]\s|#{1,6}\s|\n|$)")
_LAST_WORD = re.compile(r"[^\s(\[\"'“«]{1,20}$")
_NEXT_WORD = re.compile(r"\s*[\"'“‘«(\[*_`~€£$]*\s*(\w*)")
_ALPHANUMERIC = re.compile(r"[^\W_]")
_ITEM = re.compile(r"\d{1,3}|[a-zA-Z]")
_INLINE_ITEM = re.compile(r"\d{1,2}|[a-z]|i{2,3}|iv|vi{1,3}|ix")
_OPENS_LIST = frozenset({"1", "a", "i"})
_ROMAN = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_EMPHASIS = "*_`"
_PROSE = re.compile(rf"([A-Z] ?[a-z][^.!?…\n。！？{PICTURES}]* ([a-z]|[^\W\d_]{{2,}})[.!?])(?: (?=[A-Z])|$)|([\s\S]+)")
"""A sentence and its last word; or else all that is left, so that no text is read again and again."""
_ASCII_PROSE = re.compile(r"([A-Z] ?[a-z][^.!?\n]* ([a-z]|[A-Za-z]{2,})[.!?])(?: (?=[A-Z])|$)|([\s\S]+)")
"""The same of a text without any other letters or signs, read in half the time."""
_SETTING = re.compile(r"[\w.-]+ ?(?::|=) ?\S")
"""A line that sets something: "retries: 5"."""
_INDENT = 12
_LONGEST_MARK = 2
"""Digits of a number that stands alone in its line and marks the item below."""
_LONGEST_ITEM = 300
"""Characters between two marks of a list that goes on inside a sentence."""
_LOOK_BACK = 24
_LONGEST_REFERENCE = 80


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
    never_last: frozenset[str]


@cache
def _short_forms() -> _ShortForms:
    """Returns the short forms after which a full stop does not end a sentence."""
    data, dates = table("sentences"), table("values")["dates"]
    return _ShortForms(
        frozenset(data["never_end"].split()),
        frozenset(data["before_number"].split()),
        frozenset(data["after_ordinal"].split()),
        frozenset(data["hours"].split()),
        frozenset(" ".join([*dates["weekdays"], *dates["months"]]).split()),
        frozenset(data["never_last"].split()),
    )


@lru_cache(maxsize=2_048)
def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Returns the sentences in order, list markers cut off; a text that shows anything gives at least one."""
    plain = split_prose(text)
    return split_any(text) if plain is None else plain


def split_any(text: str) -> tuple[Sentence, ...]:
    """Returns the sentences of any text, with its lists, short forms and wrapped lines."""
    found: list[Sentence] = []
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if end <= start:
            continue
        if match.group() == "\n":
            if _joins_lines(text, match.start(), end) or _breaks_after_mark(text, start, match.start(), end):
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
    """Appends a sentence without its list marker; a dangling piece joins the sentence before it."""
    marker = _MARKER.match(text, start, end)
    if marker is not None and marker.end() < end:
        start = marker.end()
    stripped = text[start:end].rstrip()
    if not _ALPHANUMERIC.search(stripped):
        return
    if found and _is_dangling(stripped) and "\n" not in text[found[-1].end : start]:
        begin, end = found.pop().start, start + len(stripped)
        found.append(Sentence(text[begin:end], begin, end))
    else:
        found.append(Sentence(stripped, start, start + len(stripped)))


def _is_dangling(text: str) -> bool:
    """Whether a text is nothing but reference marks, which belong to the sentence before: "It is old. (Passage 1)"."""
    return len(text) <= _LONGEST_REFERENCE and not _ALPHANUMERIC.search(without_citations(text))


def _joins_lines(text: str, newline: int, after: int) -> bool:
    """Does a line end merely wrap? The line ends with an article or the like, or the next one goes on in lower case."""
    before = text[max(0, newline - _LOOK_BACK) : newline].rstrip()
    if not before or before[-1] in ".!?:;…" or _LIST_LINE.match(text, after):
        return False
    following = text[after : after + _LOOK_BACK].lstrip(" \t")
    if following[:1].isalpha() and before.rsplit(maxsplit=1)[-1] in _short_forms().never_last:
        return True
    return following[:1].islower() and _SETTING.match(following) is None


def _breaks_after_mark(text: str, start: int, newline: int, after: int) -> bool:
    """Does a line end with a list mark, "(e.g." or a German ordinal, which belong to the next line?"""
    dot = newline - 1
    while dot > start and text[dot] in " \t\n":
        dot -= 1
    if text[dot : dot + 1] != "." or (match := _last_word(text, start, dot)) is None:
        return False
    word, following = match.group().lstrip(_EMPHASIS), _NEXT_WORD.match(text, after)
    if not (following and following.group(1)):
        return False
    if _opens(text, start, match.start()):
        return word.isdecimal() and len(word) <= _LONGEST_MARK and not _LIST_LINE.match(text, following.start(1))
    if "\n" in text[dot:newline] or "\n" in text[after : following.start(1)]:  # a paragraph ends
        return False
    lowered = word.lower()
    return (lowered in _short_forms().never_end and "." in lowered) or _is_ordinal(text, word, following)


def _is_inside(text: str, start: int, dot: int, end: int) -> bool:
    """Does the full stop belong to a short form, an initial, an ordinal or a list marker?"""
    following = _NEXT_WORD.match(text, end)
    after = following.group(1) if following is not None else ""
    if after[:1].islower():
        return True
    match = _last_word(text, start, dot)
    if match is None or following is None:
        return False
    word = match.group().lstrip(_EMPHASIS)
    if _opens(text, start, match.start()) and _ITEM.fullmatch(word):
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
    return _is_ordinal(text, word, following) or (bool(after) and _is_inline_mark(text, start, match.start(), word))


def _last_word(text: str, start: int, dot: int) -> re.Match[str] | None:
    return _LAST_WORD.search(text, max(start, dot - _LOOK_BACK), dot)


def _opens(text: str, start: int, word: int) -> bool:
    """Is a word the first of its sentence?"""
    return word - start <= _INDENT and not text[start:word].strip()


def _is_ordinal(text: str, word: str, following: re.Match[str]) -> bool:
    """Is a word a German ordinal: "30. Juni", "31. Dez. 2026"?"""
    if not word.isdecimal() or len(word) > 2:
        return False
    after, forms = following.group(1).lower(), _short_forms().after_ordinal
    return after in forms or (f"{after}." in forms and text[following.end(1) : following.end(1) + 1] == ".")


def _is_inline_mark(text: str, start: int, place: int, word: str) -> bool:
    """Does a word mark an item inside a sentence: "include: a. More oxygen b. Less pain"?

    The first follows a colon; any other follows the mark before it.
    """
    if _INLINE_ITEM.fullmatch(word) is None:
        return False
    if word in _OPENS_LIST and text[max(start, place - 2) : place].rstrip().endswith((":", ";")):
        return True
    said = text[max(start, place - _LONGEST_ITEM) : place]
    return any(f" {before}. " in said for before in _marks_before(word))


@cache
def _marks_before(word: str) -> tuple[str, ...]:
    """Returns the marks that a list may have right before this one: "h" or "i" or "viii" and so on."""
    if word.isdecimal():
        return (str(int(word) - 1),)
    found = [_ROMAN[_ROMAN.index(word) - 1]] if word in _ROMAN[1:] else []
    return (*found, chr(ord(word) - 1)) if len(word) == 1 and word != "a" else tuple(found)


def split_prose(text: str) -> tuple[Sentence, ...] | None:
    """Splits plain prose, the most common text by far, in a cheaper way; returns None for any other text.

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
    marks = frozenset(ascii_lowercase).union(_ROMAN)
    return forms.never_end | forms.before_number | forms.after_ordinal | forms.hours | marks
