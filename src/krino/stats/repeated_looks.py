"""Intervals that stay valid however often one looks: for a series of runs that is checked after every run.

Who compares each new run with the first at 95 % raises a false alarm sooner or later. Here look number k has the error
0.05 * 6 / (pi k)^2; over all looks, without end, these add up to 0.05.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from krino.stats.confidence_intervals import UNBOUNDED, Bounds, Interval, Moments

ERROR = 0.05


def quantile_of_look(look: int) -> float:
    """The normal quantile of both sides for a look, from 1."""
    return NormalDist().inv_cdf(1 - ERROR * 6 / (math.pi * look) ** 2 / 2)


def interval_of_look(values: Moments, look: int, bounds: Bounds = UNBOUNDED) -> Interval | None:
    """The interval of a mean at a look: Agresti's and Coull's for scores in 0 to 1, or else the normal one. None for a
    single value."""
    if values.n < 2:
        return None
    z = quantile_of_look(look)
    if not values.are_scores(bounds):
        half = z * math.sqrt(max(values.squares, 0.0) / (values.n - 1) / values.n)
        return max(values.mean - half, bounds[0]), min(values.mean + half, bounds[1])
    added = z**2
    size = values.n + added
    centre = (values.n * values.mean + added / 2) / size
    mean_square = (values.squares + values.n * values.mean**2 + added / 2) / size
    half = z * math.sqrt(max(mean_square - centre**2, 0.0) / size)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def difference_at_look(first: Moments, later: Moments, look: int, bounds: Bounds = UNBOUNDED) -> Interval | None:
    """The interval of the later mean less the first, as if their cases were separate samples (Newcombe)."""
    one, other = interval_of_look(first, look, bounds), interval_of_look(later, look, bounds)
    if one is None or other is None:
        return None
    value = later.mean - first.mean
    down = math.hypot(later.mean - other[0], one[1] - first.mean)
    up = math.hypot(other[1] - later.mean, first.mean - one[0])
    return value - down, value + up
