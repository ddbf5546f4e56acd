"""What an answer about one case may hold, as far as it is known beforehand: ids to choose from, lengths, ranges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Choice = str | int | bool | None


@dataclass(frozen=True, slots=True)
class Bound:
    """Bounds one place of the labels. Endpoints that hold replies to a schema are told; nothing is checked by it.

    Whether labels fit the case is for `Judge.check` to say, whoever gave them.
    """

    choices: tuple[Choice, ...] | None = None
    """The only values there are; None among them where the place may be null."""
    least: int | None = None
    most: int | None = None
    """Of the items of a list, of the characters of a text, or of a number itself."""
    fields: tuple[tuple[str, Bound], ...] = ()
    """Of an object: the bounds of its fields, those without one left out."""
    item: Bound | None = None
    """Of a list: what holds for every item."""
    items: tuple[Bound, ...] | None = None
    """Of a list: one bound for each item, in order, and so many items."""
    any_of: tuple[Bound, ...] = ()
    """One of these holds: for what fields may hold together."""

    @classmethod
    def one_of(cls, choices: Iterable[Choice]) -> Bound:
        return cls(choices=tuple(choices))

    @classmethod
    def only(cls, value: Choice) -> Bound:
        return cls(choices=(value,))

    @classmethod
    def text(cls, most: int) -> Bound:
        """A text of at most so many characters."""
        return cls(most=most)

    @classmethod
    def holding(cls, **fields: Bound) -> Bound:
        """An object with these bounds on its fields."""
        return cls(fields=tuple(fields.items()))

    @classmethod
    def many(cls, item: Bound | None = None, *, least: int = 0, most: int) -> Bound:
        """A list of so many items, each within the same bound."""
        return cls(item=item, least=least, most=most)

    @classmethod
    def each(cls, items: Iterable[Bound]) -> Bound:
        """A list with exactly one item for each bound, in this order."""
        return cls(items=tuple(items))

    @classmethod
    def either(cls, *bounds: Bound) -> Bound:
        return cls(any_of=bounds)


NULL = Bound(choices=(None,))
"""The place must be null."""
EMPTY = Bound(least=0, most=0)
"""The list must be empty."""
