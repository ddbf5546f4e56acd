"""The bootstrap: how much a figure would vary if other cases, or other clusters of cases, had been drawn.

Intervals of differences between two runs are in `stats.paired_tests`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krino.stats.arrays import Codes, Floats, sum_by_code

DRAWS = 1_000
LEVEL = 0.95
_LEAST_DEFINED = 0.5
"""A figure that is defined (not nan) in a smaller share of the draws gets no interval."""
_CASES_PER_PATTERN = 64
"""From this many cases per pattern on, one multinomial draw is faster than drawing the cases one by one."""


@dataclass(frozen=True)
class Resampler:
    """Draws cases, or whole clusters of cases, with replacement; the same seed gives the same draws."""

    size: int
    clusters: Codes | None = None
    draws: int = DRAWS
    seed: int = 0

    @classmethod
    def create(
        cls, size: int, groups: Sequence[Hashable] | None = None, draws: int = DRAWS, seed: int = 0
    ) -> Resampler:
        """Makes the resampler of a bootstrap. `groups` holds the cluster of each case; None if every case is drawn by
        itself."""
        if groups is None:
            return cls(size, None, draws, seed)
        if len(groups) != size:
            raise ValueError(f"{len(groups)} groups for {size} cases")
        numbers: dict[Hashable, int] = {}
        codes = np.fromiter((numbers.setdefault(group, len(numbers)) for group in groups), np.intp, size)
        return cls(size, codes, draws, seed)

    @property
    def units(self) -> int:
        """The number of cases or clusters to draw from. A single one says nothing about others."""
        return self.size if self.clusters is None else int(self.clusters.max(initial=-1)) + 1

    def draw_weights(self) -> Iterator[Floats]:
        """Yields for each draw how many times every case was drawn."""
        generator = np.random.default_rng(self.seed)
        units = self.units
        for _ in range(self.draws if units else 0):
            drawn = np.bincount(generator.integers(0, units, units), minlength=units).astype(np.float64)
            yield drawn if self.clusters is None else drawn[self.clusters]

    def draw_pattern_counts(self, patterns: Codes, count: int) -> Iterator[Floats]:
        """Yields for each draw how many of the drawn cases have each of `count` patterns; `patterns` has that of every
        case.

        Drawing cases one by one is a multinomial draw over the patterns, which is much less work if these are few.
        """
        if self.clusters is not None or count * _CASES_PER_PATTERN > self.size:
            for weights in self.draw_weights():
                yield sum_by_code(patterns, weights, count)
            return
        generator = np.random.default_rng(self.seed)
        shares = np.bincount(patterns, minlength=count) / self.size
        for _ in range(self.draws):
            yield generator.multinomial(self.size, shares).astype(np.float64)


def percentile_interval(values: NDArray[Any], level: float = LEVEL) -> tuple[float, float] | None:
    """The interval of the middle `level` of the values; None when there are none or too many are undefined."""
    finite = values[np.isfinite(values)]
    if not finite.size or finite.size < _LEAST_DEFINED * values.size:
        return None
    low, high = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
