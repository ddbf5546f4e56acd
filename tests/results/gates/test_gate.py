"""A gate fails closed: what was not judged, finished, known or shown can never pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

import krino
from krino.results.gates.gate import Gate, check_run
from krino.results.gates.result import Check, GateResult
from krino.results.gates.rules import LimitKind, Rule, parse_flags
from krino.runs.manifest import JudgeCard
from krino.stats.confidence_intervals import wilson_interval
from krino.stats.paired_tests import share_difference_interval
from made_runs import Row, error_row, failed_row, make_run, row, scores

GOOD = [*[1.0] * 85, *[0.0] * 15]


def rules(**given: str) -> list[Rule]:
    """`min="a=1 b=2"`."""
    return [rule for kind in ("min", "max", "may_fall", "may_rise") for rule in _of(kind, given.get(kind, ""))]


def _of(kind: LimitKind, text: str) -> list[Rule]:
    return parse_flags(kind, text.split())


def gated(run: Path, gate: Gate) -> GateResult:
    return check_run(run, gate)


def check(result: GateResult, rule: str, where: str | None = None) -> Check:
    (found,) = (item for item in result.checks if (item.rule, item.slice) == (rule, where))
    return found


def broken(result: GateResult) -> list[str]:
    return [item.rule if item.slice is None else f"{item.rule} [{item.slice}]" for item in result.broken]


# --- without a rule --------------------------------------------------------------------------------


def test_without_rules_a_whole_run_passes_and_it_is_said_that_nothing_else_was_asked(tmp_path: Path) -> None:
    result = gated(make_run(tmp_path / "r", scores(0.0, 0.0)), Gate())
    assert result.passed
    assert "No rule was given" in result.notes[0]


@pytest.mark.parametrize("bad", [failed_row("x"), error_row("x")])
@pytest.mark.parametrize("extra", [{}, {"min": "score=0.1"}, {"max": "score:null=100%"}])
def test_one_case_without_a_verdict_breaks_every_gate_that_does_not_allow_it(
    tmp_path: Path, bad: Row, extra: dict[str, str]
) -> None:
    run = make_run(tmp_path / "r", [*scores(*[1.0] * 99), bad])
    for point in (False, True):
        result = gated(run, Gate(rules(**extra), point=point))
        assert broken(result) == ["max failed=0"]
        assert check(result, "max failed=0").message == "1 of 100 cases have no verdict, more than the 0 allowed"


@pytest.mark.parametrize(("limit", "passes"), [("1%", True), ("1", True), ("0.9%", False), ("0", False)])
def test_a_limit_on_failed_cases_is_counted_not_estimated(tmp_path: Path, limit: str, passes: bool) -> None:
    run = make_run(tmp_path / "r", [*scores(*[1.0] * 99), failed_row("x")])
    assert gated(run, Gate(rules(max=f"failed={limit}"))).passed is passes


@pytest.mark.parametrize("state", ["running", "stopped", "interrupted"])
def test_an_unfinished_run_fails(tmp_path: Path, state: str) -> None:
    result = gated(make_run(tmp_path / "r", scores(1.0), state=state), Gate(rules(max="failed=100%")))
    assert broken(result) == ["finished"]


def test_a_run_without_cases_fails(tmp_path: Path) -> None:
    result = gated(make_run(tmp_path / "r", []), Gate(rules(min="score=0.5", max="failed=100%")))
    assert broken(result) == ["has cases", "max failed=100%", "min score=0.5"]


def test_a_run_that_lost_judgements_fails(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(1.0, 0.5))
    first, _, _ = (run / "judgements.jsonl").read_bytes().partition(b"\n")
    (run / "judgements.jsonl").write_bytes(first + b"\n")
    with pytest.raises(
        krino.UsageProblem, match="of 2 cases 1 ok, 0 failed, 0 error are there, and yet the run was finished with 2 ok"
    ):
        gated(run, Gate())
    with pytest.raises(krino.UsageProblem, match="these 1 cases are not the 3 that the run was finished with"):
        gated(make_run(tmp_path / "s", scores(1.0), cases=3), Gate())


def test_where_nothing_was_judged_every_rule_is_broken(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [failed_row("a"), error_row("b")])
    result = gated(run, Gate(rules(min="score=0.1 pass=1%", max="failed=100% kind:A=99%")))
    assert broken(result) == ["has verdicts", "min score=0.1", "min pass=1%", "max kind:A=99%"]
    fields = ("score", "roll_up", "kind")
    assert [item.message for item in result.broken[1:]] == [f"no case has a value of `{name}`" for name in fields]


def test_a_limit_on_failed_cases_does_not_let_a_run_without_any_verdict_pass(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [failed_row("a"), error_row("b")])
    result = gated(run, Gate(rules(max="failed=100%")))
    assert broken(result) == ["has verdicts"]
    assert result.broken[0].message == "0 of 2 cases have a verdict"


# --- values and bounds -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "bound", "point"), [("0.7", True, True), ("0.8", False, True), ("0.9", False, False)]
)
def test_a_mean_is_held_at_the_lower_end_of_its_interval_or_with_point_itself(
    tmp_path: Path, limit: str, bound: bool, point: bool
) -> None:
    run = make_run(tmp_path / "r", scores(*GOOD))
    assert gated(run, Gate(rules(min=f"score={limit}"))).passed is bound
    assert gated(run, Gate(rules(min=f"score={limit}"), point=True)).passed is point


def test_at_most_is_held_at_the_upper_end(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(*GOOD))
    assert not gated(run, Gate(rules(max="score=0.9"))).passed
    assert gated(run, Gate(rules(max="score=0.9"), point=True)).passed


def test_the_reason_says_what_is_too_low(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(*GOOD))
    told = check(gated(run, Gate(rules(min="score=0.8"))), "min score=0.8").message
    measured = "mean score 0.850 of 100 cases (95 % interval 0.766 to 0.908)"
    assert told == f"{measured} is at least 0.8, but the lower end of the interval is below 0.8"
    told = check(gated(run, Gate(rules(min="score=0.9"))), "min score=0.9").message
    assert told == f"{measured} is below 0.9"


def test_a_mean_at_the_limit_is_at_the_limit(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(*[0.1] * 3))  # three tenths sum up to a little more than 0.3
    assert gated(run, Gate(rules(min="score=0.1", max="score=0.1"), point=True)).passed


def test_a_handful_of_perfect_scores_is_no_proof(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(*[1.0] * 5))
    assert broken(gated(run, Gate(rules(min="score=0.8")))) == ["min score=0.8"]


def test_numbers_on_another_scale_need_thirty_values_or_point(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(4, 5, 5, 4))
    result = gated(run, Gate(rules(min="score=2")))
    assert (
        "is at least 2, but there are too few cases for an interval (30 are needed; --point gates the value itself)"
        in check(result, "min score=2").message
    )
    assert gated(run, Gate(rules(min="score=2"), point=True)).passed


# --- shares ----------------------------------------------------------------------------------------


def kinds(**counts: int) -> list[Row]:
    labels = [label for label, count in counts.items() for _ in range(count)]
    return [
        row(f"c{place}", kind=label, roll_up="pass" if label == "A" else "fail") for place, label in enumerate(labels)
    ]


def test_a_share_is_held_at_the_end_of_wilsons_interval(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", kinds(A=90, B=10))
    found = check(gated(run, Gate(rules(min="kind:A=80%"))), "min kind:A=80%")
    assert (found.value, found.interval, found.outcome) == (0.9, wilson_interval(90, 100), "holds")
    assert broken(gated(run, Gate(rules(min="kind:A=85%")))) == ["min kind:A=85%"]
    assert gated(run, Gate(rules(min="kind:A=85%"), point=True)).passed
    assert broken(gated(run, Gate(rules(max="fail=12%")))) == ["max fail=12%"]


def test_a_case_without_a_value_never_helps(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [*kinds(A=80, B=10), *(failed_row(f"f{n}") for n in range(10))])
    result = gated(run, Gate(rules(min="pass=50%", max="failed=10% fail=50%")))
    assert check(result, "min pass=50%").value == 80 / 100, "failed cases did not pass"
    assert check(result, "max fail=50%").value == 10 / 90, "failed cases do not water down the bad ones"


def test_a_list_counts_where_it_holds_the_label(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [row(f"c{n}", errors=["X", "Y"] if n < 5 else ["NONE"]) for n in range(50)])
    assert check(gated(run, Gate(rules(max="errors:X=50%"))), "max errors:X=50%").value == 0.1


def test_a_label_that_never_came_is_a_share_of_none(tmp_path: Path) -> None:
    """The toy judge of this run cannot be loaded, so nobody knows which labels there are."""
    run = make_run(tmp_path / "r", kinds(A=100))
    assert check(gated(run, Gate(rules(max="kind:Z=5%"))), "max kind:Z=5%").value == 0.0
    assert broken(gated(run, Gate(rules(min="kind:Z=5%")))) == ["min kind:Z=5%"]


# --- nulls -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["min score=0.1", "max score=1", "min kind:A=10%", "max kind:B=90%"])
@pytest.mark.parametrize("point", [False, True])
def test_a_null_breaks_a_rule_over_its_field_unless_it_is_allowed(tmp_path: Path, rule: str, point: bool) -> None:
    nulls = [row(f"n{n}", kind=None, score=None) for n in range(5)]
    cases = [row(f"c{n}", kind="A", score=0.9) for n in range(95)]
    run = make_run(tmp_path / "r", [*cases, *nulls])
    kind, text = rule.split()
    field = text.partition("=")[0].partition(":")[0]
    found = check(gated(run, Gate(rules(**{kind: text}), point=point)), rule)
    assert (found.outcome, found.nulls) == ("broken", 5)
    told = f"5 of 100 judged cases have no {field} (null): allow them with --max {field}:null=SHARE%"
    assert told in found.message
    given = {kind: text}
    allowed = rules(max=f"{given.get('max', '')} {field}:null=5%", min=given.get("min", ""))
    result = gated(run, Gate(allowed, point=point))
    assert result.passed
    assert "5 of 100 judged cases have no" in check(result, rule).message, "it is still said"


def test_more_nulls_than_allowed_break_the_gate(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(*[0.9] * 90, *[None] * 10))
    result = gated(run, Gate(rules(min="score=0.1", max="score:null=5%")))
    assert broken(result) == ["max score:null=5%"]


# --- what is not there -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"min": "scor=0.5"},
            "the verdicts have no field `scor` \\(did you mean score\\?\\); they have kind, score, why",
        ),
        ({"max": "scor:null=5%"}, "no field `scor`"),
        ({"min": "kind=0.5"}, "`kind` is not a number; name a label of it"),
        ({"min": "score:high=5%"}, "`score` is a number and has no labels"),
        ({"min": "why:because=5%"}, "`why` is free text"),
        ({"min": "pass=5%"}, "this judge has no roll-up"),
    ],
)
def test_a_rule_about_what_is_not_there_is_wrong_usage(tmp_path: Path, given: dict[str, str], words: str) -> None:
    why = "Because the second passage of the case says so, in so many words."
    run = make_run(tmp_path / "r", [row("c", kind="A", score=0.5, why=why)])
    with pytest.raises(krino.UsageProblem, match=words):
        gated(run, Gate(rules(**given)))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("match_correctness:CORECT=5%", r"no label `CORECT` \(did you mean CORRECT\?\); it has CORRECT"),
        ("errors:CEILING=5%", "no label `CEILING`"),
        ("roll_up:passed=5%", r"no label `passed` \(did you mean pass\?\); it has fail, pass, review"),
    ],
)
def test_a_label_that_the_judge_does_not_know_is_wrong_usage(tmp_path: Path, rule: str, words: str) -> None:
    verdict: dict[str, Any] = {
        "match_correctness": "INCORRECT",
        "correct_decision_id": None,
        "court_alignment_handling": "CORRECT_ALIGNMENT",
        "cited_court_classification": "NATIONAL",
        "confidence_calibration": "WELL_CALIBRATED",
        "expected_confidence_range": [0, 50],
        "applicable_ceiling": None,
        "reasoning_quality": 3,
        "errors": ["NONE"],
        "evaluation_notes": "Another decision is meant.",
        "improvement_suggestions": "Look at the number.",
    }
    about = JudgeCard.of(krino.load_judge("citation"))
    run = make_run(tmp_path / "r", [row("c", roll_up="fail", **verdict)], about=about)
    with pytest.raises(krino.UsageProblem, match=words):
        gated(run, Gate(rules(max=rule)))
    assert (
        check(gated(run, Gate(rules(max="errors:FR_NL_CONFUSION=90%"))), "max errors:FR_NL_CONFUSION=90%").value == 0.0
    )


class _Scaled(BaseModel):
    score: float | None = Field(ge=0, le=1)
    stars: Literal[1, 2, 3, 4, 5]
    seconds: float = Field(ge=0)
    kind: str


SCALED = _Scaled.model_json_schema()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max": "score=5"}, "max score=5: `score` lies in 0 to 1, so nothing can break this limit"),
        ({"max": "score=1"}, "nothing can break"),
        ({"min": "score=0"}, "nothing can break"),
        ({"may_fall": "score=1"}, "nothing can break"),
        ({"may_rise": "score=1.5"}, "nothing can break"),
        ({"min": "stars=1"}, "`stars` lies in 1 to 5"),
        ({"may_fall": "stars=4"}, "`stars` lies in 1 to 5"),
    ],
)
def test_a_limit_that_nothing_can_break_is_wrong_usage(tmp_path: Path, given: dict[str, str], words: str) -> None:
    rows = [row(f"c{n}", score=0.5, stars=3, seconds=0.2, kind="A") for n in range(40)]
    run = make_run(tmp_path / "r", rows, about=JudgeCard(verdict_schema=SCALED))
    with pytest.raises(krino.UsageProblem, match=words):
        gated(run, Gate(rules(**given), base=run))
    allowed = rules(max="seconds=5 score=0.9", min="stars=2", may_fall="score=0.9 stars=3")
    assert gated(run, Gate(allowed, base=run)).passed, "a limit that can be broken, and one on an open scale"


def test_where_the_judge_declares_no_scale_it_is_told_that_the_limit_may_say_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(*GOOD))
    told = "every value lies in 0 to 1, where no mean can break this limit"
    assert check(gated(run, Gate(rules(max="score=5"))), "max score=5").message.endswith(told)
    assert told not in check(gated(run, Gate(rules(max="score=0.99"))), "max score=0.99").message


def test_a_label_that_nobody_knows_and_no_case_has_is_told(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", kinds(A=100))
    told = "no case has the label `Z`, and the judge does not say whether there is one"
    assert check(gated(run, Gate(rules(max="kind:Z=5%"))), "max kind:Z=5%").message.endswith(told)
    assert "no case has the label" not in check(gated(run, Gate(rules(min="kind:A=5%"))), "min kind:A=5%").message


# --- slices ----------------------------------------------------------------------------------------


def courts(**counts: tuple[int, float]) -> list[Row]:
    return [
        row(f"{court}{n}", metadata={"court": court, "language": "fr"}, score=1.0 if n < good * size else 0.0)
        for court, (size, good) in counts.items()
        for n in range(size)
    ]


def test_a_rule_must_hold_in_every_slice_with_enough_cases(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", courts(cass=(200, 0.95), labour=(40, 0.5), police=(5, 0.0)))
    result = gated(run, Gate(rules(min="score=0.7"), by=[("court",)]))
    assert broken(result) == ["min score=0.7 [court=labour]"]
    assert check(result, "min score=0.7", "court=cass").outcome == "holds"
    small = check(result, "by court", "court=police")
    assert (small.outcome, small.message) == ("too few", "5 cases, fewer than 30: not gated")
    assert any("fewer than 30 cases are shown and not gated" in note for note in result.notes)


def test_columns_can_be_combined(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", courts(cass=(40, 1.0)))
    result = gated(run, Gate(rules(min="score=0.7"), by=[("court", "language")]))
    assert check(result, "min score=0.7", "court*language=cass · fr").outcome == "holds"


def test_failed_cases_are_found_in_their_slice(tmp_path: Path) -> None:
    rows = [*courts(cass=(40, 1.0), labour=(40, 1.0)), *(failed_row(f"f{n}", {"court": "labour"}) for n in range(4))]
    result = gated(make_run(tmp_path / "r", rows), Gate(rules(max="failed=5%"), by=[("court",)]))
    assert broken(result) == ["max failed=5% [court=labour]"]


def test_where_no_slice_has_enough_cases_the_gate_is_broken(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", courts(cass=(20, 1.0), labour=(20, 1.0)))
    assert broken(gated(run, Gate(rules(min="score=0.7"), by=[("court",)]))) == ["by court"]
    assert gated(run, Gate(rules(min="score=0.7"), by=[("court",)], few=20)).passed


def test_slices_without_end_are_counted_not_listed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [row(f"c{n}", metadata={"doc": n}, score=1.0) for n in range(300)])
    result = gated(run, Gate(by=[("doc",)]))
    assert len(result.checks) < 120
    assert result.checks[-1].message == "200 more slices have fewer than 30 cases"


def test_a_column_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", courts(cass=(40, 1.0)))
    with pytest.raises(krino.UsageProblem, match=r"by place: .* they have court, language"):
        gated(run, Gate(by=[("place",)]))


def test_whether_a_number_is_a_score_is_for_the_whole_field_to_say(tmp_path: Path) -> None:
    """Forty ones among numbers from 1 to 5 are no perfect scores."""
    rows = [row(f"c{n}", metadata={"half": n % 2}, quality=1 if n % 2 else 1 + n % 5) for n in range(80)]
    result = gated(make_run(tmp_path / "r", rows), Gate(rules(min="quality=0.95"), by=[("half",)]))
    assert check(result, "min quality=0.95", "half=1").interval == (1.0, 1.0)


# --- not worse than another run --------------------------------------------------------------------


def against(tmp_path: Path, base: list[Row], new: list[Row], *, point: bool = False, **given: str) -> GateResult:
    other = make_run(tmp_path / "base", base)
    return gated(make_run(tmp_path / "new", new), Gate(rules(**given), base=other, point=point))


def shifted(by: float) -> list[Row]:
    return scores(*(0.5 + by + n % 7 / 100 * (1 if n % 2 else -1) for n in range(100)))


@pytest.mark.parametrize(("by", "outcome"), [(0.0, "holds"), (-0.01, "holds"), (-0.05, "broken"), (0.3, "holds")])
def test_a_score_may_fall_by_the_margin(tmp_path: Path, by: float, outcome: str) -> None:
    found = check(against(tmp_path, scores(*[0.5] * 100), shifted(by), may_fall="score=0.03"), "may-fall score=0.03")
    assert found.outcome == outcome


def test_the_interval_of_the_change_decides_unless_point_is_asked(tmp_path: Path) -> None:
    base, new = shifted(0.0), shifted(-0.019)
    noisy = [row(item["id"], score=item["verdict"]["score"] + (0.1 if n % 2 else -0.1)) for n, item in enumerate(new)]
    assert not against(tmp_path / "a", base, noisy, may_fall="score=0.02").passed
    assert against(tmp_path / "b", base, noisy, may_fall="score=0.02", point=True).passed


def test_a_share_may_rise_by_the_margin(tmp_path: Path) -> None:
    base, new = kinds(A=200), kinds(A=196, B=4)
    found = check(against(tmp_path, base, new, may_rise="fail=5%"), "may-rise fail=5%")
    assert (found.value, found.interval) == (0.02, share_difference_interval(0, 4, 200))
    assert found.outcome == "holds"
    assert broken(against(tmp_path / "b", base, new, may_rise="fail=4%")) == ["may-rise fail=4%"]


def test_a_case_that_failed_here_counts_as_lost(tmp_path: Path) -> None:
    base, new = kinds(A=100), [*kinds(A=90), *(failed_row(f"c{n}") for n in range(90, 100))]
    result = against(tmp_path, base, new, max="failed=10%", may_fall="pass=5%")
    assert check(result, "may-fall pass=5%").value == -0.1
    assert broken(result) == ["may-fall pass=5%"]


def test_a_case_that_is_no_longer_there_breaks_the_gate(tmp_path: Path) -> None:
    """Leaving the hard cases out is no progress."""
    result = against(tmp_path, shifted(0.0), shifted(0.0)[:98], may_fall="score=0.1")
    assert broken(result) == ["same cases"]
    assert "2 cases of" in check(result, "same cases").message and "c98, c99" in check(result, "same cases").message


def test_new_cases_are_no_reason_to_fail(tmp_path: Path) -> None:
    assert against(tmp_path, shifted(0.0)[:60], shifted(0.0), may_fall="score=0.1").passed


def test_an_unfinished_base_breaks_the_gate(tmp_path: Path) -> None:
    base = make_run(tmp_path / "base", shifted(0.0), state="stopped")
    run = make_run(tmp_path / "new", shifted(0.0))
    assert broken(gated(run, Gate(rules(may_fall="score=0.1"), base=base))) == ["other run finished"]


def test_few_common_cases_show_nothing(tmp_path: Path) -> None:
    result = against(tmp_path, scores(*[0.5] * 5), scores(*[0.5] * 5), may_fall="score=0.1")
    assert broken(result) == ["may-fall score=0.1"]
    assert "too few cases for an interval" in result.broken[0].message


def test_a_null_where_there_was_a_score_is_told(tmp_path: Path) -> None:
    base, new = scores(*[0.5] * 60), scores(*[0.5] * 59, None)
    assert broken(against(tmp_path / "a", base, new, may_fall="score=0.1")) == ["may-fall score=0.1"]
    assert against(tmp_path / "b", base, new, may_fall="score=0.1", max="score:null=5%").passed


def test_an_empty_run_is_not_compared_but_fails(tmp_path: Path) -> None:
    base, run = make_run(tmp_path / "base", shifted(0.0)), make_run(tmp_path / "new", [])
    result = gated(run, Gate(rules(may_fall="score=0.1"), base=base))
    assert "has cases" in broken(result) and "may-fall score=0.1" in broken(result)


def test_changes_are_gated_by_slice_too(tmp_path: Path) -> None:
    base = [row(f"c{n}", metadata={"half": n % 2}, score=0.5) for n in range(100)]
    new = [row(f"c{n}", metadata={"half": n % 2}, score=0.6 if n % 2 else 0.45) for n in range(100)]
    other, run = make_run(tmp_path / "base", base), make_run(tmp_path / "new", new)
    result = gated(run, Gate(rules(may_fall="score=0.02"), base=other, by=[("half",)]))
    assert broken(result) == ["may-fall score=0.02 [half=0]"]


def placed(digit: str, name: str = "cases.jsonl:{}", count: int = 60) -> list[Row]:
    """Cases of one content, each with a place in a file."""
    return [
        {
            **row(name.format(n + 1), score=0.5),
            "input_hash": digit * 32,
            "source": {"file": "data/cases.jsonl", "line": n + 1},
        }
        for n in range(count)
    ]


def test_line_numbers_do_not_make_other_content_the_same_case(tmp_path: Path) -> None:
    result = against(tmp_path / "a", placed("1"), placed("2"), may_fall="score=0.1")
    assert broken(result) == ["cases matched"]
    assert result.broken[0].message.startswith("60 cases have different content in")
    assert "cases.jsonl:1, " in result.broken[0].message and "give each case an `id`" in result.broken[0].message
    assert against(tmp_path / "b", placed("1"), placed("1"), may_fall="score=0.1").passed


def test_numbers_given_to_cases_from_python_are_no_ids_either(tmp_path: Path) -> None:
    base, new = ([{**row(str(n + 1), score=0.5), "input_hash": digit * 32} for n in range(60)] for digit in "12")
    assert broken(against(tmp_path, base, new, may_fall="score=0.1")) == ["cases matched"]


def test_other_content_under_an_id_of_its_own_is_counted(tmp_path: Path) -> None:
    """That is what another system over the same questions looks like."""
    result = against(tmp_path, placed("1", "q{}"), placed("2", "q{}"), may_fall="score=0.1")
    assert result.passed
    told = check(result, "cases matched").message
    assert told == "matched by id; 60 of 60 cases have different content there: q1, q2, q3, q4, q5, …"


def test_repeated_ids_are_told(tmp_path: Path) -> None:
    result = against(tmp_path, placed("1", "q"), placed("1", "q"), may_fall="score=0.1")
    assert "1 ids belong to several cases" in check(result, "same cases").message


def test_another_judge_breaks_and_other_settings_are_told(tmp_path: Path) -> None:
    base = make_run(tmp_path / "base", shifted(0.0))
    gate = Gate(rules(may_fall="score=0.1"), base=base)
    other = {"judge": {"name": "rag", "version": "1"}}
    assert broken(gated(make_run(tmp_path / "rag", shifted(0.0), plan=other), gate)) == ["same judge"]
    newer = {"judge": {"name": "toy", "version": "2"}}
    result = gated(make_run(tmp_path / "newer", shifted(0.0), plan=newer), gate)
    assert result.passed
    assert "judge.version: 1 in A, 2 in B" in check(result, "same judge").message


def test_a_base_that_mostly_failed_is_nothing_to_compare_with(tmp_path: Path) -> None:
    base = [*shifted(0.0)[:40], *(failed_row(f"c{n}") for n in range(40, 99)), error_row("c99")]
    result = against(tmp_path / "a", base, shifted(0.0), may_fall="score=0.1")
    assert broken(result) == ["other run: max failed=0"]
    assert result.broken[0].message.endswith("base: 60 of 100 cases have no verdict, more than the 0 allowed")
    assert not against(tmp_path / "b", base, shifted(0.0), may_fall="score=0.1", max="failed=59%").passed
    assert against(tmp_path / "c", base, shifted(0.0), may_fall="score=0.1", max="failed=60%").passed
