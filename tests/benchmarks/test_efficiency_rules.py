"""The script that switches off rules of the efficiency labeller: each rule that it names exists."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from efficiency_making import ANSWER, JUDGE, SEARCH

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "efficiency_rules.py"))


def test_every_rule_can_be_switched_off_and_is_on_again_after_it(script: dict[str, Any]) -> None:
    row = script["Row"]("real", JUDGE.read({"task": "When does it open?", "trace": [SEARCH, ANSWER]}))
    before = script["judge"](row)
    for offs in {**script["RULES"], **script["FAMILIES"]}.values():
        with script["switched_off"](offs):
            assert script["judge"](row) == before  # a short and necessary trace, with or without any rule
    assert script["judge"](row) == before


def test_a_rule_that_is_switched_off_finds_nothing(script: dict[str, Any]) -> None:
    thought = {"type": "tool", "name": "think", "input": {"text": "where to look"}, "output": "ok"}
    row = script["Row"]("real", JUDGE.read({"task": "When does it open?", "trace": [thought, SEARCH, ANSWER]}))
    assert script["judge"](row)[0] < 1.0
    with script["switched_off"](script["RULES"]["thinking aloud"]):
        assert script["judge"](row)[0] == 1.0
    assert script["judge"](row)[0] < 1.0
