"""Paired statistics equal their references, on random and on edge inputs."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, multinomial
from statsmodels.stats.contingency_tables import mcnemar as reference_mcnemar
from statsmodels.stats.multitest import multipletests

from krino.stats.bootstrap import Resampler
from krino.stats.paired_tests import adjust_holm, bootstrap_mean_intervals, mcnemar_p, share_difference_interval

RANDOM = random.Random(7)
FLIPS = [*product((0, 1, 2, 5), repeat=2), *((RANDOM.randrange(400), RANDOM.randrange(400)) for _ in range(40))]


@pytest.mark.parametrize(("lost", "gained"), FLIPS)
def test_mcnemar_equals_statsmodels(lost: int, gained: int) -> None:
    reference = reference_mcnemar([[9, lost], [gained, 9]], exact=True).pvalue if lost + gained else 1.0
    assert mcnemar_p(lost, gained) == pytest.approx(reference, abs=1e-9)


@pytest.mark.parametrize(("lost", "gained"), [(49_700, 50_300), (50_000, 50_000), (30, 400), (0, 100_000)])
def test_mcnemar_is_exact_also_for_very_many_flips(lost: int, gained: int) -> None:
    assert mcnemar_p(lost, gained) == pytest.approx(binomtest(lost, lost + gained).pvalue, abs=1e-12, rel=1e-9)


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_holm_equals_statsmodels(size: int) -> None:
    ps = [RANDOM.random() ** 3 for _ in range(size)]
    assert adjust_holm(ps) == pytest.approx(multipletests(ps, method="holm")[1], abs=1e-9)


def test_holm_of_equal_and_of_no_tests() -> None:
    assert adjust_holm([]) == []
    assert adjust_holm([0.02, 0.02]) == pytest.approx([0.04, 0.04])


def test_the_interval_of_a_paired_share_is_that_of_bonett_and_price() -> None:
    """By hand, for seven lost and one gained of 21: 2/23 - 8/23, and 1.96 times the root of (10/23 - 36/529) / 23."""
    assert share_difference_interval(7, 1, 21) == pytest.approx((-0.260870 - 0.247490, -0.260870 + 0.247490), abs=1e-6)


@pytest.mark.parametrize(("down", "up"), [(0.02, 0.02), (0.1, 0.05), (0.0, 0.03), (0.3, 0.2)])
def test_it_holds_the_truth_in_95_of_100_samples(down: float, up: float) -> None:
    """Over every sample of forty cases, by its probability."""
    cases, held = 40, 0.0
    for lost in range(cases + 1):
        for gained in range(cases + 1 - lost):
            chance = multinomial.pmf([lost, gained, cases - lost - gained], cases, [down, up, 1 - down - up])
            interval = share_difference_interval(lost, gained, cases)
            assert interval is not None
            held += chance if interval[0] <= up - down <= interval[1] else 0.0
    assert held >= 0.945


def test_no_flip_in_many_cases_still_leaves_room_for_one() -> None:
    interval = share_difference_interval(0, 0, 100)
    assert interval is not None and interval[0] < -0.02 and interval[1] > 0.02
    assert share_difference_interval(0, 0, 0) is None


def test_bootstrapped_means_are_those_of_the_cases_drawn() -> None:
    values = np.random.default_rng(3).normal(size=(40, 2))
    values[::7, 1] = np.nan
    generator = np.random.default_rng(0)
    drawn = [generator.integers(0, 40, 40) for _ in range(200)]
    means = np.array([np.nanmean(values[rows], axis=0) for rows in drawn])
    expected = [tuple(np.quantile(means[:, place], [0.025, 0.975])) for place in (0, 1)]
    found = bootstrap_mean_intervals(values, Resampler.create(40, draws=200))
    assert found == [pytest.approx(pair, abs=1e-9) for pair in expected]


def test_cases_of_one_cluster_are_drawn_together() -> None:
    """Ten alike cases in each of twenty clusters know no more than twenty cases."""
    few = np.random.default_rng(5).normal(size=(20, 1))
    many = np.repeat(few, 10, axis=0)
    clusters = [place // 10 for place in range(200)]
    (clustered,) = bootstrap_mean_intervals(many, Resampler.create(200, clusters))
    (alone,) = bootstrap_mean_intervals(few, Resampler.create(20))
    assert clustered == pytest.approx(alone, abs=1e-9)


@pytest.mark.parametrize("groups", [None, [1, 1, 1]])
def test_one_value_or_one_cluster_has_no_interval(groups: list[int] | None) -> None:
    one = [[0.5], [np.nan], [np.nan]] if groups is None else [[0.5], [0.7], [0.1]]
    assert bootstrap_mean_intervals(np.array(one), Resampler.create(3, groups)) == [None]
    assert bootstrap_mean_intervals(np.zeros((0, 1)), Resampler.create(0)) == [None]


def test_of_many_cases_the_normal_interval_is_the_bootstrap_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(0.1, 1.0, (4_000, 1))
    values[::7] = np.nan
    (drawn,) = bootstrap_mean_intervals(values, Resampler.create(len(values)))
    monkeypatch.setattr("krino.stats.paired_tests._MANY", 1_000)
    (normal,) = bootstrap_mean_intervals(values, Resampler.create(len(values)))
    assert drawn is not None
    assert normal is not None
    assert normal == pytest.approx(drawn, abs=0.004)


@pytest.mark.parametrize(("lost", "gained"), [(50_200, 49_900), (50_400, 49_700), (49_000, 51_100), (50_050, 50_051)])
def test_the_p_of_very_many_flips_is_that_of_the_exact_test(lost: int, gained: int) -> None:
    assert mcnemar_p(lost, gained) == pytest.approx(binomtest(lost, lost + gained).pvalue, rel=0.01)
