"""Ranks many systems from comparisons of two: the model of Bradley and Terry, a tie being half a win for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krino.stats.arrays import Floats

DRAWS = 500
_LEVEL = 0.95
_PRIOR = 0.5
"""Ties with an average opponent that every system is given, so that one that never lost has a finite strength."""
_ROUNDS = 500
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Ranked:
    """`strength`: the probability to win against an opponent of average strength; `low` and `high` bound it."""

    name: str
    strength: float
    low: float
    high: float
    games: int
    won: int
    tied: int
    level_with: tuple[str, ...] = ()
    """Others whose interval overlaps with this one: the data does not tell them apart."""


def rank(games: Sequence[tuple[str, str, float]], draws: int = DRAWS, seed: int = 0) -> list[Ranked]:
    """Ranks the systems, the strongest first, with bootstrap intervals. A game is two names and 1, 0.5 or 0 for the
    first of them."""
    names = sorted({name for one, other, _ in games for name in (one, other)})
    place = {name: number for number, name in enumerate(names)}
    ones = np.array([place[one] for one, _, _ in games], np.intp)
    others = np.array([place[other] for _, other, _ in games], np.intp)
    scores = np.array([score for _, _, score in games], np.float64)
    strength = _fit(len(names), ones, others, scores, np.ones(len(games)))
    generator = np.random.default_rng(seed)
    drawn = np.array(
        [
            _fit(len(names), ones, others, scores, np.bincount(picked, minlength=len(games)).astype(np.float64))
            for picked in (generator.integers(0, len(games), len(games)) for _ in range(draws))
        ]
    )
    low, high = np.quantile(drawn, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], axis=0)
    order = sorted(range(len(names)), key=lambda number: (-strength[number], names[number]))
    return [_ranked(number, names, strength, low, high, ones, others, scores) for number in order]


def _fit(count: int, ones: np.ndarray, others: np.ndarray, scores: Floats, weights: Floats) -> Floats:
    """Strengths by the steps of Zermelo, as probabilities against an average opponent."""
    wins = np.zeros((count, count))
    np.add.at(wins, (ones, others), weights * scores)
    np.add.at(wins, (others, ones), weights * (1 - scores))
    met = wins + wins.T
    power = np.ones(count)
    won = wins.sum(axis=1) + _PRIOR / 2
    for _ in range(_ROUNDS):
        shares = met / (power[:, None] + power[None, :])
        fresh = won / (shares.sum(axis=1) + _PRIOR / (power + 1.0))
        fresh /= np.exp(np.log(fresh).mean())
        done = bool(np.abs(fresh - power).max() < _NEAR)
        power = fresh
        if done:
            break
    found: Floats = power / (power + 1.0)
    return found


def _ranked(
    number: int,
    names: Sequence[str],
    strength: Floats,
    low: Floats,
    high: Floats,
    ones: np.ndarray,
    others: np.ndarray,
    scores: Floats,
) -> Ranked:
    """Returns one system's place in the ranking, with its counts and the systems it cannot be distinguished from."""
    as_one, as_other = ones == number, others == number
    won = int((scores[as_one] == 1).sum() + (scores[as_other] == 0).sum())
    tied = int((scores[as_one | as_other] == 0.5).sum())
    level = [
        names[other]
        for other in range(len(names))
        if other != number and low[number] <= high[other] and low[other] <= high[number]
    ]
    games = int((as_one | as_other).sum())
    return Ranked(
        names[number], float(strength[number]), float(low[number]), float(high[number]), games, won, tied, tuple(level)
    )
