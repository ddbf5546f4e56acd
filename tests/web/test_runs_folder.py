"""The index of a run finds what the run itself holds, grows with it, and trusts neither the folder nor its own file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.runs.journal import JOURNAL, Journal
from krino.runs.manifest import Manifest
from krino.runs.stored_run import load_stored_run
from krino.web.index.case_filter import CaseFilter
from krino.web.rendering import list_cells
from krino.web.runs_folder import NoSuchRun, OpenRun, RunsFolder
from made_runs import error_row, failed_row, make_run, row

SCHEMA = {"type": "object", "properties": {"score": {}, "kind": {}, "errors": {}, "said": {}}}
ABOUT = {"about": Manifest.model_fields["about"].annotation(verdict_schema=SCHEMA)}  # type: ignore[misc]
ROWS = [
    row("a", metadata={"court": "Ghent"}, roll_up="pass", score=0.9, kind="A", errors=[], said="water is wet"),
    row("b", metadata={"court": "Liège"}, roll_up="fail", score=0.1, kind="B", errors=["X", "Y"], said="élan vital"),
    failed_row("c"),
    error_row("d"),
    row("e", metadata={"court": "Ghent"}, roll_up="review", score=None, kind="A", errors=["Y"], said="100 % sure"),
    row("a", metadata={}, roll_up="pass", score=0.5, kind="B", errors=["XY"], said="the same id again"),
]


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[RunsFolder]:
    found = RunsFolder(tmp_path / "runs", tmp_path / "cache")
    yield found
    found.close()


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Path]:
    def make(rows: list[dict[str, Any]] | None = None, name: str = "one", **changes: Any) -> Path:
        return make_run(tmp_path / "runs" / name, ROWS if rows is None else rows, **{**ABOUT, **changes})

    return make


def opened(runs: RunsFolder, name: str = "one") -> OpenRun:
    return runs.open(name, patience=60)


def places(runs: RunsFolder, query: str = "", name: str = "one", most: int = 50) -> list[int]:
    asked = CaseFilter.read(tuple(part.split("=", 1)) for part in query.split("&") if part)  # type: ignore[misc]
    return [found.place for found in opened(runs, name).cases.page(asked, 0, most).rows]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("status=failed&status=error", [2, 3]),
        ("is.roll_up=fail", [1]),
        ("is.kind=A", [0, 4]),
        ("is.errors=Y", [1, 4]),
        ("is.errors=X", [1]),
        ("is.errors=X&is.errors=XY", [1, 5]),
        ("is.score=null", [4]),
        ("min.score=0.5", [0, 5]),
        ("min.score=0.2&max.score=0.6", [5]),
        ("in.court=Ghent", [0, 4]),
        ("in.court=none", [2, 3, 5]),
        ("q=wet", [0]),
        ("q=elan", [1]),
        ("q=wat", [0]),
        ("q=A", [0, 4, 5]),
        ('q="', []),
        ("q=%", []),
        ("q=no text", [2]),
        ("q=wet&status=failed", []),
        ("sort=score", [1, 5, 0, 2, 3, 4]),
        ("sort=score&down=1", [0, 5, 1, 2, 3, 4]),
        ("sort=roll_up", [1, 4, 0, 5, 2, 3]),
        ("sort=status", [3, 2, 0, 1, 4, 5]),
        ("sort=id&down=1", [4, 3, 2, 1, 0, 5]),
        ("sort=court", [0, 4, 1, 2, 3, 5]),
    ],
)
def test_a_question_finds_the_cases_that_it_asks_for(
    runs: RunsFolder, made: Callable[..., Path], query: str, found: list[int]
) -> None:
    made()
    assert places(runs, query) == found


def test_what_the_run_does_not_have_is_named(runs: RunsFolder, made: Callable[..., Path]) -> None:
    made()
    asked = CaseFilter.read([("min.nothing", "1"), ("is.nobody", "x"), ("in.nowhere", "y"), ("sort", "never")])
    page = opened(runs).cases.page(asked, 0, 10)
    assert set(page.unknown) == {"nothing", "nobody", "nowhere", "never"}
    assert page.found == 6


def test_short_explanations_are_no_codes_and_are_searched_for(runs: RunsFolder, made: Callable[..., Path]) -> None:
    parts = {
        "score_explanation": {"type": "string"},
        "comments": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        "number_of_comments": {"type": "integer"},
        "reasoning": {"enum": ["SOUND", "FAULTY"]},
    }
    about = ABOUT["about"].model_copy(update={"verdict_schema": {"type": "object", "properties": parts}})
    words = row("a", score_explanation="all right", comments=["good"], number_of_comments=1, reasoning="SOUND")
    made([words], about=about)
    assert opened(runs).state.fields == ["number_of_comments", "reasoning"]
    assert places(runs, "q=right") == [0]
    run = runs.load("one")
    cells = list_cells(next(run.records()), about.fields_schema)
    assert [cell.name for cell in cells] == ["number of comments", "reasoning"]


def test_pages_are_parts_of_the_whole(runs: RunsFolder, made: Callable[..., Path]) -> None:
    made()
    cases, asked = opened(runs).cases, CaseFilter.read([("sort", "score")])
    parts = [[found.place for found in cases.page(asked, first, 2).rows] for first in (0, 2, 4, 6)]
    assert parts == [[1, 5], [0, 2], [3, 4], []]


@pytest.mark.parametrize("query", ["", "sort=score", "sort=score&down=1", "sort=kind&down=1", "status=ok&sort=id"])
def test_neighbours_are_those_of_the_list(runs: RunsFolder, made: Callable[..., Path], query: str) -> None:
    made()
    asked = CaseFilter.read(tuple(part.split("=")) for part in query.split("&") if part)  # type: ignore[misc]
    cases = opened(runs).cases
    rows = cases.page(asked, 0, 50).rows
    for at, found in enumerate(rows):
        beside = cases.neighbours(asked, found)
        assert beside is not None
        assert (beside.position, beside.found) == (at + 1, len(rows))
        assert beside.before == (rows[at - 1] if at else None)
        assert beside.after == (rows[at + 1] if at + 1 < len(rows) else None)


def test_a_case_outside_the_question_has_no_neighbours(runs: RunsFolder, made: Callable[..., Path]) -> None:
    made()
    cases = opened(runs).cases
    found = cases.find("c")
    assert found is not None
    assert cases.neighbours(CaseFilter.read([("status", "ok")]), found) is None


def test_judgements_are_those_of_the_run(runs: RunsFolder, made: Callable[..., Path]) -> None:
    folder = made()
    found = opened(runs)
    rows = found.cases.page(CaseFilter(), 0, 50).rows
    assert list(found.cases.read_judgements(rows)) == list(load_stored_run(folder).records())
    assert found.counts() == load_stored_run(folder).counts()


def test_cases_with_the_same_id_are_told_apart(runs: RunsFolder, made: Callable[..., Path]) -> None:
    made()
    cases = opened(runs).cases
    first, second = cases.find("a"), cases.find("a", 1)
    assert first is not None
    assert second is not None
    assert (first.place, first.again, second.place, second.again) == (0, False, 5, True)
    assert cases.find("a", 2) is None
    assert cases.at(5) == second


def test_the_index_grows_with_the_journal(runs: RunsFolder, made: Callable[..., Path]) -> None:
    folder = made([*ROWS[:3], error_row("d")], state="running", cases=None)
    assert places(runs, "status=error") == [3]
    (again,) = [record for record in load_stored_run(folder).records() if record["id"] == "d"]
    settled = {**again, "status": "failed", "reason": "no text", "error": None}
    journal = Journal(folder)
    journal.append(Judgement.model_validate(settled))
    journal.close()
    assert places(runs, "status=error") == []
    assert places(runs, "status=failed") == [2, 3]


def test_a_run_that_is_begun_anew_is_indexed_anew(runs: RunsFolder, made: Callable[..., Path]) -> None:
    folder = made()
    assert places(runs, "q=wet") == [0]
    (folder / JOURNAL).unlink()
    made([row(name, score=1.0, kind="C", errors=[], said="all is new") for name in "vwxyz"])
    assert places(runs, "q=wet") == []
    assert places(runs, "is.kind=C") == [0, 1, 2, 3, 4]


def test_another_order_of_the_input_is_followed(runs: RunsFolder, made: Callable[..., Path], tmp_path: Path) -> None:
    folder = made(ROWS[:3])
    assert places(runs, "status=failed") == [2]
    kept = (folder / JOURNAL).read_bytes()
    (folder / JOURNAL).unlink()
    made(ROWS[:3][::-1])
    (folder / JOURNAL).write_bytes(kept)  # what was judged stays judged
    assert places(runs, "status=failed") == [0]


def test_a_line_that_is_no_judgement_is_named_and_nothing_is_summed_up(
    runs: RunsFolder, made: Callable[..., Path]
) -> None:
    folder = made()
    with (folder / JOURNAL).open("ab") as journal:
        journal.write(b'{"status": "ok"}\n')
    found = opened(runs)
    assert f"{JOURNAL}:7: not a judgement of this run" in found.state.problem
    assert found.overall() is None


def test_a_finished_run_that_lacks_a_case_is_refused(runs: RunsFolder, made: Callable[..., Path]) -> None:
    folder = made()
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    (folder / JOURNAL).write_bytes(b"".join(lines[1:]))
    found = opened(runs)
    assert "one of the files was changed" in found.state.problem
    assert found.overall() is None


def test_the_summary_is_that_of_the_run(runs: RunsFolder, made: Callable[..., Path]) -> None:
    folder = made()
    overall = opened(runs).overall()
    assert overall is not None
    assert overall.current
    assert overall.found.summary.counts == load_stored_run(folder).counts()
    assert [item.name for item in overall.found.summary.numbers] == ["score"]


def test_a_damaged_index_is_made_again(runs: RunsFolder, made: Callable[..., Path], tmp_path: Path) -> None:
    made()
    assert len(places(runs)) == 6
    runs.close()
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(b"no database at all" * 1000)
    again = RunsFolder(tmp_path / "runs", tmp_path / "cache")
    try:
        assert len(places(again)) == 6
    finally:
        again.close()


def test_runs_come_newest_first_and_unreadable_ones_last(runs: RunsFolder, made: Callable[..., Path]) -> None:
    from datetime import UTC, datetime

    made(name="old", started=datetime(2024, 1, 1, tzinfo=UTC))
    made(name="new", started=datetime(2025, 1, 1, tzinfo=UTC))
    made(name="broken")
    (runs.folder / "broken" / "run.json").write_text("{}")
    (runs.folder / "no-run").mkdir()
    listed = runs.runs()
    assert [run.name for run in listed] == ["new", "old", "broken"]
    assert "not a manifest" in listed[-1].problem


@pytest.mark.parametrize("name", ["..", ".", "", "one/..", "/etc", "one/../one", "ONE", "link"])
def test_no_name_leads_out_of_the_folder(
    runs: RunsFolder, made: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    made()
    outside = make_run(tmp_path / "outside", ROWS)
    (runs.folder / "link").symlink_to(outside, target_is_directory=True)
    assert [run.name for run in runs.runs()] == ["one"]
    with pytest.raises(NoSuchRun):
        runs.open(name)


def test_a_file_that_links_out_of_the_run_is_not_read(
    runs: RunsFolder, made: Callable[..., Path], tmp_path: Path
) -> None:
    folder = made()
    (folder / JOURNAL).rename(tmp_path / "elsewhere.jsonl")
    (folder / JOURNAL).symlink_to(tmp_path / "elsewhere.jsonl")
    assert "leads out of the run folder" in opened(runs).state.problem


def test_a_folder_that_is_a_run_itself_is_served_as_one(made: Callable[..., Path], tmp_path: Path) -> None:
    runs = RunsFolder(made(), tmp_path / "cache")
    try:
        assert [run.name for run in runs.runs()] == ["one"]
        assert len(places(runs)) == 6
    finally:
        runs.close()


def test_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    runs = RunsFolder(tmp_path / "nowhere", tmp_path / "cache")
    try:
        with pytest.raises(UsageProblem, match="cannot be read"):
            runs.runs()
    finally:
        runs.close()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(
                ["q", "status", "min.score", "max.score", "is.kind", "in.court", "sort", "down", "page", "x.y"]
            ),
            st.one_of(st.text(max_size=8), st.sampled_from(["ok", "failed", "1", "0.25", "nan", "1e999"])),
        ),
        max_size=8,
    )
)
def test_an_address_says_the_same_when_it_is_read_again(pairs: list[tuple[str, str]]) -> None:
    asked = CaseFilter.read(pairs)
    assert CaseFilter.read(asked.pairs()) == asked
