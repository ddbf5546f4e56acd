"""Strengths of Bradley and Terry, against cases whose result is known."""

from __future__ import annotations

import math
import random

import pytest

from krino.stats.bradley_terry import rank


def test_two_systems_have_their_odds() -> None:
    games = [("a", "b", 1.0)] * 300 + [("b", "a", 1.0)] * 100
    ranked = {one.name: one for one in rank(games, draws=50)}
    a, b = ranked["a"].strength, ranked["b"].strength
    odds = (a / (1 - a)) / (b / (1 - b))
    assert odds == pytest.approx(3.0, rel=0.02)
    assert (ranked["a"].won, ranked["b"].won, ranked["a"].games) == (300, 100, 400)


def test_strengths_are_found_again_and_lie_in_their_intervals() -> None:
    truth = {"a": 4.0, "b": 2.0, "c": 1.0, "d": 0.5}
    draw = random.Random(3)
    games = []
    for _ in range(1_500):
        one, other = draw.sample(sorted(truth), 2)
        games.append((one, other, float(draw.random() < truth[one] / (truth[one] + truth[other]))))
    mean = math.exp(sum(map(math.log, truth.values())) / len(truth))
    found = rank(games, draws=200)
    assert [one.name for one in found] == ["a", "b", "c", "d"]
    inside = [one.low <= (truth[one.name] / mean) / (truth[one.name] / mean + 1) <= one.high for one in found]
    assert sum(inside) >= 3


def test_one_that_never_lost_has_a_finite_strength() -> None:
    (best, *_) = rank([("a", "b", 1.0)] * 20 + [("b", "c", 1.0)] * 20, draws=50)
    assert best.name == "a"
    assert 0.5 < best.strength < 1


def test_ties_count_half_for_each() -> None:
    one, other = rank([("a", "b", 0.5)] * 10, draws=50)
    assert one.strength == pytest.approx(other.strength)
    assert (one.tied, one.level_with) == (10, (other.name,))
