"""What can be checked to the letter, as a value: when a text states it, and when two exclude each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

ValueKind = Literal["number", "date", "time", "weekday", "frequency"]


@dataclass(frozen=True, slots=True)
class Value:
    """A value as written in a text. It is stated elsewhere when all its `keys` are among what is offered there."""

    kind: ValueKind
    keys: tuple[str, ...]
    text: str
    start: int
    end: int
    unit: str = ""
    """What it measures (length, money), or the word it counts."""
    spelled: bool = False
    also: tuple[str, ...] = ()
    """Other keys under which it can be found: the bare number of a quantity, both readings of 05/03/1998."""

    @property
    def offers(self) -> tuple[str, ...]:
        """All keys under which the value can be found: its own, and others of the same amount."""
        return (*self.keys, *self.also)


def time_of_day(
    text: str, start: int, end: int, hour: int, minutes: int, *, plain: bool, bare: tuple[str, ...]
) -> Value:
    """Returns an hour of the day, which is found on a dial of twelve hours too.

    One that is not `plain` may be of either half. `bare`: the number that it is found under besides.
    """
    clock, time = f"#clock {(hour - 1) % 12 + 1}:{minutes:02}", f"#time {hour % 24}:{minutes:02}"
    key, other = (time, clock) if plain else (clock, time)
    return Value("time", (key,), text, start, end, also=(other, *bare))


def stated(value: Value, known: frozenset[str]) -> bool:
    """Does a text that offers these keys state the value? A bare number there may have left its unit out."""
    return known.issuperset(value.keys) or (value.kind == "number" and f"#bare {value.also[-1]}" in known)


def offered(values: Iterable[Value]) -> frozenset[str]:
    """Returns all keys under which these values can be found."""
    return frozenset(key for value in values for key in value.offers)


def comparable(value: Value, other: Value) -> bool:
    """Do two different values exclude each other where a text speaks of the same thing?"""
    if value.kind != other.kind:
        return False
    if value.kind == "number":
        return bool(value.unit) and (value.unit == other.unit or _is_other_measure(value, other))
    if value.kind != "date":
        return True
    ours, theirs = _fields(value), _fields(other)
    return any(ours[name] != theirs[name] for name in ours.keys() & theirs.keys())


def _is_other_measure(value: Value, other: Value) -> bool:
    """The same figure of two things that are measured: "60 pounds" for "60 tons"."""
    measured = all(one.keys[0].startswith("#") for one in (value, other))
    return measured and bool(value.also) and bool(other.also) and value.also[-1] == other.also[-1]


def _fields(value: Value) -> dict[str, str]:
    """The century, decade, year, month and day of a date by what they are; years are bare numbers."""
    keys = (*(key for key in reversed(value.also) if key.startswith(("#century", "#decade"))), *value.keys)
    return {key.split(" ")[0] if " " in key else "year": key for key in keys}
