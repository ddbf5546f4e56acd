"""How near two columns of numbers are: Spearman's and Pearson's correlation, mean absolute error, mean difference.

Weights say how often each pair counts, 1 unless given. What is undefined is nan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from krino.stats.agreement import Codes
from krino.stats.resample import Floats, dot, ratio, tally


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


BINS = 10


@dataclass(frozen=True)
class Reliability:
    """One element a bin; bins are equally wide from 0 to 1, open below and closed above (the first on both sides)."""

    edges: Floats
    counts: Floats
    confidence: Floats
    """Mean confidence; nan in an empty bin."""
    right: Floats
    """Share that was right; nan in an empty bin."""

    @property
    def error(self) -> float:
        """Expected calibration error: the gap between the two, weighted by count; nan when there is nothing."""
        filled = self.counts > 0
        if not filled.any():
            return math.nan
        gaps = np.abs(self.confidence[filled] - self.right[filled])
        return float(dot(self.counts[filled], gaps) / self.counts.sum())


def reliability(
    confidence: Floats, right: NDArray[np.bool_], bins: int = BINS, weights: Floats | None = None
) -> Reliability:
    """`confidence` from 0 to 1, and whether each one was right."""
    if confidence.size and not (confidence.min() >= 0.0 and confidence.max() <= 1.0):
        raise ValueError("a confidence lies between 0 and 1")
    counted = np.ones(len(confidence)) if weights is None else weights
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.searchsorted(edges[1:-1], confidence)
    counts = tally(place, counted, bins)

    def mean(values: Floats) -> Floats:
        return ratio(tally(place, counted * values, bins), counts)

    return Reliability(edges, counts, mean(confidence), mean(right.astype(np.float64)))
