"""The edges of a gate: where thirty begin, what is counted, and what is said or left unsaid beside the checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import krino
from krino.results.gates.gate import Gate, check_run
from krino.results.gates.result import Check, GateResult
from krino.results.gates.rules import LimitKind, Rule, parse_flags
from made_runs import Row, failed_row, make_run, row, scores


def rules(**given: str) -> list[Rule]:
    return [
        rule
        for kind in ("min", "max", "may_fall", "may_rise")
        for rule in parse_flags(kind, given.get(kind, "").split())
    ]


def check(result: GateResult, rule: str) -> Check:
    (found,) = (item for item in result.checks if item.rule == rule and item.slice is None)
    return found


# --- notes -----------------------------------------------------------------------------------------

INTERVAL = "A rule must hold at the end of the 95 % interval of what it limits, not only for the value itself."


@pytest.mark.parametrize(
    ("given", "point", "said"),
    [
        ({"min": "score=0.1"}, False, True),
        ({"min": "score=0.1"}, True, False),
        ({"min": "score=0.1", "max": "failed=1"}, False, True),
        ({"max": "failed=1"}, False, False),
        ({"max": "score:null=5%"}, False, False),
        ({"max": "failed=1"}, True, False),
        ({}, False, False),
    ],
)
def test_that_intervals_count_is_said_where_they_do(
    tmp_path: Path, given: dict[str, str], point: bool, said: bool
) -> None:
    result = check_run(make_run(tmp_path / "r", scores(0.5)), Gate(rules(**given), point=point))
    assert (INTERVAL in result.notes) is said
    assert any("No rule was given" in note for note in result.notes) is (not given)


def test_without_slices_nothing_is_said_of_them(tmp_path: Path) -> None:
    result = check_run(make_run(tmp_path / "r", scores(0.5)), Gate(rules(max="failed=1")))
    assert result.notes == ()


# --- what is counted -------------------------------------------------------------------------------


def test_every_check_says_of_how_many_cases_it_is(tmp_path: Path) -> None:
    rows = [*(row(f"c{n}", score=0.5 if n else None) for n in range(4)), failed_row("f")]
    result = check_run(make_run(tmp_path / "r", rows), Gate(rules(min="score=0.1", max="score:null=30%")))
    counted = {item.rule: (item.cases, item.nulls, item.value) for item in result.checks}
    assert counted == {
        "finished": (5, 0, None),
        "has cases": (5, 0, None),
        "has verdicts": (5, 0, None),
        "max failed=0": (5, 0, 1.0),
        "min score=0.1": (5, 1, 0.5),
        "max score:null=30%": (5, 0, 0.25),
    }
    assert [item.cases for item in check_run(make_run(tmp_path / "e", []), Gate()).checks] == [0, 0, 0]


def test_a_share_of_failed_cases_is_one_of_all(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [*scores(0.5, 0.5, 0.5), failed_row("f")])
    found = check(check_run(run, Gate(rules(max="failed=30%"))), "max failed=30%")
    assert (found.value, found.message) == (0.25, "25.0 % of 4 cases have no verdict, at most 30 % allowed")
    found = check(check_run(run, Gate(rules(max="failed=20%"))), "max failed=20%")
    assert found.message == "25.0 % of 4 cases have no verdict, more than the 20 % allowed"


def test_one_case_is_told_as_one(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(0.5))
    result = check_run(run, Gate(rules(min="score=0.1"), point=True))
    assert check(result, "max failed=0").message == "0 of 1 case has no verdict, at most 0 allowed"
    assert check(result, "min score=0.1").message.startswith("mean score 0.500 of 1 case")


# --- sentences -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "rule", "point", "told"),
    [
        ("min", "score=0.1", False, "is at least 0.1, at the lower end of the interval too"),
        ("min", "score=0.1", True, "is at least 0.1"),
        ("max", "score=0.95", False, "is at most 0.95, at the upper end of the interval too"),
        ("max", "score=0.55", False, "is at most 0.55, but the upper end of the interval is above 0.55"),
        ("max", "score=0.2", False, "is above 0.2"),
        ("min", "score=0.8", True, "is below 0.8"),
        ("min", "kind:A=10%", True, "is at least 10 %"),
        ("max", "kind:A=10%", True, "is above 10 %"),
    ],
)
def test_a_sentence_says_how_the_value_stands_to_its_limit(
    tmp_path: Path, kind: LimitKind, rule: str, point: bool, told: str
) -> None:
    rows = [row(f"c{n}", score=float(n % 2), kind="AB"[n % 2]) for n in range(100)]
    gate = Gate(parse_flags(kind, [rule]), point=point)
    message = check(check_run(make_run(tmp_path / "r", rows), gate), f"{kind} {rule}").message
    assert message.endswith(f") {told}")
    assert message.startswith("mean score 0.500 of 100 cases (" if ":" not in rule else "share of kind:A 50.0 % of 100")


def changed(tmp_path: Path, by: float, rule: str, kind: LimitKind = "may_fall", count: int = 40) -> Check:
    base = make_run(tmp_path / "base", scores(*[0.5] * count))
    run = make_run(tmp_path / "run", scores(*[0.5 + by] * count))
    result = check_run(run, Gate(parse_flags(kind, [rule]), base=base))
    return check(result, f"{kind.replace('_', '-')} {rule}")


@pytest.mark.parametrize(
    ("by", "kind", "told"),
    [
        (
            -0.25,
            "may_fall",
            "fell by 0.250 over 40 cases (95 % interval −0.250 to −0.250), more than the 0.1",
        ),
        (
            0.25,
            "may_rise",
            "rose by 0.250 over 40 cases (95 % interval +0.250 to +0.250), more than the 0.1",
        ),
        (
            0.25,
            "may_fall",
            "rose by 0.250 over 40 cases (95 % interval +0.250 to +0.250), at most 0.1 allowed",
        ),
        (
            0.0,
            "may_fall",
            "did not change over 40 cases (95 % interval +0.000 to +0.000), at most 0.1 allowed",
        ),
    ],
)
def test_a_change_is_told_by_its_direction(tmp_path: Path, by: float, kind: LimitKind, told: str) -> None:
    assert changed(tmp_path, by, "score=0.1", kind).message.startswith(f"mean score {told}")


def test_a_fall_within_the_margin_may_be_more_at_the_end_of_its_interval(tmp_path: Path) -> None:
    base = make_run(tmp_path / "base", scores(*[0.5] * 40))
    run = make_run(tmp_path / "run", scores(*(0.2 if n % 2 else 0.75 for n in range(40))))
    found = check(check_run(run, Gate(rules(may_fall="score=0.05"), base=base)), "may-fall score=0.05")
    assert found.message.endswith(", at most 0.05 allowed, but the lower end of the interval is beyond that")


# --- where thirty begin ----------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "outcome"), [(29, "broken"), (30, "holds")])
def test_a_change_needs_thirty_cases_to_have_an_interval(tmp_path: Path, count: int, outcome: str) -> None:
    found = changed(tmp_path, 0.0, "score=0.1", count=count)
    assert (found.outcome, found.interval is None) == (outcome, count < 30)


@pytest.mark.parametrize(("count", "outcome"), [(29, "broken"), (30, "holds")])
def test_a_number_on_another_scale_does_too(tmp_path: Path, count: int, outcome: str) -> None:
    run = make_run(tmp_path / "r", scores(*[4] * count))
    assert check(check_run(run, Gate(rules(min="score=2"))), "min score=2").outcome == outcome


@pytest.mark.parametrize(("count", "outcome"), [(29, "too few"), (30, "holds")])
def test_a_slice_is_gated_from_thirty_cases_on(tmp_path: Path, count: int, outcome: str) -> None:
    rows = [row(f"a{n}", metadata={"c": "a"}, score=1.0) for n in range(40)]
    rows += [row(f"b{n}", metadata={"c": "b"}, score=1.0) for n in range(count)]
    result = check_run(make_run(tmp_path / "r", rows), Gate(rules(min="score=0.5"), by=[("c",)]))
    (found, *_) = (item for item in result.checks if item.slice == "c=b")
    assert found.outcome == outcome


def test_a_slice_of_one_case_is_told_as_one(tmp_path: Path) -> None:
    rows = [
        *(row(f"a{n}", metadata={"c": "a"}, score=1.0) for n in range(30)),
        row("b", metadata={"c": "b"}, score=1.0),
    ]
    result = check_run(make_run(tmp_path / "r", rows), Gate(by=[("c",)]))
    assert result.checks[-1].message == "1 case, fewer than 30: not gated"


def test_a_hundred_small_slices_are_named_and_the_rest_counted_with_their_cases(tmp_path: Path) -> None:
    rows = [row(f"c{n}", metadata={"doc": n // 2}, score=1.0) for n in range(202)]
    *_, last = check_run(make_run(tmp_path / "r", rows), Gate(by=[("doc",)])).checks
    assert (last.message, last.slice, last.cases) == ("1 more slices have fewer than 30 cases", "doc=…", 2)


# --- changes: which cases count --------------------------------------------------------------------


def test_a_change_is_measured_over_cases_that_both_runs_judged(tmp_path: Path) -> None:
    """A case that failed there has no value to fall from; one that is null on either side has no change."""
    base = [*scores(*[0.5] * 40), row("null", score=None), failed_row("failed"), row("new null", score=0.9)]
    new = [*scores(*[0.4] * 40), row("null", score=0.0), row("failed", score=0.0), row("new null", score=None)]
    gate = Gate(
        rules(may_fall="score=0.2", max="failed=1 score:null=10%"), base=make_run(tmp_path / "base", base), point=True
    )
    found = check(check_run(make_run(tmp_path / "run", new), gate), "may-fall score=0.2")
    assert (round(found.value or 0.0, 9), found.nulls) == (-0.1, 1)
    assert "over 40 cases" in found.message and "1 of 41 judged cases have no score (null)" in found.message


def labelled(*labels: str | None) -> list[Row]:
    return [row(f"c{place}", kind=label) for place, label in enumerate(labels)]


@pytest.mark.parametrize(
    ("kind", "value", "n"),
    [("may_fall", -2 / 4, 4), ("may_rise", -1 / 3, 3)],
)
def test_a_null_counts_as_lost_and_never_as_no_longer_there(
    tmp_path: Path, kind: LimitKind, value: float, n: int
) -> None:
    base = make_run(tmp_path / "base", labelled("A", "A", "A", "B", None))
    run = make_run(tmp_path / "run", labelled("A", "B", None, "B", "A"))
    gate = Gate([*parse_flags(kind, ["kind:A=90%"]), *rules(max="kind:null=50%")], base=base, point=True)
    found = check(check_run(run, gate), f"{kind.replace('_', '-')} kind:A=90%")
    assert found.value == pytest.approx(value)
    assert f"over {n} cases" in found.message


def test_a_null_waters_down_no_share_that_must_be_low(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [*labelled("A", "A", "B", None), failed_row("f")])
    gate = Gate(rules(max="kind:B=90% kind:null=50% failed=1", min="kind:A=10%"), point=True)
    result = check_run(run, gate)
    assert check(result, "max kind:B=90%").value == pytest.approx(1 / 3), "neither null nor failed cases are counted"
    assert check(result, "min kind:A=10%").value == pytest.approx(2 / 5), "both are"
    assert check(result, "max kind:null=50%").value == pytest.approx(1 / 4)


@pytest.mark.parametrize("rule", ["score=0.1", "kind:A=10%"])
def test_a_field_that_the_other_run_has_not_cannot_be_compared(tmp_path: Path, rule: str) -> None:
    base = make_run(tmp_path / "base", [row("c0", other=1.0)])
    run = make_run(tmp_path / "run", [row("c0", score=0.5, kind="A")])
    found = check(check_run(run, Gate(rules(may_fall=rule), base=base, point=True)), f"may-fall {rule}")
    field = rule.partition("=")[0].partition(":")[0]
    assert (found.outcome, found.message, found.worst) == ("broken", f"no case has a value of `{field}`", ())


# --- doubts ----------------------------------------------------------------------------------------

DOUBT = "every value lies in 0 to 1, where no mean can break this limit"


@pytest.mark.parametrize(
    ("values", "doubted"),
    [((0.0, 1.0), True), ((0.2, 0.9), True), ((-0.1, 0.9), False), ((0.2, 1.1), False)],
)
def test_only_what_looks_like_a_score_is_doubted(tmp_path: Path, values: tuple[float, ...], doubted: bool) -> None:
    result = check_run(make_run(tmp_path / "r", scores(*values)), Gate(rules(max="score=5"), point=True))
    assert (DOUBT in check(result, "max score=5").message) is doubted


@pytest.mark.parametrize(
    ("kind", "rule", "doubted"),
    [
        ("max", "score=1", True),
        ("max", "score=0.99", False),
        ("min", "score=0", True),
        ("min", "score=0.01", False),
        ("may_fall", "score=1", True),
        ("may_fall", "score=0.99", False),
        ("may_rise", "score=1", True),
        ("may_rise", "score=0.99", False),
        ("max", "score=-1", False),
        ("min", "score=-1", True),
    ],
)
def test_a_limit_is_doubted_where_no_score_could_break_it(
    tmp_path: Path, kind: LimitKind, rule: str, doubted: bool
) -> None:
    run, base = (make_run(tmp_path / name, scores(0.2, 0.8)) for name in ("r", "b"))
    paired = kind.startswith("may")
    result = check_run(run, Gate(parse_flags(kind, [rule]), point=True, base=base if paired else None))
    found = check(result, f"{kind.replace('_', '-')} {rule}")
    assert (DOUBT in found.message) is doubted


def test_a_field_of_nulls_is_not_doubted_but_empty(tmp_path: Path) -> None:
    result = check_run(make_run(tmp_path / "r", scores(None, None)), Gate(rules(max="score=5"), point=True))
    found = check(result, "max score=5")
    assert (found.outcome, found.message) == ("broken", "no case has a value of `score`")


def test_names_of_fields_in_a_refusal_are_cut(tmp_path: Path) -> None:
    verdict: dict[str, Any] = {"n" * 100: 0.5}
    run = make_run(tmp_path / "r", [row("c", **verdict)])
    with pytest.raises(krino.UsageProblem, match=f"they have {'n' * 59}…$"):
        check_run(run, Gate(rules(min="score=0.1")))


# --- the language ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("min", "pass=100%"),
        ("max", "pass=0%"),
        ("min", "pass=0.1%"),
        ("max", "fail=99.9%"),
        ("may_fall", "pass=0%"),
        ("may_fall", "score=0"),
        ("max", "failed=0"),
        ("max", "failed=100%"),
        ("max", "score:null=100%"),
        ("max", "score:null=0%"),
    ],
)
def test_the_ends_of_what_a_limit_may_be_are_allowed(kind: LimitKind, text: str) -> None:
    assert [str(rule) for rule in parse_flags(kind, [text])] == [f"{kind.replace('_', '-')} {text}"]


@pytest.mark.parametrize(("kind", "text"), [("max", "pass=100.1%"), ("min", "pass=-1%"), ("max", "failed=1.5")])
def test_beyond_them_it_is_refused(kind: LimitKind, text: str) -> None:
    with pytest.raises(krino.UsageProblem):
        parse_flags(kind, [text])
