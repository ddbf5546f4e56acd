"""What the cases of a report are about, in as many words as the page has room for: fewer a case, the more cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from krino.text.clean import sound

_MOST_INPUTS = 3
_LONGEST, _LONGEST_IN_LARGE = 4_000, 200  # characters of one text that are looked at
_STEP = 8  # lengths are counted in steps of so many bytes
_TOO_SHORT = 60  # bytes: where every text would be shorter than this, the last ones are left out
_AROUND = 16  # bytes that a line has beside its texts


@dataclass(slots=True)
class OpeningWords:
    """Counts how long the texts are as they come; then says how much of each can be shown."""

    names: list[str] = field(default_factory=list)
    cases: int = 0
    """That have a text."""
    _lengths: list[Counter[int]] = field(default_factory=list)
    _cut: int | None = None

    def add(self, inputs: Mapping[str, str], *, large: bool) -> list[str]:
        """The texts of a case in the order of `names`, on one line each and not longer than any page could show."""
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
        """How many of the texts, and the most bytes of each, that fit into so many bytes; None: all of them whole."""
        room -= _AROUND * self.cases
        for count in range(len(self._lengths), 0, -1):
            longest = _longest(sum(self._lengths[:count], Counter()), room)
            if longest is None or longest >= _TOO_SHORT or count == 1:
                return count, longest
        return 0, None

    def cut_at(self, longest: int | None) -> int | None:
        """Where texts end that are not whole, given where the room for them ends; None where all are whole."""
        ends = [end for end in (longest, self._cut) if end is not None]
        return min(ends, default=None)

    def shown(self, texts: Sequence[str], count: int, longest: int | None) -> list[str]:
        """The first texts of a case, cut to so many bytes."""
        return [text if longest is None else _cut(text, longest) for text in texts[:count]]


def _longest(lengths: Counter[int], room: int) -> int | None:
    """The length at which texts must be cut so that all of them fit; None where none must."""
    steps = max(lengths, default=0)
    longer = list(accumulate(lengths[step] for step in range(steps, 0, -1)))[::-1]  # texts of at least so many steps
    taken = 0
    for step, texts in enumerate(longer, 1):
        taken += texts * _STEP
        if taken > room:
            return (step - 1) * _STEP
    return None


def _one_line(text: str, most: int) -> str:
    line = " ".join(sound(text[: 4 * most]).split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


def _cut(text: str, longest: int) -> str:
    data = text.encode()
    return text if len(data) <= longest else f"{data[: max(longest - 3, 0)].decode('utf-8', 'ignore')}…"
