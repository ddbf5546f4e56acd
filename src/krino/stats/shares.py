"""Intervals of a share and of a mean score: how far the truth may lie from what one sample shows."""

from __future__ import annotations

import math

from krino.stats.moments import FEW, NORMAL_95, Moments


def wilson(part: int, whole: int) -> tuple[float, float] | None:
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


def mean_interval(values: Moments) -> tuple[float, float] | None:
    """What reports show: of scores the interval above, of other numbers the normal one; one value has none."""
    if values.n < 2:
        return None
    return score_interval(values) if values.in_unit else values.normal_interval()


def careful_interval(values: Moments) -> tuple[float, float] | None:
    """What a gate may rely on: of scores also that of a single one, which is wide; of other numbers only of many."""
    if values.in_unit:
        return score_interval(values)
    return values.normal_interval() if values.n >= FEW else None
