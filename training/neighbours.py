"""Finds sentences that share rare words with a text, as the judge does when it gathers what a claim could rest on."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

_WORD = re.compile(r"[a-z0-9]{4,}")
_MOST_PLACES = 60
"""A word that stands in more sentences tells them apart no longer."""


class Neighbours:
    """An index of sentences by their rare words."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.sentences = list(dict.fromkeys(sentences))
        places: dict[str, list[int]] = defaultdict(list)
        for place, sentence in enumerate(self.sentences):
            for word in set(_WORD.findall(sentence.lower())):
                places[word].append(place)
        self._places = {word: found for word, found in places.items() if len(found) <= _MOST_PLACES}

    def nearest(self, text: str, count: int) -> list[str]:
        """The sentences that share most with the text, rare words counting more; never the text itself."""
        shared: dict[int, float] = defaultdict(float)
        for word in set(_WORD.findall(text.lower())):
            found = self._places.get(word, ())
            for place in found:
                shared[place] += 1 / len(found)
        best = sorted(shared, key=lambda place: (-shared[place], place))[: count + 1]
        return [self.sentences[place] for place in best if self.sentences[place] != text][:count]
