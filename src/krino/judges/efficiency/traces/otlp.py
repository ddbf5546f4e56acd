"""Reads spans of OpenTelemetry (GenAI), MLflow, Langfuse and the OpenAI Agents SDK: models' and tools' are steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from krino.judges.efficiency.tables import table
from krino.judges.efficiency.traces.content import dump, from_json, listed, number, objects, text_of, whole
from krino.judges.efficiency.traces.span_tree import grow, orphans, refuse_fragment
from krino.judges.efficiency.traces.spans import Span, is_agents_row, is_observation, is_span, raw_spans, spans_of
from krino.judges.efficiency.traces.steps import Reader, Trace
from krino.judges.efficiency.traces.tree import Node, Role, closing_agent, root_input, task_text, tree_steps
from krino.judges.efficiency.traces.turns import task_media

_INPUTS = (
    *("gen_ai.tool.call.arguments", "gen_ai.input.messages", "gen_ai.prompt", "traceloop.entity.input", "input"),
    *("mlflow.spanInputs", "langfuse.observation.input", "openai_agents.input"),
)
_OUTPUTS = (
    *("gen_ai.tool.call.result", "gen_ai.output.messages", "gen_ai.completion", "traceloop.entity.output", "output"),
    *("mlflow.spanOutputs", "langfuse.observation.output", "openai_agents.output"),
)
_OLD_PROMPT = re.compile(r"gen_ai\.prompt\.(\d+)\.(role|content)")
_OLD_REPLY = re.compile(r"gen_ai\.completion\.(\d+)\.(role|content)")
_ASKED_EVENTS = re.compile(r"gen_ai\.(?:system|user|assistant|tool)\.message|gen_ai\.content\.prompt")
_REPLY_EVENTS = re.compile(r"gen_ai\.choice|gen_ai\.content\.completion")


def _has(prefix: str, value: Any) -> str | None:
    found = any(key.startswith(prefix) for span in spans_of(value) for key in span.attributes)
    return f"spans with {prefix}* attributes" if found else None


def _recognise(value: Any) -> str | None:
    if (seen := _has("gen_ai.", value)) is not None:
        return seen
    if isinstance(value, Mapping) and ("resourceSpans" in value or "resource_spans" in value):
        return "resourceSpans"
    raw = value.get("spans") if isinstance(value, Mapping) else value
    return "spans" if isinstance(raw, list) and raw and is_span(raw[0]) else None


def _langfuse(value: Any) -> str | None:
    if isinstance(value, Mapping) and any(map(is_observation, objects(listed(value.get("observations"))))):
        return "observations"
    return _has("langfuse.observation.", value)


def _agents(value: Any) -> str | None:
    return "spans with span_data" if any(is_agents_row(raw) for raw, _ in raw_spans(value)) else None


def _read(value: Any) -> Trace:
    spans = spans_of(value)
    known = any(_named_role(span) for span in spans)
    roots = grow(spans, lambda span: _node(span, known))
    refuse_fragment(spans, roots)
    agent = closing_agent(roots)
    answer = text_of(agent.output) if agent is not None else None
    task, media = root_input(roots), task_media(*(node.input for node in roots))
    steps = tree_steps(roots)
    if isinstance(value, Mapping) and "observations" in value:  # Langfuse keeps input and output beside its spans
        task = task_text(value.get("input")) or task
        answer = answer or dump(value.get("output")) or None
    return Trace(tuple(steps), task, answer, orphans(spans), media)


def _named_role(span: Span) -> Role | None:
    for dialect in table("spans")["dialect"]:
        said = str(from_json(span.attributes.get(dialect["attribute"])) or "").lower()
        if said in dialect["roles"]:
            role: Role = dialect["roles"][said]
            return role
    if "gen_ai.tool.name" in span.attributes:
        return "tool"
    return "llm" if "gen_ai.request.model" in span.attributes else None


def _node(span: Span, known: bool) -> Node:
    """Where some spans say what they do, the silent ones belong to the application; else every leaf is a step."""
    role = _named_role(span) or ("glue" if known else "container")
    attributes = span.attributes
    error = span.error or (str(attributes["error.type"]) if attributes.get("error.type") else None)
    return Node(
        id=span.id,
        name=str(attributes.get("gen_ai.tool.name") or attributes.get("traceloop.entity.name") or span.name),
        role=role,
        input=_side(span, _INPUTS, _OLD_PROMPT, _ASKED_EVENTS),
        output=_side(span, _OUTPUTS, _OLD_REPLY, _REPLY_EVENTS),
        error=error,
        tokens=_tokens(attributes),
        seconds=span.seconds,
        cost=number(attributes.get("gen_ai.usage.cost", attributes.get("cost"))),
        start=span.start,
    )


def _side(span: Span, names: tuple[str, ...], old: re.Pattern[str], events: re.Pattern[str]) -> Any:
    for name in names:
        if (value := span.attributes.get(name)) not in (None, ""):
            return from_json(value) if isinstance(value, str) and value.startswith('"') else value
    numbered: dict[int, dict[str, Any]] = {}
    for key, value in span.attributes.items():
        if match := old.fullmatch(key):
            numbered.setdefault(int(match.group(1)), {})[match.group(2)] = value
    if numbered:
        return [numbered[place] for place in sorted(numbered)]
    told = [_event(name, attributes) for name, attributes in span.events if events.fullmatch(name)]
    return told or None


def _event(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    content = next(
        (attributes[key] for key in ("content", "gen_ai.prompt", "gen_ai.completion") if key in attributes), ""
    )
    if not content and "message" in attributes:
        content = dump(attributes["message"])
    role = attributes.get("role") or name.removeprefix("gen_ai.").partition(".")[0]
    return {"role": "assistant" if role == "choice" else role, "content": content}


def _tokens(attributes: Mapping[str, Any]) -> int | None:
    if (total := whole(attributes.get("tokens"))) is not None:
        return total
    names = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    counts = [
        next((count for name in pair if (count := whole(attributes.get(f"gen_ai.usage.{name}"))) is not None), None)
        for pair in names
    ]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


MLFLOW = Reader("mlflow", partial(_has, "mlflow.span"), _read)
LANGFUSE = Reader("langfuse", _langfuse, _read)
OPENAI_AGENTS = Reader("openai_agents", _agents, _read)
OTLP = Reader("otlp", _recognise, _read)
