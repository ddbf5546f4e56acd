"""The bootstrap: what is drawn, and that its intervals are those that theory gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from krino.stats.bootstrap import Resampler, percentile_interval


def test_every_draw_is_as_large_as_the_sample() -> None:
    assert {weights.sum() for weights in Resampler.create(7, draws=50).draw_weights()} == {7.0}


def test_the_same_seed_gives_the_same_draws_and_another_seed_others() -> None:
    first, again, other = (list(Resampler.create(9, draws=3, seed=seed).draw_weights()) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_cases_of_one_cluster_are_drawn_together() -> None:
    for weights in Resampler.create(5, ["a", "b", "a", "c", "b"], draws=40).draw_weights():
        assert weights[0] == weights[2]
        assert weights[1] == weights[4]
        assert weights[0] + weights[1] + weights[3] == 3  # three clusters are drawn


def test_units_are_cases_or_clusters() -> None:
    assert Resampler.create(5).units == 5
    assert Resampler.create(5, ["a", "b", "a", "c", "b"]).units == 3
    assert Resampler.create(0).units == 0


def test_a_cluster_is_asked_for_every_case() -> None:
    with pytest.raises(ValueError, match="2 groups for 3 cases"):
        Resampler.create(3, ["a", "b"])


def test_without_cases_nothing_is_drawn() -> None:
    assert list(Resampler.create(0).draw_weights()) == []
    assert percentile_interval(np.empty(0)) is None


def test_the_interval_of_a_share_is_near_the_binomial_one() -> None:
    right = np.repeat([1.0, 0.0], [300, 100])
    draws = Resampler.create(400, draws=4_000).draw_weights()
    interval = percentile_interval(np.array([weights @ right / weights.sum() for weights in draws]))
    assert interval is not None
    exact = stats.binom(400, 0.75).ppf([0.025, 0.975]) / 400
    assert interval == pytest.approx(exact, abs=0.006)


@pytest.mark.parametrize("groups", [None, [str(case // 5) for case in range(800)]])
def test_tallies_by_kind_spread_as_tallies_of_drawn_cases_do(groups: list[str] | None) -> None:
    """Unclustered they are multinomial draws, another road to the same distribution."""
    kinds = np.arange(800) % 4 % 3
    resampler = Resampler.create(800, groups, draws=3_000)
    tallies = np.array(list(resampler.draw_pattern_counts(kinds, 3)))
    drawn = np.array([np.bincount(kinds, weights, 3) for weights in resampler.draw_weights()])
    assert tallies.mean(axis=0) == pytest.approx(drawn.mean(axis=0), rel=0.01)
    assert tallies.std(axis=0) == pytest.approx(drawn.std(axis=0), rel=0.06)
    if groups is None:
        assert (tallies.sum(axis=1) == 800).all()


def test_many_kinds_are_tallied_from_the_drawn_cases_themselves() -> None:
    kinds = np.arange(6)
    resampler = Resampler.create(6, draws=5)
    assert np.array_equal(list(resampler.draw_pattern_counts(kinds, 6)), list(resampler.draw_weights()))


def test_a_wider_level_gives_a_wider_interval() -> None:
    values = np.linspace(0.0, 1.0, 1001)
    assert percentile_interval(values, 0.9) == pytest.approx((0.05, 0.95))
    assert percentile_interval(values, 0.5) == pytest.approx((0.25, 0.75))


def test_a_figure_mostly_undefined_gets_no_interval() -> None:
    assert percentile_interval(np.array([math.nan, math.nan, 1.0])) is None
    assert percentile_interval(np.array([math.nan, 1.0, 1.0])) == (1.0, 1.0)
    assert percentile_interval(np.array([])) is None
