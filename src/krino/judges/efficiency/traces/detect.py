"""Finds the format of a trace and reads it; what cannot be read is said together with what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from krino.cases.row import describe_type
from krino.errors import CannotJudge
from krino.judges.efficiency.traces.agent_logs import SMOLAGENTS, SWE_AGENT
from krino.judges.efficiency.traces.batches import open_batches
from krino.judges.efficiency.traces.content import from_json
from krino.judges.efficiency.traces.graph_stream import LANGGRAPH
from krino.judges.efficiency.traces.messages import (
    ANTHROPIC,
    AUTOGEN,
    GEMINI,
    LANGCHAIN,
    OPENAI_CHAT,
    REACT,
    TAU_BENCH,
    VERCEL_AI,
)
from krino.judges.efficiency.traces.multi_agent import MULTI_AGENT
from krino.judges.efficiency.traces.nested_spans import DEEPEVAL
from krino.judges.efficiency.traces.openai_responses import OPENAI_RESPONSES
from krino.judges.efficiency.traces.openinference import OPENINFERENCE
from krino.judges.efficiency.traces.otlp import LANGFUSE, MLFLOW, OPENAI_AGENTS, OTLP
from krino.judges.efficiency.traces.plain import PLAIN
from krino.judges.efficiency.traces.run_tree import LANGSMITH
from krino.judges.efficiency.traces.steps import Reader, Trace, with_own_ids
from krino.judges.efficiency.traces.stream_events import LANGCHAIN_EVENTS

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
"""The most particular formats come first: a list of messages is also a list of objects."""
_BY_NAME = {reader.name: reader for reader in READERS}
_SHOWN_FIELDS = 12


def read_trace(value: Any, wanted: Format = "auto") -> Trace:
    """The trace with the format it was read as; raises `CannotJudge` when it cannot be read or has no steps."""
    value = _from_lines(from_json(value))
    if wanted == "auto":
        reader, seen = _detect(value)
    else:
        reader, seen = _BY_NAME[wanted], "the option `format`"
    trace = reader.read(value)
    if not trace.steps:
        where = f"read as {reader.name} ({seen})"
        raise CannotJudge(f"the trace has no steps: {where}, nothing in it is an action of the agent; {_seen(value)}")
    return replace(trace, steps=with_own_ids(list(open_batches(trace.steps))), format=reader.name, seen=seen)


def _from_lines(value: Any) -> Any:
    """The objects of a text that holds one on each line, as a run is written out while it goes; else the value."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    found = [from_json(line) for line in value.splitlines() if line.strip()]
    return value if any(isinstance(line, str) for line in found) else found


def recognise(value: Any) -> tuple[Reader, str] | None:
    """The reader that knows the format, and what it was recognised by."""
    for reader in READERS:
        seen = reader.recognise(value)
        if seen is not None:
            return reader, seen
    return None


def _detect(value: Any) -> tuple[Reader, str]:
    if (found := recognise(value)) is not None:
        return found
    known = ", ".join(sorted(_BY_NAME))
    raise CannotJudge(
        f"the trace is in no format that can be read ({known}): {_seen(value)}; option `format` names one"
    )


def _seen(value: Any) -> str:
    """What stood there, in words: enough to see what is wrong with the file."""
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
