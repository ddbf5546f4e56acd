"""A run read while it is being judged, and what several cases of one content share."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

import krino
from krino.cases.item import CaseItem
from krino.runs.journal import parse_line
from krino.runs.manifest import Counts, Manifest
from krino.runs.roll import RollWriter
from made_runs import error_row, failed_row, make_run, row, scores


def called(folder: Path, *cases: tuple[str, str]) -> None:
    """A roll of these ids and contents."""
    with RollWriter(folder) as roll:
        for place, (name, digest) in enumerate(cases):
            roll.add(CaseItem(place, name, {}), digest)


def contents(folder: Path) -> list[tuple[str, str]]:
    return [(judgement.id, judgement.input_hash) for judgement in krino.load_run(folder)]


def grow(folder: Path, *cases: tuple[str, str]) -> None:
    """Write them behind what is there, as the sitting does that is going on."""
    with (folder / "roll.jsonl").open("ab") as roll:
        for name, digest in cases:
            roll.write(orjson.dumps({"id": name, "input_hash": digest, "source": None}) + b"\n")


def test_a_run_that_goes_on_is_read_as_far_as_it_was(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(0.1, 0.2, 0.3), state="running")
    whole = contents(run)
    called(run, *whole[:2])
    reading = krino.load_run(run).records()
    assert next(reading)["id"] == "c0"
    grow(run, *whole[2:], ("new", "f" * 32))
    assert [record["id"] for record in reading] == ["c1"]


@pytest.mark.parametrize("meanwhile", ["shorter", "other", "fresh"])
def test_a_run_that_is_begun_anew_while_it_is_read_is_told(tmp_path: Path, meanwhile: str) -> None:
    many = [(f"c{place:04}", f"{place:032x}") for place in range(2_000)]  # more than is read ahead
    rows = [{**row(name, score=0.5), "input_hash": digest} for name, digest in many]
    run = make_run(tmp_path / "r", rows, state="running")
    reading = krino.load_run(run).records()
    next(reading)
    if meanwhile == "fresh":
        (run / "judgements.jsonl").write_bytes(b"")
    else:
        called(run, *(many[:1_000] if meanwhile == "shorter" else many[::-1]))
    with pytest.raises(krino.UsageProblem, match="r was restarted while it was read; try again"):
        list(reading)


def test_of_an_unfinished_run_those_that_are_judged_are_there(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [row("a", score=0.5), failed_row("b"), error_row("c")], state="interrupted")
    called(run, ("new", "f" * 32), *contents(run))
    found = krino.load_run(run)
    assert [(judgement.index, judgement.id) for judgement in found] == [(1, "a"), (2, "b"), (3, "c")]
    assert (found.counts(), len(found)) == (Counts(ok=1, failed=1, error=1), 3)


def test_a_finished_run_whose_counts_are_not_those_of_its_lines_is_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [row("a", score=0.5), failed_row("b")])
    manifest = Manifest.load(run)
    manifest.counts = Counts(ok=2)
    manifest.write(run)
    told = "of 2 cases 1 ok, 1 failed, 0 error are there, and yet the run was finished with 2 ok, 0 failed, 0 error"
    with pytest.raises(krino.UsageProblem, match=told):
        list(krino.load_run(run))


def test_what_a_shared_verdict_cost_is_on_the_first_case_and_an_unknown_cost_stays_unknown(tmp_path: Path) -> None:
    for name, cost in (("priced", 0.5), ("unpriced", None)):
        usage = krino.Usage(calls=2, cached=1, input_tokens=3, output_tokens=4, cost=cost, seconds=1.5)
        run = make_run(tmp_path / name, scores(0.1), usage=usage, state="running")
        called(run, *contents(run) * 2)
        first, second = krino.load_run(run)
        assert first.usage == usage
        assert second.usage == krino.Usage(cost=None if cost is None else 0.0)


def test_a_run_without_a_journal_has_no_judgements(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(0.1), state="running")
    (run / "judgements.jsonl").unlink()
    assert list(krino.load_run(run)) == []


def test_what_is_no_folder_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match="nowhere is no run folder: there is no such folder"):
        krino.load_run(tmp_path / "nowhere")


def test_lines_in_any_order_come_back_in_that_of_the_input(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(*(place / 10 for place in range(10))))
    path = run / "judgements.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[1::2] + lines[::2]))
    assert list(krino.load_run(run).records()) == [parse_line(line)[0] for line in lines]
