"""Weighted counts by code, sums of products, and ratios that are nan where there is nothing to divide by."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def tally(codes: NDArray[np.intp], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The sum of the weights for each code from 0 up to `size`."""
    return np.bincount(codes, weights, size).astype(np.float64, copy=False)


def dot(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """The sum of products. Not `@`: the threads that BLAS starts for vectors of this size cost more than they save."""
    return float((first * second).sum())


def ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    """nan where the whole is nothing."""
    found = np.full(len(whole), math.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found
