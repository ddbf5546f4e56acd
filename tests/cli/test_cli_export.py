"""`krino export`: the format is named or told by the ending, the run's own files are safe, and failures are told."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import openpyxl
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from krino.cli import app
from made_judgements import failed, manifest, ok
from made_runs import store_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return store_run(tmp_path / "run", [failed(1), ok(0, score=0.5)], manifest())


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)], catch_exceptions=True)


def test_the_ending_of_the_file_names_the_format(run: Path, tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "jsonl"):
        assert export(run, tmp_path / f"out.{ending}").exit_code == 0
    with (tmp_path / "out.csv").open(newline="") as table:
        assert [row["id"] for row in csv.DictReader(table)] == ["case-0", "case-1"]
    assert pq.read_table(tmp_path / "out.parquet")["id"].to_pylist() == ["case-0", "case-1"]
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["case-0", "case-1"]


def test_every_line_of_jsonl_says_who_judged(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["judged_by"] for line in lines] == [{"judge": "toy", "judge_version": "1.0"}] * 2
    assert "judged_by" not in (run / "judgements.jsonl").read_text()


def test_a_dash_is_stdout_and_what_is_told_goes_to_stderr(run: Path) -> None:
    done = export(run, "-", "--to", "jsonl")
    assert len(done.stdout.splitlines()) == 2
    assert "2 cases: 1 ok, 1 failed, 0 error" in done.stderr


def test_an_export_of_an_unfinished_run_says_so(run: Path, tmp_path: Path) -> None:
    manifest(state="interrupted").write(run)
    done = export(run, tmp_path / "out.csv")
    assert done.exit_code == 0 and "not finished (interrupted)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["out.ods"], "name the format with --to"),
        (["-"], "name the format with --to"),
        ([], "say where to write"),
        (["--to", "csv"], "say where to write"),
        (["out.csv", "--endpoint", "http://localhost:4318"], "--endpoint takes OpenTelemetry events"),
        (["run/judgements.jsonl"], "the run's own record"),
        (["run/../run/judgements.jsonl"], "the run's own record"),
        (["run/run.json", "--to", "jsonl"], "the run's own record"),
        (["run/report.html", "--to", "csv"], "the run's own record"),
        (["run/judgements.parquet"], "the run's own record"),
        (["run/stdin.jsonl"], "the run's own record"),
        (["run", "--to", "csv"], "is a folder"),
        (["nowhere/x.csv"], "nowhere/x.csv cannot be written: No such file or directory"),
    ],
)
def test_wrong_usage_is_told_and_changes_nothing(
    run: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(run.parent)
    before = {path: path.read_bytes() for path in run.iterdir()}
    done = export(run, *arguments)
    assert told in str(done.exception)
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_a_link_to_the_runs_own_file_is_no_way_around(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link.jsonl").symlink_to(run / "judgements.jsonl")
    assert "the run's own record" in str(export(run, tmp_path / "link.jsonl").exception)


def test_other_files_may_lie_in_the_folder_of_the_run_and_be_written_again(run: Path) -> None:
    assert [export(run, run / "cases.csv").exit_code for _ in range(2)] == [0, 0]


def test_a_run_without_judgements_has_a_header_and_no_row(tmp_path: Path) -> None:
    run = store_run(tmp_path / "empty", [], manifest(state="interrupted"))
    assert export(run, tmp_path / "out.csv").exit_code == 0
    (head,) = (tmp_path / "out.csv").read_text().splitlines()
    who = "judge,judge_version,judge_fingerprint,prompt_hash,labelled_by,agreement"
    assert head == f"id,status,roll_up,reason,error,notes,{who}"
    assert export(run, tmp_path / "all.csv", "--all").exit_code == 0
    (head,) = (tmp_path / "all.csv").read_text().splitlines()
    assert head.startswith("id,status,roll_up,reason,error,notes,usage_calls,") and head.endswith("source,ballots")


def test_columns_left_out_are_told_and_all_of_them_are_not(run: Path, tmp_path: Path) -> None:
    assert "--all adds them" in export(run, tmp_path / "out.csv").stderr
    assert "--all" not in export(run, tmp_path / "out.csv", "--all").stderr
    assert "--all" not in export(run, tmp_path / "out.parquet").stderr


def test_excel_is_told_by_its_ending_and_holds_numbers_as_numbers(run: Path, tmp_path: Path) -> None:
    assert export(run, tmp_path / "out.xlsx").exit_code == 0
    first, *rows = openpyxl.load_workbook(tmp_path / "out.xlsx").active.iter_rows(values_only=True)
    assert first[:4] == ("id", "status", "roll_up", "verdict_score")
    assert [row[:4] for row in rows] == [("case-0", "ok", None, 0.5), ("case-1", "failed", None, None)]


def test_a_failed_export_leaves_neither_file_nor_draft(run: Path, tmp_path: Path) -> None:
    (run / "judgements.jsonl").write_bytes(b"not a judgement\n")
    out = tmp_path / "out"
    out.mkdir()
    assert "judgements.jsonl:1: not JSON" in str(export(run, out / "x.csv").exception)
    assert list(out.iterdir()) == []
