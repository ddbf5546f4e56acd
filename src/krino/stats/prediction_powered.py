"""True rates and means from a judge's answers on all cases and human labels on a few.

A judge's own average is biased by its errors. Labels correct it; the judge's answers make the correction precise.
Every function estimates the value for the population that the cases were drawn from. Intervals are two-sided, 95 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from krino.stats.arrays import Floats
from krino.stats.confidence_intervals import NORMAL_95, Interval, student_95, wilson_interval

_STEPS = 60
_SMALLEST, _LARGEST = -14.0, 20.0
"""Natural logarithms of the multipliers between which an end of an interval lies."""
_MOST_TIMES_LABELS = 1e6
_MOST_LEVERAGE = 0.9


class Estimated(NamedTuple):
    value: float
    interval: Interval


@dataclass(frozen=True)
class Strata:
    """Groups of cases within which labels are a random sample, such as those with one answer of the judge.

    Arrays of shape (draws, strata), so that simulations take many samples at once; a real sample is one draw.
    """

    shares: Floats
    """The share of all cases that each stratum has."""
    hits: Floats
    """The number of labels with the value whose rate is estimated; a fraction if raters disagree."""
    labels: Floats
    """The number of labels; for weighted labels the effective number."""
    cases: float
    """The number of all cases, which the shares are computed from; infinite if they are known."""

    @classmethod
    def of(cls, shares: Floats, hits: Floats, labels: Floats, cases: float) -> Strata:
        """The strata of one real sample, as a single draw."""
        return cls(shares[np.newaxis], hits[np.newaxis], labels[np.newaxis], cases)

    def times(self, factor: float) -> Strata:
        """As if there were this many times the labels, with the same results."""
        return Strata(self.shares, self.hits * factor, self.labels * factor, self.cases)


def stratified_rate(strata: Strata) -> tuple[Floats, Floats, Floats]:
    """The rate, and both ends of its score interval, of each draw.

    Wilson's interval for several strata: a rate is excluded if the estimate lies 1.96 standard errors from it, where
    the standard error is that of the likeliest rates of the strata that add up to it. The usual interval (estimate plus
    and minus 1.96 of its own standard errors) is far too short for rare values and few labels. With one stratum and
    infinitely many cases it is Wilson's. Every stratum needs a label.
    """
    value = (strata.shares * strata.hits / strata.labels).sum(axis=1)
    low, high = _score_end(strata, value, 1.0), _score_end(strata, value, -1.0)
    low[(strata.hits <= 0).all(axis=1)] = 0.0
    high[(strata.hits >= strata.labels).all(axis=1)] = 1.0
    return value, low, high


def _score_end(strata: Strata, value: Floats, direction: float) -> Floats:
    """The rate below (direction 1) or above (-1) the value at which the score statistic is 1.96, by bisection.

    The likeliest rates that add up to a given one have one Lagrange multiplier; the further away the rate, the larger
    the multiplier.
    """
    near, far = np.full(len(value), _SMALLEST), np.full(len(value), _LARGEST)
    for _ in range(_STEPS):
        middle = (near + far) / 2
        rate, error = _restricted(strata, direction * np.exp(middle))
        outside = np.abs(value - rate) > NORMAL_95 * error  # without hits both are 0 near the value
        near, far = np.where(outside, near, middle), np.where(outside, middle, far)
    return _restricted(strata, direction * np.exp(far))[0]


def _restricted(strata: Strata, multiplier: Floats) -> tuple[Floats, Floats]:
    """The rate of each draw that belongs to a multiplier, and the standard error of its estimate there."""
    rates = _likeliest_rates(strata, multiplier[:, np.newaxis] * strata.shares)
    rate = (strata.shares * rates).sum(axis=1)
    within = (strata.shares**2 * rates * (1 - rates) / strata.labels).sum(axis=1)
    between = np.maximum((strata.shares * rates**2).sum(axis=1) - rate**2, 0.0) / strata.cases
    return rate, np.sqrt(within + between)


def _likeliest_rates(strata: Strata, pull: Floats) -> Floats:
    """The rates that solve hits/p - misses/(1 - p) = pull, in the form without cancellation."""
    centre = strata.labels + pull
    root = np.sqrt(np.maximum(centre**2 - 4 * pull * strata.hits, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(pull > 0, 2 * strata.hits / (centre + root), (centre - root) / (2 * pull))
    limited: Floats = np.clip(np.nan_to_num(rates), 0.0, 1.0)
    return limited


def share_labels(strata: Strata) -> Floats:
    """The share of further labels that each stratum of one draw should get (Neyman's allocation).

    Rates are smoothed, so that a stratum whose first labels agree is not passed over.
    """
    rates = (strata.hits[0] + 1) / (strata.labels[0] + 2)
    worth: Floats = strata.shares[0] * np.sqrt(rates * (1 - rates))
    shared: Floats = worth / worth.sum()
    return shared


def labels_to_halve(strata: Strata) -> float | None:
    """How many times as many labels would halve the interval; None if it needs more cases, not more labels."""
    _, low, high = stratified_rate(strata)
    wanted = (high[0] - low[0]) / 2

    def width(factor: float) -> float:
        _, low, high = stratified_rate(strata.times(factor))
        return float(high[0] - low[0])

    if width(_MOST_TIMES_LABELS) > wanted:
        return None
    few, many = 0.0, math.log(_MOST_TIMES_LABELS)
    for _ in range(30):
        middle = (few + many) / 2
        few, many = (few, middle) if width(math.exp(middle)) <= wanted else (middle, many)
    return math.exp(many)


def tuned_mean(labels: Floats, judged: Floats, others: Floats, weights: Floats | None = None) -> Estimated:
    """Prediction-powered mean with power tuning (Angelopoulos, Duchi and Zrnic 2023), as `ppi-python` computes it.

    `judged`: the judge's values of the labelled cases, `others`: of all other cases. `weights`: of the labels; then
    `others` must be all cases, because those that were not drawn are not like all if some are drawn more often.
    """
    tuned = _Tuned.of(labels, judged, others, weights)
    return tuned.with_interval(tuned.weighted - tuned.weighted.mean(), NORMAL_95)


def tuned_mean_for_few(labels: Floats, judged: Floats, others: Floats, weights: Floats | None = None) -> Estimated:
    """The estimate of `tuned_mean` with an interval that also holds for few labels.

    The power is fitted to the labels whose errors are measured, so that those errors look too small. Each is divided by
    one less its leverage (as the jackknife would), and the quantile is Student's. Where weights differ, errors count
    from their weighted mean: the weights alone make no spread.
    """
    tuned = _Tuned.of(labels, judged, others, weights)
    errors = tuned.weighted - tuned.counted * tuned.weighted.mean()
    return tuned.with_interval(errors / (1 - tuned.leverage), student_95(len(labels) - 2))


@dataclass(frozen=True)
class _Tuned:
    """A tuned estimate in its parts: the value, and what its variance is computed from."""

    value: float
    power: float
    counted: Floats
    """The weights of the labels, of mean 1."""
    weighted: Floats
    """By how much each label differs from its prediction, times its weight."""
    leverage: Floats
    of_others: float
    """The variance of the mean of the other cases."""

    @classmethod
    def of(cls, labels: Floats, judged: Floats, others: Floats, weights: Floats | None) -> _Tuned:
        """Computes the tuned estimate: fits the power, and corrects the judge's mean by the mean error of labels."""
        n = len(labels)
        counted = np.ones(n) if weights is None else weights / weights.mean()
        power = _power(labels, judged, others, counted)
        weighted = counted * (labels - power * judged)
        apart = counted * (judged - (counted * judged).mean()) ** 2
        spread = float(apart.sum())
        leverage = counted / n + (apart / spread if power > 0 and spread > 0 else 0.0)
        value = float(power * others.mean() + weighted.mean())
        of_others = float(others.var() / len(others))
        return cls(value, power, counted, weighted, np.minimum(leverage, _MOST_LEVERAGE), of_others)

    def with_interval(self, errors: Floats, quantile: float) -> Estimated:
        """The estimate with its interval, from the errors of the labels and the variance of the other cases."""
        variance = self.power**2 * self.of_others + float((errors**2).mean()) / len(errors)
        half = quantile * math.sqrt(variance)
        return Estimated(self.value, (self.value - half, self.value + half))


def _power(labels: Floats, judged: Floats, others: Floats, weights: Floats) -> float:
    """How much the judge's values are used: 0 not at all, 1 as in untuned prediction-powered inference."""
    start = others.mean() + (weights * (labels - judged)).mean()
    gradients, judged_gradients = weights * (labels - start), weights * (judged - start)
    spread = np.concatenate([judged_gradients, others - start]).var(ddof=1)
    if spread <= 0:
        return 0.0
    shared = ((gradients - gradients.mean()) * (judged_gradients - judged_gradients.mean())).mean()
    return float(np.clip(shared / ((1 + len(labels) / len(others)) * spread), 0.0, 1.0))


def rogan_gladen(labels: Floats, judged: NDArray[np.bool_], hits: float, cases: int) -> Estimated | None:
    """The rate from sensitivity and specificity, with the uncertainty of both (Lang and Reiczigel 2014).

    `labels` are 0 or 1 (or between, where raters disagree), `judged` the judge's answers of the same cases; `hits` of
    `cases` have that answer in the whole run. None if the labels have one class only, or if the judge is no better than
    chance. Labels must be a random sample.
    """
    positive, negative = float(labels.sum()), float((1 - labels).sum())
    if not positive or not negative or not cases:
        return None
    square = NORMAL_95**2
    sensitivity = (float(labels[judged].sum()) + 1) / (positive + 2)
    specificity = (float((1 - labels)[~judged].sum()) + 1) / (negative + 2)
    apparent, size = (hits + square / 2) / (cases + square), cases + square
    power = sensitivity + specificity - 1
    if power <= 0:
        return None
    rate = (apparent + specificity - 1) / power
    of_sensitivity = sensitivity * (1 - sensitivity) / (positive + 2)
    of_specificity = specificity * (1 - specificity) / (negative + 2)
    shift = 2 * square * (rate * of_sensitivity - (1 - rate) * of_specificity)
    variance = apparent * (1 - apparent) / size + rate**2 * of_sensitivity + (1 - rate) ** 2 * of_specificity
    half = NORMAL_95 * math.sqrt(variance) / power
    ends = (min(max(rate + shift + sign * half, 0.0), 1.0) for sign in (-1, 1))
    plain_power = float(labels[judged].sum()) / positive + float((1 - labels)[~judged].sum()) / negative - 1
    plain = (
        (hits / cases + float((1 - labels)[~judged].sum()) / negative - 1) / plain_power if plain_power > 0 else rate
    )
    return Estimated(min(max(plain, 0.0), 1.0), (next(ends), next(ends)))


def labels_alone(labels: Floats, weights: Floats | None = None, *, is_rate: bool) -> Estimated:
    """The classical estimate, which does without the judge: Wilson's interval for a rate, Student's for a mean."""
    counted = np.ones(len(labels)) if weights is None else weights
    value = float((counted * labels).sum() / counted.sum())
    size = effective_number(counted)
    if is_rate:
        low, high = wilson_interval(value * size, size) or (0.0, 1.0)
        return Estimated(value, (low, high))
    variance = float((counted**2 * (labels - value) ** 2).sum() / counted.sum() ** 2) * size / max(size - 1, 1.0)
    half = student_95(len(labels) - 1) * math.sqrt(variance)
    return Estimated(value, (value - half, value + half))


def effective_number(weights: Floats) -> float:
    """How many equally weighted labels are worth as much as these."""
    return float(weights.sum() ** 2 / (weights**2).sum()) if len(weights) else 0.0


def difference(one: Estimated, other: Estimated) -> Estimated:
    """The other less the one, from the intervals of both (Newcombe). Labels of the two must be separate samples."""
    value = other.value - one.value
    (low, high), (other_low, other_high) = one.interval, other.interval
    down = math.hypot(other.value - other_low, high - one.value)
    up = math.hypot(other_high - other.value, one.value - low)
    return Estimated(value, (value - down, value + up))
