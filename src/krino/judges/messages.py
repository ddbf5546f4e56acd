"""Reads conversations of OpenAI, Anthropic, LangChain and Gemini, and numbers the turns of the assistant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from krino.errors import CannotJudge
from krino.judges.sessions import find_messages
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
    """Returns each message as `role`, `text` and `turn`, which counts the assistant's turns from 1 and is 0 for others.

    Messages of the assistant that follow each other become one turn. Raises `CannotJudge` for what is no message.
    """
    found: list[dict[str, Any]] = []
    turn = 0
    for number, message in enumerate(messages_in(name, value), 1):
        role, text = read_message(name, number, message)
        if found and role == "assistant" == found[-1]["role"]:  # a turn may be written in several messages
            found[-1]["text"] = f"{found[-1]['text']}\n{text}".strip("\n")
            continue
        turn += role == "assistant"
        found.append({"role": role, "text": text, "turn": turn if role == "assistant" else 0})
    return found


def messages_in(name: str, value: Any) -> list[Any]:
    """Returns the messages of a conversation as they are given.

    Raises `CannotJudge` where there are none, or too many.
    """
    found = find_messages(value)
    if not isinstance(found, list):
        raise CannotJudge(f"`{name}` is no list of messages")
    if len(found) > _MOST_MESSAGES:
        raise CannotJudge(f"`{name}` is {len(found):,} messages; {_MOST_MESSAGES:,} at most")
    return found


def read_message(name: str, number: int, message: Any, *, with_calls: bool = True) -> tuple[str, str]:
    """Returns role and text of a message; a call of a tool is text too, if wanted.

    Raises `CannotJudge` for what is no message.
    """
    if not isinstance(message, Mapping):
        raise CannotJudge(f"`{name}`: message {number} is no object with `role` and `content`")
    inner = next((message[key] for key in ("data", "kwargs") if isinstance(message.get(key), Mapping)), message)
    content = next((inner[key] for key in ("content", "text", "value", "parts") if inner.get(key) is not None), "")
    role = "tool" if _is_result(content) else _find_role(name, number, message, inner)
    pieces = [*_list_texts(content, with_calls), *(_list_calls(inner) if with_calls else ())]
    return role, "\n".join(piece for piece in pieces if piece)


def _find_role(name: str, number: int, message: Mapping[str, Any], inner: Mapping[str, Any]) -> str:
    """Returns the role of a message; raises `CannotJudge` for an unknown one.

    LangChain stores a message under `data`, or under `kwargs` with the name of its class in `id`.
    """
    path = message.get("id")
    kind = str(path[-1]) if "lc" in message and isinstance(path, list) and path else ""
    stated = message.get("role") or inner.get("role") or kind or message.get("type") or message.get("from") or ""
    role = ROLES.get(str(stated).lower().removesuffix("chunk").removesuffix("message"))
    if role is None:
        raise CannotJudge(
            f"`{name}`: message {number} has the role {cut(str(stated), 40)!r}; there are {', '.join(ROLES)}"
        )
    return role


def _is_result(content: Any) -> bool:
    """Is a content what a tool gave back? Anthropic and Gemini have it in a message of the user."""
    blocks = content if isinstance(content, list) else []
    return bool(blocks) and all(
        isinstance(block, Mapping) and (block.get("type") == "tool_result" or "functionResponse" in block)
        for block in blocks
    )


def _list_texts(content: Any, with_calls: bool) -> Iterator[str]:
    """Yields the texts of a content, which is a text or a list of blocks; other blocks are named."""
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            yield block
        elif isinstance(block, Mapping):
            yield from _read_block(block, with_calls)


def _read_block(block: Mapping[str, Any], with_calls: bool) -> Iterator[str]:
    """Yields the texts of one block; a call only if wanted, and the type of a block of another kind in brackets."""
    text = block.get("text") if isinstance(block.get("text"), str) else block.get("content")
    call = block.get("functionCall")
    if isinstance(text, str):
        yield text
    elif isinstance(text, list):
        yield from _list_texts(text, with_calls)
    elif "functionResponse" in block:
        yield orjson.dumps(block["functionResponse"], default=repr).decode()
    elif isinstance(call, Mapping):
        yield from [_call(call.get("name"), call.get("args"))] if with_calls else []
    elif block.get("type") == "tool_use" or "name" in block:
        yield from [_call(block.get("name"), block.get("input"))] if with_calls else []
    else:
        yield f"[{cut(str(block.get('type', 'something')), 40)}]"


def _list_calls(message: Mapping[str, Any]) -> Iterator[str]:
    """Yields the calls of tools that a message requests, as text."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            stated = call.get("function")
            function: Mapping[str, Any] = stated if isinstance(stated, Mapping) else call
            yield _call(function.get("name"), function.get("arguments", function.get("args")))


def _call(name: Any, arguments: Any) -> str:
    given = arguments if isinstance(arguments, str) else orjson.dumps(arguments, default=repr).decode()
    return cut(f"[calls {name}({given})]", _LONGEST_CALL)
