"""The worst cases of a run: in the right order for every kind of field, with what they are about and why."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field
from rich.console import Console

from krino.errors import UsageProblem
from krino.render.case import worst_blocks
from krino.render.terminal import show
from krino.results.explanations import explain_value
from krino.results.verdict_schema import declared_scales, grade_value
from krino.results.worst_cases import rank_worst
from krino.runs.manifest import JudgeCard
from made_judgements import HOSTILE, error, failed, ok
from toy_judge import ToyJudge

Record = dict[str, Any]


class Verdict(BaseModel):
    score: float | None = Field(ge=0, le=1)
    seconds: float = Field(ge=0, le=60, json_schema_extra={"better": "lower"})
    points: int = Field(ge=1, le=5)
    free: float = 0.0


SCHEMA = Verdict.model_json_schema()
SCALES = declared_scales(SCHEMA)


def ids(cases: Sequence[Record], most: int = 10, by: str | None = None, schema: Any = SCHEMA) -> list[str]:
    return [record["id"] for record in rank_worst(lambda: cases, most, by, schema).judged]


def shown(cases: Sequence[Record], by: str | None = None, *, most: int = 10, **console: Any) -> str:
    out = io.StringIO()
    found = rank_worst(lambda: cases, most, by, SCHEMA)
    rules = {"R1": "The score is what it is."}
    show(Console(file=out, width=100, **console), worst_blocks(found, rules, SCALES, Path("runs/toy")))
    return out.getvalue()


def test_the_first_score_decides_and_the_lowest_comes_first() -> None:
    cases = [ok(n, note="a", score=value) for n, value in enumerate((0.5, 0.0, None, 1.0, 0.25))]
    assert ids(cases) == ["case-1", "case-4", "case-0", "case-3"]
    assert ids(cases, most=2) == ["case-1", "case-4"]
    assert rank_worst(lambda: cases, 2, None, SCHEMA).nulls == 1


def test_alike_scores_are_told_apart_by_the_others_and_then_by_place() -> None:
    cases = [ok(0, score=0.0, points=5), ok(1, score=0.0, points=1), ok(2, score=0.0, points=1)]
    assert ids(cases) == ["case-1", "case-2", "case-0"]


def test_where_lower_is_better_the_highest_is_worst() -> None:
    cases = [ok(n, score=0.5, seconds=value, free=value) for n, value in enumerate((3.0, 50.0, 20.0))]
    assert ids(cases, by="seconds") == ["case-1", "case-2", "case-0"], "the judge's schema says so"
    assert ids(cases, by="free") == ["case-0", "case-2", "case-1"]
    assert ids(cases, by="free:high") == ["case-1", "case-2", "case-0"]
    assert ids(cases, by="seconds:low") == ["case-0", "case-2", "case-1"]


def test_a_roll_up_goes_before_the_scores_and_fail_before_review() -> None:
    words = ("pass", "review", "fail", "review")
    cases = [{**ok(n, score=n / 10), "roll_up": word} for n, word in enumerate(words)]
    assert ids(cases) == ["case-2", "case-1", "case-3", "case-0"]
    assert ids(cases, by="score")[0] == "case-0"


def test_labels_have_no_order_so_the_bad_one_is_named() -> None:
    cases = [ok(n, score=0.5, kind=kind, codes=[kind, "X"]) for n, kind in enumerate(("GOOD", "BAD", "GOOD"))]
    assert ids(cases, by="kind:BAD") == ids(cases, by="codes:BAD") == ["case-1"]
    with pytest.raises(UsageProblem, match=r"--by kind:LABEL; there are BAD, GOOD"):
        ids(cases, by="kind")


def test_of_a_boolean_the_false_ones_are_bad() -> None:
    cases = [ok(n, score=0.5, fine=value) for n, value in enumerate((True, False))]
    assert (ids(cases, by="fine"), ids(cases, by="fine:true")) == (["case-1"], ["case-0"])


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("scor", r"no field `scor` \(did you mean score\?\); they have score, kind"),
        ("score:BAD", "`score` is a number; write score, or score:high"),
    ],
)
def test_a_name_or_label_that_is_not_there_is_refused(by: str, told: str) -> None:
    with pytest.raises(UsageProblem, match=told):
        ids([ok(0, score=0.5, kind="A")], by=by)


def test_a_verdict_without_numbers_wants_to_be_told_what_is_bad() -> None:
    with pytest.raises(UsageProblem, match="say what is bad with --by FIELD:LABEL; they have kind"):
        ids([ok(0, kind="A")])


def test_cases_that_were_not_judged_stand_apart_and_first() -> None:
    cases = [ok(0, score=0.5), failed(1, "answer: missing"), error(2, "no valid labels"), failed(3)]
    found = rank_worst(lambda: cases, 2, None, SCHEMA)
    assert [record["id"] for record in found.not_judged] == ["case-1", "case-2"] and found.all_not_judged == 3
    text = shown(cases, most=2)
    assert "Not judged: 3, the first 2 here" in text and "answer: missing" in text
    assert text.index("case-1") < text.index("The worst 1 of 1 by score, the lowest first") < text.index("case-0")


def test_a_run_in_which_nothing_was_judged_is_shown_all_the_same() -> None:
    assert "No case to rank" in shown([failed(0)])
    assert "No case to rank" in shown([])


def test_a_case_is_shown_with_what_it_is_about_its_value_and_the_rule_in_words() -> None:
    case = ok(0, score=0.25, score_explanation="Half of it stands nowhere.", verdict_notes="other words entirely here")
    text = shown([{**case, "inputs": {"question": "How tall?", "answer": "99 m."}}])
    for part in ("case-0  0.25  score", "question  How tall?", "answer", "99 m.", "Half of it stands nowhere."):
        assert part in text
    assert "R1: The score is what it is." in text and "krino show runs/toy ID" in text


def test_the_reason_is_that_of_the_field_or_of_the_whole_or_the_evidence() -> None:
    explained: Record = {
        "score": 0.1,
        "score_explanation": "its own",
        "improvement_suggestions": "do it in another way, please",
    }
    whole: Record = {
        "score": 0.1,
        "kind": "BAD",
        "tip": "a very long tip on what to do better",
        "evaluation_notes": "it is all wrong",
    }
    assert explain_value(ok(0, **explained), "score") == "its own"
    assert explain_value(ok(0, **whole), "score") == "it is all wrong"
    assert explain_value(ok(0, score=0.1, kind="BAD"), "score") == "seen in passage 1"
    assert explain_value(failed(0, "answer: missing"), "") == "answer: missing"


def test_nothing_of_a_case_acts_on_the_terminal() -> None:
    case = ok(0, score=0.0, score_explanation=HOSTILE)
    text = shown([{**case, "id": HOSTILE, "inputs": {HOSTILE: HOSTILE, "[red]x[/red]": "[b]y[/b]"}}])
    assert "\x1b" not in text and "[bold red]loud[/]" in text and "[red]x[/red]" in text and "[b]y[/b]" in text


# --- grades and colours ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("score", 0.49, "low"),
        ("score", 0.5, "middle"),
        ("score", 0.74, "middle"),
        ("score", 0.75, "high"),
        ("points", 2, "low"),
        ("points", 3, "middle"),
        ("points", 4, "high"),
        ("seconds", 50.0, "low"),
        ("seconds", 1.0, "high"),
        ("free", 0.1, None),
        ("score", None, None),
        ("score", True, None),
    ],
)
def test_a_number_is_graded_on_the_declared_scale_and_on_no_other(field: str, value: Any, found: str | None) -> None:
    assert grade_value(SCALES, field, value) == found


def test_a_verdict_without_a_schema_has_no_colours_and_costs_no_run() -> None:
    class Odd(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)

        odd: Callable[[], io.StringIO]

    class OddJudge(ToyJudge):
        verdict_model = Odd  # type: ignore[assignment]

    class Scaled(ToyJudge):
        verdict_model = Verdict  # type: ignore[assignment]

    assert declared_scales(JudgeCard.of(OddJudge()).verdict_schema) == {}
    assert declared_scales(JudgeCard.of(Scaled()).verdict_schema) == SCALES


def test_scores_are_coloured_unless_the_user_wants_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [ok(0, score=0.1), ok(1, score=0.9)]
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = shown(cases, force_terminal=True, color_system="standard")
    assert "\x1b[1;31m0.1\x1b[0m" in coloured and "\x1b[32m0.9\x1b[0m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = shown(cases, force_terminal=True, color_system="standard")
    assert "[31m" not in plain and "1;31m" not in plain and "32m" not in plain and "0.1" in plain
