"""True rates from a judge and a few labels: equal to published implementations, and right in simulation."""

from __future__ import annotations

import numpy as np
import pytest

from krino.stats.confidence_intervals import wilson_interval
from krino.stats.prediction_powered import (
    Estimated,
    Strata,
    difference,
    effective_number,
    labels_alone,
    labels_to_halve,
    rogan_gladen,
    stratified_rate,
    tuned_mean,
    tuned_mean_for_few,
)

NUMBERS = np.arange(40)
PPI_RATE = (0.26592592592592595, 0.07238073116467197, 0.45947112068717993)
PPI_MEAN = (0.4910350712582929, 0.34542537913953797, 0.6366447633770478)


def strata(*rows: tuple[float, float, float], cases: float = 1e12) -> Strata:
    """Share, hits and labels of each stratum."""
    shares, hits, labels = np.array(rows, np.float64).T
    return Strata.of(shares, hits, labels, cases)


def interval(of: Strata) -> tuple[float, float]:
    _, low, high = stratified_rate(of)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(("hits", "labels"), [(0, 30), (1, 30), (7, 50), (50, 50), (3, 500)])
def test_with_one_stratum_and_all_cases_known_it_is_wilsons_interval(hits: int, labels: int) -> None:
    assert interval(strata((1.0, hits, labels))) == pytest.approx(wilson_interval(hits, labels), abs=1e-7)


def test_two_strata_with_one_rate_are_as_good_as_one() -> None:
    both = interval(strata((0.5, 10, 50), (0.5, 10, 50)))
    assert both == pytest.approx(wilson_interval(20, 100), abs=1e-7)


def test_fewer_cases_widen_the_interval() -> None:
    few, many = (interval(strata((0.2, 18, 20), (0.8, 2, 80), cases=cases)) for cases in (200, 1e9))
    assert few[0] < many[0] < many[1] < few[1]


@pytest.mark.parametrize("labels", [30, 100])
@pytest.mark.parametrize(("rate", "sensitivity", "specificity"), [(0.02, 0.8, 0.95), (0.1, 0.6, 0.8), (0.5, 0.95, 0.8)])
def test_the_interval_covers_the_rate(labels: int, rate: float, sensitivity: float, specificity: float) -> None:
    """By simulation; `benchmarks/true_rate_coverage.py` has every setting."""
    generator, draws, cases = np.random.default_rng(1), 2_000, 5_000
    kinds = [rate * sensitivity, (1 - rate) * (1 - specificity), rate * (1 - sensitivity), (1 - rate) * specificity]
    counts = generator.multinomial(cases, kinds, draws)
    yes = counts[:, 0] + counts[:, 1]
    of_yes = np.minimum(labels // 2, yes)
    hits = (
        generator.hypergeometric(counts[:, 0], counts[:, 1], of_yes),
        generator.hypergeometric(counts[:, 2], counts[:, 3], labels - of_yes),
    )
    shares, found, sizes = (
        np.stack(column, axis=1).astype(np.float64)
        for column in ((yes / cases, 1 - yes / cases), hits, (of_yes, labels - of_yes))
    )
    _, low, high = stratified_rate(Strata(shares, found, sizes, cases))
    assert 0.925 <= ((low <= rate) & (rate <= high)).mean() <= 0.985


def test_the_tuned_mean_is_that_of_ppi_python() -> None:
    """Figures of `ppi_mean_pointestimate` and `ppi_mean_ci` of ppi-python 0.2.3 for the same numbers."""
    labels = ((NUMBERS * 7) % 10 < 3)[:15].astype(float)
    judged = ((NUMBERS * 7 + (NUMBERS % 4 == 0) * 5) % 10 < 3).astype(float)
    found = tuned_mean(labels, judged[:15], judged[15:])
    assert (found.value, *found.interval) == pytest.approx(PPI_RATE, abs=1e-12)
    scores = np.round(((NUMBERS * 13) % 17) / 17, 3)
    judged = np.clip(np.round(((NUMBERS * 13) % 17) / 17 + ((NUMBERS * 5) % 7 - 3) / 10, 3), 0, 1)
    found = tuned_mean(scores[:15], judged[:15], judged[15:], (1 + NUMBERS[:15] % 3).astype(np.float64))
    assert (found.value, *found.interval) == pytest.approx(PPI_MEAN, abs=1e-12)


def test_a_judge_without_information_is_not_used() -> None:
    labels = np.array([0.0, 1.0] * 10)
    found = tuned_mean(labels, np.full(20, 0.5), np.full(100, 0.5))
    assert found.value == pytest.approx(0.5)


def test_rogan_gladen_inverts_the_errors_of_the_judge() -> None:
    labels = np.repeat([1.0, 0.0], [1_000, 1_000])
    judged = np.concatenate([np.arange(1_000) < 900, np.arange(1_000) < 200])
    found = rogan_gladen(labels, judged, hits=0.3 * 0.9 * 1e6 + 0.7 * 0.2 * 1e6, cases=1_000_000)
    assert found is not None
    assert found.value == pytest.approx(0.3, abs=1e-9)
    assert found.interval[0] < 0.3 < found.interval[1]
    assert found.interval[1] - found.interval[0] < 0.06


def test_rogan_gladen_needs_a_judge_better_than_chance_and_both_classes() -> None:
    labels = np.repeat([1.0, 0.0], [20, 20])
    assert rogan_gladen(labels, labels < 0.5, 20, 40) is None
    assert rogan_gladen(np.ones(20), np.ones(20, np.bool_), 20, 40) is None


def test_labels_alone_are_wilsons_and_students() -> None:
    labels = np.array([1.0] * 3 + [0.0] * 17)
    assert labels_alone(labels, is_rate=True).interval == pytest.approx(wilson_interval(3, 20))
    found = labels_alone(np.array([1.0, 2.0, 3.0, 4.0]), is_rate=False)
    half = 3.182 * np.std([1, 2, 3, 4], ddof=1) / 2
    assert found.interval == pytest.approx((2.5 - half, 2.5 + half), rel=1e-6)


def test_weighted_labels_count_for_fewer() -> None:
    assert effective_number(np.array([1.0, 1.0, 1.0, 1.0])) == 4
    assert effective_number(np.array([4.0, 1.0, 1.0, 1.0])) == pytest.approx(49 / 19)
    weighted = labels_alone(np.array([1.0, 0, 0, 0] * 10), np.array([4.0, 1, 1, 1] * 10), is_rate=True)
    assert weighted.value == pytest.approx(4 / 7)


def test_four_times_the_labels_halve_the_interval_where_there_are_many_cases() -> None:
    assert labels_to_halve(strata((0.5, 100, 200), (0.5, 20, 200))) == pytest.approx(4, rel=0.02)


def test_where_the_cases_are_too_few_no_number_of_labels_halves_the_interval() -> None:
    assert labels_to_halve(strata((0.5, 45, 50), (0.5, 5, 50), cases=100)) is None


@pytest.mark.parametrize("drawn_by", ["chance", "answer"])
def test_the_interval_of_a_mean_covers_it_for_few_labels_and_for_weighted_ones(drawn_by: str) -> None:
    """A thousand samples: outside 92.5 to 97.5 % lies a coverage of 95 % in fewer than one in two thousand tries.

    Weighted labels, half of them from the fifth of the cases with the lowest scores, must not be corrected by the mean
    of the cases without a label, which are better than all cases.
    """
    generator, covered = np.random.default_rng(7), 0
    for _ in range(1000):
        truth = generator.beta(4, 2, 1500)
        judged = np.clip(truth + generator.normal(-0.1, 0.1, 1500), 0, 1)
        low, high = np.split(np.argsort(judged), [300])
        if drawn_by == "chance":
            places, weights = generator.permutation(1500)[:40], None
            others = np.delete(judged, places)
        else:
            places = np.concatenate([generator.permutation(part)[:20] for part in (low, high)])
            weights, others = np.repeat([15.0, 60.0], 20), judged
        found = tuned_mean_for_few(truth[places], judged[places], others, weights)
        covered += found.interval[0] <= 2 / 3 <= found.interval[1]
    assert 925 <= covered <= 975


def test_a_difference_has_the_uncertainty_of_both() -> None:
    found = difference(Estimated(0.5, (0.4, 0.6)), Estimated(0.7, (0.6, 0.8)))
    assert found.value == pytest.approx(0.2)
    assert found.interval == pytest.approx((0.2 - 0.02**0.5, 0.2 + 0.02**0.5))
