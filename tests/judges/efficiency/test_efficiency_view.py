"""The timeline of a trace: every step with its label, redundant ones pointing at what makes them so."""

from __future__ import annotations

from typing import Any

import krino
from made_views import view_of

CASE: dict[str, Any] = {
    "task": "What is the weather in Ghent?",
    "trace": [
        {"id": "a", "type": "tool", "name": "weather", "input": {"city": "Ghent"}, "output": "14 C"},
        {"id": "b", "type": "tool", "name": "weather", "input": {"city": "Ghent"}, "output": "14 C"},
        {"id": "c", "type": "llm", "name": "answer", "input": "14 C", "output": "It is 14 C in Ghent."},
    ],
}


def test_every_step_is_shown_with_its_label_and_points_back() -> None:
    task, timeline, minimal, table = view_of("efficiency", CASE)
    assert task.segments[0].text == CASE["task"]
    steps = [segment for segment in timeline.segments if segment.key]
    assert [(step.key, step.mark, step.target) for step in steps] == [
        ("step-a", "necessary", None),
        ("step-b", "redundant", "step-a"),
        ("step-c", "necessary", None),
    ]
    assert [row[0] for row in table.rows] == ["a", "b", "c"]
    assert [row[4] for row in table.rows] == ["", "a", ""]
    assert list(table.tones) == [None, "bad", None]
    assert minimal.title.startswith("Minimal sequence: 2 of 3")
    assert [item[0] for item in minimal.items] == ["a", "c"]
    assert 'weather({"city":"Ghent"})' in steps[0].text


def test_what_the_labeller_thinks_would_be_enough_is_shown() -> None:
    judgement = krino.judge("efficiency", CASE).model_dump(mode="json")
    labels = {**judgement["labels"], "shortest": "ask once, then answer"}
    shown = {block.title: block for block in view_of("efficiency", CASE, {**judgement, "labels": labels})}
    assert shown["Shortest way, as the labeller thinks of it"].segments[0].text == "ask once, then answer"


def test_without_labels_there_is_nothing_to_show() -> None:
    judgement = krino.judge("efficiency", CASE).model_dump(mode="json")
    assert view_of("efficiency", CASE, {**judgement, "labels": None}) == []


CONVERSATION: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "What is the weather in Ghent?"},
        {
            "role": "assistant",
            "content": "I look it up.",
            "tool_calls": [{"id": "c", "function": {"name": "weather", "arguments": '{"city": "Ghent"}'}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "14 C, light rain"},
        {"role": "assistant", "content": "It is 14 C in Ghent. Do you need more?"},
        {"role": "user", "content": "No, thank you."},
    ]
}


def test_message_texts_and_tool_results_are_shown() -> None:
    _, timeline, minimal, table = view_of("efficiency", CONVERSATION)
    steps = [segment.text for segment in timeline.segments if segment.key]
    assert steps == [
        'c  I look it up. weather({"city":"Ghent"})',
        "2  message: It is 14 C in Ghent. Do you need more?",
    ]
    assert minimal.items == ['c  I look it up. weather({"city":"Ghent"})', steps[1]]
    assert table.columns[-1] == "result"
    assert [row[-1] for row in table.rows] == ["14 C, light rain", "reply: No, thank you."]


def test_long_texts_and_results_are_shortened() -> None:
    steps = [
        {"id": "a", "type": "tool", "name": "read", "input": {"f": "x" * 9_000}, "output": "y " * 9_000},
        {"id": "b", "type": "message", "name": "message", "output": "z " * 9_000},
    ]
    *_, table = view_of("efficiency", {"task": "Read it.", "trace": steps})
    assert [len(cell) for row in table.rows for cell in (row[2], row[-1])] == [2_000, 2_000, 2_000, 0]


def test_an_error_is_shown_beside_what_came_back() -> None:
    step = {"id": "a", "type": "tool", "name": "read", "input": {"f": 1}, "output": "half", "error": "disk full"}
    *_, table = view_of("efficiency", {"task": "Read it.", "trace": [step, CASE["trace"][2]]})
    assert table.rows[0][-1] == "half error: disk full"
