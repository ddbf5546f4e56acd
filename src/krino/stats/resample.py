"""The bootstrap: how far a figure would move had other cases (or other groups of cases) been drawn."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

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
    return np.divide(part, whole, out=np.full_like(whole, math.nan), where=whole > 0)


Floats = NDArray[np.float64]

DRAWS = 1_000
LEVEL = 0.95
_DEFINED = 0.5
"""A figure that is undefined (nan) in more than this share of the draws gets no interval."""
_FEW_KINDS = 64
"""With so many cases to a kind or more, a multinomial draw is quicker than drawing the cases."""


@dataclass(frozen=True)
class Resampler:
    """Draws cases, or whole clusters of them, with replacement; the same seed gives the same draws."""

    size: int
    clusters: NDArray[np.intp] | None = None
    draws: int = DRAWS
    seed: int = 0

    @classmethod
    def of(cls, size: int, groups: Sequence[Hashable] | None = None, draws: int = DRAWS, seed: int = 0) -> Resampler:
        """`groups`: for each case the name of its cluster; None when every case stands for itself."""
        if groups is None:
            return cls(size, None, draws, seed)
        if len(groups) != size:
            raise ValueError(f"{len(groups)} groups for {size} cases")
        numbers: dict[Hashable, int] = {}
        codes = np.fromiter((numbers.setdefault(group, len(numbers)) for group in groups), np.intp, size)
        return cls(size, codes, draws, seed)

    @property
    def units(self) -> int:
        """What is drawn: cases or clusters. Of a single one nothing can be learned about the others."""
        return self.size if self.clusters is None else int(self.clusters.max(initial=-1)) + 1

    def weights(self) -> Iterator[Floats]:
        """For each draw, how many times every case was drawn."""
        generator = np.random.default_rng(self.seed)
        units = self.units
        for _ in range(self.draws if units else 0):
            drawn = np.bincount(generator.integers(0, units, units), minlength=units).astype(np.float64)
            yield drawn if self.clusters is None else drawn[self.clusters]

    def tallies(self, kinds: NDArray[np.intp], count: int) -> Iterator[Floats]:
        """For each draw, how many of the drawn cases are of each kind; `kinds` holds the kind of every case.

        Cases drawn one by one are a multinomial draw over the kinds: far less work where the kinds are few.
        """
        if self.clusters is not None or count * _FEW_KINDS > self.size:
            for weights in self.weights():
                yield tally(kinds, weights, count)
            return
        generator = np.random.default_rng(self.seed)
        shares = np.bincount(kinds, minlength=count) / self.size
        for _ in range(self.draws):
            yield generator.multinomial(self.size, shares).astype(np.float64)


def percentile_interval(values: NDArray[Any], level: float = LEVEL) -> tuple[float, float] | None:
    """The middle `level` of the values; None when there are none or too many are undefined."""
    finite = values[np.isfinite(values)]
    if not finite.size or finite.size < _DEFINED * values.size:
        return None
    low, high = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
