"""Gates as teams need them: limits on single cases, on changes of label, rules that only warn, rules on true rates."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import pytest
from typer.testing import CliRunner

import krino
from krino import GateResult, UsageProblem
from krino.cli import app
from krino.render.gate import gate_blocks, to_junit
from krino.render.markdown import to_markdown
from krino.render.terminal import to_text
from krino.results.gates.result import Check
from made_runs import make_run, row, scores


def gated(folder: Path, **rules: Any) -> GateResult:
    return krino.load_run(folder).gate(**rules)


def check_of(result: GateResult, rule: str) -> Check:
    return next(check for check in result.checks if check.rule == rule)


def everywhere(result: GateResult) -> list[str]:
    """The result in every form: terminal, JSON, JUnit and Markdown."""
    blocks = list(gate_blocks(result))
    return [to_text(blocks), result.model_dump_json(), to_junit(result).decode(), to_markdown(blocks)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One hundred scores, three of which are below 0.5."""
    return make_run(tmp_path / "r", scores(0.1, 0.4, 0.2, *(0.5 + place / 200 for place in range(97))))


def test_a_share_of_cases_may_be_below_a_number(run: Path) -> None:
    held = gated(run, max={"score:below:0.5": "10%"})
    assert held.passed
    broken = gated(run, max={"score:below:0.5": "5%"})
    check = check_of(broken, "max score:below:0.5=5%")
    assert check.outcome == "broken"
    assert check.value == 0.03
    assert "upper end of the interval is above 5 %" in check.message
    assert [case.id for case in check.worst] == ["c0", "c2", "c1"]
    for shown in everywhere(broken):
        assert "score:below:0.5=5%" in shown
        assert "c0" in shown and "c2" in shown


def test_a_number_of_cases_may_be_limited_exactly(run: Path) -> None:
    assert gated(run, max={"score:below:0.5": "3"}).passed
    check = check_of(gated(run, max={"score:below:0.5": "2"}), "max score:below:0.5=2")
    assert check.outcome == "broken"
    assert check.interval is None
    assert check.message.startswith("3 of 100 cases: score below 0.5, more than the 2 allowed")


def test_a_share_may_have_to_be_above_a_number(run: Path) -> None:
    assert gated(run, min={"score:above:0.3": "90%"}).passed
    assert [
        case.id for case in check_of(gated(run, min={"score:above:0.3": "99%"}), "min score:above:0.3=99%").worst
    ] == [
        "c0",
        "c2",
    ]


def test_null_is_never_below_a_number_and_breaks_the_rule_by_itself(tmp_path: Path) -> None:
    run = make_run(tmp_path / "n", scores(*[0.9] * 50, None))
    check = check_of(gated(run, max={"score:below:0.5": "0"}), "max score:below:0.5=0")
    assert check.value == 0
    assert check.outcome == "broken"
    assert "null" in check.message


def judged(folder: Path, *labels: str) -> Path:
    return make_run(folder, [row(f"c{place}", roll_up=label, score=1.0) for place, label in enumerate(labels)])


def test_no_case_that_passed_may_fail(tmp_path: Path) -> None:
    old = judged(tmp_path / "old", *["pass"] * 40, "fail", "review")
    better = judged(tmp_path / "better", *["pass"] * 40, "pass", "review")
    worse = judged(tmp_path / "worse", "fail", *["pass"] * 39, "pass", "fail")
    rule = {"pass:to:fail": "0"}
    assert gated(better, max=rule, not_worse_than=old).passed
    broken = gated(worse, max=rule, not_worse_than=old)
    check = check_of(broken, "max pass:to:fail=0")
    assert check.outcome == "broken"
    assert [case.id for case in check.worst] == ["c0"]
    assert "1 of 42 cases" in check.message
    assert all("c0" in shown and "pass:to:fail=0" in shown for shown in everywhere(broken))
    assert gated(worse, max={"pass:to:fail": "20%"}, not_worse_than=old).passed


def test_a_change_of_label_needs_another_run(run: Path) -> None:
    with pytest.raises(UsageProblem, match="--not-worse-than"):
        gated(run, max={"score:a:to:b": "0"})


def test_a_warning_is_shown_and_passes(run: Path) -> None:
    warned = gated(run, warn=["max score:below:0.5=0", "min score=0.1"])
    assert warned.passed
    assert [check.rule for check in warned.warnings] == ["warn max score:below:0.5=0"]
    terminal, json, junit, markdown = everywhere(warned)
    assert "Gate passed with 1 warning" in terminal and "Gate passed with 1 warning" in markdown
    assert '"warns"' in json
    suite = Tree.fromstring(junit).find("testsuite")
    assert suite is not None and suite.get("failures") == "0"
    assert any((case.findtext("system-out") or "").startswith("warning: warn max") for case in suite)
    assert all("c0" in shown for shown in (terminal, json, junit, markdown))


def test_a_rule_may_warn_early_and_fail_late(run: Path) -> None:
    found = gated(run, max={"score:below:0.5": "5"}, warn=["max score:below:0.5=2"])
    assert found.passed and len(found.warnings) == 1


def test_a_warning_about_failed_cases_does_not_allow_them(tmp_path: Path) -> None:
    from made_runs import failed_row

    run = make_run(tmp_path / "f", [*scores(0.9), failed_row("x")])
    assert not gated(run, warn=["max failed=5"]).passed


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"max": {"score:below:0.5": "0.5"}}, "whole number of cases"),
        ({"min": {"score:below:0.5": "3"}}, "whole number of cases"),
        ({"may_rise": {"score:below:0.5": "5%"}}, "with min or max"),
        ({"warn": ["faithfulness=0.9"]}, "begin with min"),
        ({"min": {"pass:to:fail": "5%"}}, "only be limited from above"),
        ({"max": {"nothing:below:0.5": "5%"}}, "no field `nothing`"),
        ({"max": {"score:below:0.5": "100%"}}, "nothing can break this limit"),
    ],
)
def test_rules_without_meaning_are_refused(run: Path, rules: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        gated(run, **rules)


def test_rules_are_held_against_the_true_rate(tmp_path: Path) -> None:
    """The judge passes everything; people pass three quarters."""
    rows = [row(f"c{place}", roll_up="fail" if place % 20 == 0 else "pass", score=1.0) for place in range(400)]
    run = make_run(tmp_path / "r", rows)
    labels = [
        {"id": f"c{place}", "roll_up": "pass" if place % 20 and place % 4 else "fail"} for place in range(0, 400, 3)
    ]
    assert gated(run, min={"pass": "85%"}).passed
    broken = gated(run, min={"pass": "85%"}, labels=labels)
    check = check_of(broken, "min pass=85%")
    assert check.outcome == "broken"
    assert check.value == pytest.approx(0.75, abs=0.05)
    assert "the true value, from 134 labels and all verdicts" in check.message
    assert gated(run, min={"pass": "60%"}, labels=labels).passed
    with pytest.raises(UsageProblem, match="true-rate --by"):
        gated(run, min={"pass": "60%"}, labels=labels, by="court")


def test_the_command_takes_warnings_and_labels(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.cli.runner.tune_memory", lambda: None)
    done = CliRunner().invoke(app, ["gate", str(run), "--warn", "max score:below:0.5=0"])
    assert done.exit_code == 0
    assert "1 warning" in done.output
    file = tmp_path / "labels.csv"
    file.write_text("id,score\n" + "".join(f"c{place},0.2\n" for place in range(40)))
    assert CliRunner().invoke(app, ["gate", str(run), "--min", "score=0.5"]).exit_code == 0
    assert CliRunner().invoke(app, ["gate", str(run), "--min", "score=0.5", "--labels", str(file)]).exit_code == 1
