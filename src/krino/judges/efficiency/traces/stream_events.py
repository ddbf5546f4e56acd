"""Reads the events of a LangChain or LangGraph run (`astream_events`, both versions) as the runs they tell of.

A run starts, may stream and ends, in events of one `run_id`. The first version names no parents: there a run belongs
to the innermost chain that is still open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from krino.judges.efficiency.traces.content import listed, objects, text_of, whole
from krino.judges.efficiency.traces.messages import is_message, unwrapped
from krino.judges.efficiency.traces.run_tree import ROLES
from krino.judges.efficiency.traces.steps import Reader, Trace
from krino.judges.efficiency.traces.tree import Node, root_input, tree_steps

_EVENT = re.compile(r"on_(chain|chat_model|llm|tool|retriever|prompt|parser)_(start|stream|end|error)")
_NODE = "langgraph_node"


@dataclass(slots=True)
class _Run:
    """One run while its events come in."""

    node: Node
    parent: str
    routes: bool
    """A chain of a graph that is none of its nodes: what chooses the next one, or hands a value on."""
    streamed: list[str] = field(default_factory=list)
    open: bool = True


def is_event(raw: Any) -> bool:
    """Whether this is one event of such a stream."""
    if not isinstance(raw, Mapping) or not isinstance(raw.get("data"), Mapping) or not raw.get("run_id"):
        return False
    return _EVENT.fullmatch(str(raw.get("event"))) is not None


def _events(value: Any) -> list[Mapping[str, Any]]:
    return objects(listed(value, "events") or [])


def _recognise(value: Any) -> str | None:
    found = [event for event in _events(value) if str(event.get("event")) != "on_custom_event"]
    return "events of a LangChain run" if found and all(map(is_event, found)) else None


def _read(value: Any) -> Trace:
    runs: dict[str, _Run] = {}
    for event in filter(is_event, _events(value)):
        own = str(event["run_id"])
        run = runs.get(own)
        if run is None:
            run = runs[own] = _begin(event, runs)
        _take(run, event)
    for run in runs.values():
        if run.node.output in (None, "") and run.streamed:
            run.node.output = "".join(run.streamed)
    roots = _hang(runs)
    return Trace(tuple(tree_steps(roots)), root_input(roots))


def _begin(event: Mapping[str, Any], runs: Mapping[str, _Run]) -> _Run:
    found = _EVENT.fullmatch(str(event["event"]))
    kind = found.group(1) if found else "chain"
    about = event.get("metadata")
    graph_node = about.get(_NODE) if isinstance(about, Mapping) else None
    name = str(event.get("name") or kind)
    parents = [str(parent) for parent in listed(event.get("parent_ids")) or []]
    inside = [own for own, run in runs.items() if run.open and run.node.role == "container"]
    parent = next((own for own in reversed(parents) if own in runs), inside[-1] if inside and not parents else "")
    node = Node(id=str(event["run_id"]), name=name, role=ROLES[kind])
    return _Run(node, parent, routes=kind == "chain" and graph_node is not None and graph_node != name)


def _take(run: _Run, event: Mapping[str, Any]) -> None:
    """What an event adds: an input may come with the start or the end, a text in pieces, an output with the end."""
    data, phase = event["data"], str(event["event"]).rpartition("_")[2]
    node = run.node
    if node.input is None and data.get("input") is not None:
        node.input = data["input"]
    if phase == "stream" and node.role == "llm":
        run.streamed.append(text_of(_plain(data.get("chunk"))))
    if phase not in ("end", "error"):
        return
    run.open = False
    output = _message(_generated(data.get("output")))
    if phase == "error" or output.get("status") == "error":
        node.error = str(data.get("error") or _plain(data.get("output")) or "error")[:400]
    told = _generated(data.get("output"))
    node.output = _plain(told) if node.role in ("tool", "retrieval") else told
    usage = output.get("usage_metadata")
    node.tokens = whole(usage.get("total_tokens")) if isinstance(usage, Mapping) else None


def _generated(value: Any) -> Any:
    """The message of a model in the first version, where it is one of its generations."""
    held: Any = value.get("generations") if isinstance(value, Mapping) else None
    while isinstance(held, list) and len(held) == 1:
        held = held[0]
    return held.get("message", value) if isinstance(held, Mapping) else value


def _message(value: Any) -> Mapping[str, Any]:
    return unwrapped(value) if isinstance(value, Mapping) else {}


def _plain(value: Any) -> Any:
    """What a message holds; of a command to the graph, and of anything else, the whole."""
    message = _message(value)
    kind = str(message.get("type") or "")
    is_piece = kind.endswith("Chunk") or is_message(message)
    return message.get("content") if message and is_piece else value


def _hang(runs: Mapping[str, _Run]) -> list[Node]:
    """The runs below those that hold them; a chain of a graph that holds none and is no node does nothing."""
    roots: list[Node] = []
    for run in runs.values():
        (runs[run.parent].node.children if run.parent in runs else roots).append(run.node)
    for run in runs.values():
        if run.routes and not run.node.children:
            run.node.role = "glue"
    return roots


LANGCHAIN_EVENTS = Reader("langchain_events", _recognise, _read)
