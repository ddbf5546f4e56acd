"""Sentence vectors: near for like meaning, the same in any company, cached within bounds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from krino.errors import UsageProblem
from krino.models.embedder import SIZE, Embedder, RecentVectors, embed
from krino.models.token_model import thread_count


def test_vectors_have_length_one_and_tell_meanings_apart() -> None:
    first, second, other = embed(["A man plays the guitar.", "Someone is playing guitar.", "Stocks fell on Friday."])
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-5)
    assert first @ second > 0.8
    assert first @ other < 0.2


def test_a_text_gives_the_same_vector_alone_and_in_company() -> None:
    texts = [f"Sentence {number} speaks of {'bridges and ' * (number % 9)}rivers." for number in range(40)]
    together = Embedder(2, cache_bytes=0).embed(texts)
    alone = np.vstack([Embedder(1, cache_bytes=0).embed([text]) for text in texts[:3]])
    assert np.abs(together[:3] - alone).max() < 1e-5


def test_what_was_embedded_once_is_known() -> None:
    embedder = Embedder(1)
    first = embedder.embed(["one", "two", "one"])
    assert (first[0] == first[2]).all()
    assert (embedder.embed(["two"])[0] == first[1]).all()
    assert embedder.embed([]).shape == (0, SIZE)


def test_known_vectors_are_bounded_in_bytes_and_the_oldest_go_first() -> None:
    recent = RecentVectors(4_000)
    vectors = np.zeros((3, SIZE), np.float32)
    recent.keep(["a", "b"], vectors[:2])
    recent.look_up(["a"])
    recent.keep(["c"], vectors[2:])
    assert set(recent.look_up(["a", "b", "c"])) == {"a", "c"}


def test_the_number_of_threads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRINO_THREADS", "3")
    assert thread_count() == 3
    monkeypatch.setenv("KRINO_THREADS", "many")
    with pytest.raises(UsageProblem, match="KRINO_THREADS"):
        thread_count()
    monkeypatch.delenv("KRINO_THREADS")
    assert thread_count() >= 1


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, krino; krino.judge, krino.llm; import krino.cli, krino.judges.rag.judge, krino.render.html;"
        "assert not {'numpy', 'onnxruntime'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
