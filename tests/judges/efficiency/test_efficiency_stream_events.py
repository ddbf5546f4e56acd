"""Events of a run, as `astream_events` gives them: made after runs of a graph with langgraph 1 and langchain-core 1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from efficiency_making import as_stored
from krino import judge
from krino.judges.efficiency.judge import EfficiencyJudge
from krino.judges.efficiency.traces.detect import read_trace
from krino.judges.efficiency.traces.steps import Trace

ASKED = {"type": "human", "content": "When does the ferry leave?", "id": "h1"}
CALLS = {
    "type": "ai",
    "content": "",
    "id": "a1",
    "tool_calls": [{"name": "ferries", "args": {"port": "A"}, "id": "c1"}],
}
SAYS = {"type": "ai", "content": "At 9:12.", "id": "a2", "tool_calls": [], "usage_metadata": {"total_tokens": 31}}
FOUND = {"type": "tool", "content": "9:12", "name": "ferries", "tool_call_id": "c1", "status": "success"}
STATE = {"messages": [ASKED]}
Event = dict[str, Any]


def event(kind: str, name: str, run: str, parents: str = "", node: str = "", **data: Any) -> Event:
    about = {"langgraph_node": node, "langgraph_step": 1} if node else {}
    return {
        "event": f"on_{kind}",
        "name": name,
        "run_id": run,
        "parent_ids": parents.split(),
        "tags": [],
        "metadata": about,
        "data": data,
    }


def agent(run: str, model: str, reply: Event) -> list[Event]:
    """A node of the graph that asks a model, and what chooses the next node."""
    given = {"messages": [[ASKED] if reply is CALLS else [ASKED, CALLS, FOUND]]}
    return [
        event("chain_start", "agent", run, "root", "agent", input=STATE),
        event("chat_model_start", "Model", model, f"root {run}", "agent", input=given),
        event(
            "chat_model_stream",
            "Model",
            model,
            f"root {run}",
            "agent",
            chunk={"type": "AIMessageChunk", "content": "A"},
        ),
        event("chat_model_end", "Model", model, f"root {run}", "agent", input=given, output=reply),
        event("chain_start", "choose", f"{run}r", f"root {run}", "agent", input=STATE),
        event("chain_end", "choose", f"{run}r", f"root {run}", "agent", input=STATE, output="tools"),
        event("chain_stream", "agent", run, "root", "agent", chunk={"messages": [reply]}),
        event("chain_end", "agent", run, "root", "agent", input=STATE, output={"messages": [reply]}),
    ]


def tools(output: Any = FOUND, end: str = "tool_end", **data: Any) -> list[Event]:
    told = {"output": output, **data} if end == "tool_end" else data
    return [
        event("chain_start", "tools", "t", "root", "tools", input=STATE),
        event("tool_start", "ferries", "tool", "root t", "tools", input={"port": "A"}),
        event(end, "ferries", "tool", "root t", "tools", input={"port": "A"}, **told),
        event("chain_end", "tools", "t", "root", "tools", output={"messages": [FOUND]}),
    ]


def stream(*inner: Event) -> list[Event]:
    whole = {"messages": [ASKED, CALLS, FOUND, SAYS]}
    return [
        event("chain_start", "LangGraph", "root", input=STATE),
        *inner,
        event("chain_stream", "LangGraph", "root", chunk={"agent": {"messages": [SAYS]}}),
        event("chain_end", "LangGraph", "root", output=whole),
    ]


RUN = stream(*agent("n1", "m1", CALLS), *tools(), *agent("n2", "m2", SAYS))


def shape(trace: Trace) -> list[tuple[str, str, Any]]:
    return [(step.kind, step.name, step.output) for step in trace.steps if step.kind != "llm" or step.output != CALLS]


WANTED = [("tool", "ferries", "9:12"), ("llm", "Model", "At 9:12.")]


def first_version(events: list[Event]) -> list[Event]:
    """Without parents, and a model's reply among its generations."""
    told = json.loads(json.dumps(events))
    for item in told:
        item["parent_ids"] = []
        if item["event"] == "on_chat_model_end":
            item["data"]["output"] = {"generations": [[{"text": "", "message": item["data"]["output"]}]]}
    return list(told)


def test_the_runs_of_models_and_tools_are_the_steps() -> None:
    trace = read_trace(RUN)
    assert (trace.format, trace.task) == ("langchain_events", "When does the ferry leave?")
    assert [(step.kind, step.name) for step in trace.steps] == [("llm", "Model"), ("tool", "ferries"), ("llm", "Model")]
    assert shape(trace) == WANTED
    assert trace.steps[1].input == {"port": "A"}
    assert trace.steps[2].tokens == 31


@pytest.mark.parametrize(
    "events",
    [
        first_version(RUN),
        as_stored(RUN),
        {"events": RUN},
        "\n".join(map(json.dumps, RUN)),
        [*RUN, event("custom_event", "progress", "x", done=3)],
        [item for item in RUN if not item["event"].endswith("_stream")],
    ],
    ids=["version 1", "stored messages", "under a name", "lines", "an event of one's own", "without pieces"],
)
def test_every_way_to_keep_them_gives_the_same_steps(events: Any) -> None:
    assert shape(read_trace(events)) == WANTED


def test_pieces_stand_for_a_reply_that_never_ended() -> None:
    cut = [item for item in RUN if item["event"] not in ("on_chat_model_end", "on_chain_end")]
    assert [step.output for step in read_trace(cut).steps if step.kind == "llm"] == ["A", "A"]


@pytest.mark.parametrize(
    "failed",
    [
        tools({**FOUND, "content": "port closed", "status": "error"}),
        tools(end="tool_error", error="ValueError: port closed"),
    ],
)
def test_a_tool_that_failed_has_its_error(failed: list[Event]) -> None:
    step = next(step for step in read_trace(stream(*failed)).steps if step.kind == "tool")
    assert "port closed" in str(step.error)


def test_a_node_that_does_its_work_itself_is_a_step_and_a_router_is_none() -> None:
    own = [
        event("chain_start", "lookup", "n1", "root", "lookup", input=STATE),
        event("chain_start", "choose", "n1r", "root n1x", "lookup", input=STATE),
        event("chain_end", "choose", "n1r", "root n1x", "lookup", output="end"),
        event("chain_end", "lookup", "n1", "root", "lookup", output={"time": "9:12"}),
    ]
    names = [step.name for step in read_trace(stream(*own)).steps]
    assert "lookup" in names
    assert "choose" not in names


def test_a_retriever_is_a_retrieval() -> None:
    found = [
        event("retriever_start", "Docs", "r", "root", input={"query": "ferry"}),
        event("retriever_end", "Docs", "r", "root", input={"query": "ferry"}, output=[{"page_content": "9:12"}]),
    ]
    assert next((step.kind, step.name) for step in read_trace(stream(*found)).steps) == ("retrieval", "Docs")


def test_a_list_of_events_is_one_case_and_a_repeat_in_it_is_found() -> None:
    assert EfficiencyJudge().list_field(RUN[0]) == "trace"
    again = [{**item, "run_id": item["run_id"].replace("tool", "tool2")} for item in tools()]
    judged = judge(
        "efficiency", {"trace": stream(*agent("n1", "m1", CALLS), *tools(), *again, *agent("n2", "m2", SAYS))}
    )
    assert judged.status == "ok"
    assert judged.verdict is not None
    assert judged.verdict["score"] == 0.75


@pytest.mark.parametrize("broken", [{}, {"event": "on_tool_end"}, {"event": 3, "data": {}, "run_id": "x"}, None])
def test_what_is_no_event_makes_no_stream(broken: Any) -> None:
    with pytest.raises(Exception, match="trace"):
        read_trace([broken])
