"""Reads Anthropic messages: each tool_use block is a step with its tool_result, each assistant text a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krino.judges.efficiency.traces.content import Album, clean, listed, objects, text_of
from krino.judges.efficiency.traces.failure import failure_in
from krino.judges.efficiency.traces.steps import Step, Trace

NAME = "anthropic"
_BLOCKS = ("tool_use", "tool_result", "server_tool_use", "thinking", "mcp_tool_use", "redacted_thinking")
_USES = ("tool_use", "server_tool_use", "mcp_tool_use")


def _messages(value: Any) -> list[Mapping[str, Any]]:
    found = objects(listed(value, "messages", "conversation"))
    if isinstance(value, Mapping) and value.get("type") == "message" and isinstance(value.get("content"), list):
        return [value]  # one reply of the API by itself
    return found


def recognise(value: Any) -> str | None:
    for message in _messages(value):
        if message.get("role") not in ("user", "assistant") or "tool_calls" in message:
            continue
        for block in objects(listed(message.get("content"))):
            if block.get("type") in _BLOCKS:
                return f"content blocks of type {block['type']}"
    return None


def read(value: Any) -> Trace:
    messages = _messages(value)
    results = {
        str(block.get("tool_use_id")): block
        for message in messages
        for block in objects(listed(message.get("content")))
        if str(block.get("type")).endswith("tool_result")
    }
    steps: list[Step] = []
    for message in messages:
        if message.get("role") != "assistant":
            continue
        uses = [block for block in objects(listed(message.get("content"))) if block.get("type") in _USES]
        steps += [_use(block, results.get(str(block.get("id")))) for block in uses] or _spoken(message)
    return Trace(tuple(steps), _task(messages))


def _use(block: Mapping[str, Any], result: Mapping[str, Any] | None) -> Step:
    album = Album()
    output = None if result is None else text_of(clean(result.get("content"), album))
    failed = result is not None and result.get("is_error") is True
    return Step(
        id=str(block.get("id") or ""),
        kind="tool",
        name=str(block.get("name") or "tool"),
        input=clean(block.get("input"), album),
        output=output,
        error=(output or "error")[:400] if failed else failure_in(output),
        media=tuple(album.items),
    )


def _spoken(message: Mapping[str, Any]) -> list[Step]:
    album = Album()
    content = message.get("content")
    if isinstance(content, list):
        content = [block for block in content if not (isinstance(block, Mapping) and "thinking" in block)]
    text = text_of(clean(content, album)).strip()
    if not text:
        return []
    return [Step(str(message.get("id") or ""), "message", "message", None, text, media=tuple(album.items))]


def _task(messages: list[Mapping[str, Any]]) -> str | None:
    for message in messages:
        if message.get("role") != "user":
            continue
        content = message.get("content")
        if isinstance(content, list):
            content = [block for block in objects(content) if block.get("type") != "tool_result"]
        if text := text_of(clean(content, Album())).strip():
            return text
    return None
