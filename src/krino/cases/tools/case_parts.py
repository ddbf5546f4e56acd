"""Makes a case of what another tool holds about a sample: inputs, output, what was expected, passages, trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from krino.text.python_values import parse_python

ToolRow: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str, ...]
TOP: Path = ()
_EXPECTED_NAMES = ("expected_response", "expected_output", "output", "answer")
_LONGEST_REASON = 500
_ROLES = {"human": "user", "ai": "assistant"}


@dataclass(frozen=True, slots=True)
class ToolCase:
    """A case from a tool's file. `problem`: why the tool's own run gave no output; then only a trace can be judged."""

    record: dict[str, Any]
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """One kind of rows that a tool writes.

    `recognise` looks at one row, `read` makes the cases of a row, or of all rows with the same `trace_of`, which may be
    anywhere in the file. `paths`: where in a JSON document the rows may be; `TOP`: the rows are the file.
    """

    name: str
    recognise: Callable[[ToolRow], bool]
    read: Callable[[Sequence[ToolRow]], Iterable[ToolCase]]
    trace_of: Callable[[ToolRow], str] | None = None
    paths: tuple[Path, ...] = (TOP,)


def make_case(inputs: Any, output: Any, expected: Any = None, **more: Any) -> dict[str, Any]:
    """The fields of the inputs, of what was expected, and of the output, which come last and so win.

    What is no mapping goes by a name that all of Krino's judges know: `input`, `reference`, `answer`. `more` are fields
    under the tool's own names; those that are None are left out.
    """
    given = {name: value for name, value in more.items() if value is not None}
    return {
        **given,
        **_fields_or_named(inputs, "input"),
        **_reference_fields(expected),
        **_fields_or_named(output, "answer"),
    }


def _fields_or_named(value: Any, name: str) -> dict[str, Any]:
    """The fields of a mapping; any other value as one field of this name, null as none."""
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else {name: value}


def _reference_fields(expected: Any) -> dict[str, Any]:
    """The fields of what was expected. Its `answer` or `output` becomes `reference`, so that it is not taken for the
    output.

    Anything but a mapping is the `reference` itself.
    """
    if not isinstance(expected, Mapping):
        return _fields_or_named(expected, "reference")
    named = {name: value for name, value in expected.items() if name not in _EXPECTED_NAMES}
    found = next((expected[name] for name in _EXPECTED_NAMES if expected.get(name) is not None), None)
    return named if found is None or "reference" in named else {**named, "reference": found}


def complete_case(
    made: Mapping[str, Any],
    own_id: Any,
    *,
    metadata: Any = None,
    documents: Sequence[Any] = (),
    trace: Any = None,
    problem: str | None = None,
) -> ToolCase:
    """A case with the tool's id, metadata, the passages that its trace retrieved, and its trace."""
    found = dict(made)
    if own_id not in (None, ""):
        found["id"] = own_id if isinstance(own_id, str | int) else str(own_id)
    if isinstance(metadata, Mapping) and metadata:
        found["metadata"] = dict(metadata)
    if documents:
        found.setdefault("context", list(documents))
    if trace:
        found["trace"] = trace
    return ToolCase(found, problem)


def as_chat(messages: Sequence[Any]) -> list[Any]:
    """Messages with the roles and tool calls of OpenAI's form, which every judge of messages reads."""
    return [_chat_message(one) if isinstance(one, Mapping) else one for one in messages]


def _chat_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message with `role` instead of `type`, and with its tool calls in OpenAI's form."""
    kind = message.get("type")
    role = message.get("role") or _ROLES.get(str(kind), kind)
    found = {**{name: value for name, value in message.items() if name != "type"}, "role": role}
    if isinstance(calls := message.get("tool_calls"), list):
        found["tool_calls"] = [_chat_call(call) if isinstance(call, Mapping) else call for call in calls]
    return found


def _chat_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A tool call in OpenAI's form: its name and arguments under `function`."""
    if isinstance(call.get("function"), Mapping):
        return dict(call)
    name, given = call.get("function", call.get("name")), call.get("arguments", call.get("args"))
    return {"id": call.get("id"), "type": "function", "function": {"name": name, "arguments": given}}


def reason_of(error: Any, otherwise: str = "its run ended in an error") -> str:
    """An error of a tool's run in one line."""
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("error") or orjson.dumps(error, default=repr).decode()
    text = " ".join(str(error or "").split())
    return text[:_LONGEST_REASON] if text else otherwise


def decode(value: Any) -> Any:
    """The value of a JSON text, or of a list or object as Python prints it; anything else unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{", '"'):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        pass
    try:
        return parse_python(value)
    except ValueError:
        return value


def first_of(row: ToolRow, *names: str) -> Any:
    """The first value under these names that is not null or empty."""
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)
