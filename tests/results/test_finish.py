"""A run is read once, and everything that is made of it comes from that reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import krino
from krino.contract import Questions
from krino.exports.parquet_file import ParquetBeside
from krino.render.report import Report
from krino.results.slices import slice_by
from krino.results.summary import collect, summarise
from krino.runs.stored_run import load_stored_run
from made_judgements import failed, manifest, ok
from made_runs import failed_row, make_run, row
from report_page import Page
from toy_judge import ToyCase, ToyJudge


def test_one_reading_gives_summary_slices_report_and_table(tmp_path: Path) -> None:
    rows = [row(f"c{n}", metadata={"court": "ab"[n % 2]}, score=n / 10) for n in range(10)]
    run = load_stored_run(make_run(tmp_path / "r", [*rows, failed_row("c10", metadata={"court": "a"})]))
    readings: list[int] = []

    def records() -> Iterator[dict[str, Any]]:
        readings.append(1)
        return run.records()

    with Report(run.folder, run.manifest) as report, ParquetBeside(run.folder, records) as table:
        found = collect(records(), report, table)
        page, file = report.write(found), table.write()
    assert len(readings) == 1
    assert found.summary == summarise(run.records())
    assert found.slices == slice_by(run.records(), [("court",)])
    assert page.is_file() and file is not None
    assert krino.frame(run, "arrow").to_pylist() == pq.read_table(file).to_pylist()


class CountingJudge(ToyJudge):
    made = 0

    def ask(self, case: ToyCase, facts: int) -> Questions | None:
        type(self).made += 1
        return super().ask(case, facts)


@pytest.mark.parametrize("room", [19_000_000, 2_000])
def test_nothing_is_asked_again_once_the_page_has_no_room_to_show_it(
    tmp_path: Path, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krino.render.embed._DATA", room)
    CountingJudge.made = 0
    case = {"text": "good"}
    judgements = [ok(number, score=1.0) for number in range(20)]
    with Report(tmp_path, manifest(), CountingJudge(), case_of=lambda _: case) as report:
        page = Page(report.write(collect(judgements, report)).read_text("utf-8"))
    shown = len(page.data("requests"))
    assert CountingJudge.made == 20 if room > 2_000 else CountingJudge.made < 10
    assert (shown == 20) == (room > 2_000)


def test_of_a_large_run_only_the_cases_that_are_shown_in_full_are_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krino.render.embed.LARGE_RUN", 5)
    monkeypatch.setattr("krino.render.embed.FIRST_DETAILS", 2)
    looked_up: list[int] = []

    def case_of(judgement: Mapping[str, Any]) -> None:
        looked_up.append(judgement["index"])

    judgements = [ok(number, score=1.0) if number != 7 else failed(7) for number in range(10)]
    run = manifest()
    run.counts.ok, run.counts.failed = 9, 1
    with Report(tmp_path, run, ToyJudge(), case_of) as report:
        report.write(collect(judgements, report))
    assert looked_up == [0, 1, 7]


def test_a_run_that_was_just_written_is_read_once_and_not_searched_for_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [{"id": f"c{number}", "text": "good" if number % 3 else ""} for number in range(12)]
    krino.run(ToyJudge, cases[:5], into=tmp_path / "r")

    def searched(*_: Any) -> None:
        raise AssertionError("the journal was searched")

    monkeypatch.setattr("krino.runs.journal.read_journal", searched)
    run = krino.run(ToyJudge, cases, into=tmp_path / "r")
    monkeypatch.undo()
    table = pq.read_table(run.folder / "judgements.parquet").to_pylist()
    assert table == krino.frame(run, "arrow").to_pylist()
    assert [row["id"] for row in table] == [case["id"] for case in cases]
