"""Which folder a run gets: the one it began in, or a new one with the reason why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import krino
from krino.runs.folder import find_place
from krino.runs.manifest import Manifest, Plan


def plan(**changes: Any) -> Plan:
    fields: dict[str, Any] = {
        "judge": {"name": "toy", "version": "1", "prompt_hash": "aa"},
        "labeller": {"kind": "llm", "model": "m"},
        "inputs": ["cases.jsonl"],
    }
    return Plan(**{**fields, **changes})


def begun(folder: Path, of: Plan) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    Manifest(plan=of).write(folder)


def test_a_new_plan_gets_a_folder_named_by_judge_date_and_hash(tmp_path: Path) -> None:
    place = find_place(plan(), base=tmp_path)
    name, date, digest = place.folder.name.split("-")
    assert (name, len(date), digest, place.continued) == ("toy", 8, plan().digest(), False)


def test_the_same_plan_is_continued_even_on_another_day(tmp_path: Path) -> None:
    old = tmp_path / f"toy-20250101-{plan().digest()}"
    begun(old, plan())
    place = find_place(plan(), base=tmp_path)
    assert (place.folder, place.continued) == (old, True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"judge": {"name": "toy", "version": "2", "prompt_hash": "aa"}}, "judge.version: was '1', is now '2'"),
        ({"judge": {"name": "toy", "version": "1", "prompt_hash": "bb"}}, "judge.prompt_hash: was 'aa', is now 'bb'"),
        ({"labeller": {"kind": "llm", "model": "n"}}, "labeller.model: was 'm', is now 'n'"),
    ],
)
def test_a_changed_plan_starts_a_new_run_and_says_why(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    old = find_place(plan(), base=tmp_path).folder
    begun(old, plan())
    place = find_place(plan(**change), base=tmp_path)
    assert (place.continued, place.instead_of, place.because) == (False, old, [words])
    named = find_place(plan(**change), named=old)
    assert named.folder == old.with_name(f"{old.name}-{plan(**change).digest()}")
    assert named.because == [words]


def test_a_named_folder_is_continued(tmp_path: Path) -> None:
    begun(tmp_path / "mine", plan())
    assert find_place(plan(), named=tmp_path / "mine").continued


def test_a_folder_of_something_else_is_never_written_into(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    with pytest.raises(krino.UsageProblem, match="exists and is no run folder"):
        find_place(plan(), named=tmp_path / "precious")


def test_a_neighbour_that_cannot_be_read_is_no_obstacle(tmp_path: Path) -> None:
    broken = tmp_path / "toy-20250101-00000000"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    assert not find_place(plan(), base=tmp_path).continued


def test_a_manifest_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"plan": 3}')
    with pytest.raises(krino.UsageProblem, match=r"run.json is not a manifest of this version"):
        Manifest.load(tmp_path)
