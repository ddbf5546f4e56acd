"""Another order for parts of a case whose order must not matter."""

from __future__ import annotations

from random import Random


def shuffled(count: int, draw: Random) -> tuple[int, ...] | None:
    """Returns the numbers 1 to `count` in an order that is not theirs; None where there is no other."""
    if count < 2:
        return None
    order = list(range(1, count + 1))
    while order == sorted(order):
        draw.shuffle(order)
    return tuple(order)
