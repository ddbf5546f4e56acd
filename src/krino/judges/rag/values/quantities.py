"""Numbers with what they measure: the unit behind a number, and one spelling for all that is the same amount."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, lru_cache

from krino.judges.rag.tables import table
from krino.judges.rag.values.value import Value, time_of_day
from krino.judges.rag.values.vocabulary import LETTERS, LOOK_BACK, NEXT_WORD, any_stop, unit_names, words_for
from krino.text.words import stem

NUMBER = re.compile(r"\d(?:\d{0,2}(?:[ \u00a0\u202f]\d{3})+(?![\d.,]*\d)|\d*(?:[.,]\d+)*)")
_COMMA_GROUPS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_POINT_GROUPS = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_SPACE_GROUPS = re.compile(r"[ \u00a0\u202f]")
_UNIT = re.compile(
    r"[ \u00a0\u202f-]?((?:°\s?[cf]?\b|°|[%€$£¥₹]|[^\W\d_]+(?:[²³]|/[^\W\d_]+)?|[mk]m?[23]\b)(?:[ -][^\W\d_]+){0,2})"
)
_RANGE = re.compile(r"\s?(?:-|–|to|and|à|et|tot|en|bis|und|a|y)\s?(?=\d)")
_DAY, _HOUR = Decimal(86_400), Decimal(3_600)
_POUND = Decimal("453.59237")  # grams
_MONTHS = ((30, 1), (364, 12), (365, 12))


def unit_at(lowered: str, end: int) -> tuple[tuple[str, str, Decimal], int] | None:
    """Returns the unit after a number, the longest name first, and where it ends; or None."""
    found = _UNIT.match(lowered, end)
    if found is None:
        return None
    name = found.group(1)
    while name:
        known = unit_names().get(re.sub(r"°\s", "°", name).replace("-", " "))
        if known is not None:
            return known, found.start(1) + len(name)
        name = name[: max(name.rfind(" "), name.rfind("-"), 0)]
    return None


def unit_of_range(lowered: str, end: int) -> tuple[tuple[str, str, Decimal], int] | None:
    """Returns the unit of the second number and where that number begins, if a number is the first of a range."""
    upto = _RANGE.match(lowered, end)
    second = NUMBER.match(lowered, upto.end()) if upto is not None else None
    unit = unit_at(lowered, second.end()) if second is not None else None
    return (unit[0], second.start()) if second is not None and unit is not None else None


@cache
def _fraction() -> re.Pattern[str]:
    fractions = "|".join(table("values")["numbers"]["fraction"])
    return re.compile(rf"[ -]({fractions})s? of (?!an? |the (?:hour|day|year|century))")


def with_unit(plain: str, lowered: str, start: int, end: int, number: Decimal, *, spelled: bool) -> Value:
    """Returns a number with the unit behind it.

    A range gives its first number the unit of its second; a word that is no unit is what is counted.
    """
    if spelled and (part := _fraction().match(lowered, end)):  # "three quarters of the glass"
        percent = number * Decimal(table("values")["numbers"]["fraction"][part.group(1)])
        return quantity_of(plain, start, part.end() - 4, percent, unit_names()["%"], spelled=True)
    unit = unit_at(lowered, end)
    if unit is not None:
        if _is_hour(lowered, start, unit[0]) or _begins_hours(lowered, unit):
            return _hour(plain, start, unit[1], number)
        return quantity_of(plain, start, unit[1], number, unit[0], spelled=spelled)
    if (shared := unit_of_range(lowered, end)) is not None:
        if _is_hour(lowered, shared[1], shared[0]):  # "van 8 tot 21 uur"
            return _hour(plain, start, end, number)
        return quantity_of(plain, start, end, number, shared[0], spelled=spelled)
    key = _canonical(number)
    after = NEXT_WORD.match(lowered, end)
    noun = "" if after is None or after.group(1) in any_stop() else stem(after.group(1))
    bare = () if after is not None else (f"#bare {key}",)
    return Value("number", (key,), plain[start:end], start, end, noun, spelled, (*bare, key))


def _is_hour(lowered: str, start: int, unit: tuple[str, str, Decimal]) -> bool:
    """Does a number tell the hour of the day: "À 9 heures" and "om 9 uur"?"""
    if unit[0] != "duration" or unit[2] != _HOUR:
        return False
    before = LETTERS.findall(lowered[max(0, start - LOOK_BACK) : start])
    return bool(before) and before[-1] in words_for("dates", "before_hour")


def _begins_hours(lowered: str, unit: tuple[tuple[str, str, Decimal], int]) -> bool:
    """The first of "de 10 h à 18 h" is an hour of the day, as the second is."""
    other = unit_of_range(lowered, unit[1]) if unit[0][2] == _HOUR else None
    return other is not None and _is_hour(lowered, other[1], other[0])


def _hour(plain: str, start: int, end: int, number: Decimal) -> Value:
    """ "À 9 h" may be in the evening as well; "à 18 h" is plain."""
    hour = int(number)
    return time_of_day(plain[start:end], start, end, hour, 0, plain=hour > 12, bare=(_canonical(number),))


def quantity_of(
    plain: str, start: int, end: int, number: Decimal, unit: tuple[str, str, Decimal], *, spelled: bool
) -> Value:
    """Returns a number with its unit, the amount converted to the base unit."""
    dimension, prefix, factor = unit
    amount = number * factor
    also = (*_find_equivalents(prefix, amount), _canonical(number))
    return Value("number", (f"#{prefix} {_canonical(amount)}",), plain[start:end], start, end, dimension, spelled, also)


def _find_equivalents(prefix: str, amount: Decimal) -> Iterator[str]:
    """Yields the keys of what counts as the same.

    A month is 30 days, a year is 365 days or 52 weeks; degrees and pounds have several meanings.
    """
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
    """Returns one spelling for a number: 1,000, 1.000 and 1 000 are 1000; 2,50 and 2.5 are 2.5."""
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
