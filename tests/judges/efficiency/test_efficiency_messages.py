"""Conversations of any framework: media of the task, odd shapes, and several traces in one file."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from krino.judges.efficiency import EfficiencyJudge, split_traces
from krino.judges.efficiency.traces.detect import is_piece, read_trace

PICTURE = base64.b64encode(b"pixels of a map").decode()
IMAGES = {
    "openai": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
    "langchain": {"type": "image", "base64": PICTURE, "mime_type": "image/png"},
    "vercel": {"type": "file", "mediaType": "image/png", "data": PICTURE},
}
USED = {"role": "assistant", "content": "", "tool_calls": [{"name": "locate", "args": {"what": "tower"}, "id": "c1"}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "upper left"}
SAID = {"role": "assistant", "content": "It is in the upper left."}


def asked_media(trace: Any, task: str = "") -> list[bytes]:
    judge = EfficiencyJudge()
    case = judge.read({"task": task, "trace": trace})
    questions = judge.ask(case, judge.study(case))
    assert questions is not None
    assert PICTURE not in "".join(passage.text for passage in questions.passages)
    return [medium.data for medium in questions.media]


@pytest.mark.parametrize("image", IMAGES.values(), ids=IMAGES)
def test_the_image_of_the_task_is_among_the_media(image: dict[str, Any]) -> None:
    user = {"role": "user", "content": [{"type": "text", "text": "Where is the tower?"}, image]}
    assert asked_media([user, USED, RESULT, SAID]) == [b"pixels of a map"]
    assert asked_media([user, USED, RESULT, SAID], "Where is the tower?") == [b"pixels of a map"]


def test_the_image_of_a_gemini_task_and_of_a_span_is_among_the_media() -> None:
    parts = [{"text": "Where?"}, {"inline_data": {"mime_type": "image/png", "data": PICTURE}}]
    contents = [{"role": "user", "parts": parts}, {"role": "model", "parts": [{"text": "Upper left."}]}]
    assert asked_media({"contents": contents}) == [b"pixels of a map"]
    span = {"id": "o", "traceId": "t", "type": "SPAN", "name": "agent", "parentObservationId": None}
    tool = {**span, "id": "p", "type": "TOOL", "name": "locate", "parentObservationId": "o", "input": {"what": "x"}}
    given = [{"role": "user", "content": [{"type": "text", "text": "Where?"}, IMAGES["openai"]]}]
    assert asked_media({"observations": [{**span, "input": given}, tool]}) == [b"pixels of a map"]


def test_an_image_that_task_and_tool_share_is_sent_once() -> None:
    user = {"role": "user", "content": [{"type": "text", "text": "Where?"}, IMAGES["openai"]]}
    result = {**RESULT, "content": [IMAGES["openai"]]}
    assert asked_media([user, USED, result, SAID]) == [b"pixels of a map"]


@pytest.mark.parametrize(
    "first",
    [
        {"type": "human", "content": "x"},
        {"type": "ai", "data": {"content": "x"}},
        {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {}},
        {"source": "user", "type": "TextMessage", "content": "x"},
        {"task": "x", "task_images": None},
        {"step_number": 1, "tool_calls": [], "observations": "x", "model_output": "y"},
        {"object": "trace.span", "id": "s", "trace_id": "t", "span_data": {"type": "function"}},
        {"id": "o", "traceId": "t", "type": "GENERATION", "parentObservationId": None},
    ],
)
def test_a_list_that_begins_with_a_piece_of_any_framework_is_one_trace(first: dict[str, Any]) -> None:
    assert is_piece(first)


def test_spans_of_the_agents_sdk_are_taken_apart_by_their_trace() -> None:
    def row(trace: str, number: int) -> dict[str, Any]:
        data = {"type": "function", "name": "f", "input": f'{{"n": {number}}}', "output": "ok"}
        return {"object": "trace.span", "id": f"{trace}{number}", "trace_id": trace, "span_data": data}

    rows = [row("a", 1), row("b", 1), {"object": "trace", "id": "a", "workflow_name": "w"}, row("a", 2)]
    parts = split_traces({"task": "x", "trace": rows})
    assert [part["id"] for part in parts] == ["a", "b"]
    assert [step.input for step in read_trace(parts[0]["trace"]).steps] == [{"n": 1}, {"n": 2}]


def test_results_without_ids_go_to_the_calls_before_them_by_name_then_by_order() -> None:
    calls = [{"name": name, "args": {"n": number}} for name, number in (("a", 1), ("b", 2), ("a", 3))]
    results = [{"role": "tool", "name": name, "content": name + name} for name in ("b", "a", "a")]
    trace = read_trace([{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": calls}, *results, SAID])
    assert [(step.name, step.output) for step in trace.steps[:3]] == [("a", "aa"), ("b", "bb"), ("a", "aa")]


def test_a_call_in_field_and_block_alike_is_one_call() -> None:
    block = {"type": "tool_use", "id": "c1", "name": "locate", "input": {"what": "tower"}}
    trace = read_trace([{"type": "human", "content": "x"}, {**USED, "type": "ai", "role": None, "content": [block]}])
    assert [step.name for step in trace.steps] == ["locate"]
