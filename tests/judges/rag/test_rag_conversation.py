"""A conversation is judged for its last question, which is read with what was said before it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import krino
from krino.errors import CannotJudge
from krino.judges.rag.judge import RagJudge
from rag_making import BRIDGE, HARBOUR, claim_of
from scripted_labeller import Scripted


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


BEFORE = [user("Tell me about the bridge at Varde."), assistant("It is an iron bridge.")]
LAST = [user("When was it opened?"), assistant("It was opened in 1904.")]
TALK = [{"role": "system", "content": "Be brief."}, *BEFORE, *LAST]
HISTORY = "user: Tell me about the bridge at Varde.\nassistant: It is an iron bridge."
LABELS: dict[str, Any] = {
    "unreadable": None,
    "claims": [claim_of(text="It was opened in 1904.")],
    "empty_sentences": [],
    "parts": [{"part": "when", "sentence": 1, "answered": True}],
    "direct": "full",
    "passages": [{"passage": 1, "useful_sentences": [1]}],
    "needs": [{"need": "the year", "passage": 1, "held": True}],
    "refusal": None,
    "similarity": None,
    "similarity_why": None,
    "uncertain": None,
}


def case_of(record: dict[str, Any]) -> tuple[str, str, str, list[str]]:
    case = RagJudge().read(record)
    return case.question, case.answer, case.history, [passage.text for passage in case.context]


EXPECTED = ("When was it opened?", "It was opened in 1904.", HISTORY, [BRIDGE])
CALL = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "search", "arguments": "{}"}}]}


@pytest.mark.parametrize(
    "record",
    [
        {"messages": TALK, "context": [BRIDGE]},
        {"messages": json.dumps(TALK), "passages": BRIDGE},
        {"turns": TALK, "retrieval_context": [["something else"], [BRIDGE]]},
        {"messages": TALK, "context": json.dumps([[], [BRIDGE]])},
        {"messages": [*TALK[:-1], assistant("It was opened in 1904.", retrieval_context=[BRIDGE])]},
        {"messages": [*BEFORE, {**LAST[0], "context": BRIDGE}, LAST[1]]},
        {"messages": [*BEFORE, LAST[0], CALL, {"role": "tool", "content": BRIDGE}, LAST[1]]},
        {"user_input": TALK, "retrieved_contexts": [BRIDGE]},
        {"input": {"messages": TALK}, "context": [BRIDGE]},
        {
            "chat_history": BEFORE,
            "question": "When was it opened?",
            "answer": "It was opened in 1904.",
            "context": BRIDGE,
        },
        # another answer to the same question, which the conversation had before
        {"messages": [*BEFORE, LAST[0], assistant("In 1850.")], "question": " When was it  opened?", "context": BRIDGE}
        | {"answer": "It was opened in 1904."},
        {"messages": [*BEFORE, LAST[0]], "answer": "It was opened in 1904.", "context": [BRIDGE]},
        {"messages": [*BEFORE, user("When was it opened?"), LAST[1]], "context": {"text": BRIDGE}},
    ],
)
def test_the_last_question_is_taken_with_its_answer_its_passages_and_what_was_said_before(record: Any) -> None:
    question, answer, history, passages = case_of(record)
    assert (question.split(), answer, history, passages) == (EXPECTED[0].split(), *EXPECTED[1:])


def test_messages_of_a_user_in_a_row_are_one_question() -> None:
    record = {"messages": [*BEFORE, user("One more."), *LAST], "context": [BRIDGE]}
    assert case_of(record)[0] == "One more.\nWhen was it opened?"


def test_a_last_question_without_an_answer_is_not_judged_by_the_answer_before() -> None:
    judgement = krino.judge("rag", {"messages": [*TALK, user("And closed?")], "context": [BRIDGE]})
    assert judgement.status == "failed"
    assert "no answer" in (judgement.reason or "")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (
            {"messages": TALK, "context": [["a"], ["b"], ["c"]]},
            "3 lists of passages, and the conversation has 2 questions",
        ),
        ({"messages": TALK, "context": [["a"], "b"]}, "2 lists of passages"),
        ({"messages": "hello", "context": []}, "`messages` is no list of messages"),
        ({"messages": [{"role": "king", "content": "x"}]}, "has the role 'king'"),
        ({"context": []}, "nor messages"),
    ],
)
def test_what_cannot_be_read_as_a_conversation_fails_with_the_reason(record: Any, told: str) -> None:
    with pytest.raises(CannotJudge, match=told):
        RagJudge().read(record)


def test_a_labeller_is_shown_what_was_said_before_and_that_it_is_no_passage() -> None:
    labeller = Scripted(LABELS)
    judgement = krino.judge("rag", {"messages": TALK, "context": [BRIDGE]}, labeller=labeller)
    assert judgement.status == "ok", judgement.error
    assert judgement.verdict is not None
    assert judgement.verdict["faithfulness"] == 1.0
    (task,) = labeller.seen
    shown = [(passage.name, passage.text) for passage in task.questions.passages][:2]
    assert shown == [("history", HISTORY), ("question", "When was it opened?")]
    assert task.questions.request.startswith("The question is the last of a conversation")
    assert "history alone says supports no claim" in task.questions.request


def test_a_case_without_a_history_is_asked_as_before() -> None:
    labeller = Scripted(LABELS)
    krino.judge("rag", {"messages": LAST, "context": [BRIDGE, HARBOUR]}, labeller=labeller)
    (task,) = labeller.seen
    assert task.questions.passages[0].name == "question"
    assert "conversation" not in task.questions.request


def test_the_embedded_labeller_reads_no_history_and_says_so() -> None:
    judgement = krino.judge("rag", {"messages": TALK, "context": [BRIDGE]})
    assert (judgement.status, judgement.verdict and judgement.verdict["faithfulness"]) == ("failed", None)
    assert "name one with --labeller" in (judgement.reason or "")
