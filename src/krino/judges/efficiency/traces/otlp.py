"""Reads OpenTelemetry spans with GenAI attributes: operations of models and tools are steps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from krino.judges.efficiency.traces.content import dump, number, whole
from krino.judges.efficiency.traces.span_tree import grow, orphans, refuse_fragment
from krino.judges.efficiency.traces.spans import Span, is_span, spans_of
from krino.judges.efficiency.traces.steps import Trace
from krino.judges.efficiency.traces.tree import Node, Role, closing_agent, root_input, tree_steps

NAME = "otlp"
_OPERATIONS: Mapping[str, Role] = {
    "chat": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
    "embeddings": "other",
    "retrieval": "retrieval",
    "execute_tool": "tool",
    "invoke_agent": "container",
    "create_agent": "glue",
    "invoke_workflow": "container",
}
_ENTITIES: Mapping[str, Role] = {"tool": "tool", "agent": "container", "workflow": "container", "task": "container"}
_INPUTS = ("gen_ai.tool.call.arguments", "gen_ai.input.messages", "gen_ai.prompt", "traceloop.entity.input", "input")
_OUTPUTS = (
    "gen_ai.tool.call.result",
    "gen_ai.output.messages",
    "gen_ai.completion",
    "traceloop.entity.output",
    "output",
)
_OLD_PROMPT = re.compile(r"gen_ai\.prompt\.(\d+)\.(role|content)")
_OLD_REPLY = re.compile(r"gen_ai\.completion\.(\d+)\.(role|content)")
_ASKED_EVENTS = re.compile(r"gen_ai\.(?:system|user|assistant|tool)\.message|gen_ai\.content\.prompt")
_REPLY_EVENTS = re.compile(r"gen_ai\.choice|gen_ai\.content\.completion")


def recognise(value: Any) -> str | None:
    spans = spans_of(value)
    if any(key.startswith("gen_ai.") for span in spans for key in span.attributes):
        return "spans with gen_ai.* attributes"
    if isinstance(value, Mapping) and ("resourceSpans" in value or "resource_spans" in value):
        return "resourceSpans"
    raw = value.get("spans") if isinstance(value, Mapping) else value
    return "spans" if isinstance(raw, list) and raw and is_span(raw[0]) else None


def read(value: Any) -> Trace:
    spans = spans_of(value)
    known = any(_named_role(span) for span in spans)
    roots = grow(spans, lambda span: _node(span, known))
    refuse_fragment(spans, roots)
    agent = closing_agent(roots)
    answer = dump(agent.output) if agent is not None else None
    return Trace(tuple(tree_steps(roots)), root_input(roots), answer, orphans(spans))


def _named_role(span: Span) -> Role | None:
    operation = str(span.attributes.get("gen_ai.operation.name") or "")
    if operation in _OPERATIONS:
        return _OPERATIONS[operation]
    if "gen_ai.tool.name" in span.attributes:
        return "tool"
    if "gen_ai.request.model" in span.attributes:
        return "llm"
    return _ENTITIES.get(str(span.attributes.get("traceloop.span.kind") or ""))


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
        cost=number(attributes.get("gen_ai.usage.cost")),
        start=span.start,
    )


def _side(span: Span, names: tuple[str, ...], old: re.Pattern[str], events: re.Pattern[str]) -> Any:
    for name in names:
        if (value := span.attributes.get(name)) not in (None, ""):
            return value
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
    names = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    counts = [
        next((count for name in pair if (count := whole(attributes.get(f"gen_ai.usage.{name}"))) is not None), None)
        for pair in names
    ]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
