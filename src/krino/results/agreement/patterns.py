"""One field's ratings by judge and people, equal cases folded into one, so that a bootstrap is cheap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from krino.stats.agreement import MISSING, Codes
from krino.stats.resample import Floats
from krino.stats.tallies import ratio, tally


@dataclass(frozen=True)
class Patterns:
    """Patterns: what the judge and each rater said. All cases with the same pattern count alike in every figure."""

    judge: Codes
    people: Codes
    """A row a pattern, a column a rater (or, where raters are too many to tell apart, one of a case's labels)."""
    counts: Floats
    """Cases of each pattern."""
    pattern: Codes
    """For each case, its pattern."""
    majority: Codes
    """-1 where people have none."""
    mean: Floats
    """The mean position of people's labels; nan where classes have no order."""

    @classmethod
    def of(cls, judge: Codes, people: Codes, positions: Floats | None) -> Patterns:
        """A row a case, each with a value of the judge and at least one label."""
        first, pattern, counts = fold([judge, *people.T])
        folded = people[first]
        return cls(
            judge=judge[first],
            people=folded,
            counts=counts,
            pattern=pattern,
            majority=majority(folded),
            mean=_mean(folded, positions),
        )

    @property
    def raters(self) -> int:
        return int(self.people.shape[1])

    def distance(self, positions: Floats | None) -> Floats:
        """For each pattern, how far people are from the judge."""
        if positions is not None:
            apart: Floats = np.abs(positions[self.judge] - self.mean)
            return apart
        given = self.people != MISSING
        other = given & (self.people != self.judge[:, None])
        return ratio(other.sum(axis=1).astype(np.float64), given.sum(axis=1).astype(np.float64))

    def differs(self) -> NDArray[np.bool_]:
        """For each pattern, whether any rater says something other than the judge."""
        differing: NDArray[np.bool_] = ((self.people != MISSING) & (self.people != self.judge[:, None])).any(axis=1)
        return differing


def fold(columns: Sequence[Codes]) -> tuple[Codes, Codes, Floats]:
    """Cases that are alike in all columns as one pattern: the first case of each, each case's pattern, the counts."""
    pattern = np.zeros(len(columns[0]), np.intp)
    for column in columns:  # column by column: sorting whole rows takes ten times as long
        width = int(column.max(initial=0)) + 2
        pattern = np.unique(pattern * width + column + 1, return_inverse=True)[1]
    _, first, counts = np.unique(pattern, return_index=True, return_counts=True)
    return first, pattern, counts.astype(np.float64)


def majority(people: Codes) -> Codes:
    """For each row the code that more raters gave than any other; -1 where two share the lead or nobody gave one."""
    row, rater = np.nonzero(people != MISSING)
    width = int(people.max(initial=0)) + 1
    together, votes = np.unique(row * width + people[row, rater], return_counts=True)
    rows, codes = together // width, together % width
    most = np.zeros(len(people), np.intp)
    np.maximum.at(most, rows, votes)
    leads = votes == most[rows]
    leaders = np.bincount(rows[leads], minlength=len(people))
    found = np.full(len(people), MISSING, np.intp)
    found[rows[leads]] = codes[leads]
    found[leaders != 1] = MISSING
    return found


def _mean(people: Codes, positions: Floats | None) -> Floats:
    if positions is None:
        return np.full(len(people), np.nan)
    row, rater = np.nonzero(people != MISSING)
    sums = tally(row, positions[people[row, rater]], len(people))
    return ratio(sums, (people != MISSING).sum(axis=1).astype(np.float64))
