"""Reads plain lists of steps: objects with a name or tool, an input and an output, or bare texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krino.judges.efficiency.traces.content import (
    Album,
    clean,
    duration,
    elapsed,
    from_json,
    instant,
    listed,
    number,
    whole,
)
from krino.judges.efficiency.traces.failure import failure_in
from krino.judges.efficiency.traces.steps import Kind, Step, Trace

NAME = "plain"
_NAMES = ("name", "tool", "tool_name", "action", "function", "step", "title")
_INPUTS = ("input", "inputs", "args", "arguments", "kwargs", "parameters", "tool_input", "action_input", "query")
_OUTPUTS = ("output", "outputs", "result", "observation", "response", "content", "text", "thought", "tool_output")
_IDS = ("id", "step_id", "span_id", "uuid", "index")
_KINDS: Mapping[str, Kind] = {
    "tool": "tool",
    "tool_call": "tool",
    "function": "tool",
    "action": "tool",
    "llm": "llm",
    "model": "llm",
    "chat": "llm",
    "generation": "llm",
    "reasoning": "llm",
    "thought": "llm",
    "retriever": "retrieval",
    "retrieval": "retrieval",
    "search": "retrieval",
    "message": "message",
    "answer": "message",
}
_KNOWN = frozenset({*_NAMES, *_INPUTS, *_OUTPUTS, "type", "kind", "error"})


def is_step(raw: Mapping[str, Any]) -> bool:
    """Whether this is a step by itself: it has a name, or says of what kind it is."""
    kind = raw.get("type", raw.get("kind"))
    return _first(raw, _NAMES) is not None or (isinstance(kind, str) and kind.lower() in _KINDS)


def recognise(value: Any) -> str | None:
    steps = listed(value, "steps", "actions", "trajectory", "trace")
    if steps is None:
        return None
    if not steps:
        return "an empty list"
    if all(isinstance(step, str) for step in steps):
        return "a list of texts"
    if all(isinstance(step, Mapping) and step.keys() & _KNOWN for step in steps):
        return "a list of steps"
    return None


def read(value: Any) -> Trace:
    steps = [_step(raw) for raw in listed(value, "steps", "actions", "trajectory", "trace") or ()]
    task = value.get("task") if isinstance(value, Mapping) else None
    answer = value.get("answer", value.get("final_answer")) if isinstance(value, Mapping) else None
    return Trace(
        tuple(steps),
        task if isinstance(task, str) else None,
        answer if isinstance(answer, str) else None,
    )


def _step(raw: Any) -> Step:
    if not isinstance(raw, Mapping):
        return Step("", "llm", "step", None, str(raw))
    album = Album()
    given_kind = str(raw.get("type") or raw.get("kind") or "").lower()
    name = _first(raw, _NAMES)
    details = name if isinstance(name, Mapping) else {}
    output = clean(_first(raw, _OUTPUTS), album)
    given = _first(raw, _INPUTS)
    if given is None and details:
        given = _first(details, _INPUTS)
    failed = raw.get("error")
    start, end = instant(raw.get("start_time")), instant(raw.get("end_time"))
    seconds = next((found for key in ("seconds", "duration", "latency") if (found := duration(raw.get(key)))), None)
    return Step(
        id=_id(raw),
        kind=_KINDS.get(given_kind) or ("tool" if name is not None and given_kind == "" else "other"),
        name=str(details.get("name") if details else name if name is not None else given_kind or "step"),
        input=clean(from_json(given), album),
        output=output,
        error=str(failed)[:400] if failed else failure_in(from_json(output)),
        tokens=whole(raw.get("tokens", raw.get("total_tokens"))),
        seconds=seconds if seconds is not None else elapsed(start, end),
        cost=number(raw.get("cost")),
        media=tuple(album.items),
    )


def _first(raw: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _id(raw: Mapping[str, Any]) -> str:
    found = _first(raw, _IDS)
    return str(found) if isinstance(found, str | int) else ""
