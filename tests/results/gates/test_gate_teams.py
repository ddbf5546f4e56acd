"""Gates as teams need them: limits on single cases, on changes of label, rules that only warn, rules on true rates."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Tree

import orjson
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


# --- the noise of repeats --------------------------------------------------------------------------


def repeated(folder: Path, *votes: tuple[float | None, ...], members: tuple[str, ...] = ("m",)) -> Path:
    """A run whose cases were asked about several times: the last number of each case is what the panel says."""
    repeat = (len(votes[0]) - 1) // len(members)
    seats = [(member, n) for n in range(1, repeat + 1) for member in members]
    rows = [
        {
            **row(f"c{place}", score=said[-1]),
            "ballots": [
                {"member": member, "repeat": n, "labels": {}, "verdict": None if value is None else {"score": value}}
                for (member, n), value in zip(seats, said[:-1], strict=True)
            ],
        }
        for place, said in enumerate(votes)
    ]
    labeller = {"kind": "panel", "members": {member: {} for member in members}, "repeat": repeat}
    return make_run(folder, rows, plan={"labeller": labeller})


NOISE = "within the noise of repeats: 1 of 3 repeats alone would keep it"


def test_a_rule_that_some_repeats_would_keep_fails_within_noise_and_every_output_says_so(tmp_path: Path) -> None:
    run = repeated(tmp_path / "r", *[(0.85, 0.7, 0.75, 0.75)] * 40)
    broken = gated(run, min={"score": 0.8}, point=True)
    check = check_of(broken, "min score=0.8")
    assert check.outcome == "broken"
    assert check.kept_by_repeats == (1, 3)
    assert all(NOISE in " ".join(shown.split()) for shown in everywhere(broken))


def test_a_rule_that_every_repeat_breaks_is_no_noise_and_one_that_holds_is_not_read_again(tmp_path: Path) -> None:
    run = repeated(tmp_path / "r", *[(0.7, 0.7, 0.75, 0.7)] * 40)
    broken, held = gated(run, min={"score": 0.8}), gated(run, min={"score": 0.1})
    assert check_of(broken, "min score=0.8").kept_by_repeats == (0, 3)
    assert check_of(held, "min score=0.1").kept_by_repeats is None
    assert not any("noise" in shown for result in (broken, held) for shown in everywhere(result)[:1])


def test_a_repeat_that_gave_a_case_no_verdict_does_not_keep_a_rule(tmp_path: Path) -> None:
    """Its answer was no valid one, so alone it would have left the case without a value."""
    run = repeated(tmp_path / "r", *[(0.85, 0.7, 0.75, 0.75)] * 40, (None, 0.7, 0.75, 0.75))
    assert check_of(gated(run, min={"score": 0.8}, point=True), "min score=0.8").kept_by_repeats == (0, 3)


def test_two_models_that_differ_are_no_noise(tmp_path: Path) -> None:
    run = repeated(tmp_path / "r", *[(0.9, 0.7, 0.75)] * 40, members=("a", "b"))
    assert check_of(gated(run, min={"score": 0.8}), "min score=0.8").kept_by_repeats is None


def test_noise_is_seen_in_changes_against_another_run_too(tmp_path: Path) -> None:
    old = make_run(tmp_path / "old", scores(*[0.8] * 40))
    run = repeated(tmp_path / "r", *[(0.8, 0.6, 0.65, 0.65)] * 40)
    broken = gated(run, may_fall={"score": 0.05}, not_worse_than=old)
    assert check_of(broken, "may-fall score=0.05").kept_by_repeats == (1, 3)


# --- every rule in every output --------------------------------------------------------------------

EVERY_RULE: dict[str, dict[str, Any]] = {
    "min score=0.9": {"min": {"score": 0.9}},
    "max score=0.1": {"max": {"score": 0.1}},
    "min kind:A=90%": {"min": {"kind:A": "90%"}},
    "max kind:B=10%": {"max": {"kind:B": "10%"}},
    "min tags:x=99%": {"min": {"tags:x": "99%"}},
    "min pass=90%": {"min": {"pass": "90%"}},
    "max fail=10%": {"max": {"fail": "10%"}},
    "max failed=0": {"max": {"failed": "0"}},
    "max failed=1%": {"max": {"failed": "1%"}},
    "max similarity:null=10%": {"max": {"similarity:null": "10%"}},
    "max score:below:0.5=5%": {"max": {"score:below:0.5": "5%"}},
    "max score:above:0.7=1": {"max": {"score:above:0.7": "1"}},
    "min score:above:0.5=90%": {"min": {"score:above:0.5": "90%"}},
    "may-fall score=0.02": {"may_fall": {"score": 0.02}},
    "may-rise score=0": {"may_rise": {"score": 0}},
    "may-fall pass=2%": {"may_fall": {"pass": "2%"}},
    "may-rise kind:B=2%": {"may_rise": {"kind:B": "2%"}},
    "max pass:to:fail=0": {"max": {"pass:to:fail": "0"}},
    "max kind:A:to:B=5%": {"max": {"kind:A:to:B": "5%"}},
}
"""Each kind of rule, which the run below breaks."""


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run that breaks every rule, and the better one that it is compared with."""
    from made_runs import failed_row

    folder = tmp_path_factory.mktemp("every")
    good: dict[str, Any] = {"roll_up": "pass", "kind": "A", "tags": ["x"], "similarity": 1.0}
    bad: dict[str, Any] = {"roll_up": "fail", "kind": "B", "tags": ["y"], "similarity": None}
    old = [row(f"c{place}", score=0.6, **good) for place in range(60)]
    new = [
        row(f"c{place}", score=0.2 if place < 20 else 0.95 if place < 50 else 0.6, **(bad if place < 20 else good))
        for place in range(59)
    ]
    return make_run(folder / "new", [*new, failed_row("c59")]), make_run(folder / "old", old)


@pytest.mark.parametrize("warns", [False, True], ids=["fails", "warns"])
@pytest.mark.parametrize("rule", EVERY_RULE)
def test_every_kind_of_rule_is_in_every_output_with_its_cases(worse: tuple[Path, Path], rule: str, warns: bool) -> None:
    run, old = worse
    given: dict[str, Any] = {"warn": [rule]} if warns else EVERY_RULE[rule]
    limits = {"max": {"failed": "100%", **given.get("max", {})}}
    compared = {"not_worse_than": old} if "may" in rule or ":to:" in rule else {}
    result = gated(run, **{**given, **limits}, **compared)
    name = f"warn {rule}" if warns else rule
    check = check_of(result, name)
    assert check.outcome == ("warns" if warns else "broken"), check.message
    assert check.against == len(check.worst) or len(check.worst) == 10
    cases = [case.id for case in check.worst]
    assert cases
    terminal, json, junit, markdown = everywhere(result)
    for shown in (terminal, markdown):
        assert name in shown
    assert any(item["rule"] == name and item["worst"] for item in orjson.loads(json)["checks"])
    (test,) = [case for case in Tree.fromstring(junit).iter("testcase") if case.get("name") == name]
    said = test.findtext("system-out" if warns else "failure") or ""
    assert said.startswith("warning: ") == warns
    for case in cases:
        assert all(re.search(rf"\b{case}\b", shown) for shown in (terminal, json, said, markdown)), case


def test_a_judge_without_a_measured_agreement_is_named_in_every_output(worse: tuple[Path, Path]) -> None:
    result = gated(worse[0], max={"failed": "100%"}, measured=True)
    assert [check.rule for check in result.broken] == ["measured"]
    assert all("no measured agreement with people" in " ".join(shown.split()) for shown in everywhere(result))
    assert "measured" not in [check.rule for check in gated(worse[0], max={"failed": "100%"}).checks]


def test_rules_of_slices_and_on_true_rates_are_in_every_output(worse: tuple[Path, Path]) -> None:
    labels = [{"id": f"c{place}", "kind": "A" if place % 4 else "B"} for place in range(40)]
    limits = {"max": {"failed": "100%"}, "min": {"kind:A": "95%"}}
    on_truth = gated(worse[0], **limits, labels=labels)
    assert all("kind:A=95%" in shown and "true" in shown for shown in everywhere(on_truth))
    run = worse[0].parent / "sliced"
    make_run(run, [row(f"c{place}", metadata={"court": "A"}, score=0.2 if place == 7 else 0.9) for place in range(60)])
    sliced = gated(run, max={"score:below:0.5": "0"}, by="court")
    assert all("court=A" in shown and "c7" in shown for shown in everywhere(sliced))
