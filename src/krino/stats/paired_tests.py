"""Compares two runs over the same cases: McNemar's test of flips, and intervals of differences in shares and means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krino.stats.arrays import Codes, Floats, divide_or_nan
from krino.stats.bootstrap import Resampler, percentile_interval
from krino.stats.confidence_intervals import NORMAL_95, Interval

SIGNIFICANCE = 0.05
"""A larger p shows no difference."""
_WEIGHTS_AT_ONCE = 4_000_000
_MOST_EXACT = 100_000
_MANY = 100_000
"""From this many units on, the normal interval is used: the bootstrap gives the same three digits, in minutes."""


def mcnemar_p(lost: int, gained: int) -> float:
    """The exact two-sided p value for as many cases flipping one way as the other. Unchanged cases play no part."""
    flips, fewer = lost + gained, min(lost, gained)
    if lost == gained:
        return 1.0
    if flips > _MOST_EXACT:
        below = (fewer + 0.5 - flips / 2) / math.sqrt(flips / 4)  # the binomial is normal here to many digits
        return min(1.0, math.erfc(-below / math.sqrt(2)))
    largest_term = math.comb(flips, fewer) / 2**flips  # exact integers, also for many thousand flips
    places = np.arange(fewer, 0, -1, dtype=np.float64)
    other_terms = np.cumprod(places / (flips - places + 1)).sum()  # of the tail, relative to the largest one
    return min(1.0, float(2 * largest_term * (1 + other_terms)))


def adjust_holm(ps: Sequence[float]) -> list[float]:
    """The p values of several tests, adjusted for their number (Holm)."""
    adjusted = [0.0] * len(ps)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = least
    return adjusted


def share_difference_interval(lost: int, gained: int, whole: int) -> Interval | None:
    """The 95 % interval of how much a share rose over the same cases (Bonett and Price 2012); None without cases.

    One flip each way is added: a hundred cases without a flip do not prove that there never is one.
    """
    if not whole:
        return None
    down, up = (lost + 1) / (whole + 2), (gained + 1) / (whole + 2)
    half = NORMAL_95 * math.sqrt((down + up - (up - down) ** 2) / (whole + 2))
    return max(up - down - half, -1.0), min(up - down + half, 1.0)


def bootstrap_mean_intervals(values: NDArray[Any], resampler: Resampler) -> list[Interval | None]:
    """The bootstrap interval of the mean of each column; for two runs, columns of differences case by case.

    nan is a missing value. All columns share the same draws. With very many cases it is the normal interval.

    None where fewer than two cases (or clusters) have a value.
    """
    columns = values.shape[1]
    if resampler.clusters is None and resampler.size >= _MANY:
        return [_normal_interval(values[:, place]) for place in range(columns)]
    known = ~np.isnan(values)
    units: Floats = np.hstack([np.where(known, values, 0.0), known.astype(np.float64)])
    if resampler.clusters is not None:  # a cluster is drawn as a whole, so that its sums are enough
        units = _sum_by_cluster(units, resampler.clusters, resampler.units)
        resampler = Resampler.create(len(units), draws=resampler.draws, seed=resampler.seed)
    # Many draws in one product: for one draw at a time, BLAS threads cost more than the product itself.
    weights, at_once = resampler.draw_weights(), max(1, _WEIGHTS_AT_ONCE // max(len(units), 1))
    sums = [np.array(batch) @ units for batch in iter(lambda: list(islice(weights, at_once)), [])]
    means = divide_or_nan(*np.hsplit(np.concatenate(sums), 2)) if sums else np.empty((0, columns))
    with_value = (units[:, columns:] > 0).sum(axis=0)
    return [percentile_interval(means[:, place]) if with_value[place] > 1 else None for place in range(columns)]


def _normal_interval(values: Floats) -> Interval | None:
    """Returns the interval of a mean from the normal distribution, or None for fewer than two values."""
    known = values[~np.isnan(values)]
    if known.size < 2:
        return None
    mean, half = float(known.mean()), NORMAL_95 * float(known.std(ddof=1)) / math.sqrt(known.size)
    return mean - half, mean + half


def _sum_by_cluster(rows: Floats, clusters: Codes, count: int) -> Floats:
    sums = np.zeros((count, rows.shape[1]))
    np.add.at(sums, clusters, rows)
    return sums
