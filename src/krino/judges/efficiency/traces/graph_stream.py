"""Reads what a LangGraph run streams: updates, values, messages, tasks and debug, one mode or several at once.

A chunk is unwrapped to what it holds (the nodes' updates, a whole state, or a piece of a message), and the messages of
all chunks are joined into one conversation. A message that comes again, in a later state or in the update of an outer
graph, is one message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal

from krino.judges.efficiency.traces.content import dump, from_json, listed, objects, text_of
from krino.judges.efficiency.traces.messages import Message, is_message, trace_of_messages, unwrapped
from krino.judges.efficiency.traces.steps import Reader, Trace

Sort = Literal["update", "state", "piece"]
_HOLDERS = ("updates", "chunks", "events", "stream", "values")
_MODES = ("updates", "values", "messages", "tasks", "debug", "custom", "checkpoints")
_DEBUG = ("task", "task_result", "checkpoint")
_PIECES = ("AIMessageChunk", "HumanMessageChunk", "SystemMessageChunk")
_DEEPEST = 4
"""A mode inside a namespace inside a version, and one to spare: what is wrapped more often is no stream."""
_OF_A_STEP = frozenset({"input", "inputs", "output", "outputs"})
"""Fields of a step as other formats write it: what holds them is no update of nodes with such names."""


def is_chunk(raw: Any) -> bool:
    """Whether this is one chunk of a stream, and not of another format: it names the node, the mode or the task."""
    if isinstance(raw, list):
        return bool(list(_held(raw)))
    return isinstance(raw, Mapping) and not _is_message(raw) and "messages" not in raw and bool(list(_held(raw)))


def _chunks(value: Any) -> list[Any]:
    found = listed(value, *_HOLDERS)
    return found if found is not None else [value] if isinstance(value, Mapping) else []


def _recognise(value: Any) -> str | None:
    chunks = _chunks(value)
    if not any(map(is_chunk, chunks)) and not _are_states(value, chunks):
        return None
    bare = [chunk for chunk in chunks if not isinstance(chunk, list | Mapping) or _is_message(chunk)]
    return None if bare else "chunks of a LangGraph stream"


def _are_states(value: Any, chunks: list[Any]) -> bool:
    """Whole states, each of which begins with the messages of the one before."""
    states = [chunk["messages"] for chunk in chunks if isinstance(chunk, Mapping) and _messages(chunk)]
    if not isinstance(value, list) or len(states) < 2 or len(states) != len(chunks):
        return False
    return all(after[: len(before)] == before for before, after in pairwise(states))


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and (is_message(value) or value.get("type") in _PIECES)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# --- what a chunk holds ----------------------------------------------------------------------------


def _held(chunk: Any, depth: int = 0) -> Iterator[tuple[Sort, Message]]:
    """The messages of one chunk, each with the sort of record that it stands in."""
    if depth > _DEEPEST:
        return
    if isinstance(chunk, list):
        yield from _held_in_tuple(chunk, depth)
        return
    raw = _mapping(chunk)
    mode, inner = str(raw.get("type") or raw.get("event")).partition("|")[0], raw.get("data", raw.get("payload"))
    if _is_message(raw):
        yield "piece", unwrapped(raw)
    elif mode in (*_MODES, *_DEBUG) and isinstance(inner, Mapping | list):
        yield from _held(inner, depth + 1)
    elif "triggers" in raw or "interrupts" in raw or {"values", "next"} <= raw.keys():  # a task, its result, a state
        for state in (raw.get("input"), raw.get("values")):
            yield from _of(_mapping(state), "state")
        yield from _updated(raw.get("result"))
    elif "messages" in raw:
        yield from _of(raw, "state")
    elif raw.keys().isdisjoint(_OF_A_STEP) and all(isinstance(part, Mapping | list | None) for part in raw.values()):
        for update in raw.values():
            yield from _updated(update)


def _held_in_tuple(chunk: list[Any], depth: int) -> Iterator[tuple[Sort, Message]]:
    """(message, metadata), (mode, chunk), (namespace, chunk) or (namespace, mode, chunk)."""
    if len(chunk) == 2 and _is_message(chunk[0]):
        if any(str(key).startswith("langgraph_") for key in _mapping(chunk[1])):
            yield "piece", unwrapped(chunk[0])
        return
    named = len(chunk) in (2, 3) and all(isinstance(part, str | list) for part in chunk[:-1])
    if named and (chunk[-2] in _MODES or isinstance(chunk[0], list)):
        yield from _held(chunk[-1], depth + 1)


def _updated(update: Any) -> Iterator[tuple[Sort, Message]]:
    """What a node wrote: one update, several, or pairs of a key and what was written to it."""
    for part in update if isinstance(update, list) else (update,):
        pair = isinstance(part, list) and len(part) == 2 and part[0] == "messages"
        yield from _of({"messages": part[1]} if pair else _mapping(part), "update")


def _of(state: Mapping[str, Any], sort: Sort) -> Iterator[tuple[Sort, Message]]:
    return ((sort, message) for message in _messages(state))


def _messages(state: Mapping[str, Any]) -> list[Message]:
    held = from_json(state.get("messages"))
    found = [held] if isinstance(held, Mapping) else objects(held if isinstance(held, list) else None)
    return [unwrapped(message) for message in found] if all(map(_is_message, found)) else []


# --- one conversation ------------------------------------------------------------------------------


def _read(value: Any) -> Trace:
    chunks = [list(_held(chunk)) for chunk in _chunks(value)]
    whole = [[item for item in held if item[0] != "piece"] for held in chunks]
    if any(whole):  # the same messages, already joined
        return trace_of_messages(_once(whole))
    return trace_of_messages(_joined(message for held in chunks for _, message in held))


def _once(chunks: Iterable[list[tuple[Sort, Message]]]) -> Iterator[Message]:
    """Each message once, by its id; without one, a state holds those again that were there before."""
    known: set[str] = set()
    told: Counter[str] = Counter()
    for held in chunks:
        here: Counter[str] = Counter()
        for sort, message in held:
            own, text = message.get("id"), dump(message)
            here[text] += 1
            again = own in known if isinstance(own, str) and own else sort == "state" and here[text] <= told[text]
            if not again:
                told[text] += 1
                yield message
            if isinstance(own, str):
                known.add(own)


def _joined(pieces: Iterable[Message]) -> Iterator[Message]:
    """Messages put together from the pieces in which a model wrote them; others come whole."""
    open_: dict[str, list[Message]] = {}
    for number, piece in enumerate(pieces):
        open_.setdefault(str(piece.get("id") or number), []).append(piece)
    for parts in open_.values():
        yield _whole(parts) if parts[0].get("type") in _PIECES else parts[0]


def _whole(parts: list[Message]) -> Message:
    calls: dict[Any, dict[str, str]] = {}
    for number, part in enumerate(parts):
        for call in objects(listed(part.get("tool_call_chunks"))):
            known = calls.setdefault(call.get("index", number), {"id": "", "name": "", "args": ""})
            for key in known:
                known[key] += str(call.get(key) or "")
    said = "".join(text_of(part.get("content")) for part in parts)
    made: list[Message] = [*calls.values()] or [
        call for part in parts for call in objects(listed(part.get("tool_calls")))
    ]
    return {**parts[0], "content": said, "tool_calls": made}


LANGGRAPH = Reader("langgraph", _recognise, _read)
