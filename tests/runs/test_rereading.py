"""Cases are read again beside their judgements, and only those that are still what was judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from krino.contract import hash_record
from krino.runs.manifest import Plan
from krino.runs.rereading import with_cases

RECORDS = [{"id": f"c{number}", "question": "q", "answer": str(number)} for number in range(4)]


def judgements(*places: int) -> list[dict[str, Any]]:
    return [{"index": place, "input_hash": hash_record(RECORDS[place])} for place in places]


def plan(*inputs: Path | str) -> Plan:
    return Plan(judge={"name": "rag"}, labeller={}, inputs=[str(item) for item in inputs])


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return path


def test_each_judgement_meets_its_own_case(tmp_path: Path) -> None:
    cases = write(tmp_path / "cases.jsonl", RECORDS)
    found = list(with_cases(judgements(0, 2, 3), tmp_path, plan(cases)))
    assert [item["case"]["id"] for item in found] == ["c0", "c2", "c3"]


def test_a_case_that_has_changed_since_is_left_out(tmp_path: Path) -> None:
    cases = write(tmp_path / "cases.jsonl", [RECORDS[0], {**RECORDS[1], "answer": "another"}])
    found = list(with_cases(judgements(0, 1, 2), tmp_path, plan(cases)))
    assert ["case" in item for item in found] == [True, False, False]


def test_an_input_that_is_gone_costs_only_the_cases(tmp_path: Path) -> None:
    found = list(with_cases(judgements(0), tmp_path, plan(tmp_path / "gone.jsonl")))
    assert found == judgements(0)


def test_what_came_on_stdin_is_found_beside_the_run(tmp_path: Path) -> None:
    write(tmp_path / "stdin.jsonl", RECORDS)
    (found,) = with_cases(judgements(1), tmp_path, plan("stdin:abcd.jsonl"))
    assert found["case"]["id"] == "c1"
