"""A run folder comes from anyone: to read it runs no code, opens nothing outside it and changes nothing in it."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import krino as package
from command_line import krino, krino_each
from krino.errors import UsageProblem
from krino.runs.manifest import Counts, Manifest

SECRET = "the-secret-of-the-reader"
EVIL = """
import pathlib
pathlib.Path({marker!r}).write_text("ran")
import krino
class E(krino.Judge):
    pass
"""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run over three cases, one of which cannot be judged, and the labels of people for two of them."""
    folder = tmp_path_factory.mktemp("honest")
    cases: list[dict[str, Any]] = [
        {"id": "a", "question": "How tall?", "context": ["It is 102 metres tall."], "answer": "It is 102 metres tall."},
        {"id": "b", "question": "How tall?", "context": ["It is 102 metres tall."], "answer": "It is 40 metres tall."},
        {"id": "c", "question": "How tall?"},
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    (folder / "labels.csv").write_text("id,evaluation_status\na,success\nb,success\n", "utf-8")
    done = krino("judge", "rag", "cases.jsonl", "--run", "run", cwd=folder)
    assert done.returncode == 3, done.stderr
    return folder


@pytest.fixture
def place(honest: Path, tmp_path: Path) -> Path:
    shutil.copytree(honest, tmp_path / "place")
    return tmp_path / "place"


def change(run: Path, **judge: Any) -> None:
    """What a hostile maker would write into `run.json`."""
    data = json.loads((run / "run.json").read_text("utf-8"))
    data["plan"]["inputs"] = judge.pop("inputs", data["plan"]["inputs"])
    data["plan"]["judge"].update(judge)
    (run / "run.json").write_text(json.dumps(data), "utf-8")


READERS = (
    ("show", "run"),
    ("show", "run", "a"),
    ("show", "run", "a", "--labels"),
    ("show", "run", "--json"),
    ("show", "run", "--by", "passages"),
    ("gate", "run", "--min", "faithfulness=0.9", "--max", "evaluation_status:failed=50%", "--markdown", "g.md"),
    ("gate", "run", "--may-fall", "faithfulness=0.1", "--not-worse-than", "run", "--junit", "j.xml"),
    ("compare", "run", "run", "--markdown", "c.md"),
    ("agree", "run", "labels.csv", "--markdown", "a.md"),
    ("export", "run", "e.csv"),
    ("export", "run", "e.parquet"),
    ("export", "run", "e.jsonl"),
    ("export", "run", "e.otel", "--to", "otel"),
)  # fmt: skip
RESETTLE = ("resettle", "run", "--run", "again")


def evil_file(place: Path) -> str:
    (place / "run" / "evil.py").write_text(EVIL.format(marker=str(place / "marker")), "utf-8")
    return "run/evil.py:E"


def evil_absolute(place: Path) -> str:
    return f"{place / evil_file(place)}"


def evil_link(place: Path) -> str:
    evil_file(place)
    (place / "link.py").symlink_to(place / "run" / "evil.py")
    return "link.py:E"


def evil_module(place: Path) -> str:
    evil_file(place)
    shutil.copy(place / "run" / "evil.py", place / "evil_module.py")  # Python finds it in the folder one works in
    return "evil_module:E"


ADDRESSES = (evil_file, evil_absolute, evil_link, evil_module)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_reading_command_runs_the_judge_that_a_folder_names(place: Path, address: Callable[[Path], str]) -> None:
    named = address(place)
    change(place / "run", address=named, name=named)
    krino_each(READERS, cwd=place)
    assert not (place / "marker").exists()
    refused = krino(*RESETTLE, cwd=place)
    assert (refused.returncode, "to load it is to run its code" in refused.stderr) == (2, True)
    assert f"krino resettle run --judge {named}" in refused.stderr
    assert not (place / "marker").exists()
    krino(*RESETTLE, "--trust", cwd=place)
    assert (place / "marker").exists(), "or else nothing above could have shown anything"


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_reader_in_python_runs_it_either(
    place: Path, address: Callable[[Path], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    named = address(place)
    change(place / "run", address=named, name=named)
    journal = place / "run" / "judgements.jsonl"
    journal.write_text(journal.read_text("utf-8").replace('"judge":"rag"', f'"judge":{json.dumps(named)}'), "utf-8")
    run = package.load_run(place / "run")
    assert len(run.frame("arrow")) == 3
    for judgement in run:
        with pytest.raises((AssertionError, UsageProblem)):
            package.assert_verdict(judgement, min={"faithfulness": 2.0})
    assert not (place / "marker").exists()


def test_what_a_folder_names_as_its_input_is_not_read(place: Path) -> None:
    secret = place / "secret.jsonl"
    secret.write_text(json.dumps({"id": "a", "question": SECRET, "answer": SECRET, "trace_id": "5b" * 16}) + "\n")
    change(place / "run", inputs=[str(secret)])
    shown = "".join(printed + raised for _, printed, raised in krino_each(READERS, cwd=place))
    refused = krino(*RESETTLE, cwd=place)
    assert refused.returncode == 2
    assert f"krino resettle run {secret}" in refused.stderr, "the command to give is shown"
    written = [path for path in place.rglob("*") if path.is_file() and path != secret]
    for text in (shown, refused.stderr, *(path.read_bytes().decode("utf-8", "replace") for path in written)):
        assert SECRET not in text
        assert "5b" * 16 not in text


def test_the_user_may_name_the_files_and_the_judge(place: Path) -> None:
    done = krino("resettle", "run", "cases.jsonl", "--run", "again", cwd=place)
    assert done.returncode == 3, done.stderr
    known = json.loads((place / "again" / "run.json").read_text("utf-8"))
    assert known["counts"] == {"ok": 2, "failed": 1, "error": 0}
    done = krino("resettle", "run", "cases.jsonl", "--judge", "rag", "--run", "named", cwd=place)
    assert done.returncode == 3, done.stderr


def test_a_run_from_stdin_by_a_judge_of_ours_is_settled_again_without_a_word(place: Path) -> None:
    cases = (place / "cases.jsonl").read_text("utf-8")
    assert krino("judge", "rag", "-", "--run", "piped", cwd=place, input=cases).returncode == 3
    done = krino("resettle", "piped", "--run", "again", cwd=place)
    assert done.returncode == 3, done.stderr
    assert (place / "again" / "stdin.jsonl").read_text("utf-8") == cases
    fewer = cases.splitlines(keepends=True)[0]
    done = krino("resettle", "piped", "-", "--run", "fewer", cwd=place, input=fewer)
    assert done.returncode == 0, done.stderr
    assert (place / "fewer" / "stdin.jsonl").read_text("utf-8") == fewer


@pytest.mark.parametrize("name", ["run.json", "judgements.jsonl"])
def test_a_link_out_of_the_folder_is_not_followed(place: Path, name: str) -> None:
    outside = place / "outside.json"
    shutil.move(place / "run" / name, outside)
    (place / "run" / name).symlink_to(outside)
    before = outside.read_bytes()
    krino_each(READERS, cwd=place)
    for command in (READERS[0], RESETTLE):
        done = krino(*command, cwd=place)
        assert (done.returncode, f"run/{name} is a link that leads out of the run folder" in done.stderr) == (2, True)
    assert outside.read_bytes() == before
    assert not any(place.glob("e.*")), "nothing was exported"


@pytest.mark.parametrize("name", ["run.json", "judgements.jsonl"])
def test_a_pipe_in_the_place_of_a_record_is_no_record(place: Path, name: str) -> None:
    (place / "run" / name).unlink()
    os.mkfifo(place / "run" / name)
    done = krino("show", "run", cwd=place, timeout=60)
    assert (done.returncode, "is no plain file" in done.stderr) == (2, True)


def test_a_link_inside_the_folder_and_a_linked_folder_are_fine(place: Path) -> None:
    (place / "run" / "run.json").rename(place / "run" / "real.json")
    (place / "run" / "run.json").symlink_to("real.json")
    (place / "other").symlink_to("run")
    assert krino("show", "other", cwd=place).returncode == 0


def test_links_that_lie_in_wait_for_a_draft_are_not_written_through(place: Path) -> None:
    precious = place / "precious"
    precious.write_text("precious")
    for name in (".judgements.parquet", "report.html", "judgements.parquet", "stdin.jsonl"):
        (place / "run" / name).unlink(missing_ok=True)
        (place / "run" / name).symlink_to(precious)
    cases = (place / "cases.jsonl").read_text("utf-8")
    assert krino("judge", "rag", "cases.jsonl", "--run", "run", cwd=place).returncode == 3
    krino("judge", "rag", "-", "--run", "run", cwd=place, input=cases)
    assert precious.read_text() == "precious"


# --- a folder that cannot be written ---------------------------------------------------------------


def state(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in (folder, *folder.rglob("*"))}


def test_readers_change_nothing_in_the_folder(place: Path) -> None:
    before = state(place / "run")
    krino_each(READERS, cwd=place)
    assert state(place / "run") == before


def _as_anybody() -> None:
    """Root may write anywhere; without this right it is like any other owner of files that are read-only."""
    if os.geteuid() == 0:
        drop_right, right_to_write_anywhere = 24, 1
        ctypes.CDLL(None).prctl(drop_right, right_to_write_anywhere, 0, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="takes a right from root as Linux does")
@pytest.mark.parametrize("killed_early", [False, True])
def test_readers_work_where_nothing_can_be_written(place: Path, killed_early: bool) -> None:
    if killed_early:
        (place / "run" / "judgements.jsonl").unlink()
        manifest = Manifest.load(place / "run")
        manifest.state, manifest.cases, manifest.counts = "running", None, Counts()
        manifest.write(place / "run")
    for path in (*(place / "run").iterdir(), place / "run"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(["touch", "run/x"], cwd=place, check=True, capture_output=True, preexec_fn=_as_anybody)
    for command in (("show", "run"), ("show", "run", "--json"), ("export", "run", "e.csv")):
        done = krino(*command, cwd=place, preexec_fn=_as_anybody)
        assert done.returncode == 0, done.stderr
