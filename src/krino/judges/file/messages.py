"""Reads conversations, as OpenAI, Anthropic and LangChain write them, and numbers the turns of the assistant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from krino.errors import CannotJudge
from krino.text.clean import cut

ROLES = {
    "human": "user",
    "user": "user",
    "customer": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "agent": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "tool_result": "tool",
}
"""Names of roles in the formats that are read, and what they are called here."""
_MOST_MESSAGES = 2_000
_LONGEST_CALL = 2_000


def read_messages(name: str, value: Any) -> list[dict[str, Any]]:
    """Each message as `role`, `text` and `turn`, which counts the turns of the assistant from 1 and is 0 for others.

    Raises `CannotJudge` for what is no message.
    """
    if isinstance(value, Mapping) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if not isinstance(value, list) or len(value) > _MOST_MESSAGES:
        problem = (
            f"{len(value):,} messages; {_MOST_MESSAGES:,} at most" if isinstance(value, list) else "no list of messages"
        )
        raise CannotJudge(f"`{name}` is {problem}")
    found: list[dict[str, Any]] = []
    turn = 0
    for number, message in enumerate(value, 1):
        role, text = _read(name, number, message)
        if found and role == "assistant" == found[-1]["role"]:  # a turn may be written in several messages
            found[-1]["text"] = f"{found[-1]['text']}\n{text}".strip("\n")
            continue
        turn += role == "assistant"
        found.append({"role": role, "text": text, "turn": turn if role == "assistant" else 0})
    return found


def _read(name: str, number: int, message: Any) -> tuple[str, str]:
    """Returns role and text of a message."""
    if not isinstance(message, Mapping):
        raise CannotJudge(f"`{name}`: message {number} is no object with `role` and `content`")
    data = message.get("data")
    inner: Mapping[str, Any] = data if isinstance(data, Mapping) else message  # as LangChain stores them
    stated = message.get("role") or message.get("type") or message.get("from") or ""
    role = ROLES.get(str(stated).lower().removesuffix("message"))
    if role is None:
        raise CannotJudge(
            f"`{name}`: message {number} has the role {cut(str(stated), 40)!r}; there are {', '.join(ROLES)}"
        )
    content = next((inner[key] for key in ("content", "text", "value", "parts") if inner.get(key) is not None), "")
    pieces = [*_texts(content), *_calls(inner)]
    return role, "\n".join(piece for piece in pieces if piece)


def _texts(content: Any) -> Iterator[str]:
    """The texts of a content, which is a text or a list of blocks; other blocks are named."""
    if isinstance(content, str):
        yield content
        return
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            yield block
        elif isinstance(block, Mapping):
            text = block.get("text") if isinstance(block.get("text"), str) else block.get("content")
            if isinstance(text, str):
                yield text
            elif block.get("type") == "tool_use" or "name" in block:
                yield _call(block.get("name"), block.get("input"))
            elif isinstance(text, list):
                yield from _texts(text)
            else:
                yield f"[{cut(str(block.get('type', 'something')), 40)}]"


def _calls(message: Mapping[str, Any]) -> Iterator[str]:
    """Yields the tool calls of a message as text."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            stated = call.get("function")
            function: Mapping[str, Any] = stated if isinstance(stated, Mapping) else call
            yield _call(function.get("name"), function.get("arguments", function.get("args")))


def _call(name: Any, arguments: Any) -> str:
    given = arguments if isinstance(arguments, str) else orjson.dumps(arguments, default=repr).decode()
    return cut(f"[calls {name}({given})]", _LONGEST_CALL)
