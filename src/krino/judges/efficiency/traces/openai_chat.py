"""Reads OpenAI chat messages: each tool call is a step with its result, each assistant text is a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krino.judges.efficiency.traces.content import Album, clean, from_json, listed, objects, text_of
from krino.judges.efficiency.traces.failure import failure_in
from krino.judges.efficiency.traces.steps import Step, Trace

NAME = "openai_chat"
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def messages_of(value: Any) -> list[Mapping[str, Any]]:
    return objects(listed(value, "messages", "traj", "conversation", "trajectory"))


def recognise(value: Any) -> str | None:
    messages = messages_of(value)
    if not messages or not all(message.get("role") in _ROLES for message in messages):
        return None
    if any("tool_calls" in message or "function_call" in message for message in messages):
        return "messages with roles and tool_calls"
    if any(message["role"] in ("assistant", "tool", "function") for message in messages) and not any(
        "name" in message for message in messages if message["role"] != "tool"
    ):
        return "messages with roles"
    return None


def read(value: Any) -> Trace:
    messages = messages_of(value)
    return Trace(tuple(chat_steps(messages)), first_user_text(messages))


def first_user_text(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """The first message of the user that has words in it."""
    for message in messages:
        if message.get("role") == "user" and (text := text_of(clean(message.get("content"), Album())).strip()):
            return text
    return None


def chat_steps(messages: Sequence[Mapping[str, Any]]) -> list[Step]:
    results = _Results(messages)
    steps: list[Step] = []
    for place, message in enumerate(messages):
        if message.get("role") != "assistant":
            continue
        calls = _calls(message)
        if not calls:
            steps += _spoken(message)
        for number, call in enumerate(calls):
            steps.append(_call_step(call, results.take(call, place, number)))
    return steps


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = [dict(call) for call in objects(listed(message.get("tool_calls")))]
    if isinstance(old := message.get("function_call"), Mapping):  # the form before tool_calls
        calls.append({"function": old})
    return list(calls)


def _spoken(message: Mapping[str, Any]) -> list[Step]:
    album = Album()
    text = text_of(clean(message.get("content"), album)).strip()
    if not text:
        return []
    return [Step(str(message.get("id") or ""), "message", "message", None, text, media=tuple(album.items))]


def _call_step(call: Mapping[str, Any], result: Mapping[str, Any] | None) -> Step:
    function = call.get("function") if isinstance(call.get("function"), Mapping) else call.get("custom") or call
    details = function if isinstance(function, Mapping) else {}
    album = Album()
    arguments = clean(from_json(details.get("arguments", details.get("input"))), album)
    output: Any = None
    if result is not None:
        output = text_of(clean(result.get("content"), album))
    return Step(
        id=str(call.get("id") or ""),
        kind="tool",
        name=str(details.get("name") or "tool"),
        input=arguments,
        output=output,
        error=failure_in(from_json(output)),
        media=tuple(album.items),
    )


class _Results:
    """Finds the result of a call: by its id, or where ids are missing the next results after the message."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        self._messages = messages
        self._by_id: dict[str, list[Mapping[str, Any]]] = {}
        for message in messages:
            if message.get("role") == "tool" and message.get("tool_call_id"):
                self._by_id.setdefault(str(message["tool_call_id"]), []).append(message)

    def take(self, call: Mapping[str, Any], place: int, number: int) -> Mapping[str, Any] | None:
        waiting = self._by_id.get(str(call.get("id") or ""))
        if waiting:
            return waiting.pop(0)
        position = place + 1 + number
        if position >= len(self._messages):
            return None
        follower = self._messages[position]
        unnamed = follower.get("role") in ("tool", "function") and not follower.get("tool_call_id")
        return follower if unnamed else None
