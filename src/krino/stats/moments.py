"""Mean and spread of numbers, and intervals of a mean or a share: how far the truth may lie from one sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

NORMAL_95 = 1.959963984540054
STUDENT_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145),
    *(2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048),
)
"""The same of Student's distribution with 1, 2, ... degrees of freedom: of two values the normal one would be six times
too narrow."""
FEW = 30
"""Below so many values an interval is rough: reports say so, and gates rely on none of what are no scores."""

Ends = tuple[float, float]
"""The least and the most that a field can be, as far as its judge declares it."""
ANY: Ends = (-math.inf, math.inf)


@dataclass(slots=True)
class Moments:
    """`squares` is the sum of the squared distances from the mean."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    @classmethod
    def of(cls, values: ArrayLike) -> Moments:
        found, numbers = MomentsByGroup(), np.asarray(values, np.float64)
        found.add(np.zeros(len(numbers), np.intp), numbers, 1)
        return found[0]

    @property
    def in_unit(self) -> bool:
        """Every value lies in 0 to 1: such a field is taken for a score."""
        return self.least >= 0.0 and self.most <= 1.0

    def are_scores(self, ends: Ends) -> bool:
        """Whether the numbers are scores from 0 to 1: all lie there, and no other scale is declared."""
        return self.in_unit and ends[0] in (0.0, -math.inf) and ends[1] in (1.0, math.inf)

    def normal_interval(self, ends: Ends = ANY) -> tuple[float, float] | None:
        """The 95 % interval of the mean, normal approximation (Student's of few values); None for a single value.

        `ends`: of the field's scale, beyond which no mean can lie.
        """
        if self.n < 2:
            return None
        half = (STUDENT_95[self.n - 2] if self.n < FEW else NORMAL_95) * math.sqrt(
            max(self.squares, 0.0) / (self.n - 1) / self.n
        )
        low, high = self.mean - half, self.mean + half
        least, most = (0.0, 1.0) if self.are_scores(ends) else ends
        return max(low, least), min(high, most)


def _none() -> NDArray[np.float64]:
    return np.empty(0)


@dataclass(slots=True)
class MomentsByGroup:
    """The moments of many groups of numbers, which come in parts (merged after Chan, Golub and LeVeque)."""

    n: NDArray[np.float64] = field(default_factory=_none)
    mean: NDArray[np.float64] = field(default_factory=_none)
    squares: NDArray[np.float64] = field(default_factory=_none)
    least: NDArray[np.float64] = field(default_factory=_none)
    most: NDArray[np.float64] = field(default_factory=_none)

    def add(self, groups: NDArray[np.intp], values: NDArray[np.float64], count: int) -> None:
        """`groups`: for each value the number of its group, below `count`."""
        self._grow(count)
        n = np.bincount(groups, minlength=count).astype(np.float64)
        some = np.maximum(n, 1.0)
        mean = np.bincount(groups, values, count) / some
        mean += np.bincount(groups, values - mean[groups], count) / some  # what rounding took away
        squares = np.bincount(groups, (values - mean[groups]) ** 2, count)
        both = np.maximum(self.n + n, 1.0)
        away = mean - self.mean
        self.mean = self.mean + away * n / both
        self.squares = self.squares + squares + away**2 * self.n * n / both
        self.n = self.n + n
        np.minimum.at(self.least, groups, values)
        np.maximum.at(self.most, groups, values)

    def __getitem__(self, group: int) -> Moments:
        if group >= len(self.n) or not self.n[group]:
            return Moments()
        parts = (float(part[group]) for part in (self.mean, self.squares, self.least, self.most))
        return Moments(int(self.n[group]), *parts)

    def _grow(self, count: int) -> None:
        new = count - len(self.n)
        if new > 0:
            nothing = np.zeros(new)
            self.n, self.mean = np.append(self.n, nothing), np.append(self.mean, nothing)
            self.squares = np.append(self.squares, nothing)
            self.least, self.most = np.append(self.least, nothing + np.inf), np.append(self.most, nothing - np.inf)


def wilson(part: float, whole: float) -> tuple[float, float] | None:
    """Wilson's 95 % interval of a share; None of nothing."""
    if not whole:
        return None
    z2 = NORMAL_95**2
    share = part / whole
    centre = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    half = NORMAL_95 / (1 + z2 / whole) * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole**2))
    return (0.0 if part == 0 else centre - half), (1.0 if part == whole else centre + half)


def score_interval(values: Moments) -> tuple[float, float] | None:
    """The 95 % interval of the mean of scores that lie in 0 to 1, careful also of few and of equal values.

    The normal approximation takes thirty perfect scores for certainty: where nine scores in ten are 1 and the tenth
    is 0, its lower end lies above the true mean in 19 of 100 samples of thirty, not in the 2.5 that it promises.
    So, after Agresti and Coull, z²/2 scores of 0 and as many of 1 are counted in. Of shares (every score 0 or 1)
    this is their interval; of many scores it is the normal one.
    """
    if not values.n:
        return None
    added = NORMAL_95**2
    size = values.n + added
    centre = (values.n * values.mean + added / 2) / size
    # The mean square, from the sum of squares about the mean.
    square = (values.squares + values.n * values.mean**2 + added / 2) / size
    half = NORMAL_95 * math.sqrt(max(square - centre**2, 0.0) / size)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def mean_interval(values: Moments, ends: Ends = ANY) -> tuple[float, float] | None:
    """What reports show: of scores the interval above, of other numbers the normal one; one value has none.

    Nor have other numbers that are all the same: nothing tells how far another one would lie from them. `ends`: of the
    field's scale, which no interval leaves.
    """
    if values.n < 2:
        return None
    if values.are_scores(ends):
        return score_interval(values)
    return values.normal_interval(ends) if values.squares > 0 else None


def careful_interval(values: Moments, ends: Ends = ANY) -> tuple[float, float] | None:
    """What a gate may rely on: of scores also that of a single one, which is wide; of other numbers only of many."""
    if values.are_scores(ends):
        return score_interval(values)
    return values.normal_interval(ends) if values.n >= FEW else None
