"""Reads step logs of agent programs: the memory of smolagents, and trajectories of SWE-agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from krino.judges.efficiency.traces.content import duration, first_of, listed, objects, text_of
from krino.judges.efficiency.traces.messages import call_of
from krino.judges.efficiency.traces.steps import Reader, Step, Trace
from krino.judges.efficiency.traces.turns import CallMade, CallResult, call_step, task_media

_SMOL = frozenset({"step_number", "tool_calls", "observations", "model_output", "action_output", "code_action"})


# --- smolagents ------------------------------------------------------------------------------------


def is_smol_step(raw: Mapping[str, Any]) -> bool:
    return len(raw.keys() & _SMOL) >= 3 or "task_images" in raw


def _recognise_smol(value: Any) -> str | None:
    steps = objects(listed(value, "steps", "memory"))
    return "steps with tool_calls and observations" if any(map(is_smol_step, steps)) else None


def _read_smol(value: Any) -> Trace:
    logged = objects(listed(value, "steps", "memory"))
    task = next((raw["task"] for raw in logged if isinstance(raw.get("task"), str)), None)
    media = task_media(*(raw.get("task_images") for raw in logged))
    return Trace(tuple(step for raw in logged for step in _smol_steps(raw)), task, media=media)


def _smol_steps(raw: Mapping[str, Any]) -> list[Step]:
    """Each call of an action, the last with what was observed; a plan, or words without a call, of the model."""
    if isinstance(plan := raw.get("plan"), str):
        return [Step("", "llm", "plan", None, plan)]
    calls = [call_of(call) for call in objects(listed(raw.get("tool_calls")))]
    failed = raw.get("error")
    error = str(failed.get("message") or failed) if isinstance(failed, Mapping) else str(failed) if failed else None
    if not calls:
        return [Step("", "llm", "model", None, said, error)] if (said := raw.get("model_output")) else []
    final = raw.get("action_output") if raw.get("is_final_answer") else None
    seen = error or (final if final is not None else raw.get("observations"))
    results = [None] * (len(calls) - 1) + [CallResult("", "", seen, error is not None)]
    return [call_step(call, result) for call, result in zip(calls, results, strict=True)]


# --- SWE-agent -------------------------------------------------------------------------------------


def _recognise_swe(value: Any) -> str | None:
    steps = objects(listed(value, "trajectory", "steps"))
    if not steps or not all(isinstance(raw.get("action"), str) and "observation" in raw for raw in steps):
        return None
    spoken = any(raw.keys() & {"thought", "response", "state"} for raw in steps)
    return "steps with action and observation" if spoken else None


def _read_swe(value: Any) -> Trace:
    holder = value if isinstance(value, Mapping) else {}
    task = first_of(holder, ("problem_statement", "task", "issue"))
    steps = [_swe_step(raw) for raw in objects(listed(value, "trajectory", "steps"))]
    return Trace(tuple(steps), task if isinstance(task, str) else _opening(holder))


def _swe_step(raw: Mapping[str, Any]) -> Step:
    """An action is a command: its first word is the name. Without one the model only spoke."""
    command = raw["action"].strip()
    if not command:
        return Step("", "llm", "model", None, text_of(raw.get("thought") or raw.get("response")))
    name = command.split(None, 1)[0][:80]
    made = call_step(CallMade("", name, {"command": command}), CallResult("", "", raw.get("observation")))
    return replace(made, seconds=duration(raw.get("execution_time")))


def _opening(holder: Mapping[str, Any]) -> str | None:
    """The first words of the user in the history that lies beside the trajectory; demonstrations are left out."""
    history = [turn for turn in objects(listed(holder.get("history"))) if not turn.get("is_demo")]
    said = (text_of(turn.get("content")).strip() for turn in history if turn.get("role") == "user")
    return next(filter(None, said), None)


SMOLAGENTS = Reader("smolagents", _recognise_smol, _read_smol)
SWE_AGENT = Reader("swe_agent", _recognise_swe, _read_swe)
