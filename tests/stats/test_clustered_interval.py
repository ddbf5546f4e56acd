"""The interval that decides whether a change of a judge is kept."""

from __future__ import annotations

import numpy as np
import pytest

from krino.stats.confidence_intervals import clustered_mean_interval
from krino.stats.paired_tests import share_difference_interval

UNIT = (-1.0, 1.0)


def interval(gains: list[float], clusters: list[int] | None = None) -> tuple[float, float]:
    codes = np.arange(len(gains)) if clusters is None else np.array(clusters)
    return clustered_mean_interval(np.array(gains), UNIT, codes)


def test_without_clusters_it_is_that_of_bonett_and_price_for_many_cases() -> None:
    gains = [1.0] * 60 + [-1.0] * 20 + [0.0] * 920
    assert interval(gains) == pytest.approx(share_difference_interval(20, 60, 1000), abs=1e-4)


def test_a_few_equal_gains_prove_nothing_and_more_do() -> None:
    assert interval([1.0] * 3 + [0.0] * 97)[0] < 0
    assert interval([1.0] * 9 + [0.0] * 91)[0] > 0


def test_gains_of_one_cluster_count_once() -> None:
    gains = [1.0] * 10 + [0.0] * 90
    assert interval(gains)[0] > 0
    assert interval(gains, [0] * 10 + list(range(1, 91)))[0] < 0


@pytest.mark.parametrize(("up", "down", "size"), [(0.1, 0.1, 1), (0.3, 0.05, 1), (0.2, 0.05, 4), (0.1, 0.1, 4)])
def test_it_covers_the_mean_gain(up: float, down: float, size: int) -> None:
    """1,500 samples of 120 cases; below 93.5 % the interval would be wrong in more than one test of a hundred."""
    generator, covered = np.random.default_rng(3), 0
    clusters = np.repeat(np.arange(120 // size), size)
    for _ in range(1500):
        shared = np.repeat(generator.beta(2 * up, 2 * (1 - up), 120 // size), size)
        rates = shared if size > 1 else np.full(120, up)
        gains = (generator.random(120) < rates).astype(float) - (generator.random(120) < down)
        low, high = clustered_mean_interval(gains, UNIT, clusters)
        covered += low <= up - down <= high
    assert covered >= 0.935 * 1500
