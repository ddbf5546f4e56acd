"""`krino agree RUN --labels WORKBENCH`: labels straight from a workbench."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import krino
from krino.cli import main
from krino.people.store import CaseRef, Event, LabelStore, Subject
from krino.runs.stored_run import load_stored_run
from label_making import make_toy_run
from workbench_making import serving


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Anna agrees with the judge on three cases of four."""
    folder = tmp_path / "runs"
    run = load_stored_run(make_toy_run(folder / "toy", 5, bad=[1]))
    store = LabelStore(folder)
    for entry, _ in zip(run.roll(), range(4), strict=False):
        place = CaseRef(Subject.of(run.manifest), entry.input_hash, entry.id, "toy")
        store.add(Event(place, "anna", "fields", "label", {"score": 1.0}, note="a note"))
    store.close()
    return folder


def agree(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["krino", "agree", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_a_folder_of_runs_and_a_file_of_labels_and_an_address_are_a_workbench(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = runs / ".workbench" / "labels.sqlite"
    for where in (str(runs), str(file), f"sqlite:///{file}"):
        code, out, _ = agree(monkeypatch, capsys, str(runs / "toy"), "--labels", where, "--json", "--draws", "20")
        found = json.loads(out)
        assert code == 0
        assert found["raters"] == ["anna"]
        assert found["counts"]["labelled"] == 4
        assert found["fields"][0]["figures"]["agreement"]["value"] == 0.75
        assert found["skipped"] == []


def test_the_same_from_python(runs: Path) -> None:
    for found in (krino.load_run(runs / "toy").agree(runs), krino.agree(runs / "toy", runs)):
        assert found.fields[0].figures["agreement"].value == 0.75
    with pytest.raises(krino.UsageProblem, match="belong to a run"):
        krino.agree(list(krino.load_run(runs / "toy")), runs)


def test_a_run_that_is_served_by_itself_is_not_written_to_and_its_labels_are_those_of_its_folder(runs: Path) -> None:
    run = runs / "toy"
    before = {path: path.stat().st_mtime_ns for path in (run, *run.rglob("*"))}
    with serving(run) as client:
        label = {"run": "toy", "case": "case-4", "rater": "anna", "answer": {"score": 1.0}}
        assert client.post("/v1/labels", json=label).status_code == 201
        assert len(client.get("/v1/labels", params={"run": "toy"}).json()["labels"]) == 5
    assert {path: path.stat().st_mtime_ns for path in (run, *run.rglob("*"))} == before
    for where in (run, runs):
        assert krino.agree(run, where, draws=20).counts.labelled == 5


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "name a file of LABELS, or a workbench"),
        (("labels.csv", "--labels", "runs"), "one of the two"),
        (("--labels", "nowhere"), "no workbench labels found"),
        (("--labels", "mysql://x/y"), "are not supported"),
        (("--labels", "{runs}", "--depth", "labels"), "nobody has labelled"),
        (("--labels", "{runs}", "--depth", "deep"), "choose one of fields, labels, both"),
    ],
)
def test_what_cannot_be_read_is_told(
    arguments: tuple[str, ...],
    told: str,
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [argument.format(runs=runs) for argument in arguments]
    code, _, err = agree(monkeypatch, capsys, str(runs / "toy"), *given)
    assert code == 2
    assert told in " ".join(err.split())


def test_without_the_extra_it_is_said_what_to_install(runs: Path) -> None:
    code = "import sys; sys.modules['sqlalchemy'] = None; from krino.cli import main; main()"
    command = [sys.executable, "-c", code, "agree", str(runs / "toy"), "--labels", str(runs)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "pip install 'krino[web]'" in " ".join(ended.stderr.split())
