"""Turns sentences into vectors whose inner product says how near they are in meaning (English)."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from krino.errors import UsageProblem
from krino.models.wordpiece import WordPiece

Vectors = NDArray[np.float32]

SIZE = 384
_LONGEST = 256
"""Tokens of a text that count, as in the model's training."""
_BATCH_TOKENS = 128
"""Tokens run at once: more no longer fit the processor's cache and gain nothing."""
_CACHE_BYTES = 24_000_000
_ENTRY_OVERHEAD = 300
_THREADS = "KRINO_THREADS"
_LOADING = Lock()


def embed(texts: Sequence[str]) -> Vectors:
    """One vector of length one for each text; a text's vector does not depend on the others."""
    with _LOADING:  # two threads that come first at once must not load it twice
        embedder = _embedder()
    return embedder.embed(texts)


def thread_count() -> int:
    """The threads asked for in the environment, else one a core."""
    asked = os.environ.get(_THREADS, "").strip()
    if not asked:
        return os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise UsageProblem(f"{_THREADS} must be a whole number from 1, not {asked!r}")
    return int(asked)


@cache
def _embedder() -> Embedder:
    return Embedder(thread_count())


class Embedder:
    """The model with its threads and the vectors it gave last."""

    def __init__(self, threads: int, cache_bytes: int = _CACHE_BYTES) -> None:
        folder = files("krino.models") / "minilm"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # whole batches go to the threads instead
        options.log_severity_level = 3
        data = (folder / "model.onnx").read_bytes()
        self._session: Any = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._pieces = WordPiece(folder / "vocab.txt")
        self._threads = ThreadPoolExecutor(threads, "krino-embedder")
        self._recent = RecentVectors(cache_bytes)

    def embed(self, texts: Sequence[str]) -> Vectors:
        known = self._recent.look_up(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            fresh = self._run([self._pieces.encode(text, _LONGEST) for text in missing])
            known.update(zip(missing, fresh, strict=True))
            self._recent.keep(missing, fresh)
        result: Vectors = np.empty((len(texts), SIZE), np.float32)
        for place, text in enumerate(texts):
            result[place] = known[text]
        return result

    def _run(self, encoded: Sequence[list[int]]) -> Vectors:
        """Texts of like length together, so that little is padded, on all threads."""
        vectors: Vectors = np.empty((len(encoded), SIZE), np.float32)
        batches = _batches(encoded)

        def work(batch: list[int]) -> None:
            vectors[batch] = self._forward([encoded[place] for place in batch])

        for _ in self._threads.map(work, batches):
            pass
        return vectors

    def _forward(self, rows: list[list[int]]) -> Vectors:
        width = max(map(len, rows))
        ids = np.zeros((len(rows), width), np.int64)
        mask = np.zeros((len(rows), width), np.int64)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        vectors: Vectors = self._session.run(None, {"ids": ids, "mask": mask})[0]
        return vectors


def _batches(encoded: Sequence[list[int]]) -> list[list[int]]:
    """Places by length, the longest first; each batch holds at least one."""
    batches: list[list[int]] = []
    width = 0
    for place in sorted(range(len(encoded)), key=lambda place: -len(encoded[place])):
        if not batches or (len(batches[-1]) + 1) * width > _BATCH_TOKENS:
            batches.append([])
            width = len(encoded[place])
        batches[-1].append(place)
    return batches


class RecentVectors:
    """The vectors of the texts seen last, bounded in bytes; safe to share between threads."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def look_up(self, texts: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        with self._lock:
            for text in texts:
                vector = self._vectors.get(text)
                if vector is not None:
                    self._vectors.move_to_end(text)
                    found[text] = vector
        return found

    def keep(self, texts: Sequence[str], vectors: Vectors) -> None:
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
