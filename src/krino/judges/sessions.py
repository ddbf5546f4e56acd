"""Finds the messages of a conversation where tools keep it: in sessions of Langfuse, in threads and runs of LangSmith.

Each trace or run is one round: what went in and what came out. Its input may be the last message or all of them so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

_ROUNDS = ("traces", "runs", "data")
_IN, _OUT = ("input", "inputs"), ("output", "outputs")
_TEXTS = ("content", "text", "question", "query", "input", "answer", "response", "output", "result")
_TIMES = ("timestamp", "start_time", "startTime", "createdAt")
_NO_ROUND = frozenset({"role", "type", "from", "lc"})
"""A message has one of these; a round has none of them."""


def find_messages(value: Any) -> Any:
    """Returns the list of messages in a list, an object or JSON text; any other value unchanged.

    Rounds of sessions, threads and runs are joined into one list.
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = orjson.loads(value)
        except ValueError:
            return value
    if isinstance(value, Mapping):
        if isinstance(value.get("messages"), list):
            return find_messages(value["messages"])
        rounds = next((value[name] for name in _ROUNDS if isinstance(value.get(name), list)), None)
        return _join_rounds(rounds) if rounds is not None else _join_rounds([value]) if _is_round(value) else value
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        return value[0]  # LangSmith keeps a batch of one
    return _join_rounds(value) if isinstance(value, list) and value and all(map(_is_round, value)) else value


def _is_round(value: Any) -> bool:
    if not isinstance(value, Mapping) or ("role" in value and "content" in value):
        return False
    has_both = any(name in value for name in _IN) and any(name in value for name in _OUT)
    return has_both or (not _NO_ROUND & value.keys() and any(name in value for name in _IN))


def _join_rounds(rounds: Sequence[Any]) -> list[Any]:
    """Returns the messages of all rounds in order of time, each once."""
    said: list[Any] = []
    for one in sorted((one for one in rounds if isinstance(one, Mapping)), key=_time):
        for names, role in ((_IN, "user"), (_OUT, "assistant")):
            said = _extended(
                said, _to_messages(next((one[name] for name in names if one.get(name) is not None), None), role)
            )
    return said


def _time(one: Mapping[str, Any]) -> str:
    return str(next((one[name] for name in _TIMES if one.get(name)), ""))


def _to_messages(value: Any, role: str) -> list[Any]:
    """Returns what went in or came out as messages; a text is one message of the role."""
    if isinstance(value, Mapping):
        if isinstance(value.get("generations"), list):
            return _to_messages(_first_generation(value["generations"]), role)
        if isinstance(value.get("messages"), list):
            found = find_messages(value["messages"])
            return list(found)
        if "role" in value or "lc" in value or "type" in value:
            return [value]
        inner = next((value[name] for name in _TEXTS if value.get(name)), None)
        return _to_messages(inner, role) if inner is not None else [_as_message(value, role)]
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return list(value)
    return [_as_message(value, role)] if value not in (None, "", []) else []


def _as_message(value: Any, role: str) -> dict[str, Any]:
    """What has no form that is known here stays a message, as JSON: a round that is left out would change the rest."""
    return {"role": role, "content": value if isinstance(value, str) else orjson.dumps(value, default=repr).decode()}


def _first_generation(found: Any) -> Any:
    """Returns the message or text of the first generation, however deep the lists are; None if they are empty."""
    while isinstance(found, list):
        found = found[0] if found else None
    if isinstance(found, Mapping):
        return found.get("message") or found.get("text")
    return found


def _extended(said: list[Any], new: list[Any]) -> list[Any]:
    """All messages so far, or only what is new: a log may hold either."""
    return new if len(new) >= len(said) and new[: len(said)] == said else [*said, *new]
