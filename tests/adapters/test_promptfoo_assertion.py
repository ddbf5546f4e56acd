"""What `get_assert` returns to promptfoo, which it does without promptfoo."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from adapter_cases import HEIGHT
from krino.adapters.promptfoo import assertion, get_assert
from toy_judge import ToyJudge


def context(**config: Any) -> dict[str, Any]:
    return {"vars": HEIGHT, "config": config}


def test_the_chosen_score_decides_and_all_scores_are_named() -> None:
    graded = get_assert("It is 99 metres tall.", context(judge="rag", field="faithfulness", min=0.8))
    assert (graded["pass"], graded["score"]) == (False, 0.0)
    assert graded["reason"].startswith("rag.faithfulness is 0 (RAG-F3): Contradicts the context")
    named = graded["named_scores"]
    assert (named["rag.faithfulness"], named["rag.answer_relevance"], named["rag.judged"]) == (0.0, 1.0, 1.0)
    assert get_assert("It is 102 metres tall.", context(judge="rag", field="faithfulness"))["pass"]


def test_an_output_without_a_verdict_fails_and_has_no_named_score_but_one() -> None:
    graded = get_assert("", context(judge="rag", field="faithfulness", min=0))
    assert not graded["pass"]
    assert graded["reason"].startswith("not judged (failed): no answer")
    assert graded["named_scores"] == {"rag.judged": 0.0}


def test_a_null_of_the_deciding_field_fails_even_if_nothing_is_asked_of_it() -> None:
    graded = get_assert("It is 102 metres tall.", context(judge="rag", field="semantic_similarity", min=0))
    assert not graded["pass"]
    assert graded["reason"] == "semantic_similarity has no value (RAG-S1): Not scored: no reference answer was given."


def test_a_class_of_ones_own_is_handed_over_in_code() -> None:
    grade = assertion(ToyJudge, mapping={"text": "answer"}, options={"good_is": 0.8})
    assert grade("all good", {})["named_scores"] == {"toy.score": 0.8, "toy.judged": 1.0}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "name the `judge`"),
        ({"judge": "rag"}, "say which `field` decides; its scores are faithfulness"),
        ({"judge": "rag", "field": "faithfullness"}, "no score or label `faithfullness`"),
        ({"judge": "rag", "threshold": 1}, "no `threshold`"),
        ({"judge": "rga", "field": "faithfulness"}, "rga"),
    ],
)
def test_a_wrong_configuration_is_refused(config: dict[str, Any], message: str) -> None:
    with pytest.raises(krino.UsageProblem, match=message):
        get_assert("anything", context(**config))
