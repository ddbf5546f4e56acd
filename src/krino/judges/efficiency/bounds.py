"""Limits what labels of one trace can hold: each step once, redundant ones because of an earlier step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import get_args

from krino.contract.bounds import NULL, Bound
from krino.judges.efficiency.labels import StepLabelName

_WHY, _SHORT, _SEQUENCE = Bound.text(200), Bound.text(60), Bound.text(600)
_MOST_EARLIER = 30
_NOT_REDUNDANT = tuple(name for name in get_args(StepLabelName) if name != "redundant")


@lru_cache(maxsize=1_024)
def limit_labels(wanted: tuple[str, ...], known: tuple[str, ...], exact: bool) -> Bound:
    """Returns what the labels of these steps may hold. `wanted` are the steps to label, in order; `known` those that
    are shown, in the order of the trace."""
    if exact:
        return Bound.holding(
            shortest=_SHORT, steps=Bound.each(_bound_step(step, known[: known.index(step)]) for step in wanted)
        )
    because = Bound.one_of((*known, None))
    step = Bound.holding(step=Bound.one_of(wanted), why=_WHY, because_of=because)
    return Bound.holding(shortest=_SEQUENCE, steps=Bound.many(step, least=len(wanted), most=len(wanted)))


def _bound_step(step: str, earlier: Sequence[str]) -> Bound:
    """Returns the labels one step may have; redundant only because of an earlier step."""
    plain = Bound.holding(step=Bound.only(step), label=Bound.one_of(_NOT_REDUNDANT), why=_SHORT, because_of=NULL)
    if not earlier:
        return plain
    because = Bound.one_of(earlier[-_MOST_EARLIER:])
    redundant = Bound.holding(step=Bound.only(step), label=Bound.only("redundant"), why=_SHORT, because_of=because)
    return Bound.either(plain, redundant)
