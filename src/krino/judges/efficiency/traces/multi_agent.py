"""Reads multi-agent chats: lists of named messages (AG2 and its kin) and text logs with one record a response."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from krino.judges.efficiency.tables import words
from krino.judges.efficiency.traces.content import Album, clean, listed, objects, text_of
from krino.judges.efficiency.traces.steps import Reader, Step, Trace

_RECORD = re.compile(r"^\S{1,200} - (?:INFO|DEBUG|WARNING|ERROR) - ", re.MULTILINE)
_RESPONSE = re.compile(r"([\w .()-]{1,80}?)(?:'s|’s) Response: ?", re.ASCII)
_HANDOVER = re.compile(r"([\w .()-]{1,80}?)->([\w .()-]{1,80}?): ?", re.ASCII)


def _recognise(value: Any) -> str | None:
    log = _log(value)
    if log is not None:
        found = sum(1 for record in _records(log) if _RESPONSE.match(record))
        return f"a log with {found} agent responses" if found else None
    messages = _messages(value)
    named = bool(messages) and all({"name", "role", "content"} <= message.keys() for message in messages)
    return "messages with names and roles" if named else None


def _log(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and not value.get("steps"):
        found = value.get("log")
        return found if isinstance(found, str) else None
    return None


def _messages(value: Any) -> list[Mapping[str, Any]]:
    return objects(listed(value, "steps", "messages", "chat_history", "trajectory"))


def _read(value: Any) -> Trace:
    log = _log(value)
    steps, task = _from_log(log) if log is not None else _from_messages(_messages(value))
    return Trace(tuple(steps), _problem(value) or task)


def _problem(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return None
    found = next((value[name] for name in ("problem", "problem_statement", "task") if value.get(name)), None)
    if isinstance(found, list):
        found = "\n".join(map(str, found))
    return found.strip() or None if isinstance(found, str) else None


# --- logs ------------------------------------------------------------------------------------------


def _records(log: str) -> list[str]:
    """A record runs from one log prefix to the next."""
    return _RECORD.split(log)[1:]


def _from_log(log: str) -> tuple[list[Step], str | None]:
    """Each response is a step; what an agent hands over is the result of the step before it."""
    steps: list[Step] = []
    observed: dict[int, str] = {}
    for record in _records(log):
        if match := _RESPONSE.match(record):
            steps.append(Step("", "llm", match.group(1).strip(), None, record[match.end() :].strip()))
        elif (match := _HANDOVER.match(record)) and steps:
            observed[len(steps) - 1] = record[match.end() :].strip()
    joined = [
        Step(step.id, step.kind, step.name, None, step.output, observed=observed.get(place, ""))
        for place, step in enumerate(steps)
    ]
    return joined, None


# --- messages --------------------------------------------------------------------------------------


def _from_messages(messages: list[Mapping[str, Any]]) -> tuple[list[Step], str | None]:
    """The one who opens the chat and states the task is its user: what it says later answers the step before."""
    opener = str(messages[0].get("name") or "") if messages else ""
    is_user = bool(messages) and _stands_for_user(opener, messages)
    steps: list[Step] = []
    observed: dict[int, list[str]] = {}
    task = None
    for message in messages:
        album = Album()
        content = message.get("content")
        joined = text_of(clean(content, album))
        name = str(message.get("name") or "")
        if is_user and name == opener:
            task = task or joined.strip() or None
            if steps:
                observed.setdefault(len(steps) - 1, []).append(joined)
            continue
        steps.append(Step(str(message.get("id") or ""), "llm", name, None, joined, media=tuple(album.items)))
    return [
        Step(s.id, s.kind, s.name, None, s.output, observed="\n".join(observed.get(place, ())), media=s.media)
        for place, s in enumerate(steps)
    ], task


def _stands_for_user(opener: str, messages: list[Mapping[str, Any]]) -> bool:
    names = {str(message.get("name") or "") for message in messages}
    parts = set(re.findall(r"[a-z]+", opener.lower()))
    if parts & words("cues", "user_names") or any(cue in opener.lower() for cue in words("cues", "user_name_parts")):
        return True
    first_role = messages[0].get("role")
    return len(names) == 2 and first_role in ("user", "human")


MULTI_AGENT = Reader("multi_agent", _recognise, _read)
