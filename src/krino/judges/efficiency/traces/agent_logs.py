"""Reads logs of agent programs: smolagents, SWE-agent, and chats or text logs of several agents (AG2, HyperAgent)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from krino.judges.efficiency.data_files import words
from krino.judges.efficiency.traces.content import (
    Album,
    extract_text,
    find_list,
    first_of,
    keep_objects,
    parse_duration,
    replace_media,
)
from krino.judges.efficiency.traces.messages import read_requested_call
from krino.judges.efficiency.traces.steps import Reader, Step, Trace
from krino.judges.efficiency.traces.turns_to_steps import CallMade, CallResult, build_call_step, find_task_media

_SMOL = frozenset({"step_number", "tool_calls", "observations", "model_output", "action_output", "code_action"})


# --- smolagents ------------------------------------------------------------------------------------


def is_smol_step(raw: Mapping[str, Any]) -> bool:
    """Is an object a step in the log of a smolagents run?"""
    return len(raw.keys() & _SMOL) >= 3 or "task_images" in raw


def _recognise_smol(value: Any) -> str | None:
    steps = keep_objects(find_list(value, "steps", "memory"))
    return "steps with tool_calls and observations" if any(map(is_smol_step, steps)) else None


def _read_smol(value: Any) -> Trace:
    """Reads the log of a smolagents run."""
    logged = keep_objects(find_list(value, "steps", "memory"))
    task = next((raw["task"] for raw in logged if isinstance(raw.get("task"), str)), None)
    media = find_task_media(*(raw.get("task_images") for raw in logged))
    return Trace(tuple(step for raw in logged for step in _read_smol_step(raw)), task, media=media)


def _read_smol_step(raw: Mapping[str, Any]) -> list[Step]:
    """Returns the calls of an action, the last with the observation; else the plan or the text of the model."""
    if isinstance(plan := raw.get("plan"), str):
        return [Step("", "llm", "plan", None, plan)]
    calls = [read_requested_call(call) for call in keep_objects(find_list(raw.get("tool_calls")))]
    failed = raw.get("error")
    error = str(failed.get("message") or failed) if isinstance(failed, Mapping) else str(failed) if failed else None
    if not calls:
        return [Step("", "llm", "model", None, said, error)] if (said := raw.get("model_output")) else []
    final = raw.get("action_output") if raw.get("is_final_answer") else None
    seen = error or (final if final is not None else raw.get("observations"))
    results = [None] * (len(calls) - 1) + [CallResult("", "", seen, error is not None)]
    return [build_call_step(call, result) for call, result in zip(calls, results, strict=True)]


# --- SWE-agent -------------------------------------------------------------------------------------


def _recognise_swe(value: Any) -> str | None:
    """Returns by what an SWE-agent trajectory is recognised, or None."""
    steps = keep_objects(find_list(value, "trajectory", "steps"))
    if not steps or not all(isinstance(raw.get("action"), str) and "observation" in raw for raw in steps):
        return None
    spoken = any(raw.keys() & {"thought", "response", "state"} for raw in steps)
    return "steps with action and observation" if spoken else None


def _read_swe(value: Any) -> Trace:
    """Reads an SWE-agent trajectory."""
    holder = value if isinstance(value, Mapping) else {}
    task = first_of(holder, ("problem_statement", "task", "issue"))
    steps = [_read_swe_step(raw) for raw in keep_objects(find_list(value, "trajectory", "steps"))]
    return Trace(tuple(steps), task if isinstance(task, str) else _find_opening(holder))


def _read_swe_step(raw: Mapping[str, Any]) -> Step:
    """Returns an action as a step.

    It is a command whose first word is the tool's name; an empty one means that the model only spoke.
    """
    command = raw["action"].strip()
    if not command:
        return Step("", "llm", "model", None, extract_text(raw.get("thought") or raw.get("response")))
    name = command.split(None, 1)[0][:80]
    made = build_call_step(CallMade("", name, {"command": command}), CallResult("", "", raw.get("observation")))
    return replace(made, seconds=parse_duration(raw.get("execution_time")))


def _find_opening(holder: Mapping[str, Any]) -> str | None:
    """The first words of the user in the history beside the trajectory, without demonstrations."""
    history = [turn for turn in keep_objects(find_list(holder.get("history"))) if not turn.get("is_demo")]
    said = (extract_text(turn.get("content")).strip() for turn in history if turn.get("role") == "user")
    return next(filter(None, said), None)


SMOLAGENTS = Reader("smolagents", _recognise_smol, _read_smol)
SWE_AGENT = Reader("swe_agent", _recognise_swe, _read_swe)


# --- several agents --------------------------------------------------------------------------------

_RECORD = re.compile(r"^\S{1,200} - (?:INFO|DEBUG|WARNING|ERROR) - ", re.MULTILINE)
_RESPONSE = re.compile(r"([\w .()-]{1,80}?)(?:'s|’s) Response: ?", re.ASCII)
_HANDOVER = re.compile(r"([\w .()-]{1,80}?)->([\w .()-]{1,80}?): ?", re.ASCII)


def _recognise_chat(value: Any) -> str | None:
    """Returns by what a chat or text log of several agents is recognised, or None."""
    log = _find_log(value)
    if log is not None:
        found = sum(1 for record in _split_records(log) if _RESPONSE.match(record))
        return f"a log with {found} agent responses" if found else None
    messages = _messages(value)
    named = bool(messages) and all({"name", "role", "content"} <= message.keys() for message in messages)
    return "messages with names and roles" if named else None


def _find_log(value: Any) -> str | None:
    """Returns the text log of a record, or None."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and not value.get("steps"):
        found = value.get("log")
        return found if isinstance(found, str) else None
    return None


def _messages(value: Any) -> list[Mapping[str, Any]]:
    return keep_objects(find_list(value, "steps", "messages", "chat_history", "trajectory"))


def _read_chat(value: Any) -> Trace:
    log = _find_log(value)
    steps, task = _read_log(log) if log is not None else _read_chat_messages(_messages(value))
    return Trace(tuple(steps), _find_stated_task(value) or task)


def _find_stated_task(value: Any) -> str | None:
    """Returns the task that a record states, or None."""
    if not isinstance(value, Mapping):
        return None
    found = next((value[name] for name in ("problem", "problem_statement", "task") if value.get(name)), None)
    if isinstance(found, list):
        found = "\n".join(map(str, found))
    return found.strip() or None if isinstance(found, str) else None


# --- logs ------------------------------------------------------------------------------------------


def _split_records(log: str) -> list[str]:
    """A record runs from one log prefix to the next."""
    return _RECORD.split(log)[1:]


def _read_log(log: str) -> tuple[list[Step], str | None]:
    """Returns the steps of a log, one a response; it states no task.

    What an agent hands over is the result of the step before.
    """
    steps: list[Step] = []
    observed: dict[int, str] = {}
    for record in _split_records(log):
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


def _read_chat_messages(messages: list[Mapping[str, Any]]) -> tuple[list[Step], str | None]:
    """Returns the steps of a chat, and its task.

    If the opener acts as the user, its first message is the task, and later ones answer the step before.
    """
    opener = str(messages[0].get("name") or "") if messages else ""
    is_user = bool(messages) and _stands_for_user(opener, messages)
    steps: list[Step] = []
    observed: dict[int, list[str]] = {}
    task = None
    for message in messages:
        album = Album()
        content = message.get("content")
        joined = extract_text(replace_media(content, album))
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
    """Does the one who opens a chat act as the user?"""
    names = {str(message.get("name") or "") for message in messages}
    parts = set(re.findall(r"[a-z]+", opener.lower()))
    if parts & words("cues", "user_names") or any(cue in opener.lower() for cue in words("cues", "user_name_parts")):
        return True
    first_role = messages[0].get("role")
    return len(names) == 2 and first_role in ("user", "human")


MULTI_AGENT = Reader("multi_agent", _recognise_chat, _read_chat)
