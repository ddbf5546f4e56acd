"""Detects what a JSON value holds (one trace, a piece of one, or several), finds the format of a trace and reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

from krino.cases.item import describe_type
from krino.errors import CannotJudge
from krino.judges.efficiency.traces.agent_logs import MULTI_AGENT, SMOLAGENTS, SWE_AGENT, is_smol_step
from krino.judges.efficiency.traces.batches import split_batches
from krino.judges.efficiency.traces.content import from_json
from krino.judges.efficiency.traces.graph_stream import LANGGRAPH, is_chunk
from krino.judges.efficiency.traces.langchain_runs import LANGCHAIN_EVENTS, LANGSMITH, is_event, runs_by_trace
from krino.judges.efficiency.traces.messages import (
    ANTHROPIC,
    AUTOGEN,
    GEMINI,
    LANGCHAIN,
    OPENAI_CHAT,
    REACT,
    TAU_BENCH,
    VERCEL_AI,
    is_message,
)
from krino.judges.efficiency.traces.openai_responses import OPENAI_RESPONSES, is_item
from krino.judges.efficiency.traces.plain import PLAIN, is_step
from krino.judges.efficiency.traces.span_dialects import DEEPEVAL, LANGFUSE, MLFLOW, OPENAI_AGENTS, OPENINFERENCE, OTLP
from krino.judges.efficiency.traces.spans import is_span, iterate_spans, read_trace_id
from krino.judges.efficiency.traces.steps import TASK_NAMES, TRACE_NAMES, Reader, Trace, assign_ids

Format = Literal[
    "auto",
    "plain",
    "deepeval",
    "openai_chat",
    "openai_responses",
    "openai_agents",
    "anthropic",
    "langchain",
    "langchain_events",
    "langgraph",
    "langsmith",
    "langfuse",
    "gemini",
    "vercel_ai",
    "autogen",
    "smolagents",
    "swe_agent",
    "react",
    "otlp",
    "openinference",
    "mlflow",
    "tau_bench",
    "multi_agent",
]
READERS = (
    *(LANGSMITH, LANGCHAIN_EVENTS, OPENINFERENCE, MLFLOW, LANGFUSE, OPENAI_AGENTS, OTLP, DEEPEVAL),
    *(TAU_BENCH, LANGCHAIN, LANGGRAPH, AUTOGEN, GEMINI, VERCEL_AI, ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES),
    *(SMOLAGENTS, SWE_AGENT, REACT, MULTI_AGENT, PLAIN),
)
"""The most specific formats come first: a list of messages is also a list of objects."""
_BY_NAME = {reader.name: reader for reader in READERS}
_SHOWN_FIELDS = 12


def read_trace(value: Any, wanted: Format = "auto") -> Trace:
    """Reads a trace and records its format; raises `CannotJudge` if it cannot be read or has no steps."""
    value = _read_lines(from_json(value))
    if wanted == "auto":
        reader, seen = _detect(value)
    else:
        reader, seen = _BY_NAME[wanted], "the option `format`"
    trace = reader.read(value)
    if not trace.steps:
        where = f"read as {reader.name} ({seen})"
        raise CannotJudge(
            f"the trace has no steps: {where}, nothing in it is an action of the agent; {_describe_seen(value)}"
        )
    return replace(trace, steps=assign_ids(list(split_batches(trace.steps))), format=reader.name, seen=seen)


def _read_lines(value: Any) -> Any:
    """Returns the objects of a text with one per line (JSONL), else the value itself."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    found = [from_json(line) for line in value.splitlines() if line.strip()]
    return value if any(isinstance(line, str) for line in found) else found


def recognise(value: Any) -> tuple[Reader, str] | None:
    """Returns the first reader that recognises the format, and what it was recognised by; None if none does."""
    for reader in READERS:
        seen = reader.recognise(value)
        if seen is not None:
            return reader, seen
    return None


def _detect(value: Any) -> tuple[Reader, str]:
    """Returns the reader of a trace, or raises an error that says what was seen instead."""
    if (found := recognise(value)) is not None:
        return found
    known = ", ".join(sorted(_BY_NAME))
    raise CannotJudge(
        f"the trace is in no format that can be read ({known}): {_describe_seen(value)}; option `format` names one"
    )


def _describe_seen(value: Any) -> str:
    """Describes a value for a message, enough to see what is wrong with the file."""
    if isinstance(value, Mapping):
        return f"seen was an object with {_fields(value)}"
    if isinstance(value, list):
        if not value:
            return "seen was an empty list"
        inner = f" with {_fields(value[0])}" if isinstance(value[0], Mapping) else ""
        return f"seen was a list of {len(value)}, the first is {describe_type(value[0])}{inner}"
    if isinstance(value, str):
        return f"seen was a text that starts {value[:60]!r}" if value.strip() else "seen was an empty text"
    return f"seen was {describe_type(value)}"


def _fields(value: Mapping[Any, Any]) -> str:
    names = [f"`{str(name)[:40]}`" for name in list(value)[:_SHOWN_FIELDS]]
    more = ", …" if len(value) > _SHOWN_FIELDS else ""
    return f"the fields {', '.join(names)}{more}" if names else "no fields"


# --- one trace or several --------------------------------------------------------------------------

_EXPORTS = ("resourceSpans", "resource_spans")
_HOLDERS = frozenset({*TRACE_NAMES, *_EXPORTS, "spans", "data", "runs", "observations", "id"})
_TASK_ONLY = frozenset(TASK_NAMES) - {"query", "question"}  # which are as often what a step asks


def is_piece(first: Any) -> bool:
    """Whether a list that begins with this is one trace: a message, span, run, item or step, not a case of its own."""
    if isinstance(first, str) or is_chunk(first) or is_event(first):
        return True
    if not isinstance(first, Mapping) or has_named_trace(first):
        return False
    if is_message(first) or is_smol_step(first) or is_span(first) or any(name in first for name in _EXPORTS):
        return True
    if "run_type" in first:  # a run with its children and without the id of a trace is a trace by itself
        return bool(first.get("trace_id") or first.get("parent_run_id") or not first.get("child_runs"))
    if is_item(first):
        return True
    if first.get("children"):
        return False
    leaf = {key: value for key, value in first.items() if key != "children"}  # an empty list of them makes no trace
    if recognise(leaf) is not None:
        return False
    return is_step(first) and first.keys().isdisjoint(_TASK_ONLY)


def is_trace(record: Mapping[str, Any]) -> bool:
    """Whether an object names a trace, or is one as a whole."""
    return has_named_trace(record) or recognise(record) is not None


def has_named_trace(record: Mapping[str, Any]) -> bool:
    """Does a record have a trace under one of its known names?"""
    return any(record.get(name) is not None for name in TRACE_NAMES)


# --- several traces in one record ------------------------------------------------------------------


def list_traces(record: Mapping[str, Any]) -> list[tuple[str | None, Mapping[str, Any]]]:
    """Returns a record for each trace of an OpenTelemetry or LangSmith export, with the trace's id where it has one.

    A record of one trace is returned as it is.
    """
    named = next((name for name in TRACE_NAMES if record.get(name) is not None), None)
    value = from_json(record if named is None else record[named])
    spans = [raw for raw, holder in iterate_spans(value) if not holder]
    groups = _group_by_trace((read_trace_id(raw), raw) for raw in spans)
    if not groups:
        groups = _group_by_trace(runs_by_trace(value))
    if len([trace for trace in groups if trace]) < 2:
        return [(next(filter(None, groups), None), record)]
    kept = {key: held for key, held in record.items() if key not in _HOLDERS}
    holder = "spans" if spans else "runs"
    return [
        (trace or None, {**kept, "id": trace or None, "trace": {holder: members}}) for trace, members in groups.items()
    ]


def split_traces(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns one record for each trace of an export that holds several; a record with one trace comes back alone."""
    return [dict(part) for _, part in list_traces(record)]


def _group_by_trace(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[Mapping[str, Any]]]:
    """Groups spans by their trace."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for trace, raw in rows:
        groups.setdefault(trace, []).append(raw)
    return groups
