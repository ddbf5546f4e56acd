"""Finds what can be checked to the letter: numbers with their units, dates, times and weekdays as values, and names."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache, lru_cache
from typing import Literal

from krino.judges.rag.reading.frequencies import frequencies, frequency_words, often_words, rate_behind
from krino.judges.rag.tables import table
from krino.text.words import stem, stop_words

ValueKind = Literal["number", "date", "time", "weekday", "frequency"]

_CITATION = re.compile(r"\[\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]|\((?:passage|source|doc(?:ument)?)s?\s*\d{1,3}\)", re.I)
_NAME = re.compile(r"[^\W\d_a-z][^\W\d_]+")
_ASCII_NAME = re.compile(r"[A-Z][A-Za-z]+")
"""The same where there are no other letters, and found much faster."""
_CODE = re.compile(r"\b(?!Q[1-4]\b|H[12]\b)[A-Z][A-Za-z]*\d[A-Za-z\d]*\b")
"""A model, a form, a flight: "B20"; "Q3" is a time."""
_DIGIT = re.compile(r"\d")
_PLAIN_TEXT = re.compile(r"[A-Za-z ,.;:!?()'\"-]*")
_NO_SIGNS = bytes.maketrans(b",.;:!?()'\"-", b" " * 11)
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d(?:\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?![\d.,]*\d)|\d*(?:[.,]\d+)*)")
_LIKE_DATE = re.compile(r"\d[-/.]\d")
_LIKE_TIME = re.compile(r"\d(?:[:.]\d|\s?[apuh])")
"""First, cheap looks: without these there is no date in figures, and no time of day."""
_MINUS = re.compile(r"(?:^|(?<=[\s(]))[-−]$")
_COMMA_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POINT_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_SPACE_GROUPS = re.compile(r"[ \u00a0\u202f]")
_UNIT = re.compile(
    r"[ \u00a0\u202f-]?((?:°\s?[cf]?\b|°|[%€$£¥₹]|[^\W\d_]+(?:[²³]|/[^\W\d_]+)?|[mk]m?[23]\b)(?:[ -][^\W\d_]+){0,2})"
)
_NEXT_WORD = re.compile(r"[ \u00a0\u202f-]?([^\W\d_]+)")
_RANGE = re.compile(r"\s?(?:-|–|to|and|à|et|tot|en|bis|und|a|y)\s?(?=\d)")
_MONEY_SIGN = re.compile(r"([€$£¥₹]|\b(?:eur|usd|gbp|chf))\s?$")
_ISO = re.compile(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b")
_NUMERIC = re.compile(r"\b(\d{1,2})([./-])(\d{1,2})\2(\d{4})\b")
_CLOCK = re.compile(
    r"\b(\d{1,2})(?:[:.h](\d{2}))?\s?(a\.m\.?|p\.m\.?|am\b|pm\b)|\b(\d{1,2}):(\d{2})(?::\d{2})?\b(?!\s?%)"
    r"|\b(\d{1,2})\s?[hu]\s?(\d{2})\b|\b(\d{1,2})(?:[.:](\d{2}))?\s?uhr(?:\s(\d{2}))?\b|\b(\d{1,2})[.](\d{2})\s?(?:uur|h)\b"
)
_COMPOUND_PARTS = (("duizend", 1000), ("tausend", 1000), ("honderd", 100), ("hundert", 100))
_COMPOUND = re.compile(r"duizend|tausend|honderd|hundert|[tzß]ig\b")
_COMPOUND_PIECES = ("duizend", "tausend", "honderd", "hundert", "tig", "zig", "ßig")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|[eè]me|ste|de|e)\b")
_HALF_A = re.compile(r"[ -](?:(?:an?|een|une?|eine?)[ -])?")
_MEASURED_AS = {"months": "duration", "celsius": "degrees", "fahrenheit": "degrees"}
_DAY = Decimal(86_400)
_POUND = Decimal("453.59237")  # grams
_MONTHS = ((30, 1), (364, 12), (365, 12))
_MAX_DIGITS = 18
_EARLIEST_YEAR, _LATEST_YEAR = 1000, 2100
_SENTENCE_OPENERS = '.!?:…\n"“«'
_LOOK_BACK = 16


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it stands in a text. It is stated elsewhere when all its `keys` are among what is offered there."""

    kind: ValueKind
    keys: tuple[str, ...]
    text: str
    start: int
    end: int
    unit: str = ""
    """What it measures (length, money), or the word it counts."""
    spelled: bool = False
    also: tuple[str, ...] = ()
    """Other keys under which it can be found: the bare number of a quantity, both readings of 05/03/1998."""

    @property
    def offers(self) -> tuple[str, ...]:
        return (*self.keys, *self.also)


def stated(value: Value, known: frozenset[str]) -> bool:
    """Whether a text that offers these keys states the value; a bare number there may have left its unit out."""
    return known.issuperset(value.keys) or (value.kind == "number" and f"#bare {value.also[-1]}" in known)


def offered(values: Iterable[Value]) -> frozenset[str]:
    return frozenset(key for value in values for key in value.offers)


def comparable(value: Value, other: Value) -> bool:
    """Whether two different values exclude each other where a text speaks of the same thing."""
    if value.kind != other.kind:
        return False
    if value.kind == "number":
        return bool(value.unit) and (value.unit == other.unit or _is_other_measure(value, other))
    if value.kind != "date":
        return True
    ours, theirs = _fields(value), _fields(other)
    return any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys())


def _is_other_measure(value: Value, other: Value) -> bool:
    """The same figure of two things that are measured: "60 pounds" for "60 tons"."""
    measured = all(one.keys[0].startswith("#") for one in (value, other))
    return measured and bool(value.also) and bool(other.also) and value.also[-1] == other.also[-1]


def _fields(value: Value) -> dict[str, str]:
    """The century, decade, year, month and day of a date by what they are; years are bare numbers."""
    keys = (*(key for key in reversed(value.also) if key.startswith(("#century", "#decade"))), *value.keys)
    return {key.split(" ")[0] if " " in key else "year": key for key in keys}


def without_citations(text: str) -> str:
    """The text less its reference marks such as [1], which are no claims; the length stays the same."""
    return _CITATION.sub(lambda found: " " * len(found.group()), text) if "[" in text or "(" in text else text


# --- tables ----------------------------------------------------------------------------------------


def _by_word(words_of: Mapping[str, str]) -> dict[str, Decimal]:
    return {word: Decimal(number) for number, words in words_of.items() for word in words.split()}


@cache
def _small() -> dict[str, Decimal]:
    return _by_word(table("values")["numbers"]["small"])


@cache
def number_words() -> tuple[str, ...]:
    return tuple(_small())


@cache
def _scales() -> dict[str, Decimal]:
    return _by_word(table("values")["numbers"]["scale"])


@cache
def _words(section: str, name: str) -> frozenset[str]:
    return frozenset(table("values")[section][name].split())


@cache
def _ordered(name: str) -> dict[str, int]:
    listed = table("values")["dates"][name]
    return {word: number for number, words in enumerate(listed, 1) for word in words.split()}


@cache
def _units() -> dict[str, tuple[str, str, Decimal]]:
    """For each name of a unit: what it measures, what its key begins with, and its factor."""
    found: dict[str, tuple[str, str, Decimal]] = {}
    for dimension, units in table("values")["units"].items():
        for unit, told in units.items():
            prefix = unit if dimension == "money" else dimension
            measured = _MEASURED_AS.get(dimension, dimension)
            # Words stand between spaces; names of several words are set apart by bars.
            pieces = told["names"].split("|")
            for name in (*(pieces[0].split()), *pieces[1:]):
                found[name] = (measured, prefix, Decimal(told["x"]))
    return found


@cache
def _speaking_words() -> frozenset[str]:
    dates = table("values")["dates"]
    return frozenset(
        {*_ordered("months"), *_ordered("weekdays"), *_small(), *_scales(), *dates["noon"].split()}
        | {*dates["midnight"].split(), *_words("numbers", "one"), *_words("numbers", "half"), "a", "an", "quarter"}
    )


@cache
def _and_half() -> re.Pattern[str]:
    return re.compile(table("values")["numbers"]["and_half"])


@cache
def _named_dates() -> re.Pattern[str]:
    """ "3 May 1998", "May 3rd, 1998", "May 1998", "am 3. Mai", "3 de mayo de 1998", "1er mai", and a month alone.

    For texts in lower case: without regard to case it would take far longer, and find "auguſt", which is no month.
    """
    month = f"({'|'.join(sorted(_ordered('months'), key=len, reverse=True))})"
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
    return re.compile(rf"\bq([1-4])\b|\b({'|'.join(_ordered('ordinals'))})[ -]quarter\b")


# --- finding ---------------------------------------------------------------------------------------


def may_hold_values(text: str, words: Set[str]) -> bool:
    """A first, cheap look at a text and its words in lower case: a digit, a month, a number word."""
    return not words.isdisjoint(_value_words()) or _has_digit(text) or _has_compound(text.lower())


def _has_digit(text: str) -> bool:
    return any(map(text.__contains__, "0123456789")) or (not text.isascii() and _DIGIT.search(text) is not None)


def _has_compound(lowered: str) -> bool:
    """Whether a text in lower case has a word such as "zweitausend". Looking for pieces is far cheaper than the
    pattern, and most texts have none."""
    return any(map(lowered.__contains__, _COMPOUND_PIECES)) and _COMPOUND.search(lowered) is not None


@cache
def _telling_words() -> frozenset[str]:
    """The speaking words less articles and "one", which count only before a scale or a stretch of time."""
    return _speaking_words() - _words("numbers", "one") - _words("numbers", "article")


@cache
def _stretches() -> frozenset[str]:
    return frozenset(name for name, unit in _units().items() if unit[0] == "duration") | _scales().keys()


@cache
def _value_words() -> frozenset[str]:
    return _telling_words() | _stretches() | frequency_words()


def plainly_no_values(text: str) -> bool:
    """A first, cheap look: whether a text is plain English prose in which no word speaks of a value."""
    if not _PLAIN_TEXT.fullmatch(text):  # a digit is nothing plain either
        return False
    lowered = text.lower()
    words = lowered.encode().translate(_NO_SIGNS).decode().split()
    return _value_words().isdisjoint(words) and not _has_compound(lowered)


@lru_cache(maxsize=16_384)
def find_values(text: str) -> tuple[Value, ...]:
    """The values of a text in order. Spelled-out numbers are read; reference marks are not."""
    if plainly_no_values(text):
        return ()
    plain = without_citations(text)
    lowered = lower(plain)
    digits = _DIGIT.search(plain) is not None
    compounds = _has_compound(lowered)
    words = [
        found
        for found in _LETTERS.finditer(lowered)
        if found.group() in _speaking_words() or (compounds and _compound(found.group()) is not None)
    ]
    often = not often_words().isdisjoint(_LETTERS.findall(lowered))  # days of the week among them
    if not digits and not words and not often:
        return ()
    taken = [
        *_dates(plain, lowered, digits, {word.group() for word in words}),
        *_times(lowered, digits, words),
        *(_frequencies(plain, lowered) if often else ()),
    ]
    spans = sorted((value.start, value.end) for value in taken)
    numbers = _numbers(plain, lowered, digits, [word.start() for word in words], spans)
    found = [*taken, *(_with_rate(value, lowered) for value in numbers)]
    return tuple(sorted(found, key=lambda value: value.start))


def _frequencies(plain: str, lowered: str) -> Iterator[Value]:
    for found in frequencies(plain, lowered):
        yield Value("frequency", found.keys, plain[found.start : found.end], *found[:2], also=found.also)


def _with_rate(value: Value, lowered: str) -> Value:
    """ "25 euros a month" tells too how often they are paid."""
    often = rate_behind(lowered, value.end)
    return replace(value, also=(*often, *value.also)) if often else value


def lower(text: str) -> str:
    """In lower case and of the same length: a few capitals would become two letters."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _inside(place: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a place lies in the last span that begins before it; spans are in order, and hardly ever overlap."""
    before = bisect_right(spans, (place, sys.maxsize))
    return before > 0 and place < spans[before - 1][1]


def _dates(plain: str, lowered: str, digits: bool, words: set[str]) -> Iterator[Value]:
    spans: list[tuple[int, int]] = []
    in_figures = digits and _LIKE_DATE.search(plain) is not None
    for found in _ISO.finditer(plain) if in_figures else ():
        year, month, day = map(int, found.groups())
        if month <= 12 and 1 <= day <= 31:
            insort(spans, found.span())
            yield _date(plain, found.span(), year, month, day)
    for found in _NUMERIC.finditer(plain) if in_figures else ():
        first, second, year = int(found.group(1)), int(found.group(3)), int(found.group(4))
        if max(first, second) <= 31 and min(first, second) <= 12 and not _inside(found.start(), spans):
            insort(spans, found.span())
            yield _numeric_date(plain, found.span(), first, second, year, found.group(2))
    for found in _named_dates().finditer(lowered) if not words.isdisjoint(_ordered("months")) else ():
        found_day, name1, found_year, name2, day2, year2, name3, year3 = found.groups()
        name = name1 or name2 or name3
        beside_number = bool(found_day or day2 or year3)
        if _inside(found.start(), spans) or not (beside_number or _is_month(plain, found.start(), name)):
            continue
        stated_year, stated_day = found_year or year2 or year3, found_day or day2
        if stated_day and int(stated_day) > 31:  # "in March 90 millimetres fell"
            continue
        insort(spans, found.span())
        yield _date(
            plain,
            found.span(),
            int(stated_year) if stated_year else None,
            _ordered("months")[name],
            int(stated_day) if stated_day else None,
        )
    for found in _quarters().finditer(lowered) if digits or "quarter" in words else ():
        number = found.group(1) or _ordered("ordinals")[found.group(2)]
        yield Value("date", (f"#quarter {number}",), plain[slice(*found.span())], *found.span())
    for found in _centuries().finditer(lowered) if digits else ():
        yield Value("date", (f"#century {int(found.group(1))}",), plain[slice(*found.span())], *found.span())
    if not words.isdisjoint(_ordered("weekdays")):
        yield from _weekdays(plain, lowered)


def _weekdays(plain: str, lowered: str) -> Iterator[Value]:
    """The days of the week; the first of a span ("Tuesday to Sunday") offers those between as well."""
    known = _ordered("weekdays")
    days = [found for found in _LETTERS.finditer(lowered) if found.group() in known]
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
    """Away from a number only a full name with a capital is a month: `may`, `mars` and short forms are words, unless
    they stand behind one such as "in"."""
    if not plain[start : start + 1].isupper():
        return False
    before = _LETTERS.findall(plain[max(0, start - _LOOK_BACK) : start].lower())
    dated = bool(before) and before[-1] in _words("dates", "before_month") and plain[start - 1] == " "
    return (len(name) > 4 and name != "march") or (len(name) > 3 and dated) or (name == "may" and dated)


def _date(plain: str, span: tuple[int, int], year: int | None, month: int, day: int | None) -> Value:
    keys = ([str(year)] if year is not None else []) + [f"#month {month}"] + ([f"#day {month}-{day}"] if day else [])
    also = (f"#either {min(month, day)}-{max(month, day)}",) if day else ()
    ages = _ages(year) if year is not None else ()
    return Value("date", tuple(keys), plain[slice(*span)].strip(), *span, also=(*also, *ages))


def _numeric_date(plain: str, span: tuple[int, int], first: int, second: int, year: int, sign: str) -> Value:
    """Day first, but for what cannot be; with strokes and both up to 12 it stays open which is the month."""
    if second > 12:
        return _date(plain, span, year, first, second)
    dated = _date(plain, span, year, second, first)
    if first > 12 or sign != "/" or first == second:
        return dated
    other = _date(plain, span, year, first, second)
    also = (*dated.keys, *other.keys, *dated.also[1:])
    return Value("date", (str(year), dated.also[0]), dated.text, *span, also=also)


def _times(lowered: str, digits: bool, words: list[re.Match[str]]) -> Iterator[Value]:
    for found in _CLOCK.finditer(lowered) if digits and _LIKE_TIME.search(lowered) else ():
        groups = found.groups()
        half = groups[2]
        hour, minute = next((groups[place], groups[place + 1]) for place in (0, 3, 5, 7, 10) if groups[place])
        number, minutes = int(hour), int(minute or groups[9] or 0)
        if number <= 24 and minutes <= 59 and (not half or 1 <= number <= 12):
            at = number % 12 + (12 if half.startswith("p") else 0) if half else number % 24
            # "9:30" may be in the evening as well; "09:30", "21:30" and "9:30 a.m." are plain.
            plain = bool(half) or number > 12 or hour.startswith("0")
            clock, time = f"#clock {(at - 1) % 12 + 1}:{minutes:02}", f"#time {at}:{minutes:02}"
            bare = () if minutes else (str(number),)
            also = (clock, *bare) if plain else (time, *bare)
            yield Value("time", (time if plain else clock,), found.group(), *found.span(), also=also)
    for word in words:
        for name, hour in (("noon", "12"), ("midnight", "0")):
            if word.group() in _words("dates", name):
                yield Value(
                    "time", (f"#time {hour}:00",), word.group(), *word.span(), spelled=True, also=("#clock 12:00",)
                )


# --- numbers ---------------------------------------------------------------------------------------


def _numbers(plain: str, lowered: str, digits: bool, words: list[int], spans: list[tuple[int, int]]) -> Iterator[Value]:
    done = 0
    starts = (
        [found.start() for found in _NUMBER.finditer(plain) if not _in_code(lowered, found.start())] if digits else []
    )
    for start in sorted({*starts, *words}):
        if start < done or _inside(start, spans):
            continue
        value = _read_digits(plain, lowered, start) if plain[start].isdecimal() else _read_words(plain, lowered, start)
        if value is not None:
            done = value.end
            yield value


def _in_code(lowered: str, start: int) -> bool:
    """Whether figures end a word ("B20"), which names something; "EUR20" is an amount and "v1.2" a version."""
    before = lowered[max(0, start - 2) : start]
    return (
        before[-1:].isalpha()
        and before.strip() != "v"
        and _MONEY_SIGN.search(lowered, max(0, start - _LOOK_BACK), start) is None
    )


def _read_digits(plain: str, lowered: str, start: int) -> Value | None:
    found = _NUMBER.match(plain, start)
    assert found is not None
    end, key = found.end(), canonical_number(found.group())
    if not key.replace(".", "", 1).isdecimal() or len(key) > _MAX_DIGITS:
        return Value("number", (key,), found.group(), start, end, also=(key,))
    if year := _read_year(plain, lowered, found):
        return year
    number = Decimal(key)
    scale = _NEXT_WORD.match(lowered, end)
    sign = _MONEY_SIGN.search(lowered, max(0, start - _LOOK_BACK), start)
    if scale and (scale.group(1) in _scales() or (sign and scale.group(1) in ("m", "b"))):
        factor = _scales().get(scale.group(1)) or _scales()["million" if scale.group(1) == "m" else "billion"]
        number, end = number * factor, scale.end() + (lowered[scale.end() : scale.end() + 2] == ". ")
    if half := _and_half().match(lowered, end + 1):
        number, end = number + Decimal("0.5"), half.end()
    elif ordinal := _ORDINAL.match(lowered, end):
        end = ordinal.end()
    if sign:
        return _quantity(plain, sign.start(1), end, number, _units()[sign.group(1).lower()], spelled=False)
    negative = _MINUS.search(plain, max(0, start - 2), start)
    return _with_unit(plain, lowered, start - bool(negative), end, -number if negative else number, spelled=False)


def _read_year(plain: str, lowered: str, found: re.Match[str]) -> Value | None:
    """Four digits that are no quantity: beside a word for a time, or with no word that they could count."""
    token, start, end = found.group(), found.start(), found.end()
    if len(token) != 4 or not token.isdecimal() or not _EARLIEST_YEAR <= int(token) <= _LATEST_YEAR:
        return None
    if lowered[end : end + 1] == "s" and not lowered[end + 1 : end + 2].isalpha():
        decade, *century = _ages(int(token))
        keys = century[:1] if token.endswith("00") else [decade]  # "the 1800s" are a century
        return Value("date", tuple(keys), f"{token}s", start, end + 1, also=(token, century[0]))
    after = _NEXT_WORD.match(lowered, end)
    if _unit_at(lowered, end) or (after and after.group(1) in _scales()):
        return None
    before = _LETTERS.findall(lowered[max(0, start - _LOOK_BACK) : start])
    counts = after is not None and after.group(1).endswith(("s", "n")) and after.group(1) not in any_stop()
    if counts and not (before and before[-1] in _words("dates", "before_year")):
        return None
    return Value("date", (token,), token, start, end, also=_ages(int(token)))


def _ages(year: int) -> tuple[str, ...]:
    """The decade and the century that a year belongs to; a full hundred is told of either century."""
    century = year // 100
    before = (f"#century {century}",) if year % 100 == 0 else ()
    return f"#decade {year // 10}", f"#century {century + 1}", *before


@cache
def any_stop() -> frozenset[str]:
    return frozenset[str]().union(*(stop_words(language) for language in ("en", "fr", "nl", "de", "es")))


def _read_words(plain: str, lowered: str, start: int) -> Value | None:
    """A run of number words: "two hundred" is 200, "twenty-five" 25; "one week" is one, "one of them" none."""
    first = _LETTERS.match(lowered, start)
    assert first is not None
    word = first.group()
    if word in _words("numbers", "half"):
        return _half(plain, lowered, first)
    if word in _words("numbers", "one") or word in _words("numbers", "article"):
        return _one(plain, lowered, first)
    run = _run(lowered, start)
    if run is None:
        return None
    number, end = run
    if half := _and_half().match(lowered, end + 1):
        return _scaled(plain, lowered, start, half.end(), number + Decimal("0.5"))
    return _with_unit(plain, lowered, start, end, number, spelled=True)


def _scaled(plain: str, lowered: str, start: int, end: int, number: Decimal) -> Value:
    """A number in words with a half, and what it counts: "one and a half million copies"."""
    scale = _NEXT_WORD.match(lowered, end)
    if scale and scale.group(1) in _scales():
        number, end = number * _scales()[scale.group(1)], scale.end()
    return _with_unit(plain, lowered, start, end, number, spelled=True)


def _half(plain: str, lowered: str, first: re.Match[str]) -> Value | None:
    after = _HALF_A.match(lowered, first.end())
    if after is None or (unit := _unit_at(lowered, after.end() - 1)) is None:
        return None
    return _quantity(plain, first.start(), unit[1], Decimal("0.5"), unit[0], spelled=True)


def _one(plain: str, lowered: str, first: re.Match[str]) -> Value | None:
    if (half := _and_half().match(lowered, first.end() + 1)) and first.group() not in _words("numbers", "article"):
        return _scaled(plain, lowered, first.start(), half.end(), Decimal("1.5"))
    scale = _NEXT_WORD.match(lowered, first.end())
    if scale and scale.group(1) in _scales() and len(scale.group(1)) > 2:
        run = _run(lowered, scale.start(1))
        return None if run is None else _with_unit(plain, lowered, first.start(), run[1], run[0], spelled=True)
    unit = _unit_at(lowered, first.end())
    if unit is None or unit[0][0] != "duration":
        return None
    half = _and_half().match(lowered, unit[1] + 1)
    if first.group() in _words("numbers", "article") and half is None:
        before = _LETTERS.findall(lowered[max(0, first.start() - _LOOK_BACK) : first.start()])
        opens = not before and first.start() == 0 and plain[0].islower()  # a part of a sentence, cut at "and"
        if not opens and (not before or before[-1] not in _words("numbers", "before_article")):
            return None
    if half is not None:  # "une heure et demie"
        return _quantity(plain, first.start(), half.end(), Decimal("1.5"), unit[0], spelled=True)
    return _quantity(plain, first.start(), unit[1], Decimal(1), unit[0], spelled=True)


def _run(lowered: str, start: int) -> tuple[Decimal, int] | None:
    """The number that words from here on name, by the grammar of counting: "two three" is two."""
    total = current = room = Decimal(0)
    place = end = start
    began = False
    while found := _LETTERS.match(lowered, place):
        word = found.group()
        small = _small().get(word)
        small = _compound(word) if small is None else small
        scale = _scales().get(word) if len(word) > 2 or (word == "k" and began) or word == "mil" else None
        if small is not None and (not began or (current == 4 and word.startswith("vingt")) or small < room):
            current = Decimal(80) if began and current == 4 and word.startswith("vingt") else current + small
            room = _room(current, word)
        elif scale is not None and (
            not began or (scale <= 100 and current < 100) or (scale >= 1000 and total % scale == 0)
        ):
            current = max(current, Decimal(1)) * scale
            room = scale
            if scale >= 1000:
                total, current = total + current, Decimal(0)
        elif not (began and word in _words("numbers", "joiners") and room >= 10):
            break
        else:
            following = _LETTERS.match(lowered, found.end() + 1)
            joined = following and (following.group() in _small() or following.group() in _words("numbers", "one"))
            if not joined or lowered[found.end() : found.end() + 1] not in " -":
                break
            place = found.end() + 1
            continue
        began, end = True, found.end()
        if lowered[end : end + 1] not in (" ", "-", "\u00a0"):
            break
        place = end + 1
    return (total + current, end) if began else None


def _room(current: Decimal, word: str) -> Decimal:
    """Below what a following word must stay to belong to the same number ("soixante-dix", "quatre-vingt-dix-sept")."""
    rest = current % 100
    if not rest:
        return Decimal(100)
    if rest in (60, 80):
        return Decimal(20)
    return Decimal(10) if rest % 10 == 0 and (rest > 10 or word == "dix") else Decimal(0)


@lru_cache(maxsize=4_096)
def _compound(word: str) -> Decimal | None:
    """Dutch and German numbers in one word: "drieduizend", "zweihundertfünfzig", "vijfentwintig"."""
    if not word:
        return None
    for name, size in _COMPOUND_PARTS:
        before, found, after = word.partition(name)
        if found:
            many = Decimal(1) if before in ("", "ein", "een") else _plain(before)
            rest = Decimal(0) if not after else _plain(after.removeprefix("en").removeprefix("und"))
            return None if many is None or rest is None else many * size + rest
    for joiner in ("en", "ën", "und"):
        before, found, after = word.partition(joiner)
        while found:
            unit = Decimal(1) if before in ("ein", "een", "één") else _small().get(before)
            tens = _small().get(after)
            if unit is not None and tens is not None and unit < 10 <= tens and tens % 10 == 0:
                return unit + tens
            more, found, after = after.partition(joiner)
            before = f"{before}{joiner}{more}"
    return None


def _plain(word: str) -> Decimal | None:
    small = _small().get(word)
    return _compound(word) if small is None else small


def _unit_at(lowered: str, end: int) -> tuple[tuple[str, str, Decimal], int] | None:
    """The unit that stands after a number, the longest name first, and where it ends."""
    found = _UNIT.match(lowered, end)
    if found is None:
        return None
    name = found.group(1)
    while name:
        known = _units().get(re.sub(r"°\s", "°", name).replace("-", " "))
        if known is not None:
            return known, found.start(1) + len(name)
        name = name[: max(name.rfind(" "), name.rfind("-"), 0)]
    return None


@cache
def _fraction() -> re.Pattern[str]:
    told = "|".join(table("values")["numbers"]["fraction"])
    return re.compile(rf"[ -]({told})s? of (?!an? |the (?:hour|day|year|century))")


def _with_unit(plain: str, lowered: str, start: int, end: int, number: Decimal, *, spelled: bool) -> Value:
    """A range gives its first number the unit of its second; a word that is no unit is what is counted."""
    if spelled and (part := _fraction().match(lowered, end)):  # "three quarters of the glass"
        percent = number * Decimal(table("values")["numbers"]["fraction"][part.group(1)])
        return _quantity(plain, start, part.end() - 4, percent, _units()["%"], spelled=True)
    unit = _unit_at(lowered, end)
    if unit is not None:
        if _is_hour(lowered, start, unit[0]):
            at = (f"#clock {(int(number) - 1) % 12 + 1}:00", f"#time {int(number)}:00")
            return Value("time", at[:1], plain[start : unit[1]], start, unit[1], also=(at[1], _canonical(number)))
        return _quantity(plain, start, unit[1], number, unit[0], spelled=spelled)
    if (upto := _RANGE.match(lowered, end)) and (second := _NUMBER.match(lowered, upto.end())):
        shared = _unit_at(lowered, second.end())
        if shared is not None:
            return _quantity(plain, start, end, number, shared[0], spelled=spelled)
    key = _canonical(number)
    after = _NEXT_WORD.match(lowered, end)
    noun = "" if after is None or after.group(1) in any_stop() else stem(after.group(1))
    bare = () if after is not None else (f"#bare {key}",)
    return Value("number", (key,), plain[start:end], start, end, noun, spelled, (*bare, key))


def _is_hour(lowered: str, start: int, unit: tuple[str, str, Decimal]) -> bool:
    """ "À 9 heures" and "om 9 uur" tell the hour of the day."""
    if unit[0] != "duration" or unit[2] != 3600:
        return False
    before = _LETTERS.findall(lowered[max(0, start - _LOOK_BACK) : start])
    return bool(before) and before[-1] in _words("dates", "before_hour")


def _quantity(
    plain: str, start: int, end: int, number: Decimal, unit: tuple[str, str, Decimal], *, spelled: bool
) -> Value:
    dimension, prefix, factor = unit
    amount = number * factor
    also = (*_about(prefix, amount), _canonical(number))
    return Value("number", (f"#{prefix} {_canonical(amount)}",), plain[start:end], start, end, dimension, spelled, also)


def _about(prefix: str, amount: Decimal) -> Iterator[str]:
    """What is told for each other: a month and 30 days, a year and 365 days or 52 weeks, degrees and pounds."""
    if prefix == "months":
        yield f"#duration {_canonical(amount * 30 * _DAY)}"
        if amount % 12 == 0:
            yield from (f"#duration {_canonical(amount / 12 * days * _DAY)}" for days in (364, 365))
    elif prefix in ("celsius", "fahrenheit"):
        yield f"#degrees {_canonical(amount)}"
    elif prefix == "degrees":
        yield from (f"#{scale} {_canonical(amount)}" for scale in ("celsius", "fahrenheit"))
    elif prefix == "gbp":
        yield f"#pound {_canonical(amount)}"
    elif prefix == "pound":
        yield from (f"#gbp {_canonical(amount)}", f"#mass {_canonical(amount * _POUND)}")
    elif prefix == "mass" and amount % _POUND == 0:
        yield f"#pound {_canonical(amount / _POUND)}"
    elif prefix == "duration":
        days = amount / _DAY
        yield from (
            f"#months {_canonical(days / size * months)}" for size, months in _MONTHS if days and days % size == 0
        )


def _canonical(number: Decimal) -> str:
    return format(number.normalize(), "f")


@lru_cache(maxsize=8_192)
def canonical_number(token: str) -> str:
    """One spelling for a number: 1,000, 1.000 and 1 000 are 1000; 2,50 and 2.5 are 2.5."""
    digits = _SPACE_GROUPS.sub("", token)
    if _COMMA_GROUPS.fullmatch(digits):
        digits = digits.replace(",", "")
    elif _POINT_GROUPS.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    elif digits.count(",") == 1 and "." not in digits:
        digits = digits.replace(",", ".")
    if digits.count(".") == 1:
        digits = digits.rstrip("0").rstrip(".")
    elif "," in digits or "." in digits:
        return digits
    return digits.lstrip("0") if digits.strip("0") and not digits.startswith("0.") else digits or "0"


# --- names -----------------------------------------------------------------------------------------


@lru_cache(maxsize=16_384)
def find_names(text: str) -> tuple[str, ...]:
    """Codes, and capitalised words inside sentences; one that opens a sentence is left out: that may be any word."""
    plain = without_citations(text)
    names = _CODE.findall(plain) if _DIGIT.search(plain) else []
    for match in (_ASCII_NAME if plain.isascii() else _NAME).finditer(plain):
        word = match.group()
        if not word[0].isupper():
            continue
        before = plain[max(0, match.start() - 3) : match.start()].rstrip(" ")
        if before and before[-1] not in _SENTENCE_OPENERS and (before[-1] != "-" or len(before) > 1):
            names.append(word)
    return tuple(names)
