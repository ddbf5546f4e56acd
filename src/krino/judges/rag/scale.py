"""The similarity scale: what a step is worth, and which finer scores belong to it."""

from __future__ import annotations

from functools import cache
from typing import get_args

from krino.judges.rag.labels import Similarity
from krino.judges.rag.tables import table


@cache
def worth_of(step: Similarity) -> float:
    return float(table("scoring")["similarity"][step])


def step_of(score: float) -> Similarity:
    """The step whose worth is nearest; midway, the higher one."""
    steps: tuple[Similarity, ...] = get_args(Similarity)
    return min(steps, key=lambda step: (round(abs(worth_of(step) - score), 9), -worth_of(step)))
