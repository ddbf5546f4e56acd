"""Finds numbers, in figures and in words, with their units; four figures that count nothing are a year."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from krino.judges.rag.values.dates import ages_of, is_inside_span
from krino.judges.rag.values.quantities import NUMBER, canonical_number, quantity_of, unit_at, with_unit
from krino.judges.rag.values.spelled_numbers import read_run
from krino.judges.rag.values.value import Value
from krino.judges.rag.values.vocabulary import (
    LETTERS,
    LOOK_BACK,
    NEXT_WORD,
    and_half,
    any_stop,
    scale_words,
    unit_names,
    words_for,
)

_MINUS = re.compile(r"(?:^|(?<=[\s(]))[-−]$")
_MONEY_SIGN = re.compile(r"([€$£¥₹]|\b(?:eur|usd|gbp|chf))\s?$")
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|[eè]me|ste|de|e)\b")
_HALF_A = re.compile(r"[ -](?:(?:an?|een|une?|eine?)[ -])?")
_MAX_DIGITS = 18
_EARLIEST_YEAR, _LATEST_YEAR = 1000, 2100


def find_numbers(
    plain: str, lowered: str, digits: bool, words: list[int], spans: list[tuple[int, int]]
) -> Iterator[Value]:
    """Yields the numbers of a text that are not in the spans already taken."""
    done = 0
    starts = (
        [found.start() for found in NUMBER.finditer(plain) if not _is_in_code(lowered, found.start())] if digits else []
    )
    for start in sorted({*starts, *words}):
        if start < done or is_inside_span(start, spans):
            continue
        value = _read_digits(plain, lowered, start) if plain[start].isdecimal() else _read_words(plain, lowered, start)
        if value is not None:
            done = value.end
            yield value


def _is_in_code(lowered: str, start: int) -> bool:
    """Do figures end a word ("B20"), which names something? "EUR20" is an amount and "v1.2" a version."""
    before = lowered[max(0, start - 2) : start]
    return (
        before[-1:].isalpha()
        and before.strip() != "v"
        and _MONEY_SIGN.search(lowered, max(0, start - LOOK_BACK), start) is None
    )


def _read_digits(plain: str, lowered: str, start: int) -> Value | None:
    """Reads a number in figures with its scale, sign and unit; four digits may be a year."""
    found = NUMBER.match(plain, start)
    assert found is not None
    end, key = found.end(), canonical_number(found.group())
    if not key.replace(".", "", 1).isdecimal() or len(key) > _MAX_DIGITS:
        return Value("number", (key,), found.group(), start, end, also=(key,))
    if year := _read_year(plain, lowered, found):
        return year
    number = Decimal(key)
    scale = NEXT_WORD.match(lowered, end)
    sign = _MONEY_SIGN.search(lowered, max(0, start - LOOK_BACK), start)
    if scale and (scale.group(1) in scale_words() or (sign and scale.group(1) in ("m", "b"))):
        factor = scale_words().get(scale.group(1)) or scale_words()["million" if scale.group(1) == "m" else "billion"]
        number, end = number * factor, scale.end() + (lowered[scale.end() : scale.end() + 2] == ". ")
    if half := and_half().match(lowered, end + 1):
        number, end = number + Decimal("0.5"), half.end()
    elif ordinal := _ORDINAL.match(lowered, end):
        end = ordinal.end()
    if sign:
        return quantity_of(plain, sign.start(1), end, number, unit_names()[sign.group(1).lower()], spelled=False)
    negative = _MINUS.search(plain, max(0, start - 2), start)
    return with_unit(plain, lowered, start - bool(negative), end, -number if negative else number, spelled=False)


def _read_year(plain: str, lowered: str, found: re.Match[str]) -> Value | None:
    """Returns four digits that are no quantity as a year or decade, or None.

    They are beside a word for a time, or no word behind them is counted.
    """
    token, start, end = found.group(), found.start(), found.end()
    if len(token) != 4 or not token.isdecimal() or not _EARLIEST_YEAR <= int(token) <= _LATEST_YEAR:
        return None
    if lowered[end : end + 1] == "s" and not lowered[end + 1 : end + 2].isalpha():
        decade, *century = ages_of(int(token))
        keys = century[:1] if token.endswith("00") else [decade]  # "the 1800s" are a century
        return Value("date", tuple(keys), f"{token}s", start, end + 1, also=(token, century[0]))
    after = NEXT_WORD.match(lowered, end)
    if unit_at(lowered, end) or (after and after.group(1) in scale_words()):
        return None
    before = LETTERS.findall(lowered[max(0, start - LOOK_BACK) : start])
    counts = after is not None and after.group(1).endswith(("s", "n")) and after.group(1) not in any_stop()
    if counts and not (before and before[-1] in words_for("dates", "before_year")):
        return None
    return Value("date", (token,), token, start, end, also=ages_of(int(token)))


def _read_words(plain: str, lowered: str, start: int) -> Value | None:
    """Reads a run of number words, or returns None.

    "two hundred" is 200, "twenty-five" 25; "one week" is one, "one of them" none.
    """
    first = LETTERS.match(lowered, start)
    assert first is not None
    word = first.group()
    if word in words_for("numbers", "half"):
        return _read_half(plain, lowered, first)
    if word in words_for("numbers", "one") or word in words_for("numbers", "article"):
        return _read_one(plain, lowered, first)
    run = read_run(lowered, start)
    if run is None:
        return None
    number, end = run
    if half := and_half().match(lowered, end + 1):
        return _read_scaled(plain, lowered, start, half.end(), number + Decimal("0.5"))
    return with_unit(plain, lowered, start, end, number, spelled=True)


def _read_scaled(plain: str, lowered: str, start: int, end: int, number: Decimal) -> Value:
    """Reads a number in words with a half, and what it counts: "one and a half million copies"."""
    scale = NEXT_WORD.match(lowered, end)
    if scale and scale.group(1) in scale_words():
        number, end = number * scale_words()[scale.group(1)], scale.end()
    return with_unit(plain, lowered, start, end, number, spelled=True)


def _read_half(plain: str, lowered: str, first: re.Match[str]) -> Value | None:
    """Reads "half a" with its unit, or returns None."""
    after = _HALF_A.match(lowered, first.end())
    if after is None or (unit := unit_at(lowered, after.end() - 1)) is None:
        return None
    return quantity_of(plain, first.start(), unit[1], Decimal("0.5"), unit[0], spelled=True)


def _read_one(plain: str, lowered: str, first: re.Match[str]) -> Value | None:
    """Reads an article or "one" with its unit, as in "an hour and a half"; None where it counts nothing."""
    if (half := and_half().match(lowered, first.end() + 1)) and first.group() not in words_for("numbers", "article"):
        return _read_scaled(plain, lowered, first.start(), half.end(), Decimal("1.5"))
    scale = NEXT_WORD.match(lowered, first.end())
    if scale and scale.group(1) in scale_words() and len(scale.group(1)) > 2:
        run = read_run(lowered, scale.start(1))
        return None if run is None else with_unit(plain, lowered, first.start(), run[1], run[0], spelled=True)
    unit = unit_at(lowered, first.end())
    if unit is None or unit[0][0] != "duration":
        return None
    half = and_half().match(lowered, unit[1] + 1)
    if first.group() in words_for("numbers", "article") and half is None:
        before = LETTERS.findall(lowered[max(0, first.start() - LOOK_BACK) : first.start()])
        opens = not before and first.start() == 0 and plain[0].islower()  # a part of a sentence, cut at "and"
        if not opens and (not before or before[-1] not in words_for("numbers", "before_article")):
            return None
    if half is not None:  # "une heure et demie"
        return quantity_of(plain, first.start(), half.end(), Decimal("1.5"), unit[0], spelled=True)
    return quantity_of(plain, first.start(), unit[1], Decimal(1), unit[0], spelled=True)
