"""Numbers, units, dates and times as values, in five languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.claims import parted_values
from krino.judges.rag.reading.values import (
    comparable,
    find_names,
    find_values,
    may_hold_values,
    offered,
    plainly_no_values,
    stated,
)
from krino.judges.rag.tables import table


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("in 1904", ["1904"]),
        ("1,000 or 1.000 or 1 000 chairs", ["1000", "1000", "1000"]),
        ("2,50 and 2.5", ["2.5", "2.5"]),
        ("two hundred lifts", ["200"]),
        ("five hundred and ten", ["510"]),
        ("two three", ["2", "3"]),
        ("1.5 million", ["1500000"]),
        ("5 million, five million", ["5000000", "5000000"]),
        ("see [3] and [1, 2]", []),
        ("v1.2.3", ["1.2.3"]),
        ("007", ["7"]),
        ("the 3rd", ["3"]),
        ("one of them", []),
        ("deux cents", ["200"]),
        ("quatre-vingt-dix-sept", ["97"]),
        ("vijfentwintig of drieduizend", ["25", "3000"]),
        ("fünfundzwanzig oder zweitausendfünfhundert", ["25", "2500"]),
        ("treinta y cinco", ["35"]),
        ("tres mil", ["3000"]),
        ("you may go", []),
        ("the 1990s", ["#decade 199"]),
        ("2000 employees", ["2000"]),
    ],
)
def test_numbers(text: str, keys: list[str]) -> None:
    assert [key for value in find_values(text) for key in value.keys] == keys


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


@pytest.mark.parametrize("word", sorted(set(table("values")["dates"]["before_month"].split())))
def test_a_short_name_is_a_month_behind_a_word_for_when(word: str) -> None:
    assert [value.keys for value in find_values(f"It is open {word} June here")] == [("#month 6",)]
    assert find_values(f"It is open {word} june here") == ()


def test_a_rate_is_no_length_of_time() -> None:
    found = find_values("20 euros a month, twice a day")
    assert [(value.text, value.kind) for value in found] == [("20 euros", "number"), ("twice a day", "frequency")]


def test_a_range_has_one_unit() -> None:
    assert [value.unit for value in find_values("5-10 km")] == ["length", "length"]


def test_names_are_capitalised_words_inside_a_sentence() -> None:
    assert find_names("Yesterday Anna Berg met Ole's aunt. Nobody saw.") == ("Anna", "Berg", "Ole")


@given(st.text(alphabet=st.sampled_from("0123456789 .,:-/%€hmMayone'İ²٣"), max_size=40) | st.text(max_size=60))
def test_values_stand_where_they_say(text: str) -> None:
    for value in find_values(text):
        assert 0 <= value.start < value.end <= len(text)
        assert value.keys


PLAIN_WORDS = [
    "the mill",
    "two",
    "hundred",
    "drieduizend",
    "zwanzig",
    "a dozen",
    "May",
    "on Monday",
    "half",
    "week",
    "it",
]


@given(
    st.lists(st.sampled_from([*PLAIN_WORDS, "1904", "½", "é", "[3]"]), min_size=1, max_size=6), st.sampled_from(" -.,")
)
def test_a_text_that_plainly_holds_no_value_holds_none_to_any_look(pieces: list[str], sign: str) -> None:
    text = f"{sign} ".join(pieces)
    if plainly_no_values(text):
        assert not may_hold_values(text, frozenset(text.lower().replace(sign, " ").split()))
        assert not any(map(find_values, pieces))


def test_plain_prose_is_seen_to_hold_no_value() -> None:
    assert plainly_no_values("The mill is old, and it burned.")


@given(st.text(alphabet="Ab c.A-", max_size=20))
def test_names_in_plain_letters_are_those_among_other_letters(text: str) -> None:
    assert find_names(text) == tuple(name for name in find_names(f"{text} é") if name != "é")


def test_a_month_in_letters_that_only_fold_to_its_own_is_none() -> None:
    found = [value.text for value in find_values("On 3 auguſt 1998, and on 3 May 1998.") if value.kind == "date"]
    assert found == ["1998", "3 May 1998"]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("the 1880s", ["#decade 188"]),
        ("the 1800s", ["#century 19"]),
        ("in the 15th century", ["#century 15"]),
        ("im 19. Jahrhundert", ["#century 19"]),
        ("Q3", ["#quarter 3"]),
        ("in the third quarter", ["#quarter 3"]),
        ("three quarters of the glass", ["#percent 75"]),
        ("two fifths of voters", ["#percent 40"]),
        ("a tenth of it", []),
        ("three quarters of an hour", ["3"]),
        ("the B20 costs EUR20", ["#eur 20"]),
        ("U.K. courts", []),
        ("40k euros", ["#eur 40000"]),
    ],
)
def test_ages_quarters_fractions_and_codes(text: str, keys: list[str]) -> None:
    assert [key for value in find_values(text) for key in value.keys] == keys


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


def test_a_code_is_a_name_wherever_it_stands() -> None:
    assert find_names("B20 costs less than the X7s in Q3.") == ("B20", "X7s")


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


@pytest.mark.parametrize("word", table("values")["dates"]["spans"])
def test_a_text_is_not_cut_inside_a_span(word: str) -> None:
    text = f"It stood {word} 1990 and then 1995" if word != "tot en met" else "Het stond er 1990 tot en met 1995"
    assert parted_values(text) == (text,)
