"""Counts by column: the roll-up where a judge gives one, else the status."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

import krino
from krino.reports.slices import count_by, print_slices


def line(court: str | None, status: str = "ok", roll_up: str | None = None) -> dict[str, Any]:
    return {"status": status, "roll_up": roll_up, "metadata": {"court": court, "language": "fr"}}


LINES = [line("cass", roll_up="pass"), line("cass", roll_up="fail"), line("appeal", "failed"), line(None)]


def test_cases_are_counted_by_roll_up_and_status() -> None:
    assert count_by(LINES, ["court"]) == {
        "court": {"cass": {"pass": 1, "fail": 1}, "appeal": {"failed": 1}, "none": {"ok": 1}}
    }


def test_a_column_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(krino.UsageProblem, match=r"--by place: .* they have court, language"):
        count_by(LINES, ["court", "place"])


def test_the_table_shows_every_value() -> None:
    out = io.StringIO()
    print_slices(Console(file=out, width=80), count_by(LINES, ["court", "language"]))
    rows = [row.split() for row in out.getvalue().splitlines() if row.strip()]
    assert rows[0] == ["court", "cases", "pass", "fail", "ok", "failed"]
    assert ["cass", "2", "1", "1", "0", "0"] in rows
    assert ["fr", "4", "1", "1", "1", "1"] in rows
