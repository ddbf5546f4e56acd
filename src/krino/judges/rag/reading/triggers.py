"""A cheap first look at a text: whether it holds any of many pieces, one of which every text of some kind holds."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_WORDS = 16_384


class Triggers:
    """The pieces, in lower case, with no white space but plain spaces. Words that have to do with none of them are
    remembered: words come back."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = tuple(pieces)
        self._parts = frozenset(map(_longest_part, self._pieces))
        self._untouched: set[str] = set()

    def stand_in(self, text: str) -> bool:
        """Whether one of them stands in this text, which is in lower case."""
        words = text.split()
        if self._untouched.issuperset(words):  # as most texts are, once some have been seen
            return False
        unknown = set(words).difference(self._untouched)
        if not any(map(self._is_touched, unknown)):
            if len(self._untouched) + len(unknown) > _MOST_WORDS:
                self._untouched.clear()
            self._untouched |= unknown
            return False
        return any(piece in text for piece in self._pieces)

    def _is_touched(self, word: str) -> bool:
        """Whether a word between two spaces could be what such a piece begins, goes on or ends with."""
        return any(
            part in word and (not opens or word.startswith(part)) and (not closes or word.endswith(part))
            for part, opens, closes in self._parts
        )


def _longest_part(piece: str) -> tuple[str, bool, bool]:
    """The longest stretch of a piece without a space, and whether a word must begin and end with it."""
    parts = piece.split(" ")
    place = max(range(len(parts)), key=lambda number: len(parts[number]))
    return parts[place], place > 0, place < len(parts) - 1
