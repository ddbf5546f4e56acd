"""A case as it is named, with its reason in words."""

from __future__ import annotations

from typing import Any

import pytest

from krino.results.explanations import explain_value, make_named_case
from made_judgements import error, failed, ok


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
    assert explain_value(judgement, "score", {"R1": "A rule in words."}) == reason


def test_a_field_is_not_its_own_reason() -> None:
    assert explain_value(ok(reason="Because."), "reason") == "seen in passage 1"


def test_reasons_are_short_and_harmless() -> None:
    reason = explain_value(ok(score=0.1, reason="\x1b[31mred\x1b[0m " + "long " * 1_000), "score")
    assert reason.startswith("red long") and len(reason) <= 400


def test_inputs_go_along_where_the_judgement_has_them() -> None:
    judgement = {**ok(score=0.1), "inputs": {"question": "When?"}}
    assert make_named_case(judgement, "score").inputs == {"question": "When?"}
    assert make_named_case(ok(score=0.1), "score").inputs == {}
