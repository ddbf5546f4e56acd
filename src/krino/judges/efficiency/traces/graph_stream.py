"""Reads what a LangGraph run streams: updates, values, messages, tasks and debug, one mode or several at once.

A chunk is unwrapped to its content (updates of nodes, a whole state, or a piece of a message), and the messages of all
chunks are joined into one conversation. A message repeated in a later state or by an outer graph counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Literal

from krino.judges.efficiency.traces.content import extract_text, find_list, from_json, keep_objects, to_text
from krino.judges.efficiency.traces.messages import Message, is_message, read_messages, unwrap_message
from krino.judges.efficiency.traces.steps import Reader, Trace

Sort = Literal["update", "state", "piece"]
_HOLDERS = ("updates", "chunks", "events", "stream", "values")
_MODES = ("updates", "values", "messages", "tasks", "debug", "custom", "checkpoints")
_DEBUG = ("task", "task_result", "checkpoint")
_PIECES = ("AIMessageChunk", "HumanMessageChunk", "SystemMessageChunk")
_DEEPEST = 4
"""A mode inside a namespace inside a version, and one to spare; deeper nesting is no stream."""
_OF_A_STEP = frozenset({"input", "inputs", "output", "outputs"})
"""Fields of a step in other formats: an object with them is no update by a node of that name."""


def is_chunk(raw: Any) -> bool:
    """Is this one chunk of a stream: does it name the node, the mode or the task?"""
    if isinstance(raw, list):
        return bool(list(_extract(raw)))
    return isinstance(raw, Mapping) and not _is_message(raw) and "messages" not in raw and bool(list(_extract(raw)))


def _chunks(value: Any) -> list[Any]:
    found = find_list(value, *_HOLDERS)
    return found if found is not None else [value] if isinstance(value, Mapping) else []


def _recognise(value: Any) -> str | None:
    """Returns by what chunks of a LangGraph stream are recognised, or None."""
    chunks = _chunks(value)
    if not any(map(is_chunk, chunks)) and not _are_states(value, chunks):
        return None
    bare = [chunk for chunk in chunks if not isinstance(chunk, list | Mapping) or _is_message(chunk)]
    return None if bare else "chunks of a LangGraph stream"


def _are_states(value: Any, chunks: list[Any]) -> bool:
    """Whether these are whole states, each beginning with the messages of the one before."""
    states = [chunk["messages"] for chunk in chunks if isinstance(chunk, Mapping) and _messages(chunk)]
    if not isinstance(value, list) or len(states) < 2 or len(states) != len(chunks):
        return False
    return all(after[: len(before)] == before for before, after in pairwise(states))


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and (is_message(value) or value.get("type") in _PIECES)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# --- what a chunk holds ----------------------------------------------------------------------------


def _extract(chunk: Any, depth: int = 0) -> Iterator[tuple[Sort, Message]]:
    """Yields the messages of one chunk, each with the kind of record that holds it; none if it is no chunk."""
    if depth > _DEEPEST:
        return
    if isinstance(chunk, list):
        yield from _extract_from_tuple(chunk, depth)
        return
    raw = _mapping(chunk)
    mode, inner = str(raw.get("type") or raw.get("event")).partition("|")[0], raw.get("data", raw.get("payload"))
    if _is_message(raw):
        yield "piece", unwrap_message(raw)
    elif mode in (*_MODES, *_DEBUG) and isinstance(inner, Mapping | list):
        yield from _extract(inner, depth + 1)
    elif "triggers" in raw or "interrupts" in raw or {"values", "next"} <= raw.keys():  # a task, its result, a state
        for state in (raw.get("input"), raw.get("values")):
            yield from _extract_state(_mapping(state), "state")
        yield from _extract_update(raw.get("result"))
    elif "messages" in raw:
        yield from _extract_state(raw, "state")
    elif raw.keys().isdisjoint(_OF_A_STEP) and all(isinstance(part, Mapping | list | None) for part in raw.values()):
        for update in raw.values():
            yield from _extract_update(update)


def _extract_from_tuple(chunk: list[Any], depth: int) -> Iterator[tuple[Sort, Message]]:
    """Yields the messages of (message, metadata), (mode, chunk), (namespace, chunk) or (namespace, mode, chunk)."""
    if len(chunk) == 2 and _is_message(chunk[0]):
        if any(str(key).startswith("langgraph_") for key in _mapping(chunk[1])):
            yield "piece", unwrap_message(chunk[0])
        return
    named = len(chunk) in (2, 3) and all(isinstance(part, str | list) for part in chunk[:-1])
    if named and (chunk[-2] in _MODES or isinstance(chunk[0], list)):
        yield from _extract(chunk[-1], depth + 1)


def _extract_update(update: Any) -> Iterator[tuple[Sort, Message]]:
    """What a node wrote: one update, several, or pairs of a key and what was written to it."""
    for part in update if isinstance(update, list) else (update,):
        pair = isinstance(part, list) and len(part) == 2 and part[0] == "messages"
        yield from _extract_state({"messages": part[1]} if pair else _mapping(part), "update")


def _extract_state(state: Mapping[str, Any], sort: Sort) -> Iterator[tuple[Sort, Message]]:
    return ((sort, message) for message in _messages(state))


def _messages(state: Mapping[str, Any]) -> list[Message]:
    held = from_json(state.get("messages"))
    found = [held] if isinstance(held, Mapping) else keep_objects(held if isinstance(held, list) else None)
    return [unwrap_message(message) for message in found] if all(map(_is_message, found)) else []


# --- one conversation ------------------------------------------------------------------------------


def _read(value: Any) -> Trace:
    """Reads a LangGraph stream; whole messages count rather than their pieces."""
    chunks = [list(_extract(chunk)) for chunk in _chunks(value)]
    whole = [[item for item in held if item[0] != "piece"] for held in chunks]
    if any(whole):  # the same messages, already joined
        return read_messages(_drop_repeats(whole))
    return read_messages(_join_pieces(message for held in chunks for _, message in held))


def _drop_repeats(chunks: Iterable[list[tuple[Sort, Message]]]) -> Iterator[Message]:
    """Yields each message once, by id; without ids, a state repeats the messages that came before."""
    known: set[str] = set()
    seen: Counter[str] = Counter()
    for held in chunks:
        here: Counter[str] = Counter()
        for sort, message in held:
            own, text = message.get("id"), to_text(message)
            here[text] += 1
            again = own in known if isinstance(own, str) and own else sort == "state" and here[text] <= seen[text]
            if not again:
                seen[text] += 1
                yield message
            if isinstance(own, str):
                known.add(own)


def _join_pieces(pieces: Iterable[Message]) -> Iterator[Message]:
    """Yields messages joined from the pieces that a model streamed; others are whole already."""
    open_: dict[str, list[Message]] = {}
    for number, piece in enumerate(pieces):
        open_.setdefault(str(piece.get("id") or number), []).append(piece)
    for parts in open_.values():
        yield _join_message(parts) if parts[0].get("type") in _PIECES else parts[0]


def _join_message(parts: list[Message]) -> Message:
    """Joins the pieces of a message that was streamed."""
    calls: dict[Any, dict[str, str]] = {}
    for number, part in enumerate(parts):
        for call in keep_objects(find_list(part.get("tool_call_chunks"))):
            known = calls.setdefault(call.get("index", number), {"id": "", "name": "", "args": ""})
            for key in known:
                known[key] += str(call.get(key) or "")
    said = "".join(extract_text(part.get("content")) for part in parts)
    made: list[Message] = [*calls.values()] or [
        call for part in parts for call in keep_objects(find_list(part.get("tool_calls")))
    ]
    return {**parts[0], "content": said, "tool_calls": made}


LANGGRAPH = Reader("langgraph", _recognise, _read)
