"""Whether confidences mean what they say: reliability by bins, and the expected calibration error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from krino.stats.resample import Floats
from krino.stats.tallies import dot, ratio, tally

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
