"""How near two columns of numbers are: Spearman's and Pearson's correlation, mean absolute error, mean difference.

Weights say how often each pair counts, 1 unless given. What is undefined is nan.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from krino.stats.agreement import Codes
from krino.stats.resample import Floats
from krino.stats.tallies import dot, tally


def ordered_codes(values: ArrayLike) -> Codes:
    """Each number's place among the different numbers, for `spearman` to be asked many times without sorting."""
    return np.unique(np.asarray(values, np.float64), return_inverse=True)[1].astype(np.intp)


def spearman(first: Codes, second: Codes, weights: Floats | None = None) -> float:
    """Rank correlation of two columns given as ordered codes, ties sharing their middle rank.

    nan when there are fewer than two pairs, or one side never varies.
    """
    counted = np.ones(len(first)) if weights is None else weights
    return pearson(_middle_ranks(first, counted), _middle_ranks(second, counted), counted)


def pearson(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """Correlation; nan when there are fewer than two pairs, or one side never varies."""
    counted = np.ones(len(first)) if weights is None else weights
    there = counted > 0
    if not there.any() or _never_varies(first[there]) or _never_varies(second[there]):
        return math.nan
    x, y = _centred(first, counted), _centred(second, counted)
    size = math.sqrt(dot(counted, x * x)) * math.sqrt(dot(counted, y * y))
    return float(np.clip(dot(counted, x * y) / size, -1.0, 1.0))


def mean_absolute_error(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """nan when there is no pair."""
    return _mean(np.abs(first - second), weights)


def mean_difference(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """How much higher the first stands on average; nan when there is no pair."""
    return _mean(first - second, weights)


def _mean(values: Floats, weights: Floats | None) -> float:
    counted = np.ones(len(values)) if weights is None else weights
    total = counted.sum()
    return float(dot(counted, values) / total) if total else math.nan


def _middle_ranks(codes: Codes, counted: Floats) -> Floats:
    """Ranks but for a constant, which no correlation sees."""
    times = tally(codes, counted, 0)
    ranks: Floats = (np.cumsum(times) - times / 2)[codes]
    return ranks


def _never_varies(values: Floats) -> bool:
    return bool(values.min() == values.max())


def _centred(values: Floats, counted: Floats) -> Floats:
    centred: Floats = values - dot(counted, values) / counted.sum()
    largest = np.abs(centred).max()
    centred /= largest  # so that squares neither overflow nor vanish
    return centred
