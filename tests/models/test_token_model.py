"""How texts are put together for a model, and who runs them."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from krino.errors import UsageProblem
from krino.models.token_model import Hands, TokenModel, batches


def test_every_text_is_in_one_batch_and_no_batch_is_too_large() -> None:
    rng = random.Random(7)
    for _ in range(50):
        lengths = [rng.randrange(2, 200) for _ in range(rng.randrange(0, 60))]
        made = batches(lengths, 128)
        assert sorted(place for batch in made for place in batch) == list(range(len(lengths)))
        assert all(len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= 128 for batch in made)


def test_short_texts_do_not_wait_in_the_company_of_a_long_one() -> None:
    assert batches([8, 40, 9, 8], 128) == [[1], [2, 0, 3]]


def test_texts_of_like_length_go_together() -> None:
    assert batches([17, 18, 17, 18], 128) == [[1, 3, 0, 2]]


def test_one_who_is_alone_is_helped() -> None:
    threads, meet = set[int](), threading.Barrier(2, timeout=60)

    def work(batch: list[int]) -> None:
        threads.add(threading.get_ident())
        meet.wait()

    Hands(2).do([[1], [2]], work)
    assert len(threads) == 2


def test_two_at_the_same_time_have_a_thread_each() -> None:
    hands, threads = Hands(2), set[int]()
    began, end = threading.Event(), threading.Event()

    def hold(batch: list[int]) -> None:
        began.set()
        end.wait(60)

    def work(batch: list[int]) -> None:
        threads.add(threading.get_ident())
        end.wait(0.05)  # time in which a helper would take the next one

    other = threading.Thread(target=hands.do, args=([[0]], hold))
    other.start()
    assert began.wait(60)
    hands.do([[1], [2], [3]], work)
    end.set()
    other.join()
    assert threads == {threading.get_ident()}


def test_what_goes_wrong_is_told_and_the_threads_are_free_again() -> None:
    hands = Hands(2)

    def fails(batch: list[int]) -> None:
        raise ValueError(f"batch {batch}")

    for _ in range(3):
        with pytest.raises(ValueError, match="batch"):
            hands.do([[1], [2]], fails)
    done: list[int] = []
    hands.do([[1], [2], [3]], done.extend)
    assert sorted(done) == [1, 2, 3]


def test_only_the_weights_that_the_notice_names_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.models.token_model.files", lambda _: tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"no network")
    (tmp_path / "NOTICE.md").write_text(f"| `model.onnx` | `{hashlib.sha256(b'another').hexdigest()}` |\n")
    with pytest.raises(UsageProblem, match=r"model.onnx is not the model whose SHA-256 its NOTICE.md names"):
        TokenModel("", 1, 1)


def test_no_model_leaves_or_sends_anything_of_a_process(tmp_path: Path) -> None:
    """onnxruntime keeps what it reports to its maker in the user's cache folder."""
    code = "from krino.models.entailment import entail; entail([('It is open.', 'It is closed.')])"
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / ".cache")}
    done = subprocess.run([sys.executable, "-c", code], env={**kept, **home}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
