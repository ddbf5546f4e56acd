"""All figures of one field for given weights of its patterns: asked once for the values, again for every draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from krino.results.agreement.kinds import Coding
from krino.results.agreement.patterns import Patterns
from krino.stats import scores
from krino.stats.agreement import MISSING, Codes, Level, Ratings, cohen_kappa, raw_agreement, weighted_kappa
from krino.stats.classes import class_scores
from krino.stats.resample import Floats

MOST_PAIRED = 12
"""With more raters than this, no pairs of raters are made: alpha speaks for them."""
MOST_CLASSES = 30
"""With more classes than this, no class is told apart."""

JUDGE, PEOPLE, CLASSES = "judge", "people", "classes"
CLASS_FIGURES = ("precision", "recall", "f1")

Figures = dict[str, float]
Pairwise = Callable[[Codes, Codes, Floats], float]


@dataclass(frozen=True)
class Part:
    """Figures that stand on the same `n` cases; `side` says whom they are about."""

    side: str
    n: int
    figures: Callable[[Floats], Figures]


def battery_of(patterns: Patterns, coding: Coding, *, named: bool) -> list[Part]:
    """`named`: the columns of the patterns are raters, so that pairs of raters can be made."""
    parts = [*_alphas(patterns, coding)]
    if coding.kind != "number":
        parts.append(_against_majority(patterns, coding))
        if len(coding.values) <= MOST_CLASSES:
            parts += _by_class(patterns, len(coding.values))
    if coding.kind in ("scale", "number"):
        parts.append(_against_mean(patterns, coding))
    if named and 1 < patterns.raters <= MOST_PAIRED:
        parts += _pairs(patterns, coding)
    return parts


def _against_majority(patterns: Patterns, coding: Coding) -> Part:
    judge, people, positions = patterns.judge, patterns.majority, coding.positions

    def figures(weights: Floats) -> Figures:
        found = {
            "agreement": raw_agreement(people, judge, weights),
            "kappa": cohen_kappa(people, judge, weights),
        }
        if positions is not None:
            found["kappa_linear"] = weighted_kappa(people, judge, positions, 1, weights)
            found["kappa_quadratic"] = weighted_kappa(people, judge, positions, 2, weights)
        return found

    return Part(JUDGE, _with_majority(patterns), figures)


def _by_class(patterns: Patterns, size: int) -> list[Part]:
    n = _with_majority(patterns)

    def means(weights: Floats) -> Figures:
        found = class_scores(patterns.majority, patterns.judge, size, weights)
        return {"macro_f1": found.macro_f1, "balanced_accuracy": found.balanced_accuracy}

    def each(weights: Floats) -> Figures:
        found = class_scores(patterns.majority, patterns.judge, size, weights)
        columns = {name: getattr(found, name) for name in CLASS_FIGURES}
        return {f"{name}:{code}": float(column[code]) for name, column in columns.items() for code in range(size)}

    return [Part(JUDGE, n, means), Part(CLASSES, n, each)]


def _with_majority(patterns: Patterns) -> int:
    return int(patterns.counts[patterns.majority != MISSING].sum())


def _against_mean(patterns: Patterns, coding: Coding) -> Part:
    assert coding.positions is not None
    ours, theirs = coding.positions[patterns.judge], patterns.mean
    rank, their_rank = scores.ordered_codes(ours), scores.ordered_codes(theirs)
    places, codes = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    code, their_code = codes[: len(ours)], codes[len(ours) :]

    def figures(weights: Floats) -> Figures:
        found = {
            "spearman": scores.spearman(rank, their_rank, weights),
            "pearson": scores.pearson(ours, theirs, weights),
            "mae": scores.mean_absolute_error(ours, theirs, weights),
            "difference": scores.mean_difference(ours, theirs, weights),
        }
        if coding.kind == "number":  # the steps of a scale are held against the majority instead
            found["kappa_linear"] = weighted_kappa(their_code, code, places, 1, weights)
            found["kappa_quadratic"] = weighted_kappa(their_code, code, places, 2, weights)
        return found

    return Part(JUDGE, int(patterns.counts.sum()), figures)


def _alphas(patterns: Patterns, coding: Coding) -> Iterator[Part]:
    levels: tuple[Level, ...] = ("nominal",)
    if coding.positions is not None:
        levels = ("ordinal",) if coding.kind == "order" else ("ordinal", "interval")
    for side, table in ((JUDGE, np.column_stack([patterns.judge, patterns.people])), (PEOPLE, patterns.people)):
        if table.shape[1] > 1:
            ratings = Ratings.of(table)
            n = int(patterns.counts[ratings.per_item > 1].sum())
            yield Part(side, n, _alphas_of(ratings, levels, coding.positions))


def _alphas_of(ratings: Ratings, levels: tuple[Level, ...], positions: Floats | None) -> Callable[[Floats], Figures]:
    return lambda weights: {f"alpha_{level}": ratings.alpha(level, positions, weights) for level in levels}


# --- pairs -----------------------------------------------------------------------------------------


def _pairs(patterns: Patterns, coding: Coding) -> Iterator[Part]:
    """Means over pairs: the judge with each rater, and the raters with each other, so that the two can be compared."""
    columns = [patterns.people[:, rater] for rater in range(patterns.raters)]
    sides = {JUDGE: [(patterns.judge, column) for column in columns], PEOPLE: list(combinations(columns, 2))}
    for side, pairs in sides.items():
        met = np.any([(one != MISSING) & (other != MISSING) for one, other in pairs], axis=0)
        yield Part(side, int(patterns.counts[met].sum()), _means_over(pairs, dict(_pairwise(coding))))


def _pairwise(coding: Coding) -> Iterator[tuple[str, Pairwise]]:
    positions = coding.positions
    if coding.kind != "number":
        yield "mean_agreement", raw_agreement
        yield "mean_kappa", cohen_kappa
    if positions is not None:
        yield "mean_kappa_quadratic", lambda one, other, weights: weighted_kappa(one, other, positions, 2, weights)
    if coding.kind in ("scale", "number"):
        yield "mean_spearman", _spearman_where_given


def _spearman_where_given(one: Codes, other: Codes, weights: Floats) -> float:
    there = (one != MISSING) & (other != MISSING)
    return scores.spearman(one[there], other[there], weights[there])


def _means_over(pairs: list[tuple[Codes, Codes]], statistics: dict[str, Pairwise]) -> Callable[[Floats], Figures]:
    """A pair for which a figure is undefined does not enter its mean."""

    def figures(weights: Floats) -> Figures:
        return {
            name: _mean_of_defined([statistic(one, other, weights) for one, other in pairs])
            for name, statistic in statistics.items()
        }

    return figures


def _mean_of_defined(values: list[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan
