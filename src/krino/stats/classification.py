"""How well classes and confidences match a reference: confusion matrix, precision, recall, F1, calibration error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from krino.stats.arrays import Codes, Floats, divide_or_nan, dot, mean_of_defined, select_rated_by_both, sum_by_code

BINS = 10


@dataclass(frozen=True)
class ClassScores:
    """Arrays with one element for each class."""

    predicted: Floats
    """How many times the tested rater gave the class."""
    actual: Floats
    """How many times the reference has it."""
    precision: Floats
    """nan where the class was never predicted."""
    recall: Floats
    """nan where the reference never has the class."""
    f1: Floats
    """nan where neither has it."""

    @property
    def macro_f1(self) -> float:
        """The mean over the classes that occur on either side."""
        return mean_of_defined(self.f1)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall over the classes of the reference."""
        return mean_of_defined(self.recall)


def confusion_counts(reference: Codes, tested: Codes, size: int, weights: Floats | None = None) -> Floats:
    """Counts the pairs of classes: rows are classes of the reference, columns those of the tested rater."""
    reference, tested, weights = select_rated_by_both(reference, tested, weights)
    return sum_by_code(reference * size + tested, weights, size * size).reshape(size, size)


def class_scores(reference: Codes, tested: Codes, size: int, weights: Floats | None = None) -> ClassScores:
    """Precision, recall and F1 of each of `size` classes."""
    reference, tested, weights = select_rated_by_both(reference, tested, weights)
    same = reference == tested
    right = sum_by_code(tested[same], weights[same], size)
    predicted, actual = sum_by_code(tested, weights, size), sum_by_code(reference, weights, size)
    return ClassScores(
        predicted,
        actual,
        precision=divide_or_nan(right, predicted),
        recall=divide_or_nan(right, actual),
        f1=divide_or_nan(2.0 * right, predicted + actual),
    )


@dataclass(frozen=True)
class Reliability:
    """Arrays with one element for each bin of confidence.

    Bins are equally wide from 0 to 1, open below and closed above (the first is closed on both sides).
    """

    edges: Floats
    counts: Floats
    confidence: Floats
    """Mean confidence; nan in an empty bin."""
    right: Floats
    """Share of right answers; nan in an empty bin."""

    @property
    def error(self) -> float:
        """Expected calibration error: the mean gap between confidence and share right; nan when nothing was counted."""
        filled = self.counts > 0
        if not filled.any():
            return math.nan
        gaps = np.abs(self.confidence[filled] - self.right[filled])
        return float(dot(self.counts[filled], gaps) / self.counts.sum())


def reliability(
    confidence: Floats, right: NDArray[np.bool_], bins: int = BINS, weights: Floats | None = None
) -> Reliability:
    """Compares confidences from 0 to 1 with whether each answer was right, bin by bin."""
    if confidence.size and not (confidence.min() >= 0.0 and confidence.max() <= 1.0):
        raise ValueError("a confidence lies between 0 and 1")
    counted = np.ones(len(confidence)) if weights is None else weights
    edges = np.linspace(0.0, 1.0, bins + 1)
    place = np.searchsorted(edges[1:-1], confidence)
    counts = sum_by_code(place, counted, bins)

    def mean(values: Floats) -> Floats:
        return divide_or_nan(sum_by_code(place, counted * values, bins), counts)

    return Reliability(edges, counts, mean(confidence), mean(right.astype(np.float64)))
