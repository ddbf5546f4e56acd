"""Runs a model of word pieces: texts of like length together, batches on as many threads as asked for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from krino.errors import UsageProblem
from krino.models.wordpiece import WordPiece

# From 1.31 on onnxruntime reports each process to its maker, unless this is set before it is imported.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

Rows = NDArray[np.float32]

_THREADS = "KRINO_THREADS"
_BATCH_COST = 4
"""What a batch costs beside its tokens, in tokens."""


def thread_count() -> int:
    """The threads asked for in the environment (`KRINO_THREADS`), else one a core."""
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


class Hands:
    """The threads that run models. Whoever asks works too; others help while fewer than `threads` are at work.

    So a lone caller has all cores, and callers who come at the same time have one each and hand nothing over.
    """

    def __init__(self, threads: int) -> None:
        self._helpers = ThreadPoolExecutor(max(1, threads - 1), "krino-model")
        self._free = threads
        self._lock = Lock()

    def do(self, batches: Sequence[list[int]], work: Callable[[list[int]], None]) -> None:
        """Runs the work on all batches, in this thread and as many helpers as are free; returns when all are done."""
        left = iter(batches)  # each is taken once: one step of a list's iterator is not interrupted

        def take() -> None:
            for batch in left:
                work(batch)

        with self._lock:
            self._free -= 1
            helped = max(0, min(self._free, len(batches) - 1))
            self._free -= helped
        helpers = [self._helpers.submit(take) for _ in range(helped)]
        try:
            take()
            for helper in helpers:
                helper.result()
        finally:
            with self._lock:
                self._free += 1 + helped


@cache
def hands(threads: int) -> Hands:
    """The threads that all models share: they take turns, and together use no more than asked for."""
    return Hands(threads)


class TokenModel:
    """A network that takes token numbers and gives one row of numbers for each text, for each output that it has."""

    def __init__(self, folder: str, threads: int, batch_tokens: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1  # batches go to the threads instead
        options.log_severity_level = 3
        self._session: Any = onnxruntime.InferenceSession(_weights(folder), options, providers=["CPUExecutionProvider"])
        self._sizes = {output.name: int(output.shape[1]) for output in self._session.get_outputs()}
        self._needed_nodes = onnxruntime.RunOptions()
        self._needed_nodes.only_execute_path_to_fetches = True  # an output behind few layers does not cost all
        self._hands = hands(threads)
        self._batch_tokens = batch_tokens

    def run(self, encoded: Sequence[list[int]], output: str) -> Rows:
        """Runs the model on texts given as token numbers. Returns a row of this output for each, in their order."""
        rows: Rows = np.empty((len(encoded), self._sizes[output]), np.float32)

        def work(batch: list[int]) -> None:
            rows[batch] = self._forward([encoded[place] for place in batch], output)

        self._hands.do(batches([len(text) for text in encoded], self._batch_tokens), work)
        return rows

    def _forward(self, texts: list[list[int]], output: str) -> Rows:
        """Runs the model on one batch, padded to its longest text."""
        width = max(map(len, texts))
        ids = np.zeros((len(texts), width), np.int64)
        mask = np.zeros((len(texts), width), np.int64)
        for place, text in enumerate(texts):
            ids[place, : len(text)] = text
            mask[place, : len(text)] = 1
        rows: Rows = self._session.run([output], {"ids": ids, "mask": mask}, self._needed_nodes)[0]
        return rows


def _weights(folder: str) -> bytes:
    """Returns the weights, after checking them. They must be those that the notice names: it stands for them in the
    fingerprint of a judge."""
    home = files("krino.models") / folder
    data = (home / "model.onnx").read_bytes()
    if hashlib.sha256(data).hexdigest() not in (home / "NOTICE.md").read_text("utf-8"):
        raise UsageProblem(f"{home / 'model.onnx'} is not the model whose SHA-256 its NOTICE.md names: reinstall Krino")
    return data


def batches(lengths: Sequence[int], most_tokens: int) -> list[list[int]]:
    """Groups texts into batches, as lists of their places, the longest first; cut where least is computed: padding
    counts, and so does each batch.

    No batch holds more than `most_tokens`, padding included, except a single text that is longer.
    """
    places = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    least, begins = [0], [0]  # for each number of texts: the least cost, and where its last batch begins
    for end in range(1, len(places) + 1):
        start = end - 1
        cost, begin = least[start] + lengths[places[start]], start
        while start > 0 and (end - start + 1) * lengths[places[start - 1]] <= most_tokens:
            start -= 1
            cost, begin = min((cost, begin), (least[start] + (end - start) * lengths[places[start]], start))
        least.append(cost + _BATCH_COST)
        begins.append(begin)
    made: list[list[int]] = []
    end = len(places)
    while end:
        made.append(places[begins[end] : end])
        end = begins[end]
    return made[::-1]
