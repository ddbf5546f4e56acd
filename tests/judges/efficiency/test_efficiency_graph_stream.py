"""What a LangGraph run streams is read as one conversation, whatever the mode, and each message once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from efficiency_making import as_stored
from krino import judge
from krino.cases import read_cases
from krino.judges.efficiency import EfficiencyJudge
from krino.judges.efficiency.traces.detect import read_trace
from krino.judges.efficiency.traces.graph_stream import is_chunk
from krino.judges.efficiency.traces.steps import Trace

Record = dict[str, Any]
HUMAN: Record = {"type": "human", "content": "Which platform has the 9:12?", "id": "h"}
CALL: Record = {
    "type": "ai",
    "content": "",
    "id": "m1",
    "tool_calls": [
        {"name": "departures", "args": {"at": "9:12"}, "id": "c1", "type": "tool_call"},
        {"name": "notices", "args": {"line": 4}, "id": "c2", "type": "tool_call"},
    ],
}
RESULT: Record = {"type": "tool", "name": "departures", "content": "platform 4", "tool_call_id": "c1", "id": "t1"}
SECOND: Record = {"type": "tool", "name": "notices", "content": "none", "tool_call_id": "c2", "id": "t2"}
ANSWER: Record = {"type": "ai", "content": "Platform 4.", "tool_calls": [], "id": "m2"}
AGENT, TOOLS = {"agent": {"messages": [CALL]}}, {"tools": {"messages": [RESULT, SECOND]}}
UPDATES: list[Any] = [AGENT, TOOLS, {"agent": {"messages": [ANSWER]}}]
VALUES: list[Any] = [
    {"messages": [HUMAN]},
    {"messages": [HUMAN, CALL]},
    {"messages": [HUMAN, CALL, RESULT, SECOND]},
    {"messages": [HUMAN, CALL, RESULT, SECOND, ANSWER]},
]
NODE = {"langgraph_node": "agent", "langgraph_step": 1}


def piece(own: str, text: str = "", **call: Any) -> list[Any]:
    """A bit of a message as a model writes it, with where it comes from."""
    return [{"type": "AIMessageChunk", "content": text, "id": own, "tool_call_chunks": [call] if call else []}, NODE]


PIECES: list[Any] = [
    piece("m1", name="departures", args="", id="c1", index=0),
    piece("m1", name=None, args='{"at": ', id=None, index=0),
    piece("m1", name=None, args='"9:12"}', id=None, index=0),
    piece("m1", name="notices", args='{"line": 4}', id="c2", index=1),
    [RESULT, NODE],
    [SECOND, NODE],
    piece("m2", "Platform "),
    piece("m2", "4."),
]
TASKS: list[Any] = [
    {"id": "1", "name": "agent", "input": {"messages": [HUMAN]}, "triggers": ["start"]},
    {"id": "1", "name": "agent", "error": None, "result": {"messages": [CALL]}, "interrupts": []},
    {"id": "2", "name": "tools", "error": None, "result": [["messages", [RESULT, SECOND]]], "interrupts": []},
    {"id": "3", "name": "agent", "error": None, "result": {"messages": [ANSWER]}, "interrupts": []},
]
STREAMS: dict[str, Any] = {
    "updates": UPDATES,
    "updates of nodes that ran side by side": [{**AGENT, "guard": None}, *UPDATES[1:]],
    "updates that are one message or several parts": [
        {"agent": {"messages": CALL}},
        {"tools": [{"messages": [RESULT]}, {"messages": [SECOND]}]},
        UPDATES[2],
    ],
    "one object": {"agent": {"messages": [CALL]}, "tools": TOOLS["tools"], "writer": {"messages": [ANSWER]}},
    "under a name": {"updates": UPDATES},
    "an interrupt": [*UPDATES, {"__interrupt__": [{"value": "go on?"}]}],
    "values": VALUES,
    "messages": PIECES,
    "tasks": TASKS,
    "debug": [{"step": 1, "type": "task_result" if "result" in task else "task", "payload": task} for task in TASKS],
    "several modes": [["values", VALUES[0]], ["messages", PIECES[0]], *(["updates", update] for update in UPDATES)],
    "subgraphs": [
        [["team:1"], AGENT],
        [["team:1"], TOOLS],
        [[], {"team": {"messages": [CALL, RESULT, SECOND, ANSWER]}}],
    ],
    "subgraphs and modes": [[[], "updates", update] for update in UPDATES],
    "version 2": [{"type": "updates", "ns": [], "data": update} for update in UPDATES],
    "a server's events": [
        {"event": "metadata", "data": {"run_id": "r"}},
        *({"event": "updates|team:1", "data": update} for update in UPDATES),
    ],
    "lines of a text": "\n".join(map(json.dumps, UPDATES)),
}


def shape(trace: Trace) -> list[tuple[str, Any, Any]]:
    return [(step.name, step.input, step.output) for step in trace.steps]


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_each_mode_of_a_stream_gives_the_same_steps(stream: Any) -> None:
    trace = read_trace(stream)
    assert trace.format == "langgraph"
    assert shape(trace) == [
        ("departures", {"at": "9:12"}, "platform 4"),
        ("notices", {"line": 4}, "none"),
        ("message", None, "Platform 4."),
    ]


@pytest.mark.parametrize("mode", ["updates", "values", "tasks", "subgraphs"])
def test_stored_messages_are_unwrapped_and_come_once(mode: str) -> None:
    assert shape(read_trace(as_stored(STREAMS[mode]))) == shape(read_trace(UPDATES))


def test_without_ids_a_state_holds_messages_again_and_an_update_does_not() -> None:
    bare = json.loads(json.dumps(VALUES))
    for state in bare:
        for message in state["messages"]:
            del message["id"]
    assert len(read_trace(bare).steps) == 3
    call = {"type": "ai", "content": "", "tool_calls": [{"name": "departures", "args": {"at": "9:12"}, "id": ""}]}
    twice = [{"agent": {"messages": [call]}}, {"agent": {"messages": [call]}}, UPDATES[2]]
    assert len(read_trace(twice).steps) == 3


def test_whole_states_state_the_task_and_updates_take_that_of_the_case() -> None:
    assert read_trace(VALUES).task == HUMAN["content"]
    assert judge("efficiency", {"trace": UPDATES}).status == "failed"
    assert judge("efficiency", {"task": HUMAN["content"], "trace": UPDATES}).status == "ok"


@pytest.mark.parametrize(
    "chunks", [UPDATES, [{"type": "updates", "ns": [], "data": update} for update in UPDATES], TASKS]
)
def test_a_file_with_a_list_of_chunks_is_one_trace(tmp_path: Path, chunks: list[Any]) -> None:
    (tmp_path / "run.json").write_text(json.dumps(chunks), encoding="utf-8")
    (item,) = read_cases([tmp_path / "run.json"], judge=EfficiencyJudge())
    assert item.record == {"trace": chunks}


@pytest.mark.parametrize(
    "other",
    [
        {"name": "call_model", "input": {"messages": [HUMAN]}, "output": {"messages": [ANSWER]}},
        {"input": {"messages": [HUMAN]}, "output": {"messages": [ANSWER]}},
        {"messages": [HUMAN, ANSWER]},
        HUMAN,
        [HUMAN, ANSWER],
        {"agent": {"note": "no messages"}},
        {"agent": {"messages": ["only words"]}},
    ],
)
def test_what_other_formats_write_is_no_chunk_of_a_stream(other: Any) -> None:
    assert not is_chunk(other)


def test_what_is_wrapped_without_end_is_no_stream() -> None:
    deep: Any = AGENT
    for _ in range(300):
        deep = {"type": "updates", "data": deep}
    assert not is_chunk(deep)
