"""Numbers, units, dates and times are found as values, in five languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.tables import table
from krino.judges.rag.values.finding import find_values, may_hold_values, plainly_no_values


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
        ("forty-one members", ["41"]),
        ("vingt et un élèves", ["21"]),
        ("treinta y una casas", ["31"]),
        ("twenty and one was broken", ["20"]),
        ("twenty one-way streets", ["20"]),
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


@pytest.mark.parametrize("word", sorted(set(table("values")["dates"]["before_month"].split())))
def test_a_short_name_is_a_month_behind_a_word_for_when(word: str) -> None:
    assert [value.keys for value in find_values(f"It is open {word} June here")] == [("#month 6",)]
    assert find_values(f"It is open {word} june here") == ()


def test_a_rate_is_no_length_of_time() -> None:
    found = find_values("20 euros a month, twice a day")
    assert [(value.text, value.kind) for value in found] == [("20 euros", "number"), ("twice a day", "frequency")]


def test_a_range_has_one_unit() -> None:
    assert [value.unit for value in find_values("5-10 km")] == ["length", "length"]


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
