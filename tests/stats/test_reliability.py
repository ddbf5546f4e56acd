"""The calibration error equals one made from scikit-learn's calibration curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve

from krino.stats.classification import reliability

CONFIDENCE = st.one_of(st.floats(0, 1), st.integers(0, 10).map(lambda step: step / 10))
ANSWERS = st.lists(st.tuples(CONFIDENCE, st.booleans()), min_size=2, max_size=60).filter(
    lambda answers: len({right for _, right in answers}) == 2  # scikit-learn takes a lone outcome for the wrong one
)


@given(ANSWERS, st.integers(1, 15))
@example([(0.0, True), (1.0, False), (0.3, True), (0.1 + 0.2, False)], 10)
def test_bins_and_error_equal_scikit_learn(answers: list[tuple[float, bool]], bins: int) -> None:
    confidence = np.array([item for item, _ in answers])
    right = np.array([item for _, item in answers])
    found = reliability(confidence, right, bins)
    share, mean = calibration_curve(right, confidence, n_bins=bins)
    filled = found.counts > 0
    np.testing.assert_allclose(found.right[filled], share, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.confidence[filled], mean, rtol=1e-9, atol=1e-9)
    error = found.counts[filled] @ np.abs(share - mean) / len(answers)
    assert math.isclose(found.error, error, rel_tol=1e-9, abs_tol=1e-9)


def test_a_judge_that_is_right_as_often_as_it_says_has_no_error() -> None:
    confidence = np.array([0.75] * 4 + [0.5] * 2)
    right = np.array([True, True, True, False, True, False])
    assert reliability(confidence, right).error == 0.0


def test_one_who_is_sure_and_wrong_has_the_whole_error() -> None:
    assert reliability(np.ones(3), np.zeros(3, np.bool_)).error == 1.0


def test_a_confidence_on_an_edge_belongs_to_the_bin_below_and_nought_to_the_first() -> None:
    found = reliability(np.array([0.0, 0.1, 0.5]), np.array([True, True, True]))
    assert np.flatnonzero(found.counts).tolist() == [0, 4]
    assert found.counts[0] == 2


def test_without_cases_there_is_no_error() -> None:
    assert math.isnan(reliability(np.array([], np.float64), np.array([], np.bool_)).error)


@pytest.mark.parametrize("beyond", [-0.1, 1.1, math.nan])
def test_what_is_no_probability_is_refused(beyond: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        reliability(np.array([0.5, beyond]), np.array([True, True]))


def test_weights_count_an_answer_so_many_times() -> None:
    confidence, right = np.array([0.9, 0.9, 0.2]), np.array([True, False, False])
    weighted = reliability(confidence, right, weights=np.array([3.0, 1.0, 0.0]))
    assert math.isclose(weighted.error, 0.9 - 0.75)
