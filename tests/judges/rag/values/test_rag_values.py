"""What a value stands for and what it excludes, however it is written, in five languages."""

from __future__ import annotations

import pytest

from krino.judges.rag.tables import table
from krino.judges.rag.values.finding import find_values
from krino.judges.rag.values.value import comparable, offered, stated


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1.5 km", "1,500 metres"),
        ("90 minutes", "one and a half hours"),
        ("une heure et demie", "90 min"),
        ("anderhalf uur", "90 minuten"),
        ("7 days", "one week"),
        ("within a week", "in 7 Tagen"),
        ("2 kg", "2000 g"),
        ("15 %", "15 percent"),
        ("€20", "20 euros"),
        ("$4.1m", "4.1 million dollars"),
        ("1,5 Mio. Euro", "1.500.000 EUR"),
        ("half an hour", "30 minutes"),
        ("two years", "24 months"),
        ("3 May 1998", "1998-05-03"),
        ("May 3rd, 1998", "le 3 mai 1998"),
        ("am 03.05.1998", "3 de mayo de 1998"),
        ("3/5/1998", "3 May 1998"),
        ("5/3/1998", "May 3, 1998"),
        ("9 a.m.", "09:00"),
        ("5:30 pm", "17:30"),
        ("um 9 Uhr", "à 9 heures"),
        ("9h30", "9:30"),
        ("until 20.00", "8 p.m."),
        ("from 8.30 to 17.45", "8:30 to 17:45"),
        ("de 10 h à 18 h", "10:00 to 18:00"),
        ("à 18 h", "6 p.m."),
        ("à 9 h", "9:00"),
        ("van 8 tot 21 uur", "from 8:00 to 21:00"),
        ("from 8.30 to 9.10 percent", "8.3 percent to 9.1 percent"),
        ("it rose to 3.15 metres", "3.15 m"),
        ("noon", "12:00"),
        ("three thousand seats", "3,000 seats"),
        ("on Monday", "le lundi"),
        ("two dozen eggs", "24 eggs"),
        ("375°F", "375 degrees"),
        ("375 °F", "375 degrees Fahrenheit"),
    ],
)
def test_the_same_value_in_other_words(first: str, second: str) -> None:
    ours, theirs = find_values(first), find_values(second)
    assert ours and theirs
    assert all(stated(value, offered(theirs)) for value in ours)
    assert all(stated(value, offered(ours)) for value in theirs)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("40 euros", "40,000 euros"),
        ("4.1 million people", "4.1 billion people"),
        ("5 g", "5 mg"),
        ("three weeks", "three days"),
        ("20 EUR", "20 USD"),
        ("9 a.m.", "9 p.m."),
        ("à 18 h", "à 6 h"),
        ("om 21 uur", "om 9 uur"),
        ("3 May 1998", "13 May 1998"),
        ("3 May 1998", "3 June 1998"),
        ("in 1904", "in 1905"),
        ("on Monday", "on Tuesday"),
        ("-5 °C", "5 °C"),
        ("20 °C", "20 °F"),
        ("2 weken", "2 maanden lang, 3 weken"),
    ],
)
def test_another_value_of_the_same_kind(first: str, second: str) -> None:
    (value,) = find_values(first)
    others = find_values(second)
    assert not stated(value, offered(others))
    assert any(comparable(value, other) for other in others)


@pytest.mark.parametrize(("claimed", "said"), [("May 1998", "3 May 1998"), ("in 1998", "3 May 1998"), ("15 %", "15")])
def test_less_is_stated_where_more_is(claimed: str, said: str) -> None:
    (value,) = find_values(claimed)
    assert stated(value, offered(find_values(said)))


@pytest.mark.parametrize(("claimed", "said"), [("3 May 1998", "May 1998"), ("3 May", "in 1998"), ("5:30 pm", "5 pm")])
def test_more_is_not_stated_where_less_is(claimed: str, said: str) -> None:
    (value,) = find_values(claimed)
    assert not stated(value, offered(find_values(said)))


@pytest.mark.parametrize(
    ("told", "found", "holds"),
    [
        ("the 1880s", "in 1887", True),
        ("the 19th century", "on 3 May 1887", True),
        ("the 1800s", "in 1887", True),
        ("the 16th century", "around 1600", True),
        ("the 1890s", "in 1887", False),
        ("in 1887", "the 1880s", False),
    ],
)
def test_a_year_stands_for_its_decade_and_century(told: str, found: str, holds: bool) -> None:
    (value,) = find_values(told)
    assert stated(value, offered(find_values(found))) == holds


@pytest.mark.parametrize(
    ("told", "found", "excludes"),
    [
        ("the 15th century", "in 1590", True),
        ("in 1887", "the 1890s", True),
        ("in 1887", "the 1880s", False),
        ("in 1887", "the 19th century", False),
        ("Q2", "the third quarter", True),
    ],
)
def test_ages_exclude_each_other_where_they_do_not_meet(told: str, found: str, excludes: bool) -> None:
    assert comparable(find_values(told)[0], find_values(found)[0]) == excludes


@pytest.mark.parametrize(
    ("told", "found", "holds"),
    [
        ("£500", "500 pounds", True),
        ("500 pounds", "£500", True),
        ("10 lb", "10 pounds", True),
        ("10 pounds", "10 lbs", True),
        ("£500", "$500", False),
        ("£500", "500 lb", False),
    ],
)
def test_pounds_are_of_money_or_of_weight(told: str, found: str, holds: bool) -> None:
    (value,) = find_values(told)
    assert stated(value, offered(find_values(found))) == holds


@pytest.mark.parametrize("through", table("values")["dates"]["through"])
def test_a_span_of_days_offers_the_days_between(through: str) -> None:
    joint = through if through in "-–" else f" {through} "
    days = offered(find_values(f"dinsdag{joint}zondag"))
    assert {f"#weekday {number}" for number in range(2, 8)} == days
    assert "#weekday 1" in offered(find_values(f"vrijdag{joint}dinsdag"))


def test_days_that_are_only_listed_offer_no_others() -> None:
    for text in ("Tuesday and Sunday", "mardi et dimanche", "dinsdag, zondag", "Dienstag oder Sonntag"):
        assert offered(find_values(text)) == {"#weekday 2", "#weekday 7"}
