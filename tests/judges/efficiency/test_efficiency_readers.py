"""Every trace format is recognised by itself, its steps are counted right, and ids, task and results are kept."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from krino import CannotJudge
from krino.judges.efficiency import split_traces
from krino.judges.efficiency.traces.detect import read_trace
from krino.judges.efficiency.traces.steps import Trace

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the weather in Ghent?"},
    {
        "role": "assistant",
        "content": "I will look.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Ghent"}'}},
            {"id": "call_2", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Gand"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "call_2", "content": "Error: unknown city"},
    {"role": "tool", "tool_call_id": "call_1", "content": "14 C"},
    {"role": "assistant", "content": "It is 14 C."},
]


def shape(trace: Trace) -> list[tuple[str, str, str]]:
    return [(step.id, step.kind, step.name) for step in trace.steps]


def test_chat_messages_give_one_step_a_call_and_one_a_text() -> None:
    trace = read_trace({"messages": CHAT})
    assert trace.format == "openai_chat"
    assert trace.task == "What is the weather in Ghent?"
    assert shape(trace) == [("call_1", "tool", "weather"), ("call_2", "tool", "weather"), ("3", "message", "message")]
    assert trace.steps[0].input == {"city": "Ghent"}
    assert trace.steps[0].output == "14 C"
    assert trace.steps[1].error == "Error: unknown city"


def test_old_function_calls_take_the_result_that_follows() -> None:
    messages = [
        {"role": "user", "content": "Add."},
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "add", "content": "2"},
    ]
    trace = read_trace(messages)
    assert [(step.name, step.output) for step in trace.steps] == [("add", "2")]


def test_tau_bench_takes_the_instruction_as_the_task() -> None:
    trace = read_trace({"task_id": 3, "trial": 0, "reward": 1.0, "instruction": "You want to fly.", "messages": CHAT})
    assert (trace.format, trace.task, len(trace.steps)) == ("tau_bench", "You want to fly.", 3)
    original = {"task_id": 3, "reward": 0, "info": {"task": {"instruction": "You want a refund."}}, "traj": CHAT}
    assert read_trace(original).task == "You want a refund."


def test_responses_items_join_calls_with_their_outputs() -> None:
    items = [
        {"role": "user", "content": "Find it.", "type": "message"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "call_9", "name": "find", "arguments": '{"q": "it"}'},
        {"type": "function_call_output", "call_id": "call_9", "output": "found"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "it"}},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Here."}]},
    ]
    trace = read_trace(items)
    assert (trace.format, trace.task) == ("openai_responses", "Find it.")
    assert shape(trace) == [
        ("call_9", "tool", "find"),
        ("ws_1", "retrieval", "web_search"),
        ("msg_1", "message", "message"),
    ]
    assert trace.steps[0].output == "found"
    reply = {"object": "response", "input": "Find it.", "output": items[2:]}
    assert read_trace(reply).task == "Find it."


def test_anthropic_messages_join_tool_use_with_tool_result() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Read the file."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Reading."},
                {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": True, "content": "no such file"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "There is no such file."}]},
    ]
    trace = read_trace({"messages": messages})
    assert (trace.format, trace.task) == ("anthropic", "Read the file.")
    assert shape(trace) == [("toolu_1", "tool", "read_file"), ("2", "message", "message")]
    assert trace.steps[0].error == "no such file"


def test_nested_spans_leave_containers_out() -> None:
    root = {
        "name": "planner",
        "type": "agent",
        "input": {"query": "Plan a trip."},
        "output": "Done.",
        "available_tools": ["maps"],
        "children": [
            {"name": "gpt", "type": "llm", "input": "plan", "output": "go", "input_token_count": 5, "children": []},
            {"name": "maps", "type": "tool", "input": {"to": "Ghent"}, "output": "A to B", "children": []},
            {"name": "docs", "type": "retriever", "input": "Ghent", "output": ["x"], "children": []},
        ],
    }
    trace = read_trace(root)
    assert (trace.format, trace.task, trace.answer) == ("deepeval", "Plan a trip.", "Done.")
    assert shape(trace) == [
        *(("1", "llm", "gpt"), ("2", "tool", "maps"), ("3", "retrieval", "docs")),
        ("4", "message", "message"),  # what the agent said at the end stands in its own span alone
    ]
    assert trace.steps[0].tokens == 5


def attribute(key: str, value: str | int) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def otlp_span(trace: str, span: str, parent: str, start: int, **attributes: str | int) -> dict[str, Any]:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "traceId": trace,
        "spanId": span,
        "parentSpanId": parent,
        "name": f"span {span}",
        "startTimeUnixNano": str(start * 10**9 + 17 * 10**17),
        "endTimeUnixNano": str((start + 1) * 10**9 + 17 * 10**17),
        "attributes": [attribute(key, value) for key, value in named.items()],
        "status": {},
    }


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


AGENT = otlp_span("t1", "a", "", 1, gen_ai__operation__name="invoke_agent", gen_ai__input__messages="Book a room.")
TOOL = otlp_span(
    "t1",
    "c",
    "a",
    4,
    gen_ai__operation__name="execute_tool",
    gen_ai__tool__name="book",
    gen_ai__tool__call__arguments='{"room": 4}',
    gen_ai__tool__call__result="booked",
)
MODEL = otlp_span("t1", "b", "a", 2, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=7)


def test_otlp_spans_come_in_order_of_time_with_their_ids() -> None:
    plain_http = otlp_span("t1", "d", "c", 5, http__method="GET")
    trace = read_trace(otlp(AGENT, TOOL, MODEL, plain_http))
    assert (trace.format, trace.task) == ("otlp", "Book a room.")
    assert shape(trace) == [("b", "llm", "span b"), ("c", "tool", "book")]
    assert (trace.steps[1].input, trace.steps[1].output) == ({"room": 4}, "booked")
    assert (trace.steps[0].tokens, trace.steps[0].seconds) == (7, 1.0)


def test_a_record_with_several_traces_is_refused_and_can_be_split() -> None:
    other = otlp_span("t2", "x", "", 1, gen_ai__operation__name="chat", gen_ai__input__messages="Hello there.")
    record = {"trace": otlp(AGENT, TOOL, other)}
    with pytest.raises(CannotJudge, match="2 traces"):
        read_trace(record["trace"])
    parts = split_traces(record)
    assert [part["id"] for part in parts] == ["t1", "t2"]
    assert [len(read_trace(part["trace"]).steps) for part in parts] == [1, 1]
    assert split_traces({"trace": otlp(AGENT)}) == [{"trace": otlp(AGENT)}]


def test_openinference_spans_flat_or_nested() -> None:
    def span(own: str, kind: str | None, children: list[dict[str, Any]], **attributes: Any) -> dict[str, Any]:
        named = {key.replace("__", "."): value for key, value in attributes.items()}
        kinds = {"openinference.span.kind": kind} if kind else {}
        return {
            "span_id": own,
            "trace_id": "t",
            "span_name": own,
            "span_attributes": {**kinds, **named},
            "child_spans": children,
            "duration": "PT1M2.5S",
            "status_code": "Ok",
        }

    model = span("m", "LLM", [], llm__output_messages__0__message__content="print(1)", llm__token_count__total="9")
    step = span("s", "CHAIN", [model], output__value="Execution logs: 1")
    tool = span("t", "TOOL", [], tool__name="search", input__value='{"q": "x"}', output__value="found")
    setup = span("u", None, [])
    root = span("r", "AGENT", [setup, step, model, tool], input__value='{"task": "Count."}', output__value="1")
    trace = read_trace({"trace_id": "t", "spans": [root]})
    assert (trace.format, trace.task, trace.answer) == ("openinference", "Count.", "1")
    assert shape(trace) == [("m", "llm", "m"), ("t", "tool", "search")]  # the span that was exported twice counts once
    assert (trace.steps[0].output, trace.steps[0].observed) == ("print(1)", "Execution logs: 1")
    assert (trace.steps[0].tokens, trace.steps[0].seconds) == (9, 62.5)
    flat = [
        {
            "name": "ask",
            "context": {"trace_id": "t", "span_id": "1"},
            "attributes": {"openinference": {"span": {"kind": "LLM"}}},
        }
    ]
    assert shape(read_trace(flat)) == [("1", "llm", "ask")]


def test_run_trees_nested_or_flat() -> None:
    tool = {"id": "r3", "name": "calc", "run_type": "tool", "inputs": {"input": "1+1"}, "outputs": {"output": "2"}}
    model = {"id": "r2", "name": "gpt", "run_type": "llm", "inputs": {"messages": []}, "outputs": {"text": "use calc"}}
    parser = {"id": "r4", "name": "parse", "run_type": "parser", "inputs": {}, "outputs": {}}
    root = {
        "id": "r1",
        "name": "agent",
        "run_type": "chain",
        "inputs": {"input": "What is 1+1?"},
        "outputs": {"output": "2"},
    }
    nested = read_trace({**root, "child_runs": [model, {**tool, "error": "overflow"}, parser]})
    assert (nested.format, nested.task, nested.answer) == ("langsmith", "What is 1+1?", "2")
    assert shape(nested) == [("r2", "llm", "gpt"), ("r3", "tool", "calc")]
    assert nested.steps[1].error == "overflow"
    flat = read_trace([root, *({**run, "parent_run_id": "r1"} for run in (model, tool, parser))])
    assert shape(flat) == shape(nested)


def test_named_messages_of_a_user_proxy_are_no_steps() -> None:
    chat = [
        {"name": "user_proxy", "role": "assistant", "content": "Problem: how many eggs?"},
        {"name": "assistant", "role": "user", "content": "```python\nprint(6*2)\n```"},
        {"name": "user_proxy", "role": "assistant", "content": "12"},
        {"name": "assistant", "role": "user", "content": "Twelve eggs."},
    ]
    trace = read_trace({"problem": "How many eggs?", "steps": chat})
    assert (trace.format, trace.task) == ("multi_agent", "How many eggs?")
    assert shape(trace) == [("1", "llm", "assistant"), ("2", "llm", "assistant")]
    assert trace.steps[0].observed == "12"


def test_agent_logs_give_one_step_a_response() -> None:
    log = (
        "Team_x - INFO - Initialized tools\n"
        "Team_x - INFO - Planner's Response: Look into a.py\nand b.py\n"
        "Team_x - INFO - Reader's Response: It is in a.py\n"
        "Team_x - INFO - Reader->Planner: Found it in a.py\n"
    )
    trace = read_trace({"problem": "Fix the bug.", "log": log})
    assert (trace.format, trace.task) == ("multi_agent", "Fix the bug.")
    assert shape(trace) == [("1", "llm", "Planner"), ("2", "llm", "Reader")]
    assert trace.steps[0].output == "Look into a.py\nand b.py"
    assert trace.steps[1].observed == "Found it in a.py"


def test_plain_steps_under_many_names() -> None:
    steps = [
        {"tool": "search", "args": {"q": "x"}, "result": ["a"], "latency": 0.5, "tokens": 3, "cost": 0.1},
        {"thought": "So it is a.", "type": "thought"},
        {"id": 9, "name": "answer", "type": "llm", "input": "a", "output": "It is a."},
    ]
    trace = read_trace({"steps": steps})
    assert trace.format == "plain"
    assert shape(trace) == [("1", "tool", "search"), ("2", "llm", "thought"), ("9", "llm", "answer")]
    assert (trace.steps[0].seconds, trace.steps[0].tokens, trace.steps[0].cost) == (0.5, 3, 0.1)
    assert len(read_trace(["first look", "then answer"]).steps) == 2


def test_ids_that_are_used_twice_are_told_apart() -> None:
    trace = read_trace([{"id": "1", "name": "a"}, {"name": "b"}, {"id": "1", "name": "c"}])
    ids = [step.id for step in trace.steps]
    assert ids[0] == "1"
    assert len(set(ids)) == 3


def test_a_trace_inside_a_string_is_read() -> None:
    assert len(read_trace('[{"name": "a", "output": "b"}]').steps) == 1


def test_media_become_placeholders_with_type_and_size() -> None:
    picture = base64.b64encode(b"not really a picture").decode()
    step = {"name": "look", "input": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}}
    trace = read_trace([step])
    assert trace.steps[0].input.startswith("[image image/png, 20 bytes, #")
    assert [medium.data for medium in trace.steps[0].media] == [b"not really a picture"]


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ({"foo": 1, "bar": 2}, "the fields `foo`, `bar`"),
        ([1, 2], "a list of 2, the first is a number"),
        ("just some words", "a text that starts 'just some words'"),
        (None, "seen was null"),
    ],
)
def test_what_cannot_be_read_is_said_with_what_was_seen(value: Any, seen: str) -> None:
    with pytest.raises(CannotJudge, match=seen.replace("(", r"\(")):
        read_trace(value)


def test_the_format_can_be_named() -> None:
    trace = read_trace({"messages": CHAT, "task_id": 1, "trial": 0}, "openai_chat")
    assert (trace.format, trace.seen) == ("openai_chat", "the option `format`")
