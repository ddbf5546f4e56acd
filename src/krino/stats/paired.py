"""Two runs over the same cases: McNemar's test of flips, and how far shares and means lie apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krino.stats.moments import NORMAL_95
from krino.stats.resample import Floats, Resampler, percentile_interval, ratio

LEVEL = 0.05
"""A p above it shows no difference."""
_WEIGHTS_AT_ONCE = 4_000_000
_MOST_EXACT = 100_000
_MANY = 100_000
"""Units from which on a mean has the interval of the normal distribution: drawing them anew gives the same to three
digits, and takes minutes."""


def mcnemar(lost: int, gained: int) -> float:
    """The exact two-sided p that as many cases flip one way as the other; cases that stay say nothing about it."""
    flips, fewer = lost + gained, min(lost, gained)
    if lost == gained:
        return 1.0
    if flips > _MOST_EXACT:
        below = (fewer + 0.5 - flips / 2) / math.sqrt(flips / 4)  # the binomial is normal here to many digits
        return min(1.0, math.erfc(-below / math.sqrt(2)))
    likeliest = math.comb(flips, fewer) / 2**flips  # exact integers: true also of many thousand flips
    places = np.arange(fewer, 0, -1, dtype=np.float64)
    rest = np.cumprod(places / (flips - places + 1)).sum()  # the other terms of the tail, as parts of this one
    return min(1.0, float(2 * likeliest * (1 + rest)))


def holm(ps: Sequence[float]) -> list[float]:
    """The p of each of several tests as if it were the only one, after Holm."""
    adjusted = [0.0] * len(ps)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(ps)), key=lambda place: ps[place])):
        least = max(least, min(1.0, (len(ps) - rank) * ps[place]))
        adjusted[place] = least
    return adjusted


def share_difference(lost: int, gained: int, whole: int) -> tuple[float, float] | None:
    """The 95 % interval of how much a share rose over the same cases (Bonett and Price 2012); None of nothing.

    One flip each way is counted in: a hundred cases without a flip do not prove that there never is one.
    """
    if not whole:
        return None
    down, up = (lost + 1) / (whole + 2), (gained + 1) / (whole + 2)
    half = NORMAL_95 * math.sqrt((down + up - (up - down) ** 2) / (whole + 2))
    return max(up - down - half, -1.0), min(up - down + half, 1.0)


def mean_intervals(values: NDArray[Any], resampler: Resampler) -> list[tuple[float, float] | None]:
    """The bootstrap interval of the mean of each column; nan is no value. The same draws serve every column.

    None where fewer than two cases (or clusters) have a value: one cannot tell how far they would lie apart.
    """
    columns = values.shape[1]
    if resampler.clusters is None and resampler.size >= _MANY:
        return [_normal_interval(values[:, place]) for place in range(columns)]
    known = ~np.isnan(values)
    units: Floats = np.hstack([np.where(known, values, 0.0), known.astype(np.float64)])
    if resampler.clusters is not None:  # a cluster is drawn as a whole: its sums are all that is needed of it
        units = _summed(units, resampler.clusters, resampler.units)
        resampler = Resampler.of(len(units), draws=resampler.draws, seed=resampler.seed)
    # Many draws in one product: one at a time, the threads of the product cost more than the product.
    weights, at_once = resampler.weights(), max(1, _WEIGHTS_AT_ONCE // max(len(units), 1))
    sums = [np.array(batch) @ units for batch in iter(lambda: list(islice(weights, at_once)), [])]
    means = ratio(*np.hsplit(np.concatenate(sums), 2)) if sums else np.empty((0, columns))
    with_value = (units[:, columns:] > 0).sum(axis=0)
    return [percentile_interval(means[:, place]) if with_value[place] > 1 else None for place in range(columns)]


def _normal_interval(values: Floats) -> tuple[float, float] | None:
    known = values[~np.isnan(values)]
    if known.size < 2:
        return None
    mean, half = float(known.mean()), NORMAL_95 * float(known.std(ddof=1)) / math.sqrt(known.size)
    return mean - half, mean + half


def _summed(rows: Floats, clusters: NDArray[np.intp], count: int) -> Floats:
    sums = np.zeros((count, rows.shape[1]))
    np.add.at(sums, clusters, rows)
    return sums
