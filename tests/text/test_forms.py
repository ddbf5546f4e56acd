"""When texts are blank or the same, and where a quotation stands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.text.forms import canonical_text, is_blank, locate


def test_a_quotation_is_found_whatever_its_spaces_case_and_quotes() -> None:
    text = "He said:  “It’s the\nOldest bridge” – in 1904."
    place = locate("it's the oldest BRIDGE\" - in", text)
    assert place is not None
    assert text[slice(*place)] == "It’s the\nOldest bridge” – in"
    assert locate('"Oldest bridge."', text) is not None


@pytest.mark.parametrize("quote", ["", "  ", '""', "newest bridge", "the bridge"])
def test_what_is_not_there_is_not_found(quote: str) -> None:
    assert locate(quote, "It is the oldest bridge.") is None


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_place_found_lies_in_the_text(text: str, quote: str) -> None:
    place = locate(quote, text)
    assert place is None or 0 <= place[0] < place[1] <= len(text)


def test_blank_is_what_shows_nothing() -> None:
    assert is_blank(None)
    assert is_blank(" \u200b\ufeff\n")
    assert not is_blank(".")


def test_texts_are_the_same_but_for_case_spaces_and_quotes() -> None:
    assert canonical_text(" “In  1904.” ") == canonical_text("in 1904")
    assert canonical_text("in 1905") != canonical_text("in 1904")


@given(st.lists(st.sampled_from([" ", "\t", "\n", "\x1c", "\x85", "\xa0", "\u200b", "a", '"', "."])).map("".join))
def test_every_kind_of_space_counts_as_one_space(text: str) -> None:
    assert canonical_text(text) == canonical_text(re.sub(r"\s+", " ", text))
