"""How far raters agree: raw agreement, Cohen's kappa (also weighted) and Krippendorff's alpha.

An undefined figure is nan; each docstring says when that happens.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from krino.stats.arrays import MISSING, Codes, Floats, dot, select_rated_by_both, sum_by_code

Level = Literal["nominal", "ordinal", "interval"]


def raw_agreement(first: Codes, second: Codes, weights: Floats | None = None) -> float:
    """The share of items with the same rating; nan when there is no item."""
    first, second, weights = select_rated_by_both(first, second, weights)
    total = weights.sum()
    return float(weights[first == second].sum() / total) if total else math.nan


def cohen_kappa(first: Codes, second: Codes, weights: Floats | None = None) -> float:
    """Agreement beyond chance; nan when both gave one and the same rating to everything."""
    first, second, weights = select_rated_by_both(first, second, weights)
    total = weights.sum()
    ours, theirs = _marginals(first, second, weights)
    if np.count_nonzero(ours + theirs) < 2:
        return math.nan
    disagreed = weights[first != second].sum()
    return float(1.0 - disagreed * total / (total * total - dot(ours, theirs)))


def weighted_kappa(
    first: Codes, second: Codes, positions: ArrayLike, power: Literal[1, 2], weights: Floats | None = None
) -> float:
    """Kappa where a disagreement counts by its distance: linear (power 1) or squared (power 2).

    `positions` holds the position of each code, ascending. Undefined where Cohen's kappa is.
    """
    first, second, weights = select_rated_by_both(first, second, weights)
    places = np.asarray(positions, np.float64)
    ours, theirs = _marginals(first, second, weights, len(places))
    if np.count_nonzero(ours + theirs) < 2:
        return math.nan
    distance = dot(weights, np.abs(places[first] - places[second]) ** power)
    expected = _expected_linear if power == 1 else _expected_squared
    return float(1.0 - distance * weights.sum() / expected(ours, theirs, places))


def _marginals(first: Codes, second: Codes, weights: Floats, size: int = 0) -> tuple[Floats, Floats]:
    """The summed weights of each code, for the first and for the second rater."""
    size = max(size, int(max(first.max(initial=MISSING), second.max(initial=MISSING))) + 1)
    return sum_by_code(first, weights, size), sum_by_code(second, weights, size)


def _expected_linear(ours: Floats, theirs: Floats, places: Floats) -> float:
    """The sum of |x - y| over all pairs, as the sum over gaps: each gap counts for every pair on either side of it."""
    below_ours, below_theirs = np.cumsum(ours)[:-1], np.cumsum(theirs)[:-1]
    crossing = below_ours * (theirs.sum() - below_theirs) + below_theirs * (ours.sum() - below_ours)
    return dot(crossing, np.diff(places))


def _expected_squared(ours: Floats, theirs: Floats, places: Floats) -> float:
    """The sum of (x - y)² over all pairs, from moments; centred first, so that large positions lose no digits."""
    centred = places - dot(ours + theirs, places) / (ours.sum() + theirs.sum())
    squares = centred * centred
    cross = dot(ours, centred) * dot(theirs, centred)
    return float(theirs.sum() * dot(ours, squares) + ours.sum() * dot(theirs, squares) - 2.0 * cross)


@dataclass(frozen=True)
class Ratings:
    """Items with at least two ratings, prepared so that alpha can be computed many times with other weights."""

    items: int
    item: Codes
    """The item of each rating."""
    code: Codes
    """The value of each rating."""
    per_item: Floats
    """The number of ratings of each item."""
    differing: Floats
    """For each item: ordered pairs of ratings that differ, divided by its number of ratings less one."""

    @classmethod
    def from_table(cls, table: ArrayLike) -> Ratings:
        """Reads ratings from a table of codes: one row for each item, one column for each rater. Items with one rating
        do not count."""
        codes = np.asarray(table, np.intp)
        given = codes != MISSING
        given &= given.sum(axis=1, keepdims=True) > 1
        item, rater = np.nonzero(given)
        code = codes[item, rater]
        per_item = given.sum(axis=1).astype(np.float64)
        size = int(code.max(initial=MISSING)) + 1
        item_and_code, times = np.unique(item * max(size, 1) + code, return_counts=True)
        alike = sum_by_code(item_and_code // max(size, 1), times.astype(np.float64) ** 2, len(codes))
        differing = (per_item**2 - alike) / np.maximum(per_item - 1.0, 1.0)
        return cls(len(codes), item, code, per_item, differing)

    def alpha(
        self, level: Level = "nominal", positions: ArrayLike | None = None, weights: Floats | None = None
    ) -> float:
        """Krippendorff's alpha; the `positions` of the codes are needed at level "interval" only.

        nan when no item has two ratings, or when all ratings are the same.
        """
        weights = np.ones(self.items) if weights is None else weights
        values = sum_by_code(self.code, weights[self.item], int(self.code.max(initial=MISSING)) + 1)
        if np.count_nonzero(values) < 2:
            return math.nan
        total = values.sum()
        if level == "nominal":
            return float(1.0 - (total - 1.0) * dot(weights, self.differing) / (total * total - dot(values, values)))
        # Krippendorff's distance between two ranks is the number of ratings between their middles.
        places = np.cumsum(values) - values / 2 if level == "ordinal" else np.asarray(positions, np.float64)
        places = places[: len(values)]
        places = places - dot(values, places) / total
        expected = 2.0 * total * dot(values, places**2)  # the centred places sum to zero
        return float(1.0 - (total - 1.0) * dot(weights, self._squared_distances(places)) / expected)

    def _squared_distances(self, places: Floats) -> Floats:
        """Returns for each item the squared distance of all ordered pairs, divided by its ratings minus one."""
        own = places[self.code]
        middle = sum_by_code(self.item, own, self.items) / np.maximum(self.per_item, 1.0)
        squares = sum_by_code(self.item, (own - middle[self.item]) ** 2, self.items)
        distances: Floats = 2.0 * self.per_item * squares / np.maximum(self.per_item - 1.0, 1.0)
        return distances
