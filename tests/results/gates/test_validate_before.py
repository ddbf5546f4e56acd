"""Rules that a judge can never answer are refused before a case is judged."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

import krino
from krino.judges.registry import load_judge
from krino.results.gates.rules import LimitKind, parse_flags
from krino.results.gates.validate import refuse_for_judge
from toy_judge import ToyJudge


class _Closed(BaseModel):
    score: float | None = Field(ge=0, le=1)
    kind: Literal["A", "B"] | None
    seconds: float
    text: str


class _Open(_Closed):
    model_config = ConfigDict(extra="allow")


class _Rolling(ToyJudge):
    verdict_model = _Closed  # type: ignore[assignment]

    def roll_up(self, verdict: Any, rules: Any) -> Literal["pass"]:
        return "pass"


class _Plain(ToyJudge):
    verdict_model = _Closed  # type: ignore[assignment]


class _Any(ToyJudge):
    verdict_model = _Open  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("kind", "rule", "words"),
    [
        (
            "min",
            "scor=0.8",
            r"judge `toy` have no field `scor` \(did you mean score\?\); they have score, kind, seconds, text",
        ),
        ("max", "scor:null=5%", "have no field `scor`"),
        ("min", "kind=0.8", "`kind` is not a number; name a label of it, as kind:LABEL=90%"),
        ("min", "kind:C=5%", "`kind` has no label `C`; it has A, B"),
        ("min", "score:high=5%", "`score` is a number and has no labels; write score=NUMBER"),
        ("max", "score=1", "`score` lies in 0 to 1, so nothing can break this limit"),
        ("may_fall", "score=1", "nothing can break this limit"),
        ("min", "roll_up:good=5%", "`roll_up` has no label `good`; it has fail, pass, review"),
        ("min", "roll_up=0.5", "`roll_up` is not a number; name a label of it, as pass=90%"),
    ],
)
def test_what_no_verdict_could_answer_is_refused(kind: LimitKind, rule: str, words: str) -> None:
    with pytest.raises(krino.UsageProblem, match=words):
        refuse_for_judge(_Rolling(), parse_flags(kind, [rule]))


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("min", "score=0.8"),
        ("max", "score:null=5%"),
        ("max", "failed=1"),
        ("min", "kind:A=50%"),
        ("max", "kind:null=5%"),
        ("max", "roll_up:null=5%"),
        ("min", "pass=50%"),
        ("max", "seconds=1"),
        ("max", "text:hello=5%"),
    ],
)
def test_what_a_verdict_may_answer_is_left_to_the_run(kind: LimitKind, rule: str) -> None:
    refuse_for_judge(_Rolling(), parse_flags(kind, [rule]))


def test_a_judge_that_rolls_nothing_up_has_no_pass() -> None:
    with pytest.raises(krino.UsageProblem, match=r"judge `toy` has no roll-up .* name a field: score, kind"):
        refuse_for_judge(_Plain(), parse_flags("min", ["pass=50%"]))


def test_a_verdict_with_fields_of_any_name_is_left_to_the_run() -> None:
    refuse_for_judge(_Any(), parse_flags("min", ["scor=0.5"]))
    with pytest.raises(krino.UsageProblem, match="nothing can break"):
        refuse_for_judge(_Any(), parse_flags("max", ["score=1"]))


@pytest.mark.parametrize(
    ("judge", "good", "bad"),
    [
        ("rag", "faithfulness=0.8", "faithfullness=0.8"),
        ("citation", "match_correctness:CORRECT=80%", "match_correctness:CORECT=80%"),
        ("efficiency", "score=0.8", "scores=0.8"),
    ],
)
def test_our_own_judges_are_read_so(judge: str, good: str, bad: str) -> None:
    refuse_for_judge(load_judge(judge), parse_flags("min", [good]))
    with pytest.raises(krino.UsageProblem):
        refuse_for_judge(load_judge(judge), parse_flags("min", [bad]))
