"""What a spreadsheet would run is marked, and the marks come off without a trace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.text.formulas import RUNS_AS_FORMULA, escape_formula, unescape_formula

TEXTS = st.text(st.sampled_from("=+-@＝;\t\r\n\"' ax1,"), max_size=30)


@given(TEXTS)
def test_what_was_marked_is_read_back_as_it_was(text: str) -> None:
    assert unescape_formula(escape_formula(text)) == text


@given(TEXTS)
def test_no_cell_begins_with_a_sign_that_runs(text: str) -> None:
    assert not escape_formula(text).startswith(RUNS_AS_FORMULA)


@pytest.mark.parametrize("text", ["plain", "it's", "'quoted'", "a; 'b'", "rock 'n' roll", "", "'"])
def test_text_that_runs_nowhere_is_left_alone(text: str) -> None:
    assert escape_formula(text) == text
    assert unescape_formula(text) == text
