"""How well one side finds each class of the other: confusion table, precision, recall, F1, balanced accuracy.

Codes and weights are those of `krino.stats.agreement`. What is undefined is nan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from krino.stats.agreement import Codes, both_given
from krino.stats.resample import Floats
from krino.stats.tallies import ratio, tally


@dataclass(frozen=True)
class ClassScores:
    """One element a class."""

    found: Floats
    """How often the one who is tested said it."""
    true: Floats
    """How often the reference says it."""
    precision: Floats
    """nan where it was never said."""
    recall: Floats
    """nan where it is never true."""
    f1: Floats
    """nan where neither says it."""

    @property
    def macro_f1(self) -> float:
        """The mean over the classes that occur on either side."""
        return _mean_of_defined(self.f1)

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall over the classes of the reference."""
        return _mean_of_defined(self.recall)


def confusion(reference: Codes, tested: Codes, size: int, weights: Floats | None = None) -> Floats:
    """Rows are the reference, columns the one who is tested."""
    reference, tested, counted = both_given(reference, tested, weights)
    return tally(reference * size + tested, counted, size * size).reshape(size, size)


def class_scores(reference: Codes, tested: Codes, size: int, weights: Floats | None = None) -> ClassScores:
    """Precision, recall and F1 of each of `size` classes."""
    reference, tested, counted = both_given(reference, tested, weights)
    same = reference == tested
    right = tally(tested[same], counted[same], size)
    found, true = tally(tested, counted, size), tally(reference, counted, size)
    return ClassScores(found, true, ratio(right, found), ratio(right, true), ratio(2.0 * right, found + true))


def _mean_of_defined(values: Floats) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if defined.size else math.nan
