"""How often something happens is one value, however it is told and in which language."""

from __future__ import annotations

import pytest

from krino.judges.rag.tables import table
from krino.judges.rag.values.finding import find_values
from krino.judges.rag.values.frequencies import frequency_words
from krino.judges.rag.values.value import Value, comparable, offered, stated

TOLD = table("values")["frequencies"]
BY_UNIT = {
    "hour": "every 60 minutes",
    "day": "every 24 hours",
    "week": "every 7 days",
    "fortnight": "every two weeks",
    "month": "every month",
    "quarter": "every three months",
    "half_year": "twice a year",
    "year": "every 12 months",
}


def often(text: str) -> list[Value]:
    return [value for value in find_values(text) if value.kind == "frequency"]


@pytest.mark.parametrize(
    ("unit", "word"), [(unit, word) for unit, words in TOLD["adverbs"].items() for word in words.split()]
)
def test_a_word_that_says_how_often_is_the_stretch_between(unit: str, word: str) -> None:
    (value,) = often(f"it is done {word} here")
    assert stated(value, offered(often(f"it is done {BY_UNIT[unit]} here")))
    assert value.text == word


@pytest.mark.parametrize("word", TOLD["each"])
def test_what_stands_before_a_stretch_makes_it_how_often(word: str) -> None:
    assert [value.keys for value in often(f"{word} week")] == [value.keys for value in often("weekly")]
    assert [value.keys for value in often(f"{word} three months")] == [value.keys for value in often("quarterly")]


@pytest.mark.parametrize("word", TOLD["second"])
def test_every_other_is_every_two(word: str) -> None:
    assert [value.keys for value in often(f"every {word} week")] == [value.keys for value in often("fortnightly")]


@pytest.mark.parametrize(("name", "count"), [("once", 1), ("twice", 2), ("thrice", 3)])
def test_a_count_in_a_stretch_is_the_stretch_between(name: str, count: int) -> None:
    for words in TOLD[name]:
        assert [value.keys for value in often(f"{words} per year")] == [
            value.keys for value in often(f"{count} times a year")
        ]


@pytest.mark.parametrize("word", TOLD["times"])
def test_a_number_of_times_is_how_often(word: str) -> None:
    assert [value.keys for value in often(f"4 {word} per year")] == [value.keys for value in often("quarterly")]


@pytest.mark.parametrize("word", TOLD["in"])
def test_a_quantity_by_the_stretch_tells_how_often_too(word: str) -> None:
    (monthly,) = often("monthly")
    assert stated(monthly, offered(find_values(f"25 euros {word} month")))
    assert [value.keys for value in often(f"twice {word} month")] == [value.keys for value in often("2 times a month")]


@pytest.mark.parametrize(
    ("unit", "word"), [(unit, word) for unit, words in TOLD["stretches"].items() for word in words.split()]
)
def test_further_names_of_stretches_are_known(unit: str, word: str) -> None:
    (value,) = often(f"1 times per {word}")
    assert stated(value, offered(often(BY_UNIT[unit])))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("each month", "each quarter"),
        ("daily", "weekly"),
        ("twice a year", "once a year"),
        ("every six weeks", "monthly"),
    ],
)
def test_two_of_them_exclude_each_other(first: str, second: str) -> None:
    (ours,), (theirs,) = often(first), often(second)
    assert comparable(ours, theirs)
    assert not stated(ours, offered([theirs]))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("monthly", "every four weeks"),
        ("annually", "every 365 days"),
        ("every 30 days", "once a month"),
        ("yearly", "every 52 weeks"),
    ],
)
def test_what_is_told_for_each_other_is_the_same(first: str, second: str) -> None:
    (ours,), (theirs,) = often(first), often(second)
    assert stated(ours, offered([theirs]))
    assert stated(theirs, offered([ours]))


@pytest.mark.parametrize(("months", "days"), TOLD["about"])
def test_months_and_the_days_that_are_told_for_them_are_the_same(months: int, days: int) -> None:
    (by_month,), (by_day,) = often(f"every {months} months"), often(f"every {days} days")
    assert stated(by_month, offered([by_day])) and stated(by_day, offered([by_month]))
    (other,) = often(f"every {days + 20} days")
    assert not stated(by_month, offered([other]))


def test_names_and_lengths_of_time_are_no_frequencies() -> None:
    assert often("It stood in the Daily Mail for a month.") == []
    assert often("It took a second try in the first quarter.") == []
    assert {"daily", "wekelijks"} <= frequency_words()
