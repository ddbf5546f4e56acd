"""Point values with bootstrap intervals, and in words why one or the other is missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from krino.results.agreement.battery import JUDGE, PEOPLE, Figures, Part
from krino.results.agreement.result import Figure
from krino.stats.resample import LEVEL, Floats, percentile_interval

GAP = "gap"
NOTHING = "there is no case to compare"
ONE_VALUE = "everything got one and the same value: there is no chance agreement to go beyond"
NO_VARIATION = "one side never varies"
UNDEFINED = {
    "precision": "the judge never says it",
    "recall": "people never say it",
    "f1": "neither says it",
    **dict.fromkeys(("spearman", "pearson", "mean_spearman"), NO_VARIATION),
}
ONE_UNIT = "a single case or cluster says nothing about others"
RARELY_DEFINED = "undefined in most of the draws"


def estimate(
    parts: Sequence[Part],
    counts: Floats,
    draws: Iterable[Floats],
    units: int,
    drawn_parts: Sequence[Part] | None = None,
) -> dict[str, dict[str, Figure]]:
    """By side and name, and under `GAP` the judge less people, of all that both sides have, in the same draws.

    `counts`: cases of each pattern; `draws`: the same in resampled data.
    `drawn_parts`: the same figures of the patterns that the draws are about, where those are others.
    """
    points = [part.figures(counts) for part in parts]
    drawn: list[list[Figures]] = [[] for _ in parts]
    for weights in draws if units > 1 else ():
        for part, kept in zip(drawn_parts or parts, drawn, strict=True):
            kept.append(part.figures(weights))
    found: dict[str, dict[str, Figure]] = {}
    samples: dict[tuple[str, str], Floats] = {}
    for part, point, sample in zip(parts, points, drawn, strict=True):
        side = found.setdefault(part.side, {})
        for name, value in point.items():
            samples[part.side, name] = values = np.array([figures[name] for figures in sample])
            side[name] = to_figure(name, value, values, part.n, units)
    judge, people = found.get(JUDGE, {}), found.get(PEOPLE, {})
    for name, theirs in people.items():
        if name in judge:
            apart = samples[JUDGE, name] - samples[PEOPLE, name]
            found.setdefault(GAP, {})[name] = _gap(name, judge[name], theirs, apart, units)
    return found


def _gap(name: str, ours: Figure, theirs: Figure, apart: Floats, units: int) -> Figure:
    n = min(ours.n, theirs.n)
    if ours.value is None or theirs.value is None:
        return Figure(value=None, n=n, why=ours.why or theirs.why)
    return to_figure(name, ours.value - theirs.value, apart, n, units)


def to_figure(name: str, value: float, drawn: Floats, n: int, units: int) -> Figure:
    if math.isnan(value):
        return Figure(value=None, n=n, why=UNDEFINED.get(name.partition(":")[0], ONE_VALUE) if n else NOTHING)
    interval = percentile_interval(drawn, LEVEL)
    if interval is None:
        return Figure(value=value, n=n, why=ONE_UNIT if units < 2 else RARELY_DEFINED)
    return Figure(value=value, interval=interval, n=n)
