"""An audit written from the rubric before anything was run: traces with the verdict they must have, and why.

A row with `labels` is settled with them (steps that it does not name are necessary): there code decides, whoever
labels. The other rows are labelled by the embedded labeller. `expect` has the status, the score or its bounds, the ids
of the unnecessary steps, and where it matters the unknown steps, the inputs as read, the format, or words that the
reason must not use. The rows of `sixth` were written before they were run as well; what they showed was then mended.
"""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from efficiency_making import JUDGE, labels
from krino.errors import CannotJudge

FOLDER = Path(__file__).parent / "audit"
GROUPS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
AS_EXPECTED = 0.8
KNOWN = tomllib.loads((FOLDER / "known.toml").read_text(encoding="utf-8"))
DIFFERS: dict[str, str] = KNOWN["differs"]
OVERLOOKED = [row for group in KNOWN["overlooked"].values() for row in group]

Row = dict[str, Any]


@cache
def rows(group: str) -> list[Row]:
    lines = (FOLDER / f"{group}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def given(row: Row) -> Row:
    """What the judge makes of the case, in the terms of `expect`."""
    case = JUDGE.read(row["case"])
    try:
        facts = JUDGE.study(case)
    except CannotJudge as refusal:
        return {"status": "failed", "reason": str(refusal)}
    named = row.get("labels")
    answer = JUDGE.label_locally([(case, facts)])[0] if named is None else labels(facts, **named)
    settlement = JUDGE.settle(case, facts, answer)
    findings = settlement.findings
    return {
        "status": "ok",
        "score": settlement.rulings["score"].value,
        "reason": settlement.rulings["reason"].value,
        "unnecessary": [finding.where for finding in findings if finding.rule.startswith("EFF-L")],
        "unknown": [finding.where for finding in findings if finding.rule == "EFF-N8"],
        "inputs": [step.input for step in facts.steps if step.kind in ("tool", "retrieval")],
        "steps": [step.name for step in facts.steps],
        "errors": [step.id for step in facts.steps if step.error is not None],
        "format": facts.trace.format,
        "task": facts.task,
    }


def differences(row: Row) -> list[str]:
    expect, found = row["expect"], given(row)
    problems = []
    for field, wanted in expect.items():
        if field == "not_said":
            problems += [
                f"the reason says {words!r}: {found['reason']}" for words in wanted if words in found["reason"]
            ]
        elif field == "score" and isinstance(wanted, list):
            if not wanted[0] <= found.get("score", -1) <= wanted[1]:
                problems.append(f"score {found.get('score')}, not within {wanted}")
        elif found.get(field) != wanted:
            problems.append(f"{field} {found.get(field)!r}, not {wanted!r}")
    return problems


def every_row() -> list[Row]:
    return [row for group in GROUPS for row in rows(group)]


@pytest.mark.parametrize(
    "row", [row for row in every_row() if row["id"] not in {*DIFFERS, *OVERLOOKED}], ids=lambda row: row["id"]
)
def test_trace_is_judged_as_the_rubric_wants(row: Row) -> None:
    assert not differences(row), row["why"]


def test_known_differences_are_real_and_no_rule_is_among_them() -> None:
    known = [row for row in every_row() if row["id"] in {*DIFFERS, *OVERLOOKED}]
    assert {row["id"] for row in known} == {*DIFFERS, *OVERLOOKED}
    assert [row["id"] for row in known if not differences(row)] == []
    assert [row["id"] for row in known if row["rule"]] == []


def test_where_waste_is_overlooked_nothing_else_is_called_waste() -> None:
    rows_of = {row["id"]: row for row in every_row()}
    for name in OVERLOOKED:
        row = rows_of[name]
        assert set(given(row)["unnecessary"]) <= set(row["expect"]["unnecessary"]), name


def test_the_audit_is_large_and_mostly_as_expected() -> None:
    count = len(every_row())
    assert count >= 160
    assert (count - len(DIFFERS) - len(OVERLOOKED)) / count >= AS_EXPECTED
