"""Summarises the numbers of a field in bounded memory: mean with interval, extremes and a histogram."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from krino.results import FrozenModel
from krino.stats.arrays import Floats
from krino.stats.confidence_intervals import FEW, UNBOUNDED, Bounds, Moments, MomentsByGroup, mean_interval

MOST_BINS = 20

_MOST_CELLS = 2_000
_FINEST = -6  # the first cells are 10**-6 wide
_NUDGE = 1e-9  # so that 0.3, a little less than 0.3 in binary, falls into the cell that begins at 0.3


class Histogram(FrozenModel):
    """Equal bins from `low`, each `step` wide and open above; the last bin includes its upper edge."""

    low: float
    step: float
    counts: tuple[int, ...]
    whole: bool
    """Every bin is one whole number."""


class NumberField(FrozenModel):
    """A numeric field of the verdict over all judged cases, with the 95 % interval of its mean."""

    name: str
    n: int
    nulls: int
    mean: float
    interval: tuple[float, float] | None
    """Null for a single value, and for equal numbers that are not scores in 0 to 1."""
    min: float
    max: float
    histogram: Histogram

    @property
    def few(self) -> bool:
        return self.n < FEW


@dataclass(slots=True)
class NumberCounter:
    """Collects numbers batch by batch."""

    _moments: MomentsByGroup = field(default_factory=MomentsByGroup)
    _whole: bool = True
    _exponent: int = _FINEST
    _cells: dict[int, int] = field(default_factory=dict)

    def add(self, values: Floats) -> None:
        """Adds values to the moments and to the cells of the histogram."""
        self._moments.add(np.zeros(len(values), np.intp), values, 1)
        self._whole = self._whole and bool((np.floor(values) == values).all())
        cells, counts = np.unique(np.floor(values * 10.0**-self._exponent + _NUDGE), return_counts=True)
        for cell, count in zip(map(int, cells.tolist()), counts.tolist(), strict=True):
            self._cells[cell] = self._cells.get(cell, 0) + count
        while len(self._cells) > _MOST_CELLS:
            self._coarsen()

    def result(self, name: str, nulls: int, ends: Bounds = UNBOUNDED) -> NumberField:
        """Makes the summary of what was added, at least one number. `ends`: the bounds of the field."""
        values = self._moments[0]
        return NumberField(
            name=name,
            n=values.n,
            nulls=nulls,
            mean=values.mean,
            interval=mean_interval(values, ends),
            min=values.least,
            max=values.most,
            histogram=self._histogram(values),
        )

    def _coarsen(self) -> None:
        """Merges ten neighbouring cells into one: counts stay exact on a coarser grid."""
        merged: dict[int, int] = {}
        for cell, count in self._cells.items():
            merged[cell // 10] = merged.get(cell // 10, 0) + count
        self._cells, self._exponent = merged, self._exponent + 1

    def _histogram(self, values: Moments) -> Histogram:
        """Joins the cells into a histogram with round edges."""
        lowest, highest = min(self._cells), max(self._cells)
        whole = self._whole and not values.in_unit  # only 0 and 1: as likely a score as a count
        if values.in_unit:
            lowest, highest = 0, max(int(np.floor(10.0**-self._exponent + _NUDGE)), 1)
        least = 10**-self._exponent if whole and self._exponent < 0 else 1
        width = _bin_width(lowest, highest, least)
        first = lowest // width
        single = whole and width == least
        bins = highest // width - first + (1 if single or highest % width or highest == lowest else 0)
        counts = [0] * max(bins, 1)
        for cell, count in self._cells.items():
            counts[min(cell // width - first, len(counts) - 1)] += count
        unit = 10.0**self._exponent
        low, step = _tidy(first * width * unit), _tidy(width * unit)
        return Histogram(low=low, step=step, counts=tuple(counts), whole=single and step == 1.0)


def _bin_width(lowest: int, highest: int, least: int) -> int:
    """The smallest width of 1, 2 or 5 times a power of ten that needs at most 20 bins."""
    ten = 1
    while True:
        for width in (ten, 2 * ten, 5 * ten):
            edge_bin = 1 if highest % width or width == least else 0
            if width >= least and highest // width - lowest // width + edge_bin <= MOST_BINS:
                return width
        ten *= 10


def _tidy(value: float) -> float:
    """0.05 rather than 0.049999999999999996."""
    return float(f"{value:.15g}")
