"""A case by its id, its value and the reason in words."""

from __future__ import annotations

from typing import Any

import pytest

from krino.reports.named_cases import named_case, reason_of
from made_judgements import error, failed, ok


def test_a_case_is_named_by_the_field_that_is_looked_at() -> None:
    case = named_case(ok(3, score=0.25, kind=["A", "B"], note=None), "score")
    assert (case.id, case.status, case.value, case.before, case.shown) == ("case-3", "ok", 0.25, None, "0.250")
    assert named_case(ok(3, score=0.25, kind=["A", "B"]), "kind").shown == "A, B"
    assert named_case({**ok(3, score=0.25), "roll_up": "fail"}, "roll_up").shown == "fail"
    assert named_case(ok(3, score=None), "score").shown == "null"
    assert named_case(ok(3, score=True), "score").shown == "true"
    assert named_case(ok(3, score=0.25), None).value is None


@pytest.mark.parametrize("judgement", [failed(0), error(0)])
def test_a_case_without_a_verdict_has_no_value(judgement: dict[str, Any]) -> None:
    case = named_case(judgement, "score")
    assert (case.value, case.shown) == (None, "no verdict")


def test_a_change_shows_both_values() -> None:
    assert named_case(ok(score=0.25), "score").model_copy(update={"before": 0.5}).shown == "0.500 → 0.250"


@pytest.mark.parametrize(
    ("judgement", "reason"),
    [
        (failed(0, "answer: missing"), "answer: missing"),
        (error(0, "no valid\n labels"), "no valid labels"),
        (ok(score=0.5, score_explanation="2 of 4 claims hold.", reason="All."), "2 of 4 claims hold."),
        (ok(score=0.5, score_reason="Half of it."), "Half of it."),
        (ok(score=0.5, reason="Two steps too many."), "Two steps too many."),
        (ok(score=0.5, score_explanation=" "), "A rule in words. (seen in passage 1)"),
        ({**ok(score=0.5), "evidence": {}}, "A rule in words."),
        ({**ok(score=0.5), "rules": {"score": "R9"}}, "seen in passage 1"),
        (
            {**ok(score=0.5, kind="A", notes="The cited court is another one than that of the match."), "rules": {}}
            | {"evidence": {}},
            "The cited court is another one than that of the match.",
        ),
        ({**ok(score=0.5, kind="A"), "rules": {"score": "R9"}, "evidence": {}}, "rule R9"),
        ({**ok(score=0.5), "rules": {}, "evidence": {}}, ""),
    ],
)
def test_the_most_telling_reason_is_given(judgement: dict[str, Any], reason: str) -> None:
    assert reason_of(judgement, "score", {"R1": "A rule in words."}) == reason


def test_a_field_is_not_its_own_reason() -> None:
    assert reason_of(ok(reason="Because."), "reason") == "seen in passage 1"


def test_reasons_are_short_and_harmless() -> None:
    reason = reason_of(ok(score=0.1, reason="\x1b[31mred\x1b[0m " + "long " * 1_000), "score")
    assert reason.startswith("red long") and len(reason) <= 400


def test_inputs_go_along_where_the_judgement_has_them_and_are_cut() -> None:
    judgement = {**ok(score=0.1), "inputs": {"question": "When?", "answer": "long " * 1_000, "steps": 3}}
    inputs = named_case(judgement, "score").inputs
    assert (inputs["question"], inputs["steps"], len(inputs["answer"])) == ("When?", 3, 400)
    assert named_case(ok(score=0.1), "score").inputs == {}
