"""Correlations and errors equal those of scipy and scikit-learn."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import mean_absolute_error as sklearn_mae

from krino.stats.correlation import mean_absolute_error, mean_difference, pearson, rank_codes, spearman

TIED = st.integers(0, 5).map(lambda step: step / 5)
FREE = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))
PAIRS = st.lists(st.one_of(st.tuples(TIED, TIED), st.tuples(FREE, FREE)), min_size=2, max_size=40)


def columns(pairs: list[tuple[float, float]]) -> tuple[Any, Any]:
    table = np.array(pairs, np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def same(ours: float, theirs: float) -> bool:
    return (math.isnan(ours) and math.isnan(theirs)) or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)


@given(PAIRS)
@example([(1.0, 2.0), (1.0, 3.0)])
@example([(0.2, 0.2), (0.2, 0.2), (0.4, 0.2)])
def test_correlations_equal_scipy(pairs: list[tuple[float, float]]) -> None:
    x, y = columns(pairs)
    with warnings.catch_warnings():  # one side constant: it warns and gives nan
        warnings.simplefilter("ignore")
        assert same(spearman(rank_codes(x), rank_codes(y)), float(stats.spearmanr(x, y).statistic))
        assert same(pearson(x, y), float(stats.pearsonr(x, y).statistic))


@given(PAIRS)
def test_the_mean_absolute_error_equals_scikit_learn(pairs: list[tuple[float, float]]) -> None:
    x, y = columns(pairs)
    assert same(mean_absolute_error(x, y), float(sklearn_mae(x, y)))
    assert same(mean_difference(x, y), float(np.mean(x - y)))


@given(PAIRS, st.data())
def test_weights_count_a_pair_so_many_times(pairs: list[tuple[float, float]], data: st.DataObject) -> None:
    x, y = columns(pairs)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs))))
    more_x, more_y, weights = x.repeat(times), y.repeat(times), times.astype(np.float64)
    repeated = rank_codes(more_x), rank_codes(more_y)
    assert same(spearman(rank_codes(x), rank_codes(y), weights), spearman(*repeated))
    assert same(pearson(x, y, weights), pearson(more_x, more_y))
    assert same(mean_absolute_error(x, y, weights), mean_absolute_error(more_x, more_y))


def test_one_pair_or_none_has_no_correlation() -> None:
    one, none = np.array([0.5]), np.array([], np.float64)
    assert math.isnan(pearson(one, one))
    assert math.isnan(pearson(none, none))
    assert math.isnan(spearman(rank_codes(one), rank_codes(one)))
    assert math.isnan(spearman(rank_codes(none), rank_codes(none)))
    assert mean_absolute_error(one, one) == 0.0
    assert math.isnan(mean_absolute_error(none, none))
