"""A table from content hash to one whole number, in 24 bytes an entry, however many there are.

A dictionary of ten million hashes takes gigabytes. Here sorted arrays hold them; new entries wait in a small dictionary
until there are enough to be worth sorting in. The whole hash is compared, never a part of it: the author of
the cases could find two that share eight bytes, and have one judged by the verdict of the other.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

MOST_WAITING = 1 << 17
BYTES = 24
"""Of one entry in `HashTable.to_bytes`."""
_HALF = (1 << 64) - 1


class HashTable:
    """A table from content hash (32 hexadecimal digits) to a whole number of at most 63 bits."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._firsts, self._seconds, self._values = array("Q"), array("Q"), array("q")
        """The halves of each hash, sorted by the first half, and the values."""
        self._waiting: dict[int, int] = {}

    def get(self, digest: str) -> int | None:
        return self._known(int(digest, 16))

    def set(self, digest: str, value: int) -> None:
        """Sets the value of a digest."""
        number = int(digest, 16)
        if number in self._waiting:
            self._waiting[number] = value
            return
        place = self._place(number)
        if place is not None:
            self._values[place] = value
            return
        self._wait(number, value)

    def add(self, digest: str, value: int) -> int:
        """Returns the value that the hash has already; if it has none, sets `value` and returns that."""
        number = int(digest, 16)
        if (known := self._known(number)) is not None:
            return known
        self._wait(number, value)
        return value

    def __len__(self) -> int:
        return len(self._firsts) + len(self._waiting)

    # --- a table that is complete ------------------------------------------------------------------

    def place(self, digest: str) -> int | None:
        """Returns the place of a hash among `values`; None where it has no value. Valid until something is added."""
        if self._waiting:
            self._sort_in()
        return self._place(int(digest, 16))

    def value_at(self, place: int) -> int:
        return self._values[place]

    def values(self) -> NDArray[np.int64]:
        """Returns all values, in the order of their hashes."""
        if self._waiting:
            self._sort_in()
        return np.frombuffer(self._values, np.int64)

    def to_bytes(self) -> list[memoryview]:
        """Returns the columns of the table, for a file."""
        if self._waiting:
            self._sort_in()
        return [memoryview(column).cast("B") for column in (self._firsts, self._seconds, self._values) if column]

    @classmethod
    def from_bytes(cls, data: bytes) -> HashTable:
        """Makes the table that `to_bytes` gave. Bytes that are no table give one in which some hashes are not found."""
        table, size = cls(), len(data) // 3
        for number, column in enumerate((table._firsts, table._seconds, table._values)):
            column.frombytes(memoryview(data)[number * size : (number + 1) * size])
        return table

    # --- inside ------------------------------------------------------------------------------------

    def _known(self, number: int) -> int | None:
        """Returns the value of a number, or None."""
        if (waiting := self._waiting.get(number)) is not None:
            return waiting
        place = self._place(number)
        return None if place is None else self._values[place]

    def _wait(self, number: int, value: int) -> None:
        """Adds a new entry to those that wait, and sorts them in when there are enough."""
        self._waiting[number] = value
        if len(self._waiting) >= self._most_waiting:
            self._sort_in()

    def _place(self, number: int) -> int | None:
        """Returns the position of a number in the sorted table, or None."""
        firsts = self._firsts
        if not firsts:
            return None
        first, second = number >> 64, number & _HALF
        place = bisect_left(firsts, first)
        while place < len(firsts) and firsts[place] == first:
            if self._seconds[place] == second:
                return place
            place += 1
        return None

    def _sort_in(self) -> None:
        """Merges the waiting entries into the sorted table."""
        self._firsts.extend(number >> 64 for number in self._waiting)
        self._seconds.extend(number & _HALF for number in self._waiting)
        self._values.extend(self._waiting.values())
        self._waiting.clear()
        order = np.argsort(np.frombuffer(self._firsts, np.uint64), kind="stable")
        for column in (self._firsts, self._seconds, self._values):  # one after another, in place: no second table
            values = np.frombuffer(column, column.typecode)
            values[:] = values[order]
