"""The workbench verifies a run beside its cases, and runs and opens nothing that only the run names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from starlette.testclient import TestClient

import krino
from krino.contract import Judgement
from krino.examples import EXAMPLES
from krino.runs.journal import sealed_line
from toy_judge import ToyJudge
from workbench_making import serving

CASES = (EXAMPLES / "citation.jsonl").read_bytes()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A run of a judge of Krino's own, with its input in the folder that is served."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "cases.jsonl").write_bytes(CASES)
    krino.run("citation", folder / "cases.jsonl", labeller="local", into=folder / "r")
    return folder


@pytest.fixture
def client(runs: Path, tmp_path: Path) -> Iterator[TestClient]:
    with serving(runs, database=f"sqlite:///{tmp_path / 'labels.sqlite'}") as opened:
        yield opened


def page(client: TestClient, path: str) -> str:
    sent = client.get(path, headers={"accept": "text/html"})
    assert sent.status_code == 200, sent.text
    return sent.text


def change_a_digit(run: Path) -> str:
    """Changes a number of one verdict and seals the line anew; returns the id of the case."""
    lines = (run / "judgements.jsonl").read_bytes().splitlines()
    found = next(number for number, line in enumerate(lines) if orjson.loads(line)["status"] == "ok")
    line = orjson.loads(lines[found])
    name = next(name for name, value in line["verdict"].items() if isinstance(value, float | int))
    line["verdict"][name] += -1 if line["verdict"][name] > 1 else 1
    line.pop("seal")
    lines[found] = sealed_line(Judgement.model_validate(line)).rstrip()
    (run / "judgements.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    return str(line["id"])


def test_a_run_is_verified_and_its_page_says_so_afterwards(client: TestClient) -> None:
    assert '<a href="/runs/r/verify">Verify</a>' in page(client, "/runs/r")
    assert "Verified" not in page(client, "/runs/r")
    assert "follow from the recorded labels and the cases." in page(client, "/runs/r/verify")
    assert "Verified" in page(client, "/runs/r") and "follow from the recorded labels" in page(client, "/runs/r")


def test_a_changed_digit_is_named_and_an_earlier_result_does_not_hide_it(client: TestClient, runs: Path) -> None:
    page(client, "/runs/r/verify")
    name = change_a_digit(runs / "r")
    shown = page(client, "/runs/r/verify")
    assert "1 is edited" in shown and name in shown
    assert str(runs) not in shown


def test_a_line_that_cannot_be_read_is_named_without_the_folder(client: TestClient, runs: Path) -> None:
    with (runs / "r" / "judgements.jsonl").open("a") as journal:
        journal.write('{"verdict": "made up"}\n')
    shown = page(client, "/runs/r/verify")
    assert "judgements.jsonl" in shown and str(runs) not in shown


def test_the_judge_of_a_stranger_is_not_run(client: TestClient, runs: Path) -> None:
    krino.run(ToyJudge, [{"id": "a", "text": "good"}], into=runs / "toy")
    shown = page(client, "/runs/toy/verify")
    assert "the workbench runs no other code" in shown
    assert str(runs) not in shown


def test_an_input_outside_the_served_folder_is_not_opened(client: TestClient, runs: Path, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere.jsonl"
    outside.write_bytes(CASES)
    krino.run("citation", outside, labeller="local", into=runs / "other")
    shown = page(client, "/runs/other/verify")
    assert "is not in the folder that the workbench serves" in shown
    assert str(tmp_path) not in shown
