"""The script that switches off rules of the embedded RAG labeller: each rule that it names exists."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from rag_making import case_of

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
CASES = [case_of(), case_of(answer="The bridge was opened in 1910. It has ninety lamps.")]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], dict[str, Any]]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "rag_rules.py")), runpy.run_path(str(FOLDER / "rag_logs.py"))


def test_every_family_can_be_switched_off_and_is_on_again_after_it(scripts: tuple[dict[str, Any], Any]) -> None:
    rules, logs = scripts
    before = [found.told for found in logs["judge_all"](CASES)]
    for patches in rules["FAMILIES"].values():
        with rules["switched_off"](patches):
            assert len(logs["judge_all"](CASES)) == len(CASES)
    assert [found.told for found in logs["judge_all"](CASES)] == before


def test_a_family_that_is_switched_off_finds_nothing(scripts: tuple[dict[str, Any], Any]) -> None:
    rules, logs = scripts
    family = rules["FAMILIES"]["values: all"]
    assert logs["judge_all"](CASES)[1].labels.claims[0].label == "contradicted"
    with rules["switched_off"](family):
        assert logs["judge_all"](CASES)[1].labels.claims[0].label != "contradicted"
