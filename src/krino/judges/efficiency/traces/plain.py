"""Reads plain lists of steps: objects with a name or tool, an input and an output, or bare texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.traces.content import (
    Album,
    extract_text,
    find_list,
    first_of,
    from_json,
    parse_count,
    parse_duration,
    parse_number,
    parse_time,
    replace_media,
    time_between,
)
from krino.judges.efficiency.traces.failure import find_failure
from krino.judges.efficiency.traces.steps import Reader, Step, StepKind, Trace

_LISTS = ("steps", "actions", "trajectory", "trace", "tool_calls", "calls")


def is_step(raw: Mapping[str, Any]) -> bool:
    """Whether this is a step by itself: it has a name or a known kind."""
    kind = raw.get("type", raw.get("kind"))
    return _first(raw, "name") is not None or (isinstance(kind, str) and kind.lower() in table("fields")["kind"])


@cache
def _known() -> frozenset[str]:
    fields = table("fields")
    return frozenset({*fields["name"], *fields["input"], *fields["output"], *fields["error"], "type", "kind"})


def _recognise(value: Any) -> str | None:
    """Returns by what a plain list of steps or texts is recognised, or None."""
    steps = find_list(value, *_LISTS)
    if steps is None:
        return None
    if not steps:
        return "an empty list"
    if all(isinstance(step, str) for step in steps):
        return "a list of texts"
    if all(isinstance(step, Mapping) and step.keys() & _known() for step in steps):
        return "a list of steps"
    return None


def _read(value: Any) -> Trace:
    """Reads a plain list of steps."""
    raws = find_list(value, *_LISTS) or ()
    steps = _read_steps(raws)
    task = value.get("task") if isinstance(value, Mapping) else None
    answer = value.get("answer", value.get("final_answer")) if isinstance(value, Mapping) else None
    return Trace(
        tuple(steps),
        task if isinstance(task, str) else None,
        answer if isinstance(answer, str) else None,
        moved=sum(_is_from_user(raw) and _is_call(raw) for raw in raws),
    )


def _read_steps(raws: Sequence[Any]) -> list[Step]:
    """Returns the steps of the agent; what a user said becomes the reply (`observed`) to the message before it.

    A call recorded under the user's role is read as the agent's.
    """
    steps: list[Step] = []
    for raw in raws:
        step = _read_step(raw)
        if not _is_from_user(raw):
            steps.append(step)
        elif _is_call(raw):
            steps.append(replace(step, kind="tool"))
        elif steps and steps[-1].kind == "message":
            replies = f"{steps[-1].observed}\n{extract_text(step.output or step.input)}".strip()
            steps[-1] = replace(steps[-1], observed=replies)
    return steps


def _is_from_user(raw: Any) -> bool:
    if not isinstance(raw, Mapping):
        return False
    return str(raw.get("type") or raw.get("kind") or raw.get("role") or "").lower() in words("cues", "user_names")


def _is_call(raw: Mapping[str, Any]) -> bool:
    """Whether it is a call, with a name and arguments, which only an agent can make."""
    name, given = _first(raw, "name"), from_json(_first(raw, "input"))
    return isinstance(name, Mapping) or (name is not None and isinstance(given, Mapping))


def _read_input(kind: StepKind, given: Any) -> Any:
    """Returns the input of a step; that of a model which is an object with one text is replaced by the text."""
    if kind == "llm" and isinstance(given, Mapping) and len(given) == 1:
        (only,) = given.values()
        return only if isinstance(only, str) else given
    return given


def _read_step(raw: Any) -> Step:
    """Returns one entry as a step."""
    if not isinstance(raw, Mapping):
        return Step("", "llm", "step", None, str(raw))
    album = Album()
    given_kind = str(raw.get("type") or raw.get("kind") or "").lower()
    name = _first(raw, "name")
    details = name if isinstance(name, Mapping) else {}
    output = replace_media(_first(raw, "output"), album)
    given = _first(raw, "input")
    if given is None and details:
        given = _first(details, "input")
    failed = _first(raw, "error")
    start, end = parse_time(raw.get("start_time")), parse_time(raw.get("end_time"))
    seconds = next(
        (found for key in ("seconds", "duration", "latency") if (found := parse_duration(raw.get(key)))), None
    )
    kind: StepKind = table("fields")["kind"].get(given_kind) or (
        "tool" if name is not None and not given_kind else "other"
    )
    called = str(details.get("name") if details else name if name is not None else given_kind or "step")
    read_input = _read_input(kind, replace_media(from_json(given), album))
    return Step(
        id=_id(raw),
        kind=kind,
        name=called,
        input=read_input,
        output=output,
        error=str(failed)[:400]
        if failed
        else find_failure(called, read_input, from_json(output))
        if kind != "llm"
        else None,
        tokens=parse_count(raw.get("tokens", raw.get("total_tokens"))),
        seconds=seconds if seconds is not None else time_between(start, end),
        cost=parse_number(raw.get("cost")),
        media=tuple(album.items),
    )


def _first(raw: Mapping[str, Any], field: str) -> Any:
    """The first of the names under which this field is recorded."""
    return first_of(raw, table("fields")[field])


def _id(raw: Mapping[str, Any]) -> str:
    found = _first(raw, "id")
    return str(found) if isinstance(found, str | int) else ""


PLAIN = Reader("plain", _recognise, _read)
