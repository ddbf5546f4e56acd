"""`krino verify`: its exit codes, what it says, and that it asks nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from krino.cli import app
from toy_judge import ToyJudge

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"


@pytest.fixture(autouse=True)
def _plain_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.cli.runner.tune_memory", lambda: None)


def krino(*arguments: str, stdin: str | None = None) -> Any:
    return CliRunner().invoke(app, list(arguments), input=stdin, catch_exceptions=True)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "text": "good"}\n{"id": "b", "text": "bad"}\n')
    assert krino("judge", TOY, str(tmp_path / "cases.jsonl"), "--run", str(tmp_path / "r")).exit_code == 0
    return tmp_path / "r"


def test_all_follow(run: Path) -> None:
    done = krino("verify", str(run), str(run.with_name("cases.jsonl")), "--judge", TOY)
    assert done.exit_code == 0
    assert "All 2 verdicts follow from the recorded labels and the cases." in done.output


def test_one_changed_digit_ends_with_1_and_is_named(run: Path) -> None:
    journal = run / "judgements.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"score":1.0', b'"score":0.9'))
    done = krino("verify", str(run), str(run.with_name("cases.jsonl")), "--judge", TOY)
    assert done.exit_code == 1
    assert "1 of 2 verdicts follow from the recorded labels and the cases: 1 is edited." in done.output
    assert "verdict.score" in done.output
    found = orjson.loads(krino("verify", str(run), str(run.with_name("cases.jsonl")), "--judge", TOY, "--json").output)
    assert found["cases"][0]["differences"][0] == {"field": "verdict.score", "recorded": "0.9", "computed": "1.0"}
    assert found["sentence"].startswith("1 of 2")


def test_a_judge_that_only_the_folder_names_is_not_loaded(run: Path) -> None:
    done = krino("verify", str(run), str(run.with_name("cases.jsonl")))
    assert done.exit_code != 0
    assert "krino verify" in str(done.exception)
    assert krino("verify", str(run), str(run.with_name("cases.jsonl")), "--trust").exit_code == 0


def test_files_that_only_the_folder_names_are_not_opened(run: Path) -> None:
    done = krino("verify", str(run), "--judge", TOY)
    assert "cases.jsonl" in str(done.exception)
    assert "not opened unasked" in str(done.exception)


def test_cases_from_stdin_are_kept_and_need_no_name(tmp_path: Path) -> None:
    folder = str(tmp_path / "r")
    assert krino("judge", TOY, "-", "--run", folder, stdin='{"id": "a", "text": "good"}\n').exit_code == 0
    done = krino("verify", folder, "--judge", TOY)
    assert done.exit_code == 0
    assert "The verdict follows from the recorded labels and the cases." in done.output
