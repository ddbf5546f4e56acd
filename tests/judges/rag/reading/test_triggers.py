"""A first look at a text for any of many pieces: it finds exactly what looking for each piece finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.triggers import Triggers

LETTERS = st.text(alphabet="ab '", max_size=6)


@given(pieces=st.lists(LETTERS.filter(str.strip), max_size=4), text=st.text(alphabet="ab \n'.", max_size=30))
def test_a_text_holds_one_of_the_pieces_or_none(pieces: list[str], text: str) -> None:
    assert Triggers(pieces).stand_in(text) == any(piece in text for piece in pieces)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (" it does not say", True),
        (" a knot here", False),
        (" it cannot be", True),
        (" that needs more", False),
        (" we need more of it", True),
        (" not.", False),
    ],
)
def test_spaces_at_the_ends_of_a_piece_are_the_ends_of_words(text: str, found: bool) -> None:
    assert Triggers([" not ", "annot ", "need more"]).stand_in(text) is found
