"""Compact lists of texts and values: millions of cases in megabytes, where Python objects would take gigabytes."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krino.stats.arrays import Floats

Longs = NDArray[np.int64]

NULL, ABSENT, NO_CODE = -1, -2, -3
"""In place of a code: the value is null; there is no verdict or no such field; the value is not a code."""


class Texts:
    """An append-only list of short texts, stored as UTF-8 with eight more bytes each."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("Q")

    def append(self, text: str) -> None:
        self._bytes += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._bytes))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> str:
        begin = self._ends[place - 1] if place else 0
        return self._bytes[begin : self._ends[place]].decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def at(self, places: NDArray[np.intp]) -> Texts:
        """The texts at some places."""
        taken = Texts()
        for place in places:
            taken.append(self[int(place)])
        return taken

    def hashes(self) -> Longs:
        """A hash of each text, randomised for each process, so that nobody can construct collisions."""
        return np.fromiter(map(hash, self), np.int64, len(self))

    def same_as(self, other: Texts) -> bool:
        """Are both lists equal?"""
        return self._ends == other._ends and self._bytes == other._bytes


@dataclass(slots=True)
class GrowingColumn:
    """The values of one field, line by line. Parts that no value needs are not stored."""

    codes: array[int] = field(default_factory=lambda: array("i"))
    numbers: array[float] | None = None
    marks: array[int] | None = None
    """Hashes of texts; 0 elsewhere."""

    def add(self, start: int, size: int, rows: NDArray[np.intp], numbers: Floats, codes: Longs) -> None:
        """Adds values for some `rows` of `size` lines from `start` on; a code below `NO_CODE` is the hash of a text."""
        self.fill(start)
        is_text = codes < NO_CODE
        _append_lines(self.codes, size, rows, np.where(is_text, NO_CODE, codes).astype(np.int32), ABSENT)
        if self.numbers is None and not np.isnan(numbers).all():
            self.numbers = array("d", [nan]) * start
        if self.numbers is not None:
            _append_lines(self.numbers, size, rows, numbers, nan)
        if self.marks is None and is_text.any():
            self.marks = array("q", [0]) * start
        if self.marks is not None:
            _append_lines(self.marks, size, rows, np.where(is_text, codes, 0), 0)

    def fill(self, length: int) -> None:
        """Append lines without this field, up to `length`."""
        missing = length - len(self.codes)
        self.codes.extend(array("i", [ABSENT]) * missing)
        if self.numbers is not None:
            self.numbers.extend(array("d", [nan]) * missing)
        if self.marks is not None:
            self.marks.extend(array("q", [0]) * missing)


def _append_lines(column: array[Any], size: int, rows: NDArray[np.intp], values: NDArray[Any], nothing: float) -> None:
    """Appends `size` lines to a column: the values at their `rows`, `nothing` at all others."""
    lines = np.full(size, nothing, values.dtype)
    lines[rows] = values
    column.frombytes(lines.tobytes())


def constant_column(value: float, length: int) -> Floats:
    """A read-only column of one repeated value that takes no memory."""
    return np.broadcast_to(np.float64(value), length)
