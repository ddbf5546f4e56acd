"""The roll: the cases of the last command in order, and a finished run's roll is the one it was finished with."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

import krino
from krino.cases.item import CaseItem
from krino.contract import Source
from krino.runs.manifest import Manifest, Plan
from krino.runs.roll import Entry, RollWriter, read_roll

HASHES = ["a" * 32, "b" * 32, "a" * 32]


def manifest(**about: object) -> Manifest:
    return Manifest(plan=Plan(judge={"name": "toy", "version": "1"}, labeller={}, inputs=[]), **about)


def called(folder: Path, *hashes: str) -> Manifest:
    with RollWriter(folder) as roll:
        for place, digest in enumerate(hashes):
            roll.add(CaseItem(place, f"c{place}", {}, Source("f.jsonl", place + 1)), digest)
    return manifest(state="finished", cases=roll.cases, input_hash=roll.input_hash())


def test_the_cases_come_back_in_order(tmp_path: Path) -> None:
    known = called(tmp_path, *HASHES)
    assert list(read_roll(tmp_path, known)) == [
        Entry("c0", "a" * 32, {"file": "f.jsonl", "line": 1}),
        Entry("c1", "b" * 32, {"file": "f.jsonl", "line": 2}),
        Entry("c2", "a" * 32, {"file": "f.jsonl", "line": 3}),
    ]


def test_a_new_roll_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    called(tmp_path, *HASHES)
    assert len(list(read_roll(tmp_path, called(tmp_path, "c" * 32)))) == 1


def test_what_was_added_is_there_after_a_flush(tmp_path: Path) -> None:
    with RollWriter(tmp_path) as roll:
        roll.add(CaseItem(0, "c0", {}), "a" * 32)
        roll.flush()
        assert [entry.id for entry in read_roll(tmp_path, manifest())] == ["c0"]


def test_the_roll_of_a_killed_run_is_what_was_written_of_it(tmp_path: Path) -> None:
    called(tmp_path, *HASHES)
    path = tmp_path / "roll.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    assert [entry.id for entry in read_roll(tmp_path, manifest())] == ["c0", "c1"]
    path.unlink()
    assert list(read_roll(tmp_path, manifest())) == []


@pytest.mark.parametrize("change", ["torn", "shorter", "other", "order", "gone"])
def test_a_finished_run_with_another_roll_is_refused(tmp_path: Path, change: str) -> None:
    known = called(tmp_path, *HASHES)
    path = tmp_path / "roll.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    changed = {
        "torn": b"".join(lines)[:-1],
        "shorter": b"".join(lines[:2]),
        "other": b"".join(lines).replace(b"b" * 32, b"c" * 32),
        "order": b"".join(lines[::-1][1:] + lines[2:]),
        "gone": b"",
    }[change]
    path.write_bytes(changed)
    with pytest.raises(krino.UsageProblem, match=r"roll.jsonl: these . cases are not the 3 that the run was finished"):
        list(read_roll(tmp_path, known))


GOOD = {"id": "c0", "input_hash": "a" * 32, "source": {"file": "f", "line": 1}}


@pytest.mark.parametrize(
    "good", [GOOD, {**GOOD, "place": 7}, {**GOOD, "source": None}, {**GOOD, "source": {"file": "f", "line": None}}]
)
def test_a_line_of_a_roll_is_taken(tmp_path: Path, good: dict[str, object]) -> None:
    (tmp_path / "roll.jsonl").write_bytes(orjson.dumps(good) + b"\n")
    assert [orjson.loads(entry.to_line()) for entry in read_roll(tmp_path, manifest())] == [good]


@pytest.mark.parametrize(
    "bad",
    [
        [],
        3,
        {},
        {**GOOD, "id": 3},
        {**GOOD, "id": None},
        {**GOOD, "input_hash": "a" * 31},
        {**GOOD, "input_hash": "a" * 33},
        {**GOOD, "input_hash": "A" * 32},
        {**GOOD, "input_hash": "x" * 32},
        {**GOOD, "input_hash": 3},
        {**GOOD, "input_hash": ["a"] * 32},
        {**GOOD, "source": "f"},
        {**GOOD, "source": {"file": "f"}},
        {**GOOD, "source": {"file": 3, "line": 1}},
        {**GOOD, "source": {"file": "f", "line": "1"}},
        {**GOOD, "source": {"file": "f", "line": -1}},
        {**GOOD, "source": {"file": "f", "line": True}},
    ],
)
def test_any_other_line_is_named(tmp_path: Path, bad: object) -> None:
    (tmp_path / "roll.jsonl").write_bytes(orjson.dumps(GOOD) + b"\n" + orjson.dumps(bad) + b"\n")
    with pytest.raises(krino.UsageProblem, match=r"roll.jsonl:2: not a case of a roll .*run the command again"):
        list(read_roll(tmp_path, manifest()))
