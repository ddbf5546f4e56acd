"""Reads items of OpenAI's Responses API: each call joined with its output, each assistant message a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from krino.judges.efficiency.traces.content import (
    Album,
    extract_text,
    find_list,
    from_json,
    keep_objects,
    replace_media,
)
from krino.judges.efficiency.traces.failure import find_failure
from krino.judges.efficiency.traces.steps import Reader, Step, StepKind, Trace

_CALLS = frozenset(
    f"{name}_call"
    for name in (
        *("function", "custom_tool", "web_search", "file_search", "computer", "code_interpreter", "mcp"),
        *("image_generation", "local_shell", "shell", "apply_patch"),
    )
)
_SEARCHES = frozenset({"web_search_call", "file_search_call"})
_INPUT_FIELDS = ("arguments", "input", "action", "queries", "code", "query", "prompt")
_OUTPUT_FIELDS = ("output", "results", "outputs", "result")
_OWN_FIELDS = frozenset({"id", "type", "status", "call_id", "name", "error", *_OUTPUT_FIELDS})


def is_item(raw: Mapping[str, Any]) -> bool:
    """Whether this is an item of a response by itself: a call or its output."""
    kind = raw.get("type")
    return isinstance(kind, str) and kind.removesuffix("_output") in _CALLS


def _recognise(value: Any) -> str | None:
    """Returns by what items of OpenAI's Responses API are recognised, or None."""
    items = _list_items(value)
    calls = [item["type"] for item in items if isinstance(item.get("type"), str) and item["type"] in _CALLS]
    if calls:
        return f"items of type {calls[0]}"
    if isinstance(value, Mapping) and value.get("object") == "response":
        return "an object of type response"
    if items and all(item.get("type") in ("message", "reasoning") for item in items):
        return "items of type message" if any("role" in item for item in items) else None
    return None


def _list_items(value: Any) -> list[Mapping[str, Any]]:
    """Returns the items of a response, those of its input first."""
    if isinstance(value, Mapping):
        given = value.get("input")
        before = keep_objects(given) if isinstance(given, list) else []
        return before + keep_objects(find_list({key: value.get(key) for key in ("output", "items")}, "output", "items"))
    return keep_objects(find_list(value))


def _read(value: Any) -> Trace:
    """Reads items of OpenAI's Responses API; what a user says after a message becomes its reply."""
    items = _list_items(value)
    outputs = {str(item.get("call_id")): item for item in items if str(item.get("type")).endswith("_call_output")}
    steps: list[Step] = []
    for item in items:
        kind = str(item.get("type") or ("message" if "role" in item else ""))
        if kind in _CALLS:
            steps.append(_read_call(item, kind, outputs.get(str(item.get("call_id")))))
        elif kind == "message" and item.get("role") == "user" and steps and steps[-1].kind == "message":
            steps[-1] = replace(steps[-1], observed=extract_text(replace_media(item.get("content"), Album())).strip())
        elif kind == "message" and item.get("role") == "assistant":
            album = Album()
            text = extract_text(replace_media(item.get("content"), album)).strip()
            if text:
                steps.append(
                    Step(str(item.get("id") or ""), "message", "message", None, text, media=tuple(album.items))
                )
    return Trace(tuple(steps), _find_task(value, items))


def _read_call(item: Mapping[str, Any], kind: str, result: Mapping[str, Any] | None) -> Step:
    """Returns a call with its output as a step."""
    album = Album()
    given = next((item[field] for field in _INPUT_FIELDS if item.get(field) is not None), None)
    if given is None:
        given = {key: held for key, held in item.items() if key not in _OWN_FIELDS} or None
    holder = result if result is not None else item
    output = replace_media(
        next((holder[field] for field in _OUTPUT_FIELDS if holder.get(field) is not None), None), album
    )
    shown = extract_text(output) if isinstance(output, list) and result is not None else output
    step_kind: StepKind = "retrieval" if kind in _SEARCHES else "tool"
    error = item.get("error")
    name, arguments = str(item.get("name") or kind.removesuffix("_call")), replace_media(from_json(given), album)
    return Step(
        id=str(item.get("call_id") or item.get("id") or ""),
        kind=step_kind,
        name=name,
        input=arguments,
        output=shown,
        error=str(error)[:400] if error else find_failure(name, arguments, from_json(shown)),
        media=tuple(album.items),
    )


def _find_task(value: Any, items: list[Mapping[str, Any]]) -> str | None:
    """Returns the first thing the user asked, or None."""
    if isinstance(value, Mapping) and isinstance(value.get("input"), str):
        return str(value["input"]).strip() or None
    for item in items:
        if item.get("role") == "user" and (text := extract_text(replace_media(item.get("content"), Album())).strip()):
            return text
    return None


OPENAI_RESPONSES = Reader("openai_responses", _recognise, _read)
