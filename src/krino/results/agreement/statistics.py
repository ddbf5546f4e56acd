"""The figures of one field with bootstrap intervals. Equal cases are grouped into patterns, which makes draws fast."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from krino.results.agreement.coding import Coding
from krino.results.agreement.result import Figure
from krino.stats import correlation
from krino.stats.arrays import MISSING, Codes, Floats, divide_or_nan, select_rated_by_both, sum_by_code
from krino.stats.bootstrap import LEVEL, percentile_interval
from krino.stats.classification import class_scores
from krino.stats.confidence_intervals import FEW, wilson_interval
from krino.stats.rater_agreement import Level, Ratings, cohen_kappa, raw_agreement, weighted_kappa


@dataclass(frozen=True)
class Patterns:
    """The distinct combinations of values given by the judge and each rater, with the number of cases of each."""

    judge: Codes
    people: Codes
    """One row for each pattern, one column for each rater (or for each label, if there are too many raters)."""
    counts: Floats
    """Cases of each pattern."""
    pattern: Codes
    """The pattern of each case."""
    majority: Codes
    """-1 where people have no majority."""
    mean: Floats
    """The mean position of people's labels; nan where classes have no order."""

    @classmethod
    def of(cls, judge: Codes, people: Codes, positions: Floats | None) -> Patterns:
        """Groups equal cases. Arguments have a row for each case, with a value of the judge and at least one label."""
        first, pattern, counts = group_patterns([judge, *people.T])
        folded = people[first]
        return cls(
            judge=judge[first],
            people=folded,
            counts=counts,
            pattern=pattern,
            majority=majority_codes(folded),
            mean=_mean_positions(folded, positions),
        )

    @property
    def raters(self) -> int:
        return int(self.people.shape[1])

    def distance(self, positions: Floats | None) -> Floats:
        """The distance of people from the judge, for each pattern: from their mean position; for classes the share of
        raters who differ."""
        if positions is not None:
            apart: Floats = np.abs(positions[self.judge] - self.mean)
            return apart
        given = self.people != MISSING
        other = given & (self.people != self.judge[:, None])
        return divide_or_nan(other.sum(axis=1).astype(np.float64), given.sum(axis=1).astype(np.float64))

    def differs(self) -> NDArray[np.bool_]:
        """For each pattern, whether any rater says something other than the judge."""
        differing: NDArray[np.bool_] = ((self.people != MISSING) & (self.people != self.judge[:, None])).any(axis=1)
        return differing


def group_patterns(columns: Sequence[Codes]) -> tuple[Codes, Codes, Floats]:
    """Groups equal cases: the first case of each pattern, the pattern of each case, the number of cases of each."""
    pattern = np.zeros(len(columns[0]), np.intp)
    for column in columns:  # column by column: sorting whole rows is ten times slower
        width = int(column.max(initial=0)) + 2
        pattern = np.unique(pattern * width + column + 1, return_inverse=True)[1]
    _, first, counts = np.unique(pattern, return_index=True, return_counts=True)
    return first, pattern, counts.astype(np.float64)


def majority_codes(people: Codes) -> Codes:
    """Returns for each row the code that most raters gave; -1 if two codes tie or there is none."""
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


def _mean_positions(people: Codes, positions: Floats | None) -> Floats:
    """Returns the mean position of the labels of each case, nan where there is none."""
    if positions is None:
        return np.full(len(people), np.nan)
    row, rater = np.nonzero(people != MISSING)
    sums = sum_by_code(row, positions[people[row, rater]], len(people))
    return divide_or_nan(sums, (people != MISSING).sum(axis=1).astype(np.float64))


MOST_PAIRED = 12
"""With more raters than this, pairs of raters are not compared, only alpha is computed."""
MOST_CLASSES = 30
"""With more classes than this, there are no figures by class."""

JUDGE, PEOPLE, CLASSES = "judge", "people", "classes"
CLASS_FIGURES = ("precision", "recall", "f1")

Figures = dict[str, float]
Pairwise = Callable[[Codes, Codes, Floats], float]


@dataclass(frozen=True)
class FigureGroup:
    """Figures computed from the same `n` cases; `side` says whom they are about."""

    side: str
    n: int
    figures: Callable[[Floats], Figures]


def field_statistics(patterns: Patterns, coding: Coding, *, named: bool) -> list[FigureGroup]:
    """Returns the groups of figures for one field. `named`: the columns of the patterns are raters, so that pairs of
    raters can be compared."""
    groups = [*_alpha_groups(patterns, coding)]
    if coding.kind != "number":
        groups.append(_against_majority(patterns, coding))
        if len(coding.values) <= MOST_CLASSES:
            groups += _by_class(patterns, len(coding.values))
    if coding.kind in ("scale", "number"):
        groups.append(_against_mean(patterns, coding))
    if named and 1 < patterns.raters <= MOST_PAIRED:
        groups += _pair_groups(patterns, coding)
    return groups


def _against_majority(patterns: Patterns, coding: Coding) -> FigureGroup:
    """Returns the figures of the judge against the majority of people."""
    judge, people, positions = patterns.judge, patterns.majority, coding.positions

    def figures(weights: Floats) -> Figures:
        """Computes agreement and kappa with these weights."""
        found = {"agreement": raw_agreement(people, judge, weights), "kappa": cohen_kappa(people, judge, weights)}
        if positions is not None:
            found["kappa_linear"] = weighted_kappa(people, judge, positions, 1, weights)
            found["kappa_quadratic"] = weighted_kappa(people, judge, positions, 2, weights)
        return found

    return FigureGroup(JUDGE, _count_with_majority(patterns), figures)


def _by_class(patterns: Patterns, size: int) -> list[FigureGroup]:
    """Returns the figures by class, and their means."""
    n = _count_with_majority(patterns)

    def means(weights: Floats) -> Figures:
        found = class_scores(patterns.majority, patterns.judge, size, weights)
        return {"macro_f1": found.macro_f1, "balanced_accuracy": found.balanced_accuracy}

    def each(weights: Floats) -> Figures:
        found = class_scores(patterns.majority, patterns.judge, size, weights)
        columns = {name: getattr(found, name) for name in CLASS_FIGURES}
        return {f"{name}:{code}": float(column[code]) for name, column in columns.items() for code in range(size)}

    return [FigureGroup(JUDGE, n, means), FigureGroup(CLASSES, n, each)]


def _count_with_majority(patterns: Patterns) -> int:
    return int(patterns.counts[patterns.majority != MISSING].sum())


def _against_mean(patterns: Patterns, coding: Coding) -> FigureGroup:
    """Returns the figures of the judge against the mean of people."""
    assert coding.positions is not None
    ours, theirs = coding.positions[patterns.judge], patterns.mean
    rank, their_rank = correlation.rank_codes(ours), correlation.rank_codes(theirs)
    places, codes = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    code, their_code = codes[: len(ours)], codes[len(ours) :]

    def figures(weights: Floats) -> Figures:
        """Computes correlations and errors with these weights."""
        found = {
            "spearman": correlation.spearman(rank, their_rank, weights),
            "pearson": correlation.pearson(ours, theirs, weights),
            "mae": correlation.mean_absolute_error(ours, theirs, weights),
            "difference": correlation.mean_difference(ours, theirs, weights),
        }
        if coding.kind == "number":  # the steps of a scale are compared with the majority instead
            found["kappa_linear"] = weighted_kappa(their_code, code, places, 1, weights)
            found["kappa_quadratic"] = weighted_kappa(their_code, code, places, 2, weights)
        return found

    return FigureGroup(JUDGE, int(patterns.counts.sum()), figures)


def _alpha_groups(patterns: Patterns, coding: Coding) -> Iterator[FigureGroup]:
    """Yields Krippendorff's alpha with the judge as one more rater, and of people alone if there are several."""
    levels: tuple[Level, ...] = ("nominal",)
    if coding.positions is not None:
        levels = ("ordinal",) if coding.kind == "order" else ("ordinal", "interval")
    for side, table in ((JUDGE, np.column_stack([patterns.judge, patterns.people])), (PEOPLE, patterns.people)):
        if table.shape[1] > 1:
            ratings = Ratings.from_table(table)
            n = int(patterns.counts[ratings.per_item > 1].sum())
            yield FigureGroup(side, n, _alpha_figures(ratings, levels, coding.positions))


def _alpha_figures(
    ratings: Ratings, levels: tuple[Level, ...], positions: Floats | None
) -> Callable[[Floats], Figures]:
    """Returns a function that computes alpha at each level with given weights."""
    return lambda weights: {f"alpha_{level}": ratings.alpha(level, positions, weights) for level in levels}


# --- pairs -----------------------------------------------------------------------------------------


def _pair_groups(patterns: Patterns, coding: Coding) -> Iterator[FigureGroup]:
    """Yields means over pairs of the judge with each rater, and over pairs of raters, so that both can be compared."""
    columns = [patterns.people[:, rater] for rater in range(patterns.raters)]
    sides = {JUDGE: [(patterns.judge, column) for column in columns], PEOPLE: list(combinations(columns, 2))}
    for side, pairs in sides.items():
        met = np.any([(one != MISSING) & (other != MISSING) for one, other in pairs], axis=0)
        yield FigureGroup(side, int(patterns.counts[met].sum()), _means_over(pairs, dict(_pair_statistics(coding))))


def _pair_statistics(coding: Coding) -> Iterator[tuple[str, Pairwise]]:
    """Yields the statistics of pairs of raters that suit the kind of field."""
    positions = coding.positions
    if coding.kind != "number":
        yield "mean_agreement", raw_agreement
        yield "mean_kappa", cohen_kappa
    if positions is not None:
        yield "mean_kappa_quadratic", lambda one, other, weights: weighted_kappa(one, other, positions, 2, weights)
    if coding.kind in ("scale", "number"):
        yield (
            "mean_spearman",
            lambda one, other, weights: correlation.spearman(*select_rated_by_both(one, other, weights)),
        )


def _means_over(pairs: list[tuple[Codes, Codes]], statistics: dict[str, Pairwise]) -> Callable[[Floats], Figures]:
    """Returns a function that computes means over pairs; a pair for which a figure is undefined is left out."""

    def figures(weights: Floats) -> Figures:
        """Returns each statistic as a mean over all pairs of raters."""
        return {
            name: _mean_of_defined([statistic(one, other, weights) for one, other in pairs])
            for name, statistic in statistics.items()
        }

    return figures


def _mean_of_defined(values: list[float]) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return sum(defined) / len(defined) if defined else math.nan


GAP = "gap"
NOTHING = "there is no case to compare"
ONE_VALUE = "everything got the same value, so that agreement beyond chance is undefined"
NO_VARIATION = "one side never varies"
UNDEFINED = {
    "precision": "the judge never gives it",
    "recall": "people never give it",
    "f1": "neither gives it",
    **dict.fromkeys(("spearman", "pearson", "mean_spearman"), NO_VARIATION),
}
ONE_UNIT = "a single case or cluster says nothing about others"
RARELY_DEFINED = "undefined in most of the draws"
NO_DRAW_DIFFERS = "all draws give the same value, which does not make it certain"
FEWEST = 10
"""Cases or clusters. The bootstrap of fewer is far too narrow: then only shares have an interval, Wilson's."""
SHARES = ("agreement", "mean_agreement", "precision", "recall")


def estimate_figures(
    groups: Sequence[FigureGroup],
    counts: Floats,
    draws: Iterable[Floats],
    units: int,
    drawn_groups: Sequence[FigureGroup] | None = None,
) -> dict[str, dict[str, Figure]]:
    """Computes the figures with their intervals, by side and name.

    Under `GAP` is judge minus people for each figure that both have, in the same draws. `counts`: cases of each
    pattern; `draws`: the same in resampled data. `drawn_groups`: the figures of the patterns that the draws are about,
    if those are other patterns.
    """
    points = [group.figures(counts) for group in groups]
    drawn: list[list[Figures]] = [[] for _ in groups]
    for weights in draws if units > 1 else ():
        for group, kept in zip(drawn_groups or groups, drawn, strict=True):
            kept.append(group.figures(weights))
    found: dict[str, dict[str, Figure]] = {}
    samples: dict[tuple[str, str], Floats] = {}
    for group, point, sample in zip(groups, points, drawn, strict=True):
        side = found.setdefault(group.side, {})
        for name, value in point.items():
            samples[group.side, name] = values = np.array([figures[name] for figures in sample])
            figure = bootstrap_figure(name, value, values, group.n, units)
            side[name] = with_wilson_interval(figure, group.n, units) if name in SHARES else figure
    judge, people = found.get(JUDGE, {}), found.get(PEOPLE, {})
    for name, theirs in people.items():
        if name in judge:
            apart = samples[JUDGE, name] - samples[PEOPLE, name]
            found.setdefault(GAP, {})[name] = _gap_figure(name, judge[name], theirs, apart, units)
    return found


def _gap_figure(name: str, ours: Figure, theirs: Figure, apart: Floats, units: int) -> Figure:
    """Returns the judge's figure minus that of people, with its interval; without a value if one of them has none."""
    n = min(ours.n, theirs.n)
    if ours.value is None or theirs.value is None:
        return Figure(value=None, n=n, why=ours.why or theirs.why)
    return bootstrap_figure(name, ours.value - theirs.value, apart, n, units)


def with_wilson_interval(found: Figure, n: int, units: int) -> Figure:
    """A share of `n` cases; with few cases, or without variation in the draws, it gets Wilson's interval. A single
    cluster gets none."""
    size = min(n, units)
    alone = units < 2 <= n  # a single cluster
    if found.value is None or alone or (found.interval is not None and size >= FEW):
        return found.model_copy(update={"n": n})
    return Figure(value=found.value, interval=wilson_interval(found.value * size, size), n=n)


def bootstrap_figure(name: str, value: float, drawn: Floats, n: int, units: int) -> Figure:
    """A figure with its bootstrap interval, or the reason why there is none."""
    if math.isnan(value):
        return Figure(value=None, n=n, why=UNDEFINED.get(name.partition(":")[0], ONE_VALUE) if n else NOTHING)
    interval = percentile_interval(drawn, LEVEL)
    why = None
    if units < FEWEST:
        why = ONE_UNIT if units < 2 else too_few_reason(units)
    elif interval is None or interval[0] == interval[1]:
        why = RARELY_DEFINED if interval is None else NO_DRAW_DIFFERS
    return Figure(value=value, interval=None if why else interval, n=n, why=why)


def too_few_reason(units: int) -> str:
    return f"{units} cases or clusters are too few, {FEWEST} are needed"
