"""Agreement statistics equal those of scikit-learn, statsmodels and krippendorff."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import krippendorff
import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa, to_table

from krino.stats.rater_agreement import (
    Level,
    Ratings,
    cohen_kappa,
    raw_agreement,
    weighted_kappa,
)

CLOSE = 1e-9
CODE = st.integers(0, 4)
PAIRS = st.lists(st.tuples(CODE, CODE), min_size=1, max_size=40)
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval")


def columns(pairs: list[tuple[int, int]]) -> tuple[Any, Any]:
    table = np.array(pairs, np.intp).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def same(ours: float, theirs: float) -> bool:
    return (math.isnan(ours) and math.isnan(theirs)) or math.isclose(ours, theirs, rel_tol=CLOSE, abs_tol=CLOSE)


def sklearn_kappa(first: Any, second: Any, weights: str | None = None, weight: Any = None) -> float:
    with warnings.catch_warnings():  # one class only: it warns and gives nan
        warnings.simplefilter("ignore")
        return float(cohen_kappa_score(first, second, weights=weights, labels=range(5), sample_weight=weight))


# --- raw agreement and Cohen's kappa ----------------------------------------------------------------------


@given(PAIRS)
@example([(2, 2)])
@example([(1, 1), (1, 1)])
@example([(0, 1), (0, 1)])
def test_agreement_and_kappa_equal_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    first, second = columns(pairs)
    assert same(raw_agreement(first, second), accuracy_score(first, second))
    assert same(cohen_kappa(first, second), sklearn_kappa(first, second))


@given(PAIRS, st.data())
def test_weights_count_an_item_so_many_times(pairs: list[tuple[int, int]], data: st.DataObject) -> None:
    first, second = columns(pairs)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs))))
    weights = times.astype(np.float64)
    repeated = first.repeat(times), second.repeat(times)
    places = np.arange(5.0)
    assert same(raw_agreement(first, second, weights), raw_agreement(*repeated))
    assert same(cohen_kappa(first, second, weights), cohen_kappa(*repeated))
    assert same(weighted_kappa(first, second, places, 1, weights), weighted_kappa(*repeated, places, 1))
    table = np.stack([first, second], axis=1)
    for level in LEVELS:
        ours = Ratings.from_table(table).alpha(level, places, weights)
        assert same(ours, Ratings.from_table(table.repeat(times, axis=0)).alpha(level, places))


def test_an_item_that_one_side_did_not_rate_is_not_compared() -> None:
    first, second = np.array([0, 1, -1, 1]), np.array([0, -1, 1, 0])
    assert raw_agreement(first, second) == 0.5


def test_nothing_to_compare_has_no_agreement() -> None:
    nothing = np.array([], np.intp)
    assert math.isnan(raw_agreement(nothing, nothing))
    assert math.isnan(cohen_kappa(nothing, nothing))
    assert math.isnan(weighted_kappa(nothing, nothing, [0.0, 1.0], 2))


# --- weighted kappa ---------------------------------------------------------------------------------------


@given(PAIRS, st.sampled_from([(1, "linear"), (2, "quadratic")]))
@example([(3, 3)], (1, "linear"))
@example([(0, 4), (4, 0)], (2, "quadratic"))
def test_weighted_kappa_equals_scikit_learn(pairs: list[tuple[int, int]], kind: tuple[Literal[1, 2], str]) -> None:
    first, second = columns(pairs)
    power, name = kind
    assert same(weighted_kappa(first, second, range(5), power), sklearn_kappa(first, second, name))


@given(
    st.lists(st.floats(-100, 100), min_size=5, max_size=5, unique_by=lambda value: round(value, 2)).map(sorted),
    PAIRS.filter(lambda pairs: len({code for pair in pairs for code in pair}) > 1),
)
def test_weighted_kappa_by_true_distances_equals_statsmodels(places: list[float], pairs: list[tuple[int, int]]) -> None:
    table = np.zeros((5, 5))
    np.add.at(table, columns(pairs), 1)
    for power, name in ((1, "linear"), (2, "quadratic")):
        theirs = cohens_kappa(table, weights=np.array(places), wt=name, return_results=False)
        ours = weighted_kappa(*columns(pairs), places, power)  # type: ignore[arg-type]
        assert same(ours, float(theirs))


def test_positions_far_from_zero_cost_no_digits() -> None:
    first, second = np.array([0, 1, 2, 2, 1]), np.array([0, 1, 1, 2, 2])
    near, far = weighted_kappa(first, second, [0, 1, 2], 2), weighted_kappa(first, second, [1e8, 1e8 + 1, 1e8 + 2], 2)
    assert math.isclose(near, far, rel_tol=CLOSE)


# --- Krippendorff's alpha ---------------------------------------------------------------------------------

RATING = st.one_of(st.just(-1), CODE)
TABLES = st.integers(2, 6).flatmap(
    lambda raters: st.lists(st.lists(RATING, min_size=raters, max_size=raters), min_size=1, max_size=15)
)
PLACES = (0.0, 0.25, 0.5, 0.75, 1.0)


def reference_alpha(table: list[list[int]], level: Level) -> float:
    values = [[math.nan if code < 0 else PLACES[code] for code in row] for row in table]
    pairable = {code for row in table if sum(code >= 0 for code in row) > 1 for code in row if code >= 0}
    if len(pairable) < 2:  # the package refuses a domain of one value, or divides by zero
        return math.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(krippendorff.alpha(np.array(values).T, level_of_measurement=level))


@given(TABLES, st.sampled_from(LEVELS))
@example([[0, 1]], "nominal")
@example([[0, 1]], "ordinal")
@example([[0, 1], [-1, -1]], "interval")
@example([[0, 0], [0, 0]], "ordinal")
@example([[-1, -1, -1]], "nominal")
@example([[0, -1], [-1, 3]], "interval")
def test_alpha_equals_the_krippendorff_package_with_missing_ratings(table: list[list[int]], level: Level) -> None:
    assert same(Ratings.from_table(table).alpha(level, PLACES), reference_alpha(table, level))


def test_alpha_of_the_example_in_krippendorffs_paper() -> None:
    """Computing Krippendorff's alpha-reliability (2011), example C: four observers, twelve units."""
    observers = (
        (1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0),
        (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3),
        (0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0),
        (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0),
    )
    table = np.array(observers).T - 1
    assert round(Ratings.from_table(table).alpha(), 3) == 0.743
    assert round(Ratings.from_table(table).alpha("ordinal"), 3) == 0.815
    assert round(Ratings.from_table(table).alpha("interval", range(1, 6)), 3) == 0.849


@given(st.lists(st.lists(CODE, min_size=3, max_size=3), min_size=2, max_size=15))
def test_alpha_is_near_fleiss_kappa_when_nobody_is_missing(table: list[list[int]]) -> None:
    """alpha = 1 - (1 - kappa) (N - 1) / N for nominal ratings without gaps, N ratings in all (statsmodels' Fleiss)."""
    from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

    if len({code for row in table for code in row}) < 2:
        return
    total = 3 * len(table)
    kappa = fleiss_kappa(aggregate_raters(np.array(table))[0])
    assert same(Ratings.from_table(table).alpha(), 1 - (1 - kappa) * (total - 1) / total)


def test_statsmodels_reads_our_pairs_as_we_do() -> None:
    """The table handed to statsmodels above is its own reading of the pairs."""
    pairs = [(0, 1), (1, 1), (2, 0)]
    theirs, _ = to_table(np.array(pairs), bins=3)
    ours = np.zeros((3, 3))
    np.add.at(ours, columns(pairs), 1)
    assert (theirs == ours).all()
