"""Texts and columns in few bytes: they read like lists, whatever comes late or never."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from krino.results.compact_columns import ABSENT, NO_CODE, NULL, GrowingColumn, Texts, constant_column


@given(st.lists(st.text() | st.just("half a pair \ud800")))
def test_texts_read_like_the_list_that_they_were_made_of(given: list[str]) -> None:
    packed = Texts()
    for text in given:
        packed.append(text)
    assert (list(packed), len(packed)) == (given, len(given))
    chosen = np.arange(len(given))[::-1]
    assert list(packed.at(chosen)) == given[::-1]
    assert packed.hashes().tolist() == [hash(text) for text in given]


def test_texts_are_the_same_only_if_they_are_cut_alike() -> None:
    one, other = Texts(), Texts()
    for text in ("ab", "c"):
        one.append(text)
    for text in ("a", "bc"):
        other.append(text)
    assert one.same_as(one)
    assert not one.same_as(other)


def test_a_column_fills_lines_without_the_field_and_stores_only_what_it_needs() -> None:
    column = GrowingColumn()
    column.add(2, 3, np.array([0, 2]), np.array([math.nan, math.nan]), np.array([4, NULL]))
    assert column.codes.tolist() == [ABSENT, ABSENT, 4, ABSENT, NULL]
    assert (column.numbers, column.marks) == (None, None)
    column.add(6, 2, np.array([0, 1]), np.array([0.5, math.nan]), np.array([NO_CODE, -77]))
    assert column.codes.tolist()[5:] == [ABSENT, NO_CODE, NO_CODE]
    assert column.numbers is not None
    assert [value for value in column.numbers if value == value] == [0.5]
    assert column.marks is not None
    assert column.marks.tolist() == [0] * 7 + [-77]
    column.fill(9)
    assert len(column.codes) == len(column.numbers) == len(column.marks) == 9


def test_a_column_of_one_value_takes_no_room() -> None:
    nothing = constant_column(math.nan, 10_000_000)
    assert (len(nothing), nothing.strides) == (10_000_000, (0,))
