"""Splits steps that hold several calls: parallel calls, lists of arguments, one command repeated in a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from krino.judges.efficiency.finders.tokens import has_name_part
from krino.judges.efficiency.traces.content import first_of, from_json
from krino.judges.efficiency.traces.failure import find_failure
from krino.judges.efficiency.traces.steps import Step

_CALL_NAMES = ("recipient_name", "tool_name", "toolName", "tool", "function_name", "function", "name")
_ARGUMENTS = ("parameters", "arguments", "args", "input", "tool_input", "params")
_COMMAND_FIELDS = ("command", "cmd", "script", "bash", "code")
_BETWEEN_COMMANDS = re.compile(r"&&|;|\n")
_DEEPEST = 3
_FEWEST_COMMANDS = 3
_MOST_CALLS = 1_000
"""Per step: a text full of separators must not become a million steps."""


def split_batches(steps: Iterable[Step], depth: int = 0) -> Iterator[Step]:
    """Yields the steps with one for each call: fifty calls in one step become fifty steps."""
    for step in steps:
        pieces = _pieces(step)[:_MOST_CALLS] if step.kind in ("tool", "retrieval", "other") and depth < _DEEPEST else []
        if pieces:
            yield from split_batches(_make_steps(step, pieces), depth + 1)
        else:
            yield step


Piece = tuple[str, Any]
"""Name and arguments of one call."""


def _pieces(step: Step) -> list[Piece]:
    return _read_named_calls(step.input) or _split_argument_list(step) or _split_repeated_commands(step)


def _read_named_calls(given: Any) -> list[Piece]:
    """Returns the calls of a tool that runs others (`multi_tool_use.parallel`); empty if there is anything else.

    It is given one list of objects with name and arguments.
    """
    values = list(given.values()) if isinstance(given, Mapping) else [given]
    lists = [found for value in values if isinstance(found := from_json(value), list)]
    if len(lists) != 1 or not lists[0]:
        return []
    calls = [_read_named_call(item) for item in lists[0]]
    return [call for call in calls if call is not None] if None not in calls else []


def _read_named_call(item: Any) -> Piece | None:
    """Returns name and arguments of a call inside a list of calls, or None."""
    if not isinstance(item, Mapping):
        return None
    inner = item.get("function")
    holder = inner if isinstance(inner, Mapping) else item
    name, given = first_of(holder, _CALL_NAMES), from_json(first_of(holder, _ARGUMENTS))
    if not isinstance(name, str) or not isinstance(given, Mapping):
        return None
    return name.removeprefix("functions."), given


def _split_argument_list(step: Step) -> list[Piece]:
    """Returns a call for each of a list of argument objects that has as many results; empty if it is none."""
    given, brought = from_json(step.input), from_json(step.output)
    if not isinstance(given, list) or not isinstance(brought, list) or len(given) < 2 or len(given) != len(brought):
        return []
    if not all(isinstance(item, Mapping) and "role" not in item for item in given):
        return []
    return [(step.name, item) for item in given]


def _split_repeated_commands(step: Step) -> list[Piece]:
    """Returns the commands of a line if at least half are repeats, else none.

    A separator between others (`echo`) is not enough.
    """
    if not has_name_part(step.name, "runs"):
        return []
    field = None
    text = step.input
    if isinstance(text, Mapping):
        field = next((key for key in _COMMAND_FIELDS if isinstance(text.get(key), str)), None)
        text = text.get(field) if field else None
    if not isinstance(text, str):
        return []
    commands = [command for part in _BETWEEN_COMMANDS.split(text) if (command := part.strip())]
    if len(commands) < _FEWEST_COMMANDS or 2 * len(set(commands)) > len(commands):
        return []
    return [(step.name, {field: command} if field else command) for command in commands]


def _make_steps(step: Step, pieces: Sequence[Piece]) -> Iterator[Step]:
    """Yields each call as a step, with its own result if there are as many as calls, and an equal share of cost."""
    count = len(pieces)
    results = _split_results(step.output, count)
    for number, ((name, given), output) in enumerate(zip(pieces, results, strict=True), 1):
        error = step.error if step.error is not None else find_failure(name, given, from_json(output))
        yield replace(
            step,
            id=f"{step.id}.{number}" if step.id else "",
            name=name,
            input=given,
            output=output,
            error=error,
            tokens=None if step.tokens is None else step.tokens // count,
            seconds=None if step.seconds is None else step.seconds / count,
            cost=None if step.cost is None else step.cost / count,
            media=step.media if number == 1 else (),
        )


def _split_results(output: Any, count: int) -> list[Any]:
    """Returns one result per call; if the output cannot be split, the first call gets all of it."""
    held = from_json(output)
    if isinstance(held, Mapping) and len(lists := [value for value in held.values() if isinstance(value, list)]) == 1:
        held = lists[0]
    if isinstance(held, list) and len(held) == count:
        return held
    if isinstance(held, str) and len(lines := held.strip().splitlines()) == count:
        return list(lines)
    return [output, *[None] * (count - 1)]
