"""What of a trace nobody reads is listed: dropped by a reader, folded in a prompt, or beyond the embedded labeller."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from efficiency_making import JUDGE, labels
from krino import Unread
from krino.judges.efficiency import EfficiencyJudge

TASK = "Which article is the cheapest of them all?"
SECRET = "Every third delivery was silently thrown away."
ANSWER = {"role": "assistant", "content": "Article 12 is the cheapest of them."}
CALL = {"id": "c", "type": "function", "function": {"name": "price", "arguments": '{"article": 12}'}}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "8.20 euros, the lowest price"}


def unread(record: dict[str, Any], by_model: bool = False, judge: EfficiencyJudge = JUDGE) -> tuple[Unread, ...]:
    case = judge.read(record)
    facts = judge.study(case)
    given = labels(facts) if by_model else judge.label_locally([(case, facts)])[0]
    return judge.settle(case, facts, given).unread


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return {"messages": [{"role": "user", "content": TASK}, *messages, called, RESULT, ANSWER]}


def test_a_trace_that_is_read_whole_has_nothing_unread() -> None:
    assert unread(chat()) == unread(chat(), by_model=True) == ()


BESIDE = {"role": "assistant", "content": SECRET, "tool_calls": [{**CALL, "id": "d"}]}
DROPPED: dict[str, tuple[dict[str, Any], str]] = {
    "a system message": (chat({"role": "system", "content": SECRET}), "trace.messages[1].content"),
    "a developer message": (chat({"role": "developer", "content": SECRET}), "trace.messages[1].content"),
    "a second message of the user": (chat({"role": "user", "content": SECRET}), "trace.messages[1].content"),
    "thinking": (
        chat({"role": "assistant", "content": [{"type": "thinking", "thinking": SECRET}]}),
        "trace.messages[1].content[0].thinking",
    ),
    "a result without a call": (
        chat({"role": "tool", "tool_call_id": "nobody", "content": SECRET}),
        "trace.messages[1].content",
    ),
    "a field of a message that the format does not know": (
        chat({"role": "assistant", "content": "One moment.", "audio": {"transcript": SECRET}}),
        "trace.messages[1].audio.transcript",
    ),
    "an item of reasoning": (
        {
            "task": TASK,
            "trace": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": SECRET}]},
                {"type": "function_call", "call_id": "c", "name": "price", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "8.20"},
            ],
        },
        "trace[0].summary[0].text",
    ),
    "a user's words in a list of steps": (
        {
            "task": TASK,
            "trace": [{"type": "user", "content": SECRET}, {"type": "tool", "name": "price", "output": "8.20"}],
        },
        "trace[0].content",
    ),
    "a field of a step": (
        {"task": TASK, "trace": [{"type": "tool", "name": "price", "output": "8.20", "remark": SECRET}]},
        "trace[0].remark",
    ),
    "what a node writes beside messages": (
        {"trace": [{"agent": {"messages": [{"type": "human", "content": TASK}], "plan": SECRET}},
                   {"agent": {"messages": [{"type": "ai", "content": "Article 12 is it.", "id": "1"}]}}]},
        "trace[0].agent.plan",
    ),
    "what is nested too deeply": (
        {"task": TASK, "trace": [{"type": "tool", "name": "price", "input": {}, "output": "8.20", "x": [[[SECRET]]]}]},
        "trace[0].x[0][0][0]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DROPPED)
@pytest.mark.parametrize("by_model", [True, False])
def test_what_a_reader_leaves_out_is_listed(what: str, by_model: bool) -> None:
    record, where = DROPPED[what]
    found = unread(record, by_model)
    assert [(left.where, left.text) for left in found] == [(where, SECRET)]
    assert "label" in found[0].why


def test_a_span_that_is_no_step_is_listed() -> None:
    spans = [
        {"span_id": "1", "name": "run", "attributes": {"gen_ai.operation.name": "invoke_agent", "input": TASK}},
        {
            "span_id": "2",
            "parent_id": "1",
            "name": "execute_tool price",
            "attributes": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "price", "input": "{}"},
        },
        {"span_id": "3", "parent_id": "1", "name": "audit", "attributes": {"note": SECRET}},
    ]
    found = unread({"task": TASK, "trace": {"spans": spans}}, by_model=True)
    assert SECRET in [left.text for left in found]


def test_words_beside_a_call_are_shown_to_a_model_and_listed_for_the_embedded_labeller() -> None:
    record = chat(BESIDE)
    case = JUDGE.read(record)
    asked = JUDGE.ask(case, JUDGE.study(case))
    assert asked is not None
    assert f"| said: {SECRET}" in asked.passages[1].text
    assert unread(record, by_model=True) == ()
    assert [left.text for left in unread(record)] == [SECRET]


def test_a_thought_before_an_action_is_shown_to_a_model() -> None:
    spoken = {"role": "assistant", "content": f'Thought: {SECRET}\nAction: price\nAction Input: {{"article": 12}}'}
    record = {"messages": [{"role": "user", "content": TASK}, spoken, {"role": "user", "content": "Observation: 8"}]}
    case = JUDGE.read(record)
    asked = JUDGE.ask(case, JUDGE.study(case))
    assert asked is not None
    assert SECRET in asked.passages[1].text


def test_definitions_of_tools_are_no_part_of_the_run() -> None:
    record = chat()
    assert unread({**record, "tools": [{"description": SECRET}]}) == ()


# --- what a labeller is not shown ---------------------------------------------------------------------


def steps(length: int, count: int = 3) -> list[dict[str, Any]]:
    return [
        {"id": f"s{number}", "type": "tool", "name": "read", "input": {"page": number}, "output": f"{number} " * length}
        for number in range(count)
    ]


def test_what_is_folded_away_in_the_prompt_is_listed_by_step() -> None:
    judge = EfficiencyJudge({"window_tokens": 1_000})
    record = {"task": TASK, "trace": steps(2_000)}
    found = unread(record, by_model=True, judge=judge)
    assert [left.where for left in found] == ["step s0", "step s1", "step s2"]
    assert all(left.text in "0 1 2 " or len(set(left.text.split())) == 1 for left in found)
    assert (
        found[0].why == f"{len(found[0].text)} characters of its output are folded, so that the trace fits the prompt"
    )
    assert unread({"task": TASK, "trace": steps(20)}, by_model=True, judge=judge) == ()


def test_what_is_folded_in_every_window_is_listed_once() -> None:
    judge = EfficiencyJudge({"window_tokens": 600})
    found = unread({"task": TASK, "trace": steps(3_000, 40)}, by_model=True, judge=judge)
    assert len({left.where for left in found}) == len(found) == 40


def test_a_task_that_is_folded_is_listed() -> None:
    judge = EfficiencyJudge({"window_tokens": 1_000})
    (left,) = unread({"task": f"{TASK} {'word ' * 1_000}", "trace": steps(2)}, by_model=True, judge=judge)
    assert (left.where, left.why) == ("task", "it is too long for the prompt")


def image(number: int) -> str:
    return "data:image/png;base64," + base64.b64encode(f"picture {number}".encode()).decode()


def test_media_that_no_prompt_has_room_for_are_listed() -> None:
    trace = [
        {"id": f"s{number}", "type": "tool", "name": "look", "input": {"n": number}, "output": image(number)}
        for number in range(25)
    ]
    found = unread({"task": TASK, "trace": trace}, by_model=True)
    assert [left.where for left in found] == ["media"] * 5
    embedded = unread({"task": TASK, "trace": trace})
    assert [left.why for left in embedded] == ["the embedded labeller sees no media"] * 25


def test_what_the_embedded_labeller_does_not_read_of_a_long_text_is_listed() -> None:
    (left,) = unread(
        {"task": TASK, "trace": [*steps(2), {"id": "l", "name": "read", "input": {}, "output": "a" * 30_000}]}
    )
    assert (left.where, left.text) == ("step l", "a" * 10_000)
    assert left.why == "the embedded labeller reads the first 20,000 characters of its output"
