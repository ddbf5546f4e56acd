"""Finds dates, days of the week and times of day, in figures and in words."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right, insort
from collections.abc import Iterator
from functools import cache

from krino.judges.rag.tables import table
from krino.judges.rag.values.quantities import canonical_number, unit_at, unit_of_range
from krino.judges.rag.values.value import Value, time_of_day
from krino.judges.rag.values.vocabulary import LETTERS, LOOK_BACK, numbered, words_for

_LIKE_DATE = re.compile(r"\d[-/.]\d")
_LIKE_TIME = re.compile(r"\d(?:[:.]\d|\s?[apuh])")
"""First, cheap looks: without these there is no date in figures, and no time of day."""
_ISO = re.compile(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b")
_NUMERIC = re.compile(r"\b(\d{1,2})([./-])(\d{1,2})\2(\d{4})\b")
_CLOCK = re.compile(
    r"\b(\d{1,2})(?:[:.h](\d{2}))?\s?(a\.m\.?|p\.m\.?|am\b|pm\b)|\b(\d{1,2}):(\d{2})(?::\d{2})?\b(?!\s?%)"
    r"|\b(\d{1,2})\s?[hu]\s?(\d{2})\b|\b(\d{1,2})(?:[.:](\d{2}))?\s?uhr(?:\s(\d{2}))?\b|\b(\d{1,2})[.](\d{2})\s?(?:uur|h)\b"
)


@cache
def _dotted_clock() -> re.Pattern[str]:
    """ "Until 20.00": behind a word for a time the point is that of a clock, unless a unit follows."""
    before = "|".join(sorted(words_for("dates", "before_clock"), key=len, reverse=True))
    return re.compile(rf"\b(?:{before})\s(\d{{1,2}}\.[0-5]\d)\b(?![.,]?\d)")


@cache
def _named_dates() -> re.Pattern[str]:
    """Returns the pattern of dates with a month in words, and of a month alone: "3 May 1998", "1er mai", "May 1998".

    For texts in lower case: without regard to case it would take far longer, and find "auguſt", which is no month.
    """
    month = f"({'|'.join(sorted(numbered('months'), key=len, reverse=True))})"
    day = r"(\d{1,2})(?:st|nd|rd|th|er|e|\.)?"
    of = r"(?:\s(?:of|de)\b)?"
    year = r"(?:,?\s(?:de\s|del\s)?(\d{4})\b)?"
    return re.compile(
        rf"\b{day}{of}\s{month}\b\.?{of}{year}|\b{month}\.?\s{day}\b(?!\s?[%€$£:]){year}|\b{month}\b\.?(?:\s(?:de\s)?(\d{{4}})\b)?"
    )


@cache
def _centuries() -> re.Pattern[str]:
    return re.compile(table("values")["dates"]["century"])


@cache
def _quarters() -> re.Pattern[str]:
    """A quarter of a year: "Q3", "the third quarter"."""
    return re.compile(rf"\bq([1-4])\b|\b({'|'.join(numbered('ordinals'))})[ -]quarter\b")


def is_inside_span(place: int, spans: list[tuple[int, int]]) -> bool:
    """Does a place lie in the last span that begins before it? Spans are in order, and hardly ever overlap."""
    before = bisect_right(spans, (place, sys.maxsize))
    return before > 0 and place < spans[before - 1][1]


def find_dates(plain: str, lowered: str, digits: bool, words: set[str]) -> Iterator[Value]:
    """Yields the dates of a text, also quarters, centuries and days of the week."""
    spans: list[tuple[int, int]] = []
    in_figures = digits and _LIKE_DATE.search(plain) is not None
    for found in _ISO.finditer(plain) if in_figures else ():
        year, month, day = map(int, found.groups())
        if month <= 12 and 1 <= day <= 31:
            insort(spans, found.span())
            yield _make_date(plain, found.span(), year, month, day)
    for found in _NUMERIC.finditer(plain) if in_figures else ():
        first, second, year = int(found.group(1)), int(found.group(3)), int(found.group(4))
        if max(first, second) <= 31 and min(first, second) <= 12 and not is_inside_span(found.start(), spans):
            insort(spans, found.span())
            yield _make_numeric_date(plain, found.span(), first, second, year, found.group(2))
    for found in _named_dates().finditer(lowered) if not words.isdisjoint(numbered("months")) else ():
        found_day, name1, found_year, name2, day2, year2, name3, year3 = found.groups()
        name = name1 or name2 or name3
        beside_number = bool(found_day or day2 or year3)
        if is_inside_span(found.start(), spans) or not (beside_number or _is_month(plain, found.start(), name)):
            continue
        stated_year, stated_day = found_year or year2 or year3, found_day or day2
        if stated_day and int(stated_day) > 31:  # "in March 90 millimetres fell"
            continue
        insort(spans, found.span())
        yield _make_date(
            plain,
            found.span(),
            int(stated_year) if stated_year else None,
            numbered("months")[name],
            int(stated_day) if stated_day else None,
        )
    for found in _quarters().finditer(lowered) if digits or "quarter" in words else ():
        number = found.group(1) or numbered("ordinals")[found.group(2)]
        yield Value("date", (f"#quarter {number}",), plain[slice(*found.span())], *found.span())
    for found in _centuries().finditer(lowered) if digits else ():
        yield Value("date", (f"#century {int(found.group(1))}",), plain[slice(*found.span())], *found.span())
    if not words.isdisjoint(numbered("weekdays")):
        yield from _find_weekdays(plain, lowered)


def _find_weekdays(plain: str, lowered: str) -> Iterator[Value]:
    """Yields the days of the week; the first of a span ("Tuesday to Sunday") offers those between as well."""
    known = numbered("weekdays")
    days = [found for found in LETTERS.finditer(lowered) if found.group() in known]
    for day, after in zip(days, [*days[1:], None], strict=True):
        first = known[day.group()]
        upto = after is not None and _through().fullmatch(lowered, day.end(), after.start())
        length = (known[after.group()] - first) % 7 if after is not None and upto else 0
        between = tuple(f"#weekday {(first + days - 1) % 7 + 1}" for days in range(1, length))
        yield Value("weekday", (f"#weekday {first}",), plain[slice(*day.span())], *day.span(), also=between)


@cache
def _through() -> re.Pattern[str]:
    return re.compile(rf"\s?(?:{'|'.join(map(re.escape, table('values')['dates']['through']))})\s?")


def _is_month(plain: str, start: int, name: str) -> bool:
    """Does a word that is not beside a number mean a month?

    Only a full name with a capital does: `may`, `mars` and short forms are words, unless they follow one such as
    "in".
    """
    if not plain[start : start + 1].isupper():
        return False
    before = LETTERS.findall(plain[max(0, start - LOOK_BACK) : start].lower())
    dated = bool(before) and before[-1] in words_for("dates", "before_month") and plain[start - 1] == " "
    return (len(name) > 4 and name != "march") or (len(name) > 3 and dated) or (name == "may" and dated)


def _make_date(plain: str, span: tuple[int, int], year: int | None, month: int, day: int | None) -> Value:
    """Returns a date with all keys that it can be found by."""
    keys = ([str(year)] if year is not None else []) + [f"#month {month}"] + ([f"#day {month}-{day}"] if day else [])
    also = (f"#either {min(month, day)}-{max(month, day)}",) if day else ()
    ages = ages_of(year) if year is not None else ()
    return Value("date", tuple(keys), plain[slice(*span)].strip(), *span, also=(*also, *ages))


def _make_numeric_date(plain: str, span: tuple[int, int], first: int, second: int, year: int, sign: str) -> Value:
    """Returns a date in figures, day first if possible; with slashes and both up to 12, either may be the month."""
    if second > 12:
        return _make_date(plain, span, year, first, second)
    dated = _make_date(plain, span, year, second, first)
    if first > 12 or sign != "/" or first == second:
        return dated
    other = _make_date(plain, span, year, first, second)
    also = (*dated.keys, *other.keys, *dated.also[1:])
    return Value("date", (str(year), dated.also[0]), dated.text, *span, also=also)


def find_times(lowered: str, digits: bool, words: list[re.Match[str]]) -> Iterator[Value]:
    """Yields the times of day of a text."""
    for found in _CLOCK.finditer(lowered) if digits and _LIKE_TIME.search(lowered) else ():
        groups = found.groups()
        half = groups[2]
        hour, minute = next((groups[place], groups[place + 1]) for place in (0, 3, 5, 7, 10) if groups[place])
        number, minutes = int(hour), int(minute or groups[9] or 0)
        if number <= 24 and minutes <= 59 and (not half or 1 <= number <= 12):
            at = number % 12 + (12 if half.startswith("p") else 0) if half else number % 24
            # "9:30" may be in the evening as well; "09:30", "21:30" and "9:30 a.m." are plain.
            plain = bool(half) or number > 12 or hour.startswith("0")
            bare = () if minutes else (str(number),)
            yield time_of_day(found.group(), *found.span(), at, minutes, plain=plain, bare=bare)
    for found in _dotted_clock().finditer(lowered) if digits and "." in lowered else ():
        at, minutes = map(int, found.group(1).split("."))
        measured = unit_at(lowered, found.end(1)) or unit_of_range(lowered, found.end(1))
        if at <= 24 and (measured is None or measured[0][0] == "duration"):
            bare = (canonical_number(found.group(1)),)
            yield time_of_day(found.group(1), *found.span(1), at, minutes, plain=at > 12, bare=bare)
    for word in words:
        for name, hour in (("noon", "12"), ("midnight", "0")):
            if word.group() in words_for("dates", name):
                yield Value(
                    "time", (f"#time {hour}:00",), word.group(), *word.span(), spelled=True, also=("#clock 12:00",)
                )


def ages_of(year: int) -> tuple[str, ...]:
    """Returns the keys of the decade and the century that a year belongs to.

    A full hundred counts for either century.
    """
    century = year // 100
    before = (f"#century {century}",) if year % 100 == 0 else ()
    return f"#decade {year // 10}", f"#century {century + 1}", *before
