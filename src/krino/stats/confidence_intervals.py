"""Confidence intervals of means and shares, and the running mean and variance that they are computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from krino.stats.arrays import Codes, Floats

NORMAL_95 = 1.959963984540054
STUDENT_95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145),
    *(2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048),
)
"""The same quantile of Student's distribution with 1, 2, ... degrees of freedom. For two values the normal quantile
would give an interval six times too narrow."""
FEW = 30
"""With fewer values an interval is rough: reports say so, and a gate ignores it for numbers that are not scores."""

Interval = tuple[float, float]
Bounds = tuple[float, float]
"""The smallest and the largest value that a judge declares for a field; infinite where it declares none."""
UNBOUNDED: Bounds = (-math.inf, math.inf)


@dataclass(slots=True)
class Moments:
    """Count, mean, sum of squared deviations from the mean, and extremes of some numbers."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    @classmethod
    def of(cls, values: ArrayLike) -> Moments:
        """The moments of some numbers."""
        groups, numbers = MomentsByGroup(), np.asarray(values, np.float64)
        groups.add(np.zeros(len(numbers), np.intp), numbers, 1)
        return groups[0]

    @property
    def in_unit(self) -> bool:
        """Whether every value lies in 0 to 1; a field like that is treated as a score."""
        return self.least >= 0.0 and self.most <= 1.0

    def are_scores(self, bounds: Bounds) -> bool:
        """Whether the numbers are scores: all lie in 0 to 1, and the judge declares no other scale."""
        return self.in_unit and bounds[0] in (0.0, -math.inf) and bounds[1] in (1.0, math.inf)


@dataclass(slots=True)
class MomentsByGroup:
    """Moments of many groups, updated batch by batch (merged after Chan, Golub and LeVeque)."""

    n: Floats = field(default_factory=lambda: np.empty(0))
    mean: Floats = field(default_factory=lambda: np.empty(0))
    squares: Floats = field(default_factory=lambda: np.empty(0))
    least: Floats = field(default_factory=lambda: np.empty(0))
    most: Floats = field(default_factory=lambda: np.empty(0))

    def add(self, groups: Codes, values: Floats, count: int) -> None:
        """Adds a batch; `groups` holds the group of each value, a number below `count`."""
        self._grow(count)
        n = np.bincount(groups, minlength=count).astype(np.float64)
        at_least_one = np.maximum(n, 1.0)
        mean = np.bincount(groups, values, count) / at_least_one
        mean += np.bincount(groups, values - mean[groups], count) / at_least_one  # corrects the rounding error
        squares = np.bincount(groups, (values - mean[groups]) ** 2, count)
        total = np.maximum(self.n + n, 1.0)
        shift = mean - self.mean
        self.mean = self.mean + shift * n / total
        self.squares = self.squares + squares + shift**2 * self.n * n / total
        self.n = self.n + n
        np.minimum.at(self.least, groups, values)
        np.maximum.at(self.most, groups, values)

    def __getitem__(self, group: int) -> Moments:
        if group >= len(self.n) or not self.n[group]:
            return Moments()
        parts = (float(part[group]) for part in (self.mean, self.squares, self.least, self.most))
        return Moments(int(self.n[group]), *parts)

    def _grow(self, count: int) -> None:
        """Makes room for `count` groups."""
        new = count - len(self.n)
        if new > 0:
            zeros = np.zeros(new)
            self.n, self.mean = np.append(self.n, zeros), np.append(self.mean, zeros)
            self.squares = np.append(self.squares, zeros)
            self.least, self.most = np.append(self.least, zeros + np.inf), np.append(self.most, zeros - np.inf)


def student_95(freedom: int) -> float:
    """The quantile of Student's distribution for a 95 % interval; beyond the table its usual expansion."""
    if freedom <= len(STUDENT_95):
        return STUDENT_95[max(freedom, 1) - 1]
    z = NORMAL_95
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def wilson_interval(part: float, whole: float) -> Interval | None:
    """Wilson's 95 % interval of a share; None when the whole is zero."""
    if not whole:
        return None
    z2 = NORMAL_95**2
    share = part / whole
    centre = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    half = NORMAL_95 / (1 + z2 / whole) * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole**2))
    return (0.0 if part == 0 else centre - half), (1.0 if part == whole else centre + half)


def normal_interval(values: Moments, bounds: Bounds = UNBOUNDED) -> Interval | None:
    """The 95 % interval of a mean by the normal distribution (Student's for few values); None for a single value."""
    if values.n < 2:
        return None
    quantile = STUDENT_95[values.n - 2] if values.n < FEW else NORMAL_95
    half = quantile * math.sqrt(max(values.squares, 0.0) / (values.n - 1) / values.n)
    least, most = (0.0, 1.0) if values.are_scores(bounds) else bounds
    return max(values.mean - half, least), min(values.mean + half, most)


def score_interval(values: Moments) -> Interval | None:
    """The 95 % interval of the mean of scores in 0 to 1, which stays cautious when scores are few or all equal.

    The normal approximation takes thirty perfect scores as certainty: if nine scores in ten are 1 and the tenth is 0,
    its lower end is above the true mean in 19 of 100 samples of thirty, instead of 2.5. So z²/2 scores of 0 and as
    many of 1 are added (Agresti and Coull). For scores that are only 0 or 1 the result is their interval; for many
    scores it is the normal one.
    """
    if not values.n:
        return None
    added = NORMAL_95**2
    size = values.n + added
    centre = (values.n * values.mean + added / 2) / size
    mean_square = (values.squares + values.n * values.mean**2 + added / 2) / size
    half = NORMAL_95 * math.sqrt(max(mean_square - centre**2, 0.0) / size)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def clustered_mean_interval(values: Floats, bounds: Bounds, clusters: Codes) -> Interval:
    """The 95 % interval of a mean of bounded values whose clusters were drawn as a whole.

    One value at each bound is added (for gains this is the interval of Bonett and Price): without them a few equal
    values would pass for certainty. In clusters they weigh as the root of the mean cluster. The quantile is Student's.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(codes).astype(np.float64)
    added = math.sqrt(float(sizes.mean()))
    sums = np.append(np.bincount(codes, values), [added * bound for bound in bounds])
    sizes = np.append(sizes, (added, added))
    count, whole = len(sums), float(sizes.sum())
    mean = float(sums.sum()) / whole
    variance = float(((sums - mean * sizes) ** 2).sum()) / whole**2 * count / (count - 1)
    half = student_95(count - 1) * math.sqrt(variance)
    return max(mean - half, bounds[0]), min(mean + half, bounds[1])


def mean_interval(values: Moments, bounds: Bounds = UNBOUNDED) -> Interval | None:
    """The interval that reports show: `score_interval` for scores, the normal one for other numbers.

    None for a single value, and for other numbers that are all equal, whose spread is unknown. No interval leaves the
    `bounds` of the field.
    """
    if values.n < 2:
        return None
    if values.are_scores(bounds):
        return score_interval(values)
    return normal_interval(values, bounds) if values.squares > 0 else None


def gate_interval(values: Moments, bounds: Bounds = UNBOUNDED) -> Interval | None:
    """The interval that a gate relies on: for scores even that of a single one, for other numbers only of many."""
    if values.are_scores(bounds):
        return score_interval(values)
    return normal_interval(values, bounds) if values.n >= FEW else None
