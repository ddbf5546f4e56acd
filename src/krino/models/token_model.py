"""Runs a model of word pieces: texts of like length together, whole batches on as many threads as asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from krino.errors import UsageProblem
from krino.models.wordpiece import WordPiece

Rows = NDArray[np.float32]

_THREADS = "KRINO_THREADS"


def thread_count() -> int:
    """The threads asked for in the environment, else one a core."""
    asked = os.environ.get(_THREADS, "").strip()
    if not asked:
        return os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise UsageProblem(f"{_THREADS} must be a whole number from 1, not {asked!r}")
    return int(asked)


@cache
def word_pieces() -> WordPiece:
    """The vocabulary that the models in the package share."""
    return WordPiece(files("krino.models") / "minilm" / "vocab.txt")


class TokenModel:
    """A network that takes token numbers and gives one row of numbers for each text."""

    def __init__(self, folder: str, size: int, threads: int, batch_tokens: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # whole batches go to the threads instead
        options.log_severity_level = 3
        data = (files("krino.models") / folder / "model.onnx").read_bytes()
        self._session: Any = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        self._threads = ThreadPoolExecutor(threads, f"krino-{folder}")
        self._size = size
        self._batch_tokens = batch_tokens

    def run(self, encoded: Sequence[list[int]]) -> Rows:
        """A row for each text, in their order."""
        rows: Rows = np.empty((len(encoded), self._size), np.float32)

        def work(batch: list[int]) -> None:
            rows[batch] = self._forward([encoded[place] for place in batch])

        for _ in self._threads.map(work, batches(encoded, self._batch_tokens)):
            pass
        return rows

    def _forward(self, texts: list[list[int]]) -> Rows:
        width = max(map(len, texts))
        ids = np.zeros((len(texts), width), np.int64)
        mask = np.zeros((len(texts), width), np.int64)
        for place, text in enumerate(texts):
            ids[place, : len(text)] = text
            mask[place, : len(text)] = 1
        rows: Rows = self._session.run(None, {"ids": ids, "mask": mask})[0]
        return rows


def batches(encoded: Sequence[list[int]], most_tokens: int) -> list[list[int]]:
    """Places by length, the longest first, so that little is padded; each batch holds at least one."""
    made: list[list[int]] = []
    width = 0
    for place in sorted(range(len(encoded)), key=lambda place: -len(encoded[place])):
        if not made or (len(made[-1]) + 1) * width > most_tokens:
            made.append([])
            width = len(encoded[place])
        made[-1].append(place)
    return made
