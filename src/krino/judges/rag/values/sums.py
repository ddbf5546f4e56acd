"""Decides whether a value missing from the passages is a sum, difference, product or time span of values in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cache
from itertools import combinations, permutations

from krino.judges.rag.reading.words import Reading
from krino.judges.rag.tables import table
from krino.judges.rag.values.value import Value
from krino.text.words import plain_words

_MOST = 8
"""Values that are combined at most."""
_MOST_SUMMED = 4
_FEWEST_COUNTS = 3
_HALF_DAY = 12 * 3600


def follows_from(value: Value, found: Sequence[Value], said: Sequence[Value], words: frozenset[str]) -> bool:
    """Does a value of a claim follow from `found`, as a sum, difference, share, product or length of time?

    `said`: the other values of the claim and those of the question, which may be counts. `words`: those that may
    say that it is computed.
    """
    if value.kind != "number":
        return False
    measured, amount = _read_amount(value)
    if measured == "" and value.unit == "":
        return False
    alike = [other for other in found if other.kind == "number" and _read_amount(other)[0] == measured][:_MOST]
    listed = [other for other in alike if measured == "" and other.unit in words]  # "42 doctors and nurses"
    if len(listed) > 1 and amount == sum(_read_amount(other)[1] for other in listed):
        return True
    alike = [other for other in alike if other.unit in ("", value.unit)]
    if measured == "" and amount == _of_all(found):
        return True
    if measured == "#percent" and _is_share(amount, found):
        return True
    if measured == "#duration" and _is_between_two_times(value, found, said):
        return True
    cued = not words.isdisjoint(_cues())
    amounts = [_read_amount(other)[1] for other in alike]
    if cued and (
        amount in _sums(amounts) or amount in _mix_counts(amounts, said) or amount in _find_spans(measured, found)
    ):
        return True
    return measured != "" and amount in set(_products(value, alike, [*said, *(found if cued else ())]))


def _of_all(found: Sequence[Value]) -> Decimal | None:
    """What all the counts amount to, where there are three or more: "14 sopranos, 11 altos and 9 basses"."""
    counts = [amount for measured, amount in map(_read_amount, found) if measured == ""]
    return sum(counts, Decimal(0)) if _FEWEST_COUNTS <= len(counts) <= _MOST else None


def _is_share(percent: Decimal, found: Sequence[Value]) -> bool:
    """Is it what one count is of a larger one, rounded as it is written: "7.5 %" and "8 %" are 60 of 800?"""
    counts = [amount for measured, amount in map(_read_amount, found) if measured == ""][:_MOST]
    pairs = ((part, whole) for part, whole in permutations(counts, 2) if 0 < part < whole)
    places = max(0, -int(percent.as_tuple().exponent))  # digits after the point
    rounding = Decimal(5).scaleb(-1 - places)
    return any(abs(100 * part / whole - percent) <= rounding for part, whole in pairs)


def _is_between_two_times(value: Value, found: Sequence[Value], said: Sequence[Value]) -> bool:
    """Is it the time from one time of day to the other?

    "an hour and ten minutes" is two values that are meant as one.
    """
    if sum(other.kind == "time" for other in found) != 2:
        return False
    amount = _read_amount(value)[1]
    others = [
        length
        for measured, length in map(_read_amount, (item for item in said if item != value))
        if measured == "#duration"
    ]
    return not {amount, sum(others, amount)}.isdisjoint(_find_spans("#duration", found))


def cue_words(claim: str, claimed: Reading, found: Sequence[str]) -> frozenset[str]:
    """Returns the words of a claim that may say that it computes, and what it is about.

    No other word that the passage has too ("by 90 points" for "by 70 points").
    """
    found_words = {word for text in found for word in plain_words(text)}
    return frozenset(claimed.content).union(set(plain_words(claim)) - found_words)


@cache
def _cues() -> frozenset[str]:
    return frozenset(table("values")["sums"]["cues"].split())


def _read_amount(value: Value) -> tuple[str, Decimal]:
    """Returns what a value measures, and how much; counts measure nothing ("")."""
    measured, _, number = value.keys[0].rpartition(" ")
    try:
        return measured, Decimal(number)
    except ArithmeticError:
        return "?", Decimal(0)


def _sums(amounts: Sequence[Decimal]) -> set[Decimal]:
    """Of two and more, and what is between two."""
    found = {sum(chosen, Decimal(0)) for size in range(2, _MOST_SUMMED + 1) for chosen in combinations(amounts, size)}
    return found | {abs(first - second) for first, second in combinations(amounts, 2) if first != second}


def _mix_counts(amounts: Sequence[Decimal], said: Sequence[Value]) -> set[Decimal]:
    """Returns sums of two amounts, one or both taken as often as a count says."""
    counts = {
        Decimal(1),
        *(_read_amount(value)[1] for value in said if value.kind == "number" and not _read_amount(value)[0]),
    }
    pairs = combinations(amounts[:_MOST_SUMMED], 2)
    return {many * first + few * second for first, second in pairs for many in counts for few in counts}


def _products(value: Value, alike: Sequence[Value], counts: Sequence[Value]) -> Iterator[Decimal]:
    """Yields products: an amount N times, a share of it, and monthly amounts by the year."""
    factors = [_read_amount(count)[1] for count in counts if count.kind == "number" and _read_amount(count)[0] == ""]
    shares = [
        _read_amount(count)[1] / 100
        for count in counts
        if count.kind == "number" and _read_amount(count)[0] == "#percent"
    ]
    lengths = [
        _read_amount(count)[1] for count in counts if count.kind == "number" and _read_amount(count)[0] == "#months"
    ]
    for other in alike:
        amount = _read_amount(other)[1]
        yield from (amount * factor for factor in factors if factor > 1)
        yield from (amount * by for share in shares for by in (share, 1 - share, 1 + share))
        yield from (amount * length / stretch for length in lengths if (stretch := _stretch(other)))
        ours, theirs = _stretch(value), _stretch(other)
        if ours and theirs and ours != theirs:
            yield amount * ours / theirs


def _stretch(value: Value) -> Decimal | None:
    """Of "25 euros a month": the month."""
    months = next((key.split() for key in value.also if key.startswith("#every") and key.endswith("months")), None)
    return Decimal(months[1]) if months and months[1].isdecimal() else None


def _find_spans(measured: str, found: Sequence[Value]) -> set[Decimal]:
    """Returns the times between two years or days, or between two times of day."""
    if measured == "#months":
        dates = [value for value in found if value.kind == "date" and value.keys[0].isdecimal()][:_MOST]
        return {months for pair in combinations(dates, 2) for months in _months_between(*sorted(map(_date, pair)))}
    if measured != "#duration":
        return set()
    times = [_seconds(value) for value in found if value.kind == "time"][:_MOST]
    spans = {Decimal((second - first) % (2 * _HALF_DAY)) for first, second in combinations(times, 2)}
    return spans | {Decimal((second - first) % _HALF_DAY) for first, second in combinations(times, 2)}


def _date(value: Value) -> tuple[int, int, int]:
    """Year, month and day; 0 for what is not given."""
    day = next((key.removeprefix("#day ").split("-") for key in value.keys if key.startswith("#day ")), ("0", "0"))
    return int(value.keys[0]), int(day[0]), int(day[1])


def _months_between(first: tuple[int, int, int], second: tuple[int, int, int]) -> set[Decimal]:
    """Returns the full months and years between two days; for years alone, the years between."""
    months = 12 * (second[0] - first[0])
    if first[1] and second[1]:
        months += second[1] - first[1] - (second[2] < first[2])
    return {Decimal(months), Decimal(months - months % 12)}


def _seconds(value: Value) -> int:
    hour, minute = value.keys[0].split(" ")[1].split(":")
    return int(hour) * 3600 + int(minute) * 60
