"""A field that is nearly one that a judge reads is told of in Python too: its score would look like any other."""

from __future__ import annotations

import asyncio
import warnings
from typing import Any

import pytest

import krino

CASE: dict[str, Any] = {"question": "When does it open?", "answer": "It opens at 9."}


def test_a_misspelt_field_of_one_case_is_told() -> None:
    with pytest.warns(UserWarning, match=r"not read by rag: contxt \(did you mean context\?\)"):
        krino.judge("rag", {**CASE, "contxt": ["It opens at 9."]})


def test_a_misspelt_field_of_many_cases_is_told_once() -> None:
    cases = [{**CASE, "contxt": [f"It opens at {hour}."]} for hour in range(3)]
    with pytest.warns(UserWarning, match="did you mean context") as told:
        assert len(list(krino.judge_many("rag", cases))) == len(cases)
    assert len(told) == 1


def test_it_is_told_inside_an_event_loop() -> None:
    with pytest.warns(UserWarning, match="did you mean context"):
        asyncio.run(krino.ajudge("rag", {**CASE, "contxt": ["It opens at 9."]}))


@pytest.mark.parametrize(
    "more", [{"source": "help desk"}, {"contexts": ["It opens at 9."]}, {"metadata": {"contxt": 1}}]
)
def test_other_fields_may_be_there(more: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        krino.judge("rag", {**CASE, **more})


def test_a_field_beside_the_one_it_is_near_to_is_no_slip() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        krino.judge("rag", {**CASE, "context": ["It opens at 9."], "context_1": "x"})


def test_a_misspelt_judge_is_guessed_at() -> None:
    with pytest.raises(krino.UsageProblem, match=r"no judge `eficiency` \(did you mean efficiency\?\)"):
        krino.judge("eficiency", CASE)


def test_a_misspelt_setting_is_refused_and_no_other_labeller_judges_in_silence() -> None:
    settings: Any = {"labeler": "some-model"}
    with pytest.raises(TypeError, match="labeler"):
        krino.judge("rag", CASE, **settings)
    with pytest.raises(TypeError, match="labeler"):
        list(krino.judge_many("rag", [CASE], **settings))
