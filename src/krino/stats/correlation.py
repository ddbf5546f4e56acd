"""How close two columns of numbers are: Spearman's and Pearson's correlation, mean absolute error, mean difference.

Weights say how many times each pair counts (1 by default). An undefined figure is nan.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from krino.stats.arrays import Codes, Floats, dot, sum_by_code


def rank_codes(values: ArrayLike) -> Codes:
    """The rank of each number among the distinct numbers, so that `spearman` can run many times without sorting."""
    return np.unique(np.asarray(values, np.float64), return_inverse=True)[1].astype(np.intp)


def spearman(first: Codes, second: Codes, weights: Floats | None = None) -> float:
    """Rank correlation of two columns of rank codes; ties share their middle rank.

    nan when there are fewer than two pairs, or one side never varies.
    """
    weights = np.ones(len(first)) if weights is None else weights
    return pearson(_middle_ranks(first, weights), _middle_ranks(second, weights), weights)


def pearson(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """Correlation; nan when there are fewer than two pairs, or one side never varies."""
    weights = np.ones(len(first)) if weights is None else weights
    counted = weights > 0
    if not counted.any() or np.ptp(first[counted]) == 0 or np.ptp(second[counted]) == 0:
        return math.nan
    x, y = _centre_and_scale(first, weights), _centre_and_scale(second, weights)
    size = math.sqrt(dot(weights, x * x)) * math.sqrt(dot(weights, y * y))
    return float(np.clip(dot(weights, x * y) / size, -1.0, 1.0))


def mean_absolute_error(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """The mean distance of the two numbers of a pair; nan when there is no pair."""
    return _weighted_mean(np.abs(first - second), weights)


def mean_difference(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """How much higher the first column is on average; nan when there is no pair."""
    return _weighted_mean(first - second, weights)


def _weighted_mean(values: Floats, weights: Floats | None) -> float:
    weights = np.ones(len(values)) if weights is None else weights
    total = weights.sum()
    return float(dot(weights, values) / total) if total else math.nan


def _middle_ranks(codes: Codes, weights: Floats) -> Floats:
    """Ranks up to a constant, which no correlation depends on."""
    times = sum_by_code(codes, weights, 0)
    ranks: Floats = (np.cumsum(times) - times / 2)[codes]
    return ranks


def _centre_and_scale(values: Floats, weights: Floats) -> Floats:
    centred: Floats = values - dot(weights, values) / weights.sum()
    centred /= np.abs(centred).max()  # so that squares neither overflow nor vanish
    return centred
