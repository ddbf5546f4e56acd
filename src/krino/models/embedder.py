"""Turns sentences into vectors whose inner product says how near they are in meaning (English)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from threading import Lock

import numpy as np

from krino.models.token_model import Rows, TokenModel, thread_count, word_pieces

Vectors = Rows

SIZE = 384
_LONGEST = 256
"""Tokens of a text that count, as in the model's training."""
_BATCH_TOKENS = 128
"""Tokens run at once: more no longer fit the processor's cache and gain nothing."""
_CACHE_BYTES = 24_000_000
_ENTRY_OVERHEAD = 300
_LOADING = Lock()


def embed(texts: Sequence[str]) -> Vectors:
    """One vector of length one for each text; a text's vector does not depend on the others."""
    with _LOADING:  # two threads that come first at once must not load it twice
        embedder = _embedder()
    return embedder.embed(texts)


@cache
def _embedder() -> Embedder:
    return Embedder(thread_count())


class Embedder:
    """The model with its threads and the vectors it gave last."""

    def __init__(self, threads: int, cache_bytes: int = _CACHE_BYTES) -> None:
        self._model = TokenModel("minilm", threads, _BATCH_TOKENS)
        self._recent = RecentVectors(cache_bytes)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns the vectors of texts; recent ones are reused."""
        known = self._recent.look_up(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            fresh = self._model.run([word_pieces().encode(text, _LONGEST) for text in missing], "vector")
            known.update(zip(missing, fresh, strict=True))
            self._recent.keep(missing, fresh)
        result: Vectors = np.empty((len(texts), SIZE), np.float32)
        for place, text in enumerate(texts):
            result[place] = known[text]
        return result


class RecentVectors:
    """The vectors of the texts seen last, bounded in bytes; safe to share between threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def look_up(self, texts: Sequence[str]) -> dict[str, Vectors]:
        """Returns the vectors that are known, and counts them as used."""
        found: dict[str, Vectors] = {}
        with self._lock:
            for text in texts:
                vector = self._vectors.get(text)
                if vector is not None:
                    self._vectors.move_to_end(text)
                    found[text] = vector
        return found

    def keep(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Keeps vectors, and drops those that were not used for longest."""
        with self._lock:
            for text, vector in zip(texts, vectors, strict=True):
                if text not in self._vectors:
                    self._vectors[text] = vector.copy()  # a view would keep the whole batch alive
                    self._bytes += _cost(text)
            while self._bytes > self._most and self._vectors:
                text, _ = self._vectors.popitem(last=False)
                self._bytes -= _cost(text)

    def __len__(self) -> int:
        return len(self._vectors)


def _cost(text: str) -> int:
    """Bytes of an entry, at most: four for each character, the vector, and what Python adds."""
    return 4 * len(text) + 4 * SIZE + _ENTRY_OVERHEAD
