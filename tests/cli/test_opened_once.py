"""An input is opened once in a command, however often its start is looked at."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from krino.cli import app
from krino.runs.views import VIEWS

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:ToyJudge"
CASES = [{"id": f"c{number}", "text": f"a good text {number}", "answer": "x"} for number in range(30)]
TRACES = [
    {"id": f"t{number}", "task": "Add.", "steps": [{"thought": "one and one", "action": "add(1, 1)"}], "answer": "2"}
    for number in range(3)
]
_opened: list[str] | None = None


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _opened is not None and not isinstance(arguments[0], int):
        _opened.append(os.path.realpath(os.fsdecode(arguments[0])))


@pytest.fixture(scope="module")
def hooked() -> None:
    sys.addaudithook(_note)  # which Python never forgets


@pytest.fixture
def opened(hooked: None) -> Iterator[list[str]]:
    """The files that were opened since, by Python, in this process."""
    global _opened
    _opened = []
    yield _opened
    _opened = None


def write(path: Path, cases: list[dict[str, Any]]) -> Path:
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(lines.encode()))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(cases[0]))
            table.writeheader()
            table.writerows(cases)
    else:
        path.write_text(json.dumps(cases) if path.suffix == ".json" else lines)
    return path


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.json", "cases.csv", "cases.jsonl.gz"])
@pytest.mark.parametrize("flags", [(), ("--map", "text=answer"), ("--dry-run",)], ids=["plain", "mapped", "dry"])
def test_a_file_is_opened_once(tmp_path: Path, opened: list[str], name: str, flags: tuple[str, ...]) -> None:
    path = write(tmp_path / name, CASES)
    opened.clear()
    flags = (*flags, "--case-timeout", "0", "--workers", "1")
    done = CliRunner().invoke(app, ["judge", TOY, str(path), "--run", str(tmp_path / "run"), *flags])
    assert done.exit_code == 0, done.output
    assert opened.count(os.path.realpath(path)) == 1


def test_records_that_may_lie_in_several_lines_are_looked_at_ahead_in_the_same_opening(
    tmp_path: Path, opened: list[str]
) -> None:
    path = write(tmp_path / "traces.jsonl", TRACES)
    opened.clear()
    done = CliRunner().invoke(app, ["judge", "efficiency", str(path), "--run", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert opened.count(os.path.realpath(path)) == 1


def test_each_file_of_a_folder_and_each_shard_is_opened_once(tmp_path: Path, opened: list[str]) -> None:
    (tmp_path / "cases").mkdir()
    paths = [write(tmp_path / "cases" / f"{number}.jsonl", CASES[number : number + 1]) for number in range(3)]
    done = CliRunner().invoke(
        app, ["shard", "rag", str(tmp_path / "cases"), "--into", str(tmp_path / "s"), "--shards", "2"]
    )
    assert done.exit_code == 0, done.output
    for given in ([str(tmp_path / "cases")], sorted(map(str, (tmp_path / "s").glob("*.shard")))):
        opened.clear()
        CliRunner().invoke(app, ["judge", "rag", *given, "--run", str(tmp_path / f"run{len(given)}")])
        assert {opened.count(os.path.realpath(path)) for path in (paths if len(given) == 1 else given)} == {1}


def test_a_case_without_a_view_has_its_input_opened_only_to_show_it(tmp_path: Path, opened: list[str]) -> None:
    path = write(tmp_path / "cases.jsonl", CASES)
    command = ["judge", TOY, str(path), "--run", str(tmp_path / "run"), "--case-timeout", "0", "--workers", "1"]
    assert CliRunner().invoke(app, command).exit_code == 0
    (tmp_path / "run" / VIEWS).unlink()
    opened.clear()
    assert CliRunner().invoke(app, command).exit_code == 0
    assert opened.count(os.path.realpath(path)) == 1


def test_show_opens_no_input(tmp_path: Path, opened: list[str]) -> None:
    path = write(tmp_path / "cases.jsonl", CASES)
    assert CliRunner().invoke(app, ["judge", TOY, str(path), "--run", str(tmp_path / "run")]).exit_code == 0
    opened.clear()
    assert CliRunner().invoke(app, ["show", str(tmp_path / "run"), "c0"]).exit_code == 0
    assert os.path.realpath(path) not in opened
