"""`assert_verdict` passes only what was judged and is as expected; its message shows all that led to the verdict."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino import UsageProblem, assert_verdict
from krino.assertions import UnexpectedVerdict
from toy_judge import ToyJudge

GOOD, BAD = {"id": "one", "text": "a good text"}, {"id": "two", "text": "a bad text"}


class RollingToy(ToyJudge):
    def roll_up(self, verdict: Any, rules: Any) -> Any:
        return "pass" if verdict["score"] > 0.5 else "review"


def test_a_verdict_as_expected_gives_its_judgement() -> None:
    judgement = assert_verdict(ToyJudge, GOOD, min={"score": 1}, max={"score": 1.0}, equals={"note": "labelled good"})
    assert judgement.verdict == {"score": 1.0, "note": "labelled good"}


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({"min": {"score": 0.8}}, "score is 0, expected at least 0.8"),
        ({"max": {"score": -1}}, "score is 0, expected at most -1"),
        ({"equals": {"note": "labelled good"}}, "note is 'labelled bad', expected 'labelled good'"),
        ({"equals": {"score": pytest.approx(0.5)}}, "score is 0.0, expected 0.5"),
    ],
)
def test_a_verdict_that_is_not_as_expected_fails(expected: dict[str, Any], told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        assert_verdict(ToyJudge, BAD, **expected)


def test_every_expectation_that_is_not_met_is_told() -> None:
    with pytest.raises(UnexpectedVerdict) as raised:
        assert_verdict(ToyJudge, BAD, min={"score": 0.8}, equals={"note": "x"})
    assert len(raised.value.problems) == 2
    assert raised.value.judgement.id == "two"


def test_the_message_shows_verdict_decider_rule_and_evidence() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_verdict(ToyJudge, BAD, min={"score": 0.8})
    told = str(raised.value)
    assert told.startswith("score is 0, expected at least 0.8")
    for part in ("two", "labelled bad", "by the labeller's labels, TOY-LABEL: A good text scores", "· a bad"):
        assert part in told


@pytest.mark.parametrize(
    ("text", "told"),
    [("unjudgeable", "not judged .failed.: the text says"), ("explode", "not judged .error.: RuntimeError")],
)
def test_a_case_that_was_not_judged_never_passes(text: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        assert_verdict(ToyJudge, {"text": text}, max={"score": 1.0})


def test_a_null_is_no_score() -> None:
    case = {"question": "How tall is it?", "context": ["It is 102 metres tall."], "answer": "102 metres tall."}
    judgement = krino.judge("rag", case)
    with pytest.raises(AssertionError, match="semantic_similarity is null: there is no score"):
        assert_verdict(judgement, min={"semantic_similarity": 0.0})
    with pytest.raises(AssertionError, match="semantic_similarity is null: there is no score"):
        assert_verdict(judgement, max={"semantic_similarity": 1.0})


@pytest.mark.parametrize("kind", ["min", "max", "equals"])
@pytest.mark.parametrize("text", ["good", "unjudgeable"])
def test_a_misspelt_field_is_an_error_that_names_the_known_ones(kind: str, text: str) -> None:
    with pytest.raises(
        UsageProblem, match=r"judge `toy` has no field `scoer` \(did you mean score\?\); it has score, note"
    ):
        misspelt: dict[str, Any] = {kind: {"scoer": 1}}
        assert_verdict(ToyJudge, {"text": text}, **misspelt)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "say what you expect"),
        ({"min": {"score": True}}, "min and max take numbers"),
        ({"min": {"note": 0.5}}, "no number; use equals="),
        ({"roll_up": "pass"}, "gives no roll-up"),
    ],
)
def test_an_expectation_that_could_not_fail_is_refused(arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageProblem, match=told):
        assert_verdict(ToyJudge, GOOD, **arguments)


def test_the_judges_one_word_can_be_expected() -> None:
    assert_verdict(RollingToy, GOOD, roll_up="pass")
    assert_verdict(RollingToy, BAD, roll_up=("pass", "review"))
    with pytest.raises(AssertionError, match="roll_up is review, expected pass"):
        assert_verdict(RollingToy, BAD, roll_up="pass")


async def test_a_judgement_at_hand_is_asserted_as_it_is() -> None:
    judgement = await krino.ajudge(ToyJudge, GOOD)
    assert assert_verdict(judgement, min={"score": 1}) is judgement
    with pytest.raises(AssertionError, match=r"expected at most 0\.5"):
        assert_verdict(judgement, max={"score": 0.5})
    with pytest.raises(UsageProblem, match=r"has no field `scoer` \(did you mean score\?\); it has score, note"):
        assert_verdict(judgement, min={"scoer": 1})


def test_judge_and_case_belong_together() -> None:
    with pytest.raises(UsageProblem, match="the case is missing"):
        assert_verdict(ToyJudge, min={"score": 1})
    with pytest.raises(UsageProblem, match="or a judgement alone"):
        assert_verdict(krino.judge(ToyJudge, GOOD), GOOD, min={"score": 1})


def test_a_message_is_harmless_on_a_terminal() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_verdict(ToyJudge, {"id": "\x1b[31mred", "text": "\x1b]0;t\x07bad"}, min={"score": 1})
    assert "\x1b" not in str(raised.value)
