"""Array types and the weighted sums that every statistic here is built from.

Ratings are codes: whole numbers from 0, and `MISSING` where there is no rating. Weights say how many times each item
counts (1 by default), which is how the bootstrap repeats items.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.intp]
Floats = NDArray[np.float64]
MISSING = -1


def select_rated_by_both(first: Codes, second: Codes, weights: Floats | None) -> tuple[Codes, Codes, Floats]:
    """The items that both raters have rated, with their weights."""
    rated = (first != MISSING) & (second != MISSING)
    weights = np.ones(len(first)) if weights is None else weights
    return (first, second, weights) if rated.all() else (first[rated], second[rated], weights[rated])


def sum_by_code(codes: Codes, weights: Floats, size: int) -> Floats:
    """The sum of the weights for each code from 0 up to `size`."""
    return np.bincount(codes, weights, size).astype(np.float64, copy=False)


def dot(first: Floats, second: Floats) -> float:
    """The sum of products. Not `@`: starting BLAS threads for vectors of this size costs more than it saves."""
    return float((first * second).sum())


def divide_or_nan(part: Floats, whole: Floats) -> Floats:
    """Elementwise division; nan where the whole is zero."""
    return np.divide(part, whole, out=np.full_like(whole, math.nan), where=whole > 0)


def mean_of_defined(values: Floats) -> float:
    """The mean of the finite values; nan when there is none."""
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else math.nan
