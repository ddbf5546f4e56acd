"""Finds French, Dutch, German and English dates in citations, with their offsets."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache

from krino.judges.citation.belgium import table

_MAX_TEXT = 200_000
_MAX_FIELD = 400
_CENTURY_PIVOT = 50
_YEARS = range(1700, 2200)
_COMBINING = "[\u0300-\u036f]?"
# What a wrong encoding makes of an accented letter: a question mark, U+FFFD, or two Latin-1 letters.
_DAMAGED = "|\ufffd|\\?|Ã."


@dataclass(frozen=True, slots=True)
class Found:
    """A date with its offsets in the text."""

    date: date
    start: int
    end: int
    text: str


def _base_letter(character: str) -> str:
    base = unicodedata.normalize("NFD", character)[0]
    return base if base.isascii() and base.isalpha() else character


_FOLDS = {
    code: base
    for block in (range(0xC0, 0x250), range(0x1E00, 0x1F00))
    for code in block
    # A capital A with tilde stays: in these languages it only occurs in a damaged letter ("fÃ©vrier").
    if chr(code) != "Ã" and (base := _base_letter(chr(code))) != chr(code)
} | dict.fromkeys((0x2018, 0x2019, 0x02BC), "'")
_FOLDS |= {ord("ᵉ"): "e", ord("ʳ"): "r", ord("ᵐ"): "m"}  # raised letters, as in 1ᵉʳ
_FOLDS |= dict.fromkeys((0x00A0, 0x202F, *range(0x2000, 0x200B)), " ")
_FOLDS |= dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-")


def fold_letters(text: str) -> str:
    """Removes accents and typographic marks, character for character: offsets stay as they are."""
    return text if text.isascii() else text.translate(_FOLDS)


def full_year(digits: str) -> int:
    """Returns the year that two or four digits mean: 50-99 is the last century, 00-49 this one."""
    year = int(digits)
    if len(digits) > 2:
        return year
    return year + (1900 if year >= _CENTURY_PIVOT else 2000)


def _letter_pattern(letter: str) -> str:
    base = fold_letters(letter)
    return re.escape(letter) if base == letter else f"(?:{re.escape(base)}{_DAMAGED})"


def _name_pattern(name: str) -> str:
    return "".join(_letter_pattern(letter) + (_COMBINING if letter.isalpha() else "") for letter in name)


@cache
def _month_names() -> tuple[dict[int, list[str]], list[str]]:
    raw = table("months")
    return {int(number): names for number, names in raw["months"].items()}, raw["day_suffixes"]


@cache
def _day_first() -> re.Pattern[str]:
    """Returns the pattern of dates with the day first, such as "12 mars 2015"."""
    months, suffixes = _month_names()
    by_month = (
        f"(?P<m{number}>{'|'.join(_name_pattern(n) for n in sorted(names, key=len, reverse=True))})"
        for number, names in months.items()
    )
    month = f"(?:{'|'.join(by_month)})(?![^\\W\\d_])"
    # A suffix must end at a non-letter, or "de" would eat the start of "december".
    endings = "|".join(_name_pattern(suffix) for suffix in sorted(suffixes, key=len, reverse=True))
    suffix = f"(?:\\s?(?:{endings})(?![^\\W\\d_]))?"
    return re.compile(
        rf"(?<![\d])(?P<day>\d{{1,2}}){suffix}[\s.\-/]{{0,3}}(?:de\s|d'|of\s)?{month}\.?[\s,.\-/]{{0,3}}"
        rf"(?P<year>\d{{4}}(?!\d)|'\d\d(?!\d)|\d\d(?=\.?\s{{0,3}}(?:[,;:)\]]|$)))",
        re.IGNORECASE | re.ASCII,
    )


@cache
def _month_first() -> re.Pattern[str]:
    """Returns the pattern of English dates with the month first, such as "March 12, 2015"."""
    months, _ = _month_names()
    names = sorted((name for names in months.values() for name in names), key=len, reverse=True)
    return re.compile(
        rf"\b(?P<month>{'|'.join(re.escape(fold_letters(name)) for name in names)})\.?\s"
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s(?P<year>\d{4})(?!\d)",
        re.IGNORECASE | re.ASCII,
    )


@cache
def _month_numbers() -> dict[str, int]:
    months, _ = _month_names()
    return {fold_letters(name): number for number, names in months.items() for name in names}


_NUMERIC = re.compile(
    r"(?<![\d/.\-])(?<![A-Za-z][.\-/])"
    r"(?:(?P<iso_year>\d{4})(?P<iso_sep>[\-/.])(?P<iso_month>\d{1,2})(?P=iso_sep)(?P<iso_day>\d{1,2})"
    r"|(?P<day>\d{1,2})\s?(?P<sep>[\-/.])\s?(?P<month>\d{1,2})\s?(?P=sep)\s?(?P<year>\d{4}|\d{2}))"
    r"(?![\d]|[\-/.]\d)",
    re.ASCII,
)
_DIGIT = re.compile("[0-9]")
_COMPACT = re.compile(r"(?P<year>[0-9]{4})(?P<dash>-?)(?P<month>[0-9]{2})(?P=dash)(?P<day>[0-9]{2})")


def _make_date(year: int, month: int, day: int) -> date | None:
    """Returns the date, or None if it does not exist or its year is impossible."""
    if year not in _YEARS:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _found(match: re.Match[str], text: str, value: date | None) -> Found | None:
    return None if value is None else Found(value, match.start(), match.end(), text[match.start() : match.end()])


def _read_day_first(match: re.Match[str], text: str) -> Found | None:
    # The month groups are the only ones named m1..m12, and exactly one of them matched.
    month = next(int(k[1:]) for k, v in match.groupdict().items() if v is not None and k[1:].isdigit())
    return _found(match, text, _make_date(full_year(match["year"].lstrip("'")), month, int(match["day"])))


def _read_numeric(match: re.Match[str], text: str, *, trusting: bool) -> Found | None:
    """Returns a date in digits, or None if it may as well be a paragraph number."""
    if match["iso_year"]:
        return _found(match, text, _make_date(int(match["iso_year"]), int(match["iso_month"]), int(match["iso_day"])))
    # "1.2.12" in running text is more often a paragraph than a day.
    loose = len(match["year"]) == 2 and match["sep"] != "/" and len(match["day"] + match["month"]) < 4
    if loose and not trusting:
        return None
    return _found(match, text, _make_date(full_year(match["year"]), int(match["month"]), int(match["day"])))


def _read_month_first(match: re.Match[str], text: str) -> Found | None:
    month = _month_numbers()[match["month"].lower()]
    return _found(match, text, _make_date(int(match["year"]), month, int(match["day"])))


def _search(text: str, *, trusting: bool) -> tuple[Found, ...]:
    """Returns all dates of a text in order, without overlaps.

    `trusting`: short ones such as "1.2.12" are dates too, and not paragraphs.
    """
    plain = fold_letters(text)
    if not _DIGIT.search(plain):
        return ()
    found = [_read_day_first(match, text) for match in _day_first().finditer(plain)]
    found += [_read_numeric(match, text, trusting=trusting) for match in _NUMERIC.finditer(plain)]
    found += [_read_month_first(match, text) for match in _month_first().finditer(plain)]
    kept: list[Found] = []
    for item in sorted((item for item in found if item), key=lambda item: (item.start, -item.end)):
        if not kept or item.start >= kept[-1].end:
            kept.append(item)
    return tuple(kept)


def find_dates(text: str) -> tuple[Found, ...]:
    """Finds every date in a text, in order; impossible dates are left out."""
    return _search(text[:_MAX_TEXT], trusting=False)


@lru_cache(maxsize=8_192)
def _parse(text: str) -> date | None:
    """Returns the only date in a text, or None for none and for several."""
    compact = _COMPACT.fullmatch(text)
    if compact:
        return _make_date(int(compact["year"]), int(compact["month"]), int(compact["day"]))
    distinct = {found.date for found in _search(text, trusting=True)}
    return distinct.pop() if len(distinct) == 1 else None


def parse_date(text: str | None) -> date | None:
    """Parses the one date in a field; None if there is none, it cannot exist, or there are several."""
    return _parse(text.strip()[:_MAX_FIELD]) if text else None
