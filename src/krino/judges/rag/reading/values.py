"""Finds what can be checked to the letter: numbers, years, months, names, and what is negated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from typing import Literal

from krino.judges.rag.tables import table

ValueKind = Literal["year", "month", "number"]

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+|[%€$£]")
_CITATION = re.compile(r"\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]|\((?:passage|source|doc(?:ument)?)s?\s*\d{1,3}\)", re.I)
_NAME = re.compile(r"[^\W\d_a-z][^\W\d_]+")
_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]+")
_COMMA_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POINT_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_MAX_DIGITS = 18
_EARLIEST_YEAR, _LATEST_YEAR = 1000, 2100
_SENTENCE_OPENERS = '.!?:…\n"“«'


@dataclass(frozen=True, slots=True)
class Value:
    """A number, year or month: `key` is equal for equal values, `unit` is the word that follows."""

    kind: ValueKind
    key: str
    text: str
    unit: str = ""
    spelled: bool = False


@cache
def _months() -> dict[str, str]:
    names = table("words")["months"]["names"]
    return {name: f"month {number}" for number, group in enumerate(names, 1) for name in group}


@cache
def _small_numbers() -> dict[str, int]:
    return dict(table("words")["numbers"]["small"])


@cache
def _scales() -> dict[str, int]:
    return dict(table("words")["numbers"]["scale"])


@cache
def _speaking_words() -> frozenset[str]:
    return frozenset(_months()) | frozenset(_small_numbers()) | frozenset(_scales())


def without_citations(text: str) -> str:
    """The text less its reference marks such as [1], which are no claims."""
    return _CITATION.sub(" ", text) if "[" in text or "(" in text else text


@lru_cache(maxsize=16_384)
def find_values(text: str) -> tuple[Value, ...]:
    """The values of a text in order. Spelled-out numbers are read; reference marks are not."""
    plain = without_citations(text)
    speaking = _speaking_words()
    if _DIGIT.search(plain) is None and speaking.isdisjoint(_LETTERS.findall(plain.lower())):
        return ()
    tokens = _TOKEN.findall(plain)
    found: list[Value] = []
    done = 0
    for place, token in enumerate(tokens):
        if place >= done and (token[0].isdecimal() or token.lower() in speaking):
            value, done = _read_value(tokens, place)
            if value is not None:
                found.append(value)
    return tuple(found)


def _read_value(tokens: list[str], place: int) -> tuple[Value | None, int]:
    token = tokens[place]
    lowered = token.lower()
    if token[0].isdecimal():
        return _read_digits(tokens, place)
    if lowered in _small_numbers() or lowered in _scales():
        return _read_words(tokens, place)
    if (month := _months().get(lowered)) and _is_month(tokens, place):
        return Value("month", month, token), place + 1
    return None, place + 1


def _is_month(tokens: list[str], place: int) -> bool:
    """`May`, `mars` and short forms are months only beside a number; full names always are."""
    token = tokens[place]
    if len(token) > 4 and token[0].isupper():
        return True
    beside = tokens[max(0, place - 1) : place] + tokens[place + 1 : place + 2]
    return any(other[0].isdecimal() for other in beside)


def _read_digits(tokens: list[str], place: int) -> tuple[Value, int]:
    token = tokens[place]
    after = place + 1
    key = canonical_number(token)
    unit = tokens[after].lower() if after < len(tokens) else ""
    scale = _scales().get(unit)
    if scale is not None and len(key) <= _MAX_DIGITS and key.replace(".", "", 1).isdecimal():
        after += 1
        unit = tokens[after].lower() if after < len(tokens) else ""
        return Value("number", canonical_number(format(Decimal(key) * scale, "f")), token, unit), after
    if len(token) == 4 and token.isdecimal() and _EARLIEST_YEAR <= int(token) <= _LATEST_YEAR:
        return Value("year", key, token), after
    return Value("number", key, token, unit), after


def _read_words(tokens: list[str], place: int) -> tuple[Value | None, int]:
    """A run of number words: "two hundred" is 200, "twenty five" 25."""
    total, current, after = 0, 0, place
    small, scales = _small_numbers(), _scales()
    while after < len(tokens) and after - place < 8:
        word = tokens[after].lower()
        if word in small:
            current += small[word]
        elif word in scales:
            current = max(current, 1) * scales[word]
            if scales[word] >= 1000:
                total, current = total + current, 0
        else:
            break
        after += 1
    number = total + current
    unit = tokens[after].lower() if after < len(tokens) else ""
    text = " ".join(tokens[place:after])
    return Value("number", str(number), text, unit, spelled=True), after


@lru_cache(maxsize=8_192)
def canonical_number(token: str) -> str:
    """One spelling for a number: 1,000 and 1.000 are 1000; 2,50 and 2.5 are 2.5."""
    digits = token
    if _COMMA_GROUPS.fullmatch(token):
        digits = token.replace(",", "")
    elif _POINT_GROUPS.fullmatch(token):
        digits = token.replace(".", "").replace(",", ".")
    elif token.count(",") == 1 and "." not in token:
        digits = token.replace(",", ".")
    if digits.count(".") == 1:
        digits = digits.rstrip("0").rstrip(".")
    elif "," in digits or "." in digits:
        return digits
    return digits.lstrip("0") if digits.strip("0") and not digits.startswith("0.") else digits or "0"


@lru_cache(maxsize=16_384)
def find_names(text: str) -> tuple[str, ...]:
    """Capitalised words inside sentences; a word that opens one is left out, for anything may stand there."""
    plain = without_citations(text)
    names: list[str] = []
    for match in _NAME.finditer(plain):
        word = match.group()
        if not word[0].isupper():
            continue
        before = plain[max(0, match.start() - 3) : match.start()].rstrip(" ")
        if before and before[-1] not in _SENTENCE_OPENERS and (before[-1] != "-" or len(before) > 1):
            names.append(word)
    return tuple(names)
