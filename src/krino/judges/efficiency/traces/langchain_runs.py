"""Reads runs of LangChain and LangGraph: LangSmith exports (nested or flat), and the events of `astream_events`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from krino.errors import CannotJudge
from krino.judges.efficiency.traces.content import (
    extract_text,
    find_list,
    keep_objects,
    parse_count,
    parse_number,
    parse_time,
    time_between,
    to_text,
)
from krino.judges.efficiency.traces.messages import is_message, unwrap_message
from krino.judges.efficiency.traces.steps import Reader, Trace
from krino.judges.efficiency.traces.tree import Node, Role, find_task, list_steps

# --- exported runs ---------------------------------------------------------------------------------

ROLES: Mapping[str, Role] = {
    "llm": "llm",
    "chat_model": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "other",
    "chain": "container",
    "agent": "container",
    "prompt": "glue",
    "parser": "glue",
}


def _recognise_runs(value: Any) -> str | None:
    tops = _find_top_runs(value)
    return "runs with run_type" if tops and all("run_type" in run for run in tops) else None


def _find_top_runs(value: Any) -> list[Mapping[str, Any]]:
    """Returns the top runs of a LangSmith export."""
    if isinstance(value, Mapping) and "run_type" in value:
        return [value]
    if isinstance(value, Mapping) and isinstance(value.get("run"), Mapping):
        return [value["run"]]
    return keep_objects(find_list(value, "runs"))


def _read_runs(value: Any) -> Trace:
    """Reads a LangSmith export, nested or flat; raises `CannotJudge` if it holds several traces."""
    nodes: dict[str, Node] = {}
    made: list[tuple[str, Node]] = []
    for run, holder in _list_runs(value):
        node = _make_run_node(run)
        nodes.setdefault(node.id, node)
        made.append((holder or str(run.get("parent_run_id") or ""), node))
    roots = []
    for parent, node in made:
        if parent and parent in nodes and nodes[parent] is not node:
            nodes[parent].children.append(node)
        else:
            roots.append(node)
    traces = {str(run["trace_id"]) for run in _find_top_runs(value) if run.get("trace_id")}
    if len(traces) > 1:
        raise CannotJudge(
            f"the record holds {len(traces)} traces: give one trace a record "
            "(krino.judge_many and the command `krino judge` take them apart)"
        )
    answer = to_text(roots[0].output) if len(roots) == 1 and roots[0].children else ""
    return Trace(tuple(list_steps(roots)), find_task(roots), answer or None)


def runs_by_trace(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the top-level runs of a list, each after its trace id or that of its parent."""
    tops = _find_top_runs(value)
    known = {str(run["id"]): str(run["trace_id"]) for run in tops if run.get("id") and run.get("trace_id")}
    for run in tops:
        if "run_type" in run:
            yield str(run.get("trace_id") or known.get(str(run.get("parent_run_id"))) or ""), run


def _list_runs(value: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yields every run with the id of the run that holds it."""
    waiting = [(run, "") for run in reversed(_find_top_runs(value))]
    while waiting:
        run, holder = waiting.pop()
        yield run, holder
        own = str(run.get("id") or "")
        waiting.extend((child, own) for child in reversed(keep_objects(find_list(run, "child_runs") or [])))


def _make_run_node(run: Mapping[str, Any]) -> Node:
    """Returns a run as a node of the tree."""
    start, end = parse_time(run.get("start_time")), parse_time(run.get("end_time"))
    role = ROLES.get(str(run.get("run_type")), "other")
    return Node(
        id=str(run.get("id") or ""),
        name=str(run.get("name") or run.get("run_type") or "run"),
        role=role,
        input=_unwrap_single(run.get("inputs")),
        output=_unwrap_single(run.get("outputs")),
        error=str(run["error"])[:400] if run.get("error") else None,
        tokens=parse_count(run.get("total_tokens")) if role == "llm" else None,
        seconds=time_between(start, end),
        cost=parse_number(run.get("total_cost")) if role == "llm" else None,
        start=start,
    )


def _unwrap_single(value: Any) -> Any:
    """Returns x of {"input": x} or {"output": x} (also `query`, `documents`), in which runs wrap single values.

    Any other value is returned unchanged.
    """
    if isinstance(value, Mapping) and len(value) == 1:
        name, inner = next(iter(value.items()))
        if name in {"input", "output", "query", "documents"}:
            return inner
    return value


LANGSMITH = Reader("langsmith", _recognise_runs, _read_runs)


# --- events ----------------------------------------------------------------------------------------

_EVENT = re.compile(r"on_(chain|chat_model|llm|tool|retriever|prompt|parser)_(start|stream|end|error)")
_NODE = "langgraph_node"


@dataclass(slots=True)
class _Run:
    """One run while its events come in."""

    node: Node
    parent: str
    routes: bool
    """Whether it is a chain of a graph but none of its nodes: a router between them."""
    streamed: list[str] = field(default_factory=list)
    open: bool = True


def is_event(raw: Any) -> bool:
    """Whether this is one event of such a stream."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("data"), Mapping) or not raw.get("run_id"):
        return False
    return _EVENT.fullmatch(str(raw.get("event"))) is not None


def _events(value: Any) -> list[Mapping[str, Any]]:
    return keep_objects(find_list(value, "events") or [])


def _recognise_events(value: Any) -> str | None:
    found = [event for event in _events(value) if str(event.get("event")) != "on_custom_event"]
    return "events of a LangChain run" if found and all(map(is_event, found)) else None


def _read_events(value: Any) -> Trace:
    """Reads the events of `astream_events`."""
    runs: dict[str, _Run] = {}
    for event in filter(is_event, _events(value)):
        own = str(event["run_id"])
        run = runs.get(own)
        if run is None:
            run = runs[own] = _start_run(event, runs)
        _add_event(run, event)
    for run in runs.values():
        if run.node.output in (None, "") and run.streamed:
            run.node.output = "".join(run.streamed)
    roots = _build_tree(runs)
    return Trace(tuple(list_steps(roots)), find_task(roots))


def _start_run(event: Mapping[str, Any], runs: Mapping[str, _Run]) -> _Run:
    """Starts the run of an event, below the run that is open around it."""
    found = _EVENT.fullmatch(str(event["event"]))
    kind = found.group(1) if found else "chain"
    about = event.get("metadata")
    graph_node = about.get(_NODE) if isinstance(about, Mapping) else None
    name = str(event.get("name") or kind)
    parents = [str(parent) for parent in find_list(event.get("parent_ids")) or []]
    inside = [own for own, run in runs.items() if run.open and run.node.role == "container"]
    parent = next((own for own in reversed(parents) if own in runs), inside[-1] if inside and not parents else "")
    node = Node(id=str(event["run_id"]), name=name, role=ROLES[kind])
    return _Run(node, parent, routes=kind == "chain" and graph_node is not None and graph_node != name)


def _add_event(run: _Run, event: Mapping[str, Any]) -> None:
    """Adds an event to its run: the input comes with the start or end, text in pieces, the output with the end."""
    data, phase = event["data"], str(event["event"]).rpartition("_")[2]
    node = run.node
    if node.input is None and data.get("input") is not None:
        node.input = data["input"]
    if phase == "stream" and node.role == "llm":
        run.streamed.append(extract_text(_extract_content(data.get("chunk"))))
    if phase not in ("end", "error"):
        return
    run.open = False
    output = _message(_unwrap_generation(data.get("output")))
    if phase == "error" or output.get("status") == "error":
        node.error = str(data.get("error") or _extract_content(data.get("output")) or "error")[:400]
    generated = _unwrap_generation(data.get("output"))
    node.output = _extract_content(generated) if node.role in ("tool", "retrieval") else generated
    usage = output.get("usage_metadata")
    node.tokens = parse_count(usage.get("total_tokens")) if isinstance(usage, Mapping) else None


def _unwrap_generation(value: Any) -> Any:
    """Returns the message of a model where it is wrapped in generations, as in the first version; else the value."""
    held: Any = value.get("generations") if isinstance(value, Mapping) else None
    while isinstance(held, list) and len(held) == 1:
        held = held[0]
    return held.get("message", value) if isinstance(held, Mapping) else value


def _message(value: Any) -> Mapping[str, Any]:
    return unwrap_message(value) if isinstance(value, Mapping) else {}


def _extract_content(value: Any) -> Any:
    """Returns the content of a message; any other value, such as a command to the graph, unchanged."""
    message = _message(value)
    kind = str(message.get("type") or "")
    is_piece = kind.endswith("Chunk") or is_message(message)
    return message.get("content") if message and is_piece else value


def _build_tree(runs: Mapping[str, _Run]) -> list[Node]:
    """Builds the tree of runs and returns its roots; a router without children is no step."""
    roots: list[Node] = []
    for run in runs.values():
        (runs[run.parent].node.children if run.parent in runs else roots).append(run.node)
    for run in runs.values():
        if run.routes and not run.node.children:
            run.node.role = "glue"
    return roots


LANGCHAIN_EVENTS = Reader("langchain_events", _recognise_events, _read_events)
