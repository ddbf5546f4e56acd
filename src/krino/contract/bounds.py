"""What labels about one case may hold, as far as the case decides it: ids to choose from, lengths, ranges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Choice = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on one place of the labels, for endpoints that enforce a schema.

    Krino itself checks nothing by it: whether labels fit the case is decided by `Judge.check`.
    """

    choices: tuple[Choice, ...] | None = None
    """The only allowed values; None is among them if the place may be null."""
    least: int | None = None
    most: int | None = None
    """The number of items of a list or of characters of a text, or the value of a number."""
    fields: tuple[tuple[str, Bound], ...] = ()
    """For an object: the bounds of its fields; fields without one are left out."""
    item: Bound | None = None
    """For a list: the bound of every item."""
    items: tuple[Bound, ...] | None = None
    """For a list of fixed length: one bound for each item, in order."""
    any_of: tuple[Bound, ...] = ()
    """One of these must hold: for fields that depend on each other."""

    @classmethod
    def one_of(cls, choices: Iterable[Choice]) -> Bound:
        return cls(choices=tuple(choices))

    @classmethod
    def only(cls, value: Choice) -> Bound:
        return cls(choices=(value,))

    @classmethod
    def text(cls, most: int) -> Bound:
        """Bounds a text to at most `most` characters."""
        return cls(most=most)

    @classmethod
    def holding(cls, **fields: Bound) -> Bound:
        """Bounds an object by these bounds on its fields."""
        return cls(fields=tuple(fields.items()))

    @classmethod
    def many(cls, item: Bound | None = None, *, least: int = 0, most: int) -> Bound:
        """Bounds a list to `least` to `most` items, each within the same bound."""
        return cls(item=item, least=least, most=most)

    @classmethod
    def each(cls, items: Iterable[Bound]) -> Bound:
        """Bounds a list to exactly one item for each bound, in this order."""
        return cls(items=tuple(items))

    @classmethod
    def either(cls, *bounds: Bound) -> Bound:
        return cls(any_of=bounds)


NULL = Bound(choices=(None,))
"""The place must be null."""
EMPTY = Bound(least=0, most=0)
"""The list must be empty."""
