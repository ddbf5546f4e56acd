"""Runs, replies and labels hold texts of cases: their files are made for their owner, whatever the umask allows."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.cases.item import CaseItem
from krino.engine.batch import _WaitingCases
from krino.engine.interface import OpenCase
from krino.labellers.llm.batch.ledger import Ledger
from krino.labellers.llm.cache import ReplyCache
from krino.people.database import resolve_database_url
from krino.render.report import Report
from krino.writing import write_text
from toy_judge import ToyJudge


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_run_is_for_its_owner(tmp_path: Path) -> None:
    run = krino.run(ToyJudge, [{"text": "a good text"}], into=tmp_path / "runs" / "r")
    assert rights(run.folder) == 0o700
    kept = ["run.json", "judgements.jsonl", "judgements.index", "roll.jsonl", "views.jsonl", "records.jsonl"]
    made = ["report.html", "judgements.parquet"]
    assert {path.name: oct(rights(path)) for path in run.folder.iterdir()} == dict.fromkeys([*kept, *made], "0o600")
    assert rights(tmp_path / "runs") == 0o777  # a folder of the user's


def test_a_file_that_the_user_names_has_the_rights_of_the_users_files(tmp_path: Path) -> None:
    write_text(tmp_path / "out.md", "text")
    assert rights(tmp_path / "out.md") == 0o666


def test_replies_labels_and_batches_are_for_their_owner(tmp_path: Path) -> None:
    store = ReplyCache(tmp_path / "krino" / "replies.sqlite")
    store.put(b"k", b"v")
    files = list((tmp_path / "krino").iterdir())
    assert len(files) > 1  # the log beside it holds the same
    store.close()
    (tmp_path / "run").mkdir()
    ledger = Ledger(tmp_path / "run" / "batches")
    (tmp_path / "runs").mkdir()
    labels = Path(str(resolve_database_url(tmp_path / "runs", create=True).database))
    made = [*files, tmp_path / "run" / "batches" / "ledger.sqlite", labels]
    assert {rights(path) for path in made if path.exists()} == {0o600}
    assert {rights(tmp_path / "krino"), rights(tmp_path / "run" / "batches"), rights(labels.parent)} == {0o700}
    ledger.end(keep=False)


def test_cases_that_wait_for_a_batch_lie_in_no_file_with_a_name_and_come_back_as_they_were(tmp_path: Path) -> None:
    """They were pickles in the run folder, and whoever could write them ran code as the user."""
    waiting = _WaitingCases(tmp_path)
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    records: list[Any] = [{"text": "é \ud800", "n": [10**30, 1.5, float("inf"), None]}, None, {"deep": deep}]
    cases = [OpenCase(CaseItem(n, f"c{n}", record), f"{n:032x}") for n, record in enumerate(records)]
    for case in cases:
        waiting.add(1, case)
    assert list(tmp_path.iterdir()) == []
    found = {case.number: case for case in waiting.take(1)}
    assert [found[0], found[1]] == cases[:2]
    assert found[2] is cases[2]
    assert (waiting.numbers(), list(waiting.all())) == ([], [])


def test_a_full_disk_under_the_report_is_told_with_its_path_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Report, "add", full)
    with pytest.raises(krino.UsageProblem, match=r"r/report.html cannot be written: No space left.*make room and give"):
        krino.run(ToyJudge, [{"text": "a good text"}], into=tmp_path / "r")
    monkeypatch.undo()
    assert krino.run(ToyJudge, [{"text": "a good text"}], into=tmp_path / "r").manifest.state == "finished"


@pytest.mark.parametrize("name", ["run.json", "judgements.jsonl", "roll.jsonl", ".run.json.trying", "records.jsonl"])
def test_a_pipe_in_the_place_of_a_file_of_a_run_is_refused_or_passed_over_at_once(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "r"
    krino.run(ToyJudge, [{"text": "a good text"}], into=folder)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    for fresh in (False, True):
        try:
            krino.run(ToyJudge, [{"text": "a bad text"}], into=folder, fresh=fresh)
        except krino.UsageProblem as problem:
            assert name in str(problem)
