"""What a build server and a pull request get of a gate."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console

from krino.render.gate import gate_blocks, to_junit
from krino.render.markdown import to_markdown
from krino.render.terminal import show
from krino.results.gates.gate import Gate, check_run
from krino.results.gates.result import Check, GateResult
from krino.results.gates.rules import parse_flags
from krino.runs.manifest import Counts
from made_judgements import HOSTILE
from made_runs import failed_row, make_run, row


def made(tmp_path: Path) -> GateResult:
    rows = [row(f"c{n}", metadata={"court": "cass" if n < 50 else HOSTILE}, score=1.0) for n in range(60)]
    gate = Gate(parse_flags("min", ["score=0.5"]), by=[("court",)])
    return check_run(make_run(tmp_path / "r", [*rows, failed_row("f", {"court": "cass"})]), gate)


def hostile() -> GateResult:
    nasty = f"{HOSTILE}\x00\x0b\ufffe\uffff\ud800 ]]> & a|b `x` @team"
    check = Check(rule=nasty, slice=nasty, outcome="broken", message=nasty)
    return GateResult(run=nasty, judge=nasty, labeller="l", started="s", counts=Counts(), notes=(), checks=(check,))


def printed(result: GateResult) -> str:
    out = io.StringIO()
    show(Console(file=out, width=120), gate_blocks(result))
    return out.getvalue()


def test_junit_has_a_test_case_for_each_rule_and_slice(tmp_path: Path) -> None:
    (suite,) = ElementTree.fromstring(to_junit(made(tmp_path)))
    assert {key: suite.attrib[key] for key in ("tests", "failures", "skipped", "errors")} == {
        "tests": "8",
        "failures": "2",
        "skipped": "1",
        "errors": "0",
    }
    outcomes = {case.attrib["name"]: case[0].tag for case in suite.iter("testcase")}
    assert outcomes["min score=0.5 [court=cass]"] == "system-out"
    assert outcomes["max failed=0"] == "failure"
    failure = next(case[0] for case in suite.iter("testcase") if case.attrib["name"] == "max failed=0")
    assert failure.attrib["message"] == "1 of 61 cases have no verdict, more than the 0 allowed"


def test_junit_says_who_judged(tmp_path: Path) -> None:
    (suite,) = ElementTree.fromstring(to_junit(made(tmp_path)))
    found = {item.attrib["name"]: item.attrib["value"] for item in suite.iterfind("properties/property")}
    assert found["krino.judge"] == "toy" and found["krino.judge_version"] == "1"
    assert (found["krino.labeller"], found["krino.model"]) == ("local", "embedded labeller")


def test_junit_is_xml_whatever_the_text() -> None:
    (suite,) = ElementTree.fromstring(to_junit(hostile()))
    (case,) = suite
    assert "<script>" in case.attrib["name"], "kept, as text"
    assert not set("\x00\x0b\x1b\ufffe\uffff") & set("".join(suite.itertext()) + case.attrib["name"])


def test_markdown_has_the_reasons_and_opens_nothing(tmp_path: Path) -> None:
    text = to_markdown(gate_blocks(made(tmp_path)))
    assert text.startswith("### ✗ Gate failed: 2 of 7 checks broken.")
    assert "| ✗ | `max failed=0` |  | 1 of 61 cases have no verdict, more than the 0 allowed |" in text
    nasty = to_markdown(gate_blocks(hostile()))
    (line,) = (line for line in nasty.splitlines() if line.startswith("| ✗"))
    assert line.replace("\\|", "").count("|") == 5
    assert line.count("`") - line.count("\\`") == 2, "one code span"
    assert "@team" not in line.split("`")[2] and "\x1b" not in nasty


def test_the_terminal_shows_every_broken_check_however_many_there_are() -> None:
    checks = [Check(rule=f"rule {n}", outcome="broken" if n % 2 else "holds", message="m") for n in range(200)]
    result = GateResult(run="r", judge="j", labeller="l", started="s", counts=Counts(), notes=(), checks=tuple(checks))
    text = printed(result)
    assert all(f"rule {n} " in text for n in range(1, 200, 2))
    assert "100 more checks that are not broken are not shown here" in text
    assert "Gate failed: 100 of 200 checks broken." in text


def test_the_terminal_reads_no_markup_and_no_escape() -> None:
    text = printed(hostile())
    assert "\x1b" not in text and "loud" in text
