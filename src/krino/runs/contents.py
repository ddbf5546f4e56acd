"""What is known of each content, found by its hash: one number a content, in 24 bytes, however many there are.

A dictionary of ten million hashes takes gigabytes. Here they stand sorted in arrays; what is new waits in a small
dictionary until there is enough of it to be worth sorting in. The whole hash is compared, never a part of it: whoever
writes the cases could find two that share eight bytes, and have one judged by the other's verdict.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left

import numpy as np

MOST_WAITING = 1 << 17
_HALF = (1 << 64) - 1


class Contents:
    """A table from content hash (32 hexadecimal digits) to a whole number of at most 63 bits."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._firsts, self._seconds, self._values = array("Q"), array("Q"), array("q")
        """The halves of each hash, sorted by the first, and what is known."""
        self._waiting: dict[int, int] = {}

    def get(self, digest: str) -> int | None:
        return self._known(int(digest, 16))

    def set(self, digest: str, value: int) -> None:
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
        """What is known of a content already; where nothing is, `value` from now on."""
        number = int(digest, 16)
        if (known := self._known(number)) is not None:
            return known
        self._wait(number, value)
        return value

    def __len__(self) -> int:
        return len(self._firsts) + len(self._waiting)

    def _known(self, number: int) -> int | None:
        if (waiting := self._waiting.get(number)) is not None:
            return waiting
        place = self._place(number)
        return None if place is None else self._values[place]

    def _wait(self, number: int, value: int) -> None:
        self._waiting[number] = value
        if len(self._waiting) >= self._most_waiting:
            self._sort_in()

    def _place(self, number: int) -> int | None:
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
        self._firsts.extend(number >> 64 for number in self._waiting)
        self._seconds.extend(number & _HALF for number in self._waiting)
        self._values.extend(self._waiting.values())
        self._waiting.clear()
        order = np.argsort(np.frombuffer(self._firsts, np.uint64), kind="stable")
        for column in (self._firsts, self._seconds, self._values):  # one after another, in place: no second table
            sorted_in = np.frombuffer(column, column.typecode)
            sorted_in[:] = sorted_in[order]
