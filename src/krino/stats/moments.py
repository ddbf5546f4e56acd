"""Mean and spread of a stream of numbers in four figures, however many there are (after Welford)."""

from __future__ import annotations

import math
from dataclasses import dataclass

NORMAL_95 = 1.959963984540054
FEW = 30
"""Below so many values an interval is rough: reports say so, and gates rely on none of what are no scores."""


@dataclass(slots=True)
class Moments:
    """`squares` is the sum of the squared distances from the mean."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def add(self, value: float) -> None:
        self.n += 1
        away = value - self.mean
        self.mean += away / self.n
        self.squares += away * (value - self.mean)
        if value < self.least:
            self.least = value
        if value > self.most:
            self.most = value

    @property
    def in_unit(self) -> bool:
        """Every value lies in 0 to 1: such a field is taken for a score."""
        return self.least >= 0.0 and self.most <= 1.0

    def normal_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the mean, normal approximation; None for a single value.

        The mean of scores cannot lie beyond their scale.
        """
        if self.n < 2:
            return None
        half = NORMAL_95 * math.sqrt(max(self.squares, 0.0) / (self.n - 1) / self.n)
        low, high = self.mean - half, self.mean + half
        return (max(low, 0.0), min(high, 1.0)) if self.in_unit else (low, high)
