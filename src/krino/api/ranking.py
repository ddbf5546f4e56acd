"""One table of many systems from a run of comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

from krino.api.recorded_run import Run, load_run
from krino.errors import UsageProblem
from krino.stats.bradley_terry import Ranked, rank

WHO = ("system_a", "system_b")
_MOST_SYSTEMS = 200


@dataclass(frozen=True, slots=True)
class Ranking:
    """`turned`: comparisons whose label turned with the order; `longer`: of those decided, how many the longer won."""

    systems: list[Ranked]
    games: int
    ties: int
    turned: int
    decided: int
    longer: int
    left_out: int
    """Cases without a verdict or without the names of both systems."""


def rank_systems(run: str | PathLike[str] | Run, by: tuple[str, str] = WHO, field: str = "score") -> Ranking:
    """Ranks the systems that two columns of the metadata name, by a field that is 1 where the first of them won.

    Strengths are those of Bradley and Terry, with intervals from resampled cases.
    """
    known = run if isinstance(run, Run) else load_run(run)
    games: list[tuple[str, str, float]] = []
    ties = turned = decided = longer = left_out = 0
    for record in known.records():
        game = _read_game(record, by, field)
        if game is None:
            left_out += 1
            continue
        games.append(game)
        verdict = record["verdict"]
        ties += game[2] == 0.5
        turned += verdict.get("position_bias") is True
        decided += verdict.get("longer_won") is not None
        longer += verdict.get("longer_won") is True
    names = {name for one, other, _ in games for name in (one, other)}
    if len(names) < 2:
        raise UsageProblem(
            f"{known.folder}: no two systems to rank; the cases must name them in {by[0]} and {by[1]} (or --by A,B)"
        )
    if len(names) > _MOST_SYSTEMS:
        raise UsageProblem(f"{known.folder}: {len(names)} systems; {_MOST_SYSTEMS} at most. Is --by right?")
    return Ranking(rank(games), len(games), ties, turned, decided, longer, left_out)


def _read_game(record: Mapping[str, Any], by: tuple[str, str], field: str) -> tuple[str, str, float] | None:
    """Returns both names and the score of one comparison, or None if it does not count."""
    verdict, metadata = record.get("verdict"), record.get("metadata") or {}
    names = [metadata.get(name) for name in by]
    if (
        record.get("status") != "ok"
        or not isinstance(verdict, Mapping)
        or not all(isinstance(name, str) for name in names)
    ):
        return None
    score = verdict.get(field)
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score) or not 0 <= score <= 1:
        return None
    return (str(names[0]), str(names[1]), float(score)) if names[0] != names[1] else None
