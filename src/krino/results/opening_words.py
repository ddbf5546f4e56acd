"""Selects the first words of each case for the table of a report: the more cases, the fewer words for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from krino.text.clean import sound

_MOST_INPUTS = 3
_LONGEST, _LONGEST_IN_LARGE = 4_000, 200  # characters of one text that are read
_STEP = 8  # lengths are counted in steps of 8 bytes
_TOO_SHORT = 60  # bytes: if texts would be shorter than this, the last inputs are left out
_AROUND = 16  # bytes of a line besides its texts


@dataclass(slots=True)
class OpeningWords:
    """Counts the lengths of texts, then computes how much of each fits on the page."""

    names: list[str] = field(default_factory=list)
    cases: int = 0
    """The number of cases with a text."""
    _lengths: list[Counter[int]] = field(default_factory=list)
    _cut: int | None = None

    def add(self, inputs: Mapping[str, str], *, large: bool) -> list[str]:
        """Counts the lengths of the texts of a case, and returns them in the order of `names`; an empty list if all are
        empty.

        Each is on one line and cut to the longest that a page can show. Only the first few inputs are kept.
        """
        texts = [""] * len(self.names)
        for name, text in inputs.items():
            if name not in self.names:
                if len(self.names) == _MOST_INPUTS:
                    continue
                self.names.append(name)
                self._lengths.append(Counter())
                texts.append("")
            place, most = self.names.index(name), _LONGEST_IN_LARGE if large else _LONGEST
            texts[place] = _one_line(str(text), most)
            if texts[place].endswith("…") and len(text) > most:
                self._cut = min(most, self._cut or most)
            self._lengths[place][len(texts[place].encode()) // _STEP + 1] += 1
        self.cases += any(texts)
        return texts if any(texts) else []

    def fitting(self, room: int) -> tuple[int, int | None]:
        """How many texts of each case fit into `room` bytes, and the maximum bytes of each; None if all fit whole."""
        room -= _AROUND * self.cases
        for count in range(len(self._lengths), 0, -1):
            longest = _longest(sum(self._lengths[:count], Counter()), room)
            if longest is None or longest >= _TOO_SHORT or count == 1:
                return count, longest
        return 0, None

    def cut_at(self, longest: int | None) -> int | None:
        """The length of cut texts, given the length that fits; None if no text is cut."""
        ends = [end for end in (longest, self._cut) if end is not None]
        return min(ends, default=None)

    def shown(self, texts: Sequence[str], count: int, longest: int | None) -> list[str]:
        """The first texts of a case, cut to `longest` bytes."""
        return [text if longest is None else _cut(text, longest) for text in texts[:count]]


def _longest(lengths: Counter[int], room: int) -> int | None:
    """The length to cut texts to so that all of them fit; None if none needs to be cut."""
    steps = max(lengths, default=0)
    # The number of texts that are at least 1, 2, ... steps long.
    longer = list(accumulate(lengths[step] for step in range(steps, 0, -1)))[::-1]
    taken = 0
    for step, texts in enumerate(longer, 1):
        taken += texts * _STEP
        if taken > room:
            return (step - 1) * _STEP
    return None


def _one_line(text: str, most: int) -> str:
    """The text on one line, with `…` at its end if it is longer than `most` characters."""
    line = " ".join(sound(text[: 4 * most]).split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


def _cut(text: str, longest: int) -> str:
    """The text cut to `longest` bytes, `…` included."""
    data = text.encode()
    return text if len(data) <= longest else f"{data[: max(longest - 3, 0)].decode('utf-8', 'ignore')}…"
