"""Intervals of shares and scores equal the reference, and keep their promise where the normal one does not."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy.stats import binom, norm, t
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from krino.stats.confidence_intervals import (
    FEW,
    STUDENT_95,
    Moments,
    MomentsByGroup,
    gate_interval,
    mean_interval,
    normal_interval,
    score_interval,
    student_95,
    wilson_interval,
)

COUNTS = [(0, 1), (1, 1), (0, 7), (7, 7), (1, 2), (3, 10), (29, 30), (999, 1_000), (5, 100_000)]


def moments(values: list[float]) -> Moments:
    """As they come in parts."""
    found = MomentsByGroup()
    for part in (values[:1], values[1:4], values[4:]):
        found.add(np.zeros(len(part), np.intp), np.array(part, np.float64), 1)
    return found[0]


@pytest.mark.parametrize(("part", "whole"), COUNTS)
def test_the_interval_of_a_share_is_wilsons(part: int, whole: int) -> None:
    assert wilson_interval(part, whole) == pytest.approx(proportion_confint(part, whole, method="wilson"), abs=1e-9)


@pytest.mark.parametrize(("part", "whole"), COUNTS)
def test_of_zeros_and_ones_the_interval_of_scores_is_that_of_agresti_and_coull(part: int, whole: int) -> None:
    tally = moments([1.0] * part + [0.0] * (whole - part))
    assert score_interval(tally) == pytest.approx(proportion_confint(part, whole, method="agresti_coull"), abs=1e-9)


def test_of_many_scores_it_is_the_normal_interval() -> None:
    scores = list(np.random.default_rng(1).beta(5, 2, 50_000))
    reference = DescrStatsW(scores).zconfint_mean()
    assert normal_interval(moments(scores)) == pytest.approx(reference, abs=1e-9)
    assert score_interval(moments(scores)) == pytest.approx(reference, abs=1e-4)


def test_thirty_perfect_scores_are_no_certainty() -> None:
    perfect = moments([1.0] * 30)
    assert normal_interval(perfect) == (1.0, 1.0)
    interval = score_interval(perfect)
    assert interval is not None and interval[0] < 0.9 and interval[1] == 1.0


@pytest.mark.parametrize("size", [10, 30, 100])
@pytest.mark.parametrize("truth", [0.9, 0.97])
def test_the_lower_end_lies_above_the_truth_in_no_more_samples_than_it_promises(size: int, truth: float) -> None:
    """Over every sample of so many scores of 0 or 1, by its probability."""
    misses = {"careful": 0.0, "normal": 0.0}
    for part in range(size + 1):
        tally = moments([1.0] * part + [0.0] * (size - part))
        for name, interval in (("careful", score_interval(tally)), ("normal", normal_interval(tally))):
            assert interval is not None
            misses[name] += binom.pmf(part, size, truth) if interval[0] > truth else 0.0
    assert misses["careful"] <= 0.025 < misses["normal"]


def test_nothing_has_no_interval() -> None:
    assert wilson_interval(0, 0) is None
    assert score_interval(Moments()) is None
    assert normal_interval(moments([0.5])) is None


def test_numbers_on_another_scale_need_thirty_values() -> None:
    values = [random.Random(2).uniform(1, 5) for _ in range(30)]
    assert gate_interval(moments(values[:29])) is None
    assert gate_interval(moments(values)) == normal_interval(moments(values))


def test_moments_of_large_numbers_that_differ_little_are_exact() -> None:
    values = [1e9 + step for step in (4.0, 7.0, 13.0, 16.0)]
    tally = moments(values)
    half = STUDENT_95[2] * math.sqrt(30 / 4)  # the sample variance is 30
    assert normal_interval(tally) == pytest.approx((1e9 + 10 - half, 1e9 + 10 + half), abs=1e-6)


def test_of_few_values_the_interval_of_a_mean_is_students() -> None:
    assert [round(float(t.ppf(0.975, freedom)), 3) for freedom in range(1, FEW - 1)] == list(STUDENT_95)
    few, many = [normal_interval(moments([*range(2, n + 2)])) for n in (FEW - 1, FEW)]
    assert few is not None and many is not None
    spread = [math.sqrt(sum((x - m) ** 2 for x in range(2, n + 2)) / (n - 1) / n) for n, m in ((29, 16.0), (30, 16.5))]
    assert few[1] - 16.0 == pytest.approx(2.048 * spread[0])
    assert many[1] - 16.5 == pytest.approx(norm.ppf(0.975) * spread[1])


def test_numbers_that_are_all_the_same_have_no_interval_in_a_report_unless_they_are_scores() -> None:
    assert mean_interval(moments([4.0, 4.0, 4.0])) is None
    low, high = mean_interval(moments([1.0, 1.0, 1.0])) or (1.0, 1.0)
    assert (low < 0.6, high) == (True, 1.0)


@pytest.mark.parametrize("values", [[1.0, 5.0], [1.0, 1.0, 2.0], [5.0, 5.0, 4.0], [1.0, 2.0, 5.0] * 20])
def test_no_interval_leaves_the_declared_scale(values: list[float]) -> None:
    found = mean_interval(Moments.of(values), (1.0, 5.0))
    assert found is not None
    assert 1.0 <= found[0] <= found[1] <= 5.0
    careful = gate_interval(Moments.of(values), (1.0, 5.0))
    assert (careful is None) == (len(values) < FEW)


def test_ones_on_a_scale_of_one_to_five_are_no_scores_from_nought_to_one() -> None:
    assert mean_interval(Moments.of([1.0] * 40), (1.0, 5.0)) is None
    assert mean_interval(Moments.of([1.0] * 40), (0.0, 1.0)) == score_interval(Moments.of([1.0] * 40))


def test_an_open_end_bounds_nothing() -> None:
    low, high = mean_interval(Moments.of([0.0, 9.0]), (0.0, math.inf)) or (math.nan, math.nan)
    assert low == 0.0
    assert high > 9.0


def test_students_quantile_goes_on_smoothly_beyond_the_table() -> None:
    assert student_95(28) == 2.048
    assert student_95(29) == pytest.approx(2.0452, abs=2e-4)
    assert student_95(100) == pytest.approx(1.9840, abs=1e-4)
    assert student_95(0) == student_95(1) == 12.706
