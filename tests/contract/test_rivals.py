"""Two names of one field with different values are said: another answer fails the case, the rest are findings."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino.contract.record_fields import RIVALS, find_rivals

CASE: dict[str, Any] = {"question": "When does it open?", "context": ["It opens at 9."], "answer": "It opens at 9."}


@pytest.mark.parametrize(
    "same", ["It opens at 9.", " It opens  at 9.", ["It opens at 9."], None, "", " \n", [""], float("nan")]
)
def test_the_same_value_or_nothing_under_another_name_is_no_contradiction(same: Any) -> None:
    assert find_rivals({**CASE, "response": same}, ("answer", "response")) is None


@pytest.mark.parametrize("name", ["response", "prediction", "bot_answer", "actual_output"])
def test_another_answer_beside_the_answer_fails_the_case(name: str) -> None:
    judged = krino.judge("rag", {**CASE, name: "It opens at 10."})
    assert judged.status == "failed"
    assert f"`answer` and `{name}` both give the answer" in (judged.reason or "")
    assert krino.judge("rag", {**CASE, name: "It opens at 10."}, mapping={"answer": "answer"}).status == "ok"


@pytest.mark.parametrize(
    ("more", "field"),
    [({"query": "What does it cost?"}, "question"), ({"gold": "At 8.", "reference": "At 9."}, "reference")],
)
def test_other_fields_given_twice_are_findings(more: dict[str, Any], field: str) -> None:
    judged = krino.judge("rag", {**CASE, **more})
    assert judged.status == "ok"
    assert [(found.rule, found.where) for found in judged.findings if found.rule == RIVALS] == [(RIVALS, field)]


def test_what_should_have_been_retrieved_may_stand_beside_what_was() -> None:
    judged = krino.judge("rag", {**CASE, "retrieval_context": ["It opens at 9."], "context": ["Something else."]})
    assert not [found for found in judged.findings if found.rule == RIVALS]


@pytest.mark.parametrize("name", ["passages", "documents", "contexts"])
def test_other_passages_beside_those_that_are_read_are_told(name: str) -> None:
    judged = krino.judge("rag", {**CASE, name: ["It opens at 10."]})
    assert [(found.rule, found.where) for found in judged.findings if found.rule == RIVALS] == [(RIVALS, "context")]


def test_two_traces_fail_the_case() -> None:
    step = {"id": "1", "type": "tool", "name": "look", "input": "x", "output": "y"}
    judged = krino.judge("efficiency", {"task": "Look.", "trace": [step], "trajectory": [step, step]})
    assert judged.status == "failed"
    assert "`trace` and `trajectory` hold different traces" in (judged.reason or "")


@pytest.mark.parametrize(
    ("one", "other"), [(27, "27"), (27.0, 27), ("Li\u00e8ge", "Lie\u0300ge"), ([1, {"a": 2}], ["1", {"a": "2"}])]
)
def test_values_that_differ_only_in_type_or_spelling_are_one(one: Any, other: Any) -> None:
    assert find_rivals({"answer": one, "response": other}, ("answer", "response")) is None
    assert find_rivals({"answer": [one, 1], "response": [other, 2]}, ("answer", "response")) is not None
