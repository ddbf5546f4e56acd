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
