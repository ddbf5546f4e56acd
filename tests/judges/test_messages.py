"""Conversations are read in the shapes that people have, and every turn of the assistant gets its label."""

from __future__ import annotations

import json
from typing import Any

import pytest

import krino
from krino.errors import CannotJudge
from krino.judges.file.judge import class_of_text
from krino.judges.messages import read_messages
from scripted_labeller import Scripted

OPENAI = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Is it open?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "hours", "arguments": '{"day": 1}'}}],
    },
    {"role": "tool", "content": "nine to five"},
    {"role": "assistant", "content": "From nine to five."},
]
ANTHROPIC = [
    {"role": "user", "content": [{"type": "text", "text": "Is it open?"}]},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "I look."}, {"type": "tool_use", "name": "hours", "input": {"day": 1}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "nine to five"}]}]},
    {"role": "assistant", "content": "From nine to five."},
]
LANGCHAIN = [
    {"type": "human", "data": {"content": "Is it open?"}},
    {"type": "ai", "data": {"content": "From nine to five."}},
]
GEMINI = [{"role": "user", "parts": [{"text": "Is it open?"}]}, {"role": "model", "parts": [{"text": "Yes."}]}]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            OPENAI,
            [
                ("system", "Be kind.", 0),
                ("user", "Is it open?", 0),
                ("assistant", '[calls hours({"day": 1})]', 1),
                ("tool", "nine to five", 0),
                ("assistant", "From nine to five.", 2),
            ],
        ),
        (
            ANTHROPIC,
            [
                ("user", "Is it open?", 0),
                ("assistant", 'I look.\n[calls hours({"day":1})]', 1),
                ("tool", "nine to five", 0),
                ("assistant", "From nine to five.", 2),
            ],
        ),
        (LANGCHAIN, [("user", "Is it open?", 0), ("assistant", "From nine to five.", 1)]),
        (GEMINI, [("user", "Is it open?", 0), ("assistant", "Yes.", 1)]),
        ({"messages": LANGCHAIN}, [("user", "Is it open?", 0), ("assistant", "From nine to five.", 1)]),
        (
            [{"role": "assistant", "content": "One."}, {"role": "assistant", "content": "Two."}],
            [("assistant", "One.\nTwo.", 1)],
        ),
    ],
)
def test_the_usual_shapes_are_read(messages: Any, expected: list[tuple[str, str, int]]) -> None:
    found = read_messages("messages", messages)
    assert [(message["role"], message["text"], message["turn"]) for message in found] == expected


ASKED = {"role": "user", "content": "Is it open?"}
SAID = {"role": "assistant", "content": "From nine to five."}
AGAIN = {"role": "user", "content": "On Sunday?"}
NO = {"role": "assistant", "content": "No."}
TWO_ROUNDS = [
    *(("user", "Is it open?", 0), ("assistant", "From nine to five.", 1)),
    *(("user", "On Sunday?", 0), ("assistant", "No.", 2)),
]


def constructed(kind: str, content: str) -> dict[str, Any]:
    """As LangChain's own serialiser writes a message, and LangSmith keeps it."""
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", kind],
        "kwargs": {"content": content},
    }


@pytest.mark.parametrize(
    "session",
    [
        # Langfuse: a session with traces, the last first; each has the messages so far
        {
            "id": "session-1",
            "traces": [
                {"timestamp": "2026-01-01T10:01", "input": {"messages": [ASKED, SAID, AGAIN]}, "output": NO},
                {"timestamp": "2026-01-01T10:00", "input": {"messages": [ASKED]}, "output": SAID},
            ],
        },
        # the same with texts
        [
            {"timestamp": "2026-01-01T10:00", "input": "Is it open?", "output": "From nine to five."},
            {"timestamp": "2026-01-01T10:01", "input": "On Sunday?", "output": {"answer": "No."}},
        ],
        # LangSmith: the runs of a thread; LangGraph gives back the whole state
        {
            "runs": [
                {
                    "start_time": "2026-01-01T10:00",
                    "inputs": {"messages": [[constructed("HumanMessage", "Is it open?")]]},
                    "outputs": {"generations": [[{"message": constructed("AIMessage", "From nine to five.")}]]},
                },
                {
                    "start_time": "2026-01-01T10:01",
                    "inputs": {"question": "On Sunday?"},
                    "outputs": {"output": "No."},
                },
            ]
        },
        [{"inputs": {"messages": [ASKED, SAID, AGAIN]}, "outputs": {"messages": [ASKED, SAID, AGAIN, NO]}}],
        # the cell of a table
        json.dumps([ASKED, SAID, AGAIN, NO]),
    ],
)
def test_sessions_of_langfuse_and_langsmith_are_conversations(session: Any) -> None:
    found = read_messages("chat", session)
    assert [(message["role"], message["text"], message["turn"]) for message in found] == TWO_ROUNDS


def test_a_round_of_an_unknown_form_is_not_left_out() -> None:
    found = read_messages(
        "chat", [{"input": {"messages": "x"}, "output": [["y"]]}, {"input": "Hm?", "output": {"z": 1}}]
    )
    assert [message["text"] for message in found] == ['{"messages":"x"}', '[["y"]]', "Hm?", '{"z":1}']


def test_what_gemini_calls_and_gets_back_is_no_word_of_the_user() -> None:
    messages = [
        {"role": "user", "parts": [{"text": "Is it open?"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "hours", "args": {"day": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "hours", "response": {"from": 9}}}]},
    ]
    roles = [(message["role"], message["text"]) for message in read_messages("chat", messages)]
    assert roles[1:] == [
        ("assistant", '[calls hours({"day":1})]'),
        ("tool", '{"name":"hours","response":{"from":9}}'),
    ]


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ("hello", "no list of messages"),
        ("[not JSON", "no list of messages"),
        ({"traces": []}, None),
        ([1], "message 1 is no object"),
        ([{"role": "king", "content": "x"}], "has the role 'king'"),
        ([{"content": "x"}], "has the role ''"),
        ([{"role": "user"}] * 3_000, "2,000 at most"),
    ],
)
def test_what_is_no_conversation_cannot_be_judged(messages: Any, told: str | None) -> None:
    if told is None:
        assert read_messages("messages", messages) == []
        return
    with pytest.raises(CannotJudge, match=told):
        read_messages("messages", messages)


TURNS = """---
inputs: {chat: messages}
labels: {polite: {each: turn, quote_from: chat, values: {yes: 1, no: 0}}}
rules:
  WEAKEST: {score: "min(polite.map(t, t.score))", message: The weakest turn.}
  LONG: {cap: "chat.filter(m, m.role == 'assistant').exists(m, words(m.text) > 5)", to: 0.5, message: A turn is long.}
---
Is every turn polite? {chat}
"""


def turns(*labels: str) -> dict[str, Any]:
    quotes = ("calls hours", "From nine", "other")
    parts = zip(labels, quotes, strict=False)
    return {"polite": [{"item": n, "reason": "r", "quote": q, "label": label} for n, (label, q) in enumerate(parts, 1)]}


def judged(answer: dict[str, Any], chat: Any = OPENAI) -> tuple[Any, Scripted]:
    labeller = Scripted(answer)
    return krino.judge(class_of_text(TURNS, "turns", "turns.md"), {"chat": chat}, labeller=labeller), labeller


def test_every_turn_of_the_assistant_gets_a_label_with_the_turns_before_it() -> None:
    judgement, labeller = judged(turns("yes", "no"))
    assert judgement.verdict == {"polite": ["yes", "no"], "score": 0.0}
    assert judgement.rules["score"] == "WEAKEST"
    (task,) = labeller.seen
    assert [passage.name for passage in task.questions.passages] == [
        *("chat: system", "chat: user", "chat: assistant turn 1", "chat: tool", "chat: assistant turn 2")
    ]
    assert "`chat` has 2 turns of the assistant." in task.questions.request
    assert "by what was said before it" in task.judge.default_prompt


def test_a_turn_without_a_label_is_refused() -> None:
    judgement, labeller = judged(turns("yes"))
    assert judgement.verdict is None
    assert "no entry for item 2" in labeller.refused


def test_rules_see_roles_and_texts() -> None:
    judgement, _ = judged(
        {"polite": [{"item": 1, "reason": "r", "quote": "word", "label": "yes"}]},
        [{"role": "user", "content": "x"}, {"role": "assistant", "content": "word " * 6}],
    )
    assert judgement.verdict["score"] == 0.5
    assert judgement.rules["score"] == "LONG"


def test_a_conversation_without_a_turn_of_the_assistant_fails() -> None:
    judgement, labeller = judged(turns("yes"), [{"role": "user", "content": "Hello?"}])
    assert (judgement.status, judgement.reason) == ("failed", "`chat` has no turn of the assistant")
    assert labeller.asked == 0
