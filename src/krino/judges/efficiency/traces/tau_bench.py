"""Reads tau-bench trajectories: chat messages with the instruction of the simulated user as the task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krino.judges.efficiency.traces import openai_chat
from krino.judges.efficiency.traces.steps import Trace

NAME = "tau_bench"


def recognise(value: Any) -> str | None:
    if not isinstance(value, Mapping) or not openai_chat.messages_of(value):
        return None
    if "traj" in value and ("reward" in value or "task_id" in value):
        return "`traj` with `reward` or `task_id`"
    if "task_id" in value and ("trial" in value or "reward" in value):
        return "messages with `task_id` and `trial`"
    return None


def read(value: Any) -> Trace:
    messages = openai_chat.messages_of(value)
    task = _instruction(value) or openai_chat.first_user_text(messages)
    return Trace(tuple(openai_chat.chat_steps(messages)), task)


def _instruction(value: Any) -> str | None:
    if not isinstance(value, Mapping):
        return None
    info = value.get("info")
    task = info.get("task") if isinstance(info, Mapping) else value.get("task")
    found = task.get("instruction") if isinstance(task, Mapping) else value.get("instruction")
    return found.strip() or None if isinstance(found, str) else None
