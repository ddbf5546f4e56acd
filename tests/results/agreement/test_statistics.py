"""A majority is more than any other; cases with the same ratings are counted once, with their number."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from krino.results.agreement.statistics import Patterns, majority_codes

ROWS = st.integers(1, 5).flatmap(
    lambda raters: st.lists(st.lists(st.integers(-1, 3), min_size=raters, max_size=raters), min_size=1, max_size=12)
)


@given(ROWS)
def test_the_majority_is_what_most_say_and_a_tie_has_none(rows: list[list[int]]) -> None:
    for found, row in zip(majority_codes(np.array(rows)), rows, strict=True):
        votes = Counter(code for code in row if code >= 0).most_common(2)
        tied = len(votes) == 2 and votes[0][1] == votes[1][1]
        assert found == (-1 if not votes or tied else votes[0][0])


@given(ROWS)
def test_folding_keeps_every_case(rows: list[list[int]]) -> None:
    table = np.array(rows)
    patterns = Patterns.of(table[:, 0], table, None)
    assert patterns.counts.sum() == len(rows)
    assert (patterns.people[patterns.pattern] == table).all()
    assert len(patterns.counts) == len({tuple(row) for row in rows})


def test_the_mean_is_of_the_ratings_there_are() -> None:
    patterns = Patterns.of(np.array([0, 1]), np.array([[0, 2, -1], [1, -1, -1]]), np.array([0.0, 0.5, 1.0]))
    assert patterns.mean.tolist() == [0.5, 0.5]


def test_distance_is_the_share_that_differs_or_the_way_to_the_mean() -> None:
    judge, people = np.array([0, 1]), np.array([[0, 2], [1, -1]])
    assert Patterns.of(judge, people, None).distance(None).tolist() == [0.5, 0.0]
    positions = np.array([0.0, 0.5, 1.0])
    assert Patterns.of(judge, people, positions).distance(positions).tolist() == [0.5, 0.0]
