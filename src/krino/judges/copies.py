"""Finds what a labeller has listed twice: a copy with the same label counts once, one with another label is refused."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

ItemT = TypeVar("ItemT")


class Copy(NamedTuple):
    place: int
    first: int
    """The place of the item that it repeats."""
    agrees: bool
    """Whether both carry the same label."""


def find_copies(
    items: Sequence[ItemT], key: Callable[[ItemT], Hashable | None], label: Callable[[ItemT], object]
) -> list[Copy]:
    """Returns items that have the key of an earlier one, and whether their labels agree.

    Items whose key is None are copies of nothing.
    """
    first: dict[Hashable, int] = {}
    copies = []
    for place, item in enumerate(items):
        name = key(item)
        earlier = place if name is None else first.setdefault(name, place)
        if earlier != place:
            copies.append(Copy(place, earlier, label(item) == label(items[earlier])))
    return copies


def drop_copies(items: Sequence[ItemT], copies: Sequence[Copy]) -> list[ItemT]:
    """Returns the items without the copies that agree with what they repeat; contradicting ones stay."""
    dropped = {copy.place for copy in copies if copy.agrees}
    return [item for place, item in enumerate(items) if place not in dropped]
