"""How far raters agree: raw agreement, Cohen's kappa (also weighted) and Krippendorff's alpha.

Ratings are codes, whole numbers from 0, -1 where there is none. Weights say how often each item
counts, 1 unless given: that is how the bootstrap asks. A figure that is undefined is nan; the docstrings say when.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from krino.stats.resample import Floats, dot, ratio, tally

Codes = NDArray[np.intp]
Level = Literal["nominal", "ordinal", "interval"]
MISSING = -1


def both_given(first: Codes, second: Codes, weights: Floats | None) -> tuple[Codes, Codes, Floats]:
    """The items that both have rated, and how often each counts."""
    there = (first != MISSING) & (second != MISSING)
    counted = np.ones(len(first)) if weights is None else weights
    return (first, second, counted) if there.all() else (first[there], second[there], counted[there])


def raw_agreement(first: Codes, second: Codes, weights: Floats | None = None) -> float:
    """The share of items with the same rating; nan when there is no item."""
    first, second, counted = both_given(first, second, weights)
    total = counted.sum()
    return float(counted[first == second].sum() / total) if total else math.nan


def cohen_kappa(first: Codes, second: Codes, weights: Floats | None = None) -> float:
    """Agreement beyond chance; nan when both gave one and the same rating to everything."""
    first, second, counted = both_given(first, second, weights)
    total = counted.sum()
    ours, theirs = _marginals(first, second, counted)
    if np.count_nonzero(ours + theirs) < 2:
        return math.nan
    disagreed = counted[first != second].sum()
    return float(1.0 - disagreed * total / (total * total - dot(ours, theirs)))


def weighted_kappa(
    first: Codes, second: Codes, positions: ArrayLike, power: Literal[1, 2], weights: Floats | None = None
) -> float:
    """Kappa where a disagreement counts by its distance: linear (power 1) or squared (power 2).

    `positions`: where each code stands, ascending. Undefined where Cohen's kappa is.
    """
    first, second, counted = both_given(first, second, weights)
    places = np.asarray(positions, np.float64)
    ours, theirs = _marginals(first, second, counted, len(places))
    if np.count_nonzero(ours + theirs) < 2:
        return math.nan
    away = dot(counted, np.abs(places[first] - places[second]) ** power)
    expected = _expected_linear if power == 1 else _expected_squared
    return float(1.0 - away * counted.sum() / expected(ours, theirs, places))


def _marginals(first: Codes, second: Codes, counted: Floats, size: int = 0) -> tuple[Floats, Floats]:
    size = max(size, int(max(first.max(initial=MISSING), second.max(initial=MISSING))) + 1)
    return tally(first, counted, size), tally(second, counted, size)


def _expected_linear(ours: Floats, theirs: Floats, places: Floats) -> float:
    """The sum of |x - y| over all pairs: each gap between neighbours is crossed by pairs on either side of it."""
    below_ours, below_theirs = np.cumsum(ours)[:-1], np.cumsum(theirs)[:-1]
    crossed = below_ours * (theirs.sum() - below_theirs) + below_theirs * (ours.sum() - below_ours)
    return dot(crossed, np.diff(places))


def _expected_squared(ours: Floats, theirs: Floats, places: Floats) -> float:
    """The sum of (x - y)² over all pairs, from moments; centred first, so that large positions cost no digits."""
    centred = places - dot(ours + theirs, places) / (ours.sum() + theirs.sum())
    squares = centred * centred
    cross = dot(ours, centred) * dot(theirs, centred)
    return float(theirs.sum() * dot(ours, squares) + ours.sum() * dot(theirs, squares) - 2.0 * cross)


@dataclass(frozen=True)
class Ratings:
    """Items with two ratings or more, by any number of raters, made ready for alpha to be asked many times."""

    items: int
    item: Codes
    """For each rating, the item."""
    code: Codes
    """For each rating, its value."""
    per_item: Floats
    differing: Floats
    """For each item, the ordered pairs of ratings that differ, over one less than its ratings."""

    @classmethod
    def of(cls, table: ArrayLike) -> Ratings:
        """`table`: a row an item, a column a rater, codes; -1 where a rater gave none."""
        codes = np.asarray(table, np.intp)
        given = codes != MISSING
        given &= given.sum(axis=1, keepdims=True) > 1
        item, rater = np.nonzero(given)
        code = codes[item, rater]
        per_item = given.sum(axis=1).astype(np.float64)
        size = int(code.max(initial=MISSING)) + 1
        together, times = np.unique(item * max(size, 1) + code, return_counts=True)
        alike = tally(together // max(size, 1), times.astype(np.float64) ** 2, len(codes))
        differing = (per_item**2 - alike) / np.maximum(per_item - 1.0, 1.0)
        return cls(len(codes), item, code, per_item, differing)

    def alpha(
        self, level: Level = "nominal", positions: ArrayLike | None = None, weights: Floats | None = None
    ) -> float:
        """Krippendorff's alpha; `positions` of the codes are needed at level interval only.

        nan when no item has two ratings, or when all ratings are the same.
        """
        counted = np.ones(self.items) if weights is None else weights
        values = tally(self.code, counted[self.item], int(self.code.max(initial=MISSING)) + 1)
        if np.count_nonzero(values) < 2:
            return math.nan
        total = values.sum()
        if level == "nominal":
            return float(1.0 - (total - 1.0) * dot(counted, self.differing) / (total * total - dot(values, values)))
        # Krippendorff's distance between two ranks is the number of ratings between their middles.
        places = np.cumsum(values) - values / 2 if level == "ordinal" else np.asarray(positions, np.float64)
        places = places[: len(values)]
        places = places - dot(values, places) / total
        expected = 2.0 * total * dot(values, places**2)  # the sum of the centred places is zero
        return float(1.0 - (total - 1.0) * dot(counted, self._spread(places)) / expected)

    def _spread(self, places: Floats) -> Floats:
        """For each item, the squared distance of all ordered pairs, over one less than its ratings."""
        own = places[self.code]
        middle = tally(self.item, own, self.items) / np.maximum(self.per_item, 1.0)
        squares = tally(self.item, (own - middle[self.item]) ** 2, self.items)
        spread: Floats = 2.0 * self.per_item * squares / np.maximum(self.per_item - 1.0, 1.0)
        return spread


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
