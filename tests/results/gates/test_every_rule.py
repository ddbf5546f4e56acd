"""Every broken rule is named, with the cases that break it, on the terminal, in JSON, JUnit and Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import orjson
import pytest

import krino
from krino import GateResult
from krino.render.gate import gate_blocks, to_junit
from krino.render.markdown import to_markdown
from krino.render.terminal import to_text
from krino.results.gates.rules import KINDS
from made_runs import failed_row, make_run, row

CASES = 80
BAD = "case-79"
"""The one case that breaks every rule about single cases."""


def verdict(place: int, *, good: bool) -> dict[str, Any]:
    bad = place == CASES - 1 and not good
    return {"score": 0.1 if bad else 0.9, "kind": "wrong" if bad else "right", "extra": None if bad else 0.5}


def rows(*, good: bool) -> list[dict[str, Any]]:
    return [
        row(
            f"case-{place}",
            metadata={"court": "A"},
            roll_up="fail" if place == CASES - 1 and not good else "pass",
            **verdict(place, good=good),
        )
        for place in range(CASES)
    ]


RULES: list[tuple[str, dict[str, Any], bool]] = [
    ("min score=0.95", {"min": {"score": 0.95}}, True),
    ("max score=0.5", {"max": {"score": 0.5}}, False),
    ("min pass=99.9%", {"min": {"pass": "99.9%"}}, True),
    ("max fail=0.1%", {"max": {"fail": "0.1%"}}, True),
    ("min kind:right=99.9%", {"min": {"kind:right": "99.9%"}}, True),
    ("max kind:wrong=0.1%", {"max": {"kind:wrong": "0.1%"}}, True),
    ("max extra:null=0.1%", {"max": {"extra:null": "0.1%"}}, True),
    ("max score:below:0.5=0", {"max": {"score:below:0.5": "0"}}, True),
    ("max score:below:0.5=1%", {"max": {"score:below:0.5": "1%"}}, True),
    ("min score:above:0.5=99.9%", {"min": {"score:above:0.5": "99.9%"}}, True),
    ("max pass:to:fail=0", {"max": {"pass:to:fail": "0"}}, True),
    ("max kind:right:to:wrong=1%", {"max": {"kind:right:to:wrong": "1%"}}, True),
    ("may-fall score=0.001", {"may_fall": {"score": 0.001}}, True),
    ("may-fall pass=0.1%", {"may_fall": {"pass": "0.1%"}}, True),
    ("may-rise fail=0.1%", {"may_rise": {"fail": "0.1%"}}, True),
]
"""The rule, how it is given, and whether one case breaks it more than the others."""


def compares(rules: dict[str, Any]) -> bool:
    return bool({"may_fall", "may_rise"} & rules.keys()) or any(":to:" in name for name in rules.get("max", {}))


def check_everywhere(result: GateResult, rule: str, case: str | None, outcome: str) -> None:
    """The rule and the case stand in all four outputs, each of which says that the rule is broken, or warns."""
    (check,) = (one for one in result.checks if one.rule == rule)
    assert check.outcome == outcome, check.message
    blocks = list(gate_blocks(result))
    terminal, markdown = " ".join(to_text(blocks).split()), to_markdown(blocks)
    (written,) = (one for one in orjson.loads(result.model_dump_json())["checks"] if one["rule"] == rule)
    (junit,) = (one for one in Tree.fromstring(to_junit(result)).iter("testcase") if one.get("name") == rule)
    said = junit.findtext("failure") if outcome == "broken" else junit.findtext("system-out")
    assert written["outcome"] == outcome and written["message"] == check.message
    assert rule in terminal and f"`{rule}`" in markdown and said is not None and check.message in said
    if case is not None:
        assert case in [one["id"] for one in written["worst"]]
        assert f"  {case}: " in said
        assert terminal.count(case) >= 1 and f"| {case} |" in markdown


@pytest.fixture
def runs(tmp_path: Path) -> tuple[Path, Path]:
    return make_run(tmp_path / "old", rows(good=True)), make_run(tmp_path / "new", rows(good=False))


@pytest.mark.parametrize(("rule", "given", "by_one_case"), RULES, ids=[rule for rule, *_ in RULES])
@pytest.mark.parametrize("warns", [False, True], ids=["breaks", "warns"])
def test_a_broken_rule_is_in_every_output_with_its_case(
    runs: tuple[Path, Path], rule: str, given: dict[str, Any], by_one_case: bool, warns: bool
) -> None:
    old, new = runs
    rules: dict[str, Any] = {"warn": [rule]} if warns else dict(given)
    if compares(given):
        rules["not_worse_than"] = old
    result = krino.load_run(new).gate(**rules)
    assert result.passed == warns
    named = f"warn {rule}" if warns else rule
    check_everywhere(result, named, BAD if by_one_case else None, "warns" if warns else "broken")


@pytest.mark.parametrize("limit", ["0", "0.1%"])
def test_cases_without_a_verdict_are_named_everywhere(tmp_path: Path, limit: str) -> None:
    run = make_run(tmp_path / "f", [*rows(good=True), failed_row("without")])
    result = krino.load_run(run).gate(max={"failed": limit})
    check_everywhere(result, f"max failed={limit}", "without", "broken")


def test_a_rule_of_a_slice_is_named_with_the_slice(runs: tuple[Path, Path]) -> None:
    result = krino.load_run(runs[1]).gate(max={"score:below:0.5": "0"}, by="court")
    blocks = list(gate_blocks(result))
    junit = to_junit(result).decode()
    assert "max score:below:0.5=0 [court=A]" in junit
    for shown in (to_text(blocks), to_markdown(blocks), result.model_dump_json(), junit):
        assert "court=A" in shown and BAD in shown


def test_rules_on_true_rates_and_measured_judges_are_in_every_output(runs: tuple[Path, Path]) -> None:
    labels = [{"id": f"case-{place}", "kind": "right" if place % 4 else "wrong"} for place in range(40)]
    result = krino.load_run(runs[1]).gate(min={"kind:right": "95%"}, labels=labels, measured=True)
    check_everywhere(result, "min kind:right=95%", None, "broken")
    check_everywhere(result, "measured", None, "broken")


def test_no_kind_of_rule_is_missing_here() -> None:
    """A kind that is added must be added to the table above."""
    assert {kind for _, given, _ in RULES for kind in given} == set(KINDS)
