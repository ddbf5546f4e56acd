"""The names of a text: codes, and capitalised words inside a sentence."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.names import find_names


def test_names_are_capitalised_words_inside_a_sentence() -> None:
    assert find_names("Yesterday Anna Berg met Ole's aunt. Nobody saw.") == ("Anna", "Berg", "Ole")


@given(st.text(alphabet="Ab c.A-", max_size=20))
def test_names_in_plain_letters_are_those_among_other_letters(text: str) -> None:
    assert find_names(text) == tuple(name for name in find_names(f"{text} é") if name != "é")


def test_a_code_is_a_name_wherever_it_stands() -> None:
    assert find_names("B20 costs less than the X7s in Q3.") == ("B20", "X7s")
