"""Reads OpenInference spans: model, tool and retriever spans are steps; agents and chains hold them together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from krino.judges.efficiency.traces.content import dump, number, whole
from krino.judges.efficiency.traces.span_tree import grow, orphans, refuse_fragment
from krino.judges.efficiency.traces.spans import Span, spans_of
from krino.judges.efficiency.traces.steps import Reader, Trace
from krino.judges.efficiency.traces.tree import Node, Role, root_input, task_text, tree_steps, walk

_KIND = "openinference.span.kind"
_ROLES: Mapping[str, Role] = {
    "LLM": "llm",
    "TOOL": "tool",
    "RETRIEVER": "retrieval",
    "EMBEDDING": "other",
    "RERANKER": "other",
    "GUARDRAIL": "other",
    "AGENT": "container",
    "CHAIN": "container",
    "PROMPT": "glue",
    "EVALUATOR": "glue",
}
_MESSAGE = re.compile(r"llm\.(input|output)_messages\.(\d+)\.message\.(role|content)")
_OUTPUT_CALL = re.compile(r"llm\.output_messages\.\d+\.message\.tool_calls\.(\d+)\.tool_call\.function\.(\w+)")
_DOCUMENT = re.compile(r"retrieval\.documents\.(\d+)\.document\.content")


def _recognise(value: Any) -> str | None:
    return f"spans with {_KIND}" if any(_KIND in span.attributes for span in spans_of(value)) else None


def _read(value: Any) -> Trace:
    spans = spans_of(value)
    roots = grow(spans, _node)
    refuse_fragment(spans, roots)
    return Trace(tuple(tree_steps(roots)), _task(roots), _answer(roots), orphans(spans))


def _node(span: Span) -> Node:
    attributes = span.attributes
    kind = str(attributes.get(_KIND) or "").upper()
    role: Role = _ROLES.get(kind, "glue")  # a span that names no kind is the application's, not the agent's
    given, gave = attributes.get("input.value"), attributes.get("output.value")
    if role == "llm":
        given = _messages(attributes, "input") or given
        gave = _said(attributes) or gave
    if role == "retrieval" and gave is None:
        gave = [text for _, text in _numbered(attributes, _DOCUMENT)] or None
    return Node(
        id=span.id,
        name=str(attributes.get("tool.name") or span.name),
        role=role,
        input=given,
        output=gave,
        error=span.error,
        tokens=whole(attributes.get("llm.token_count.total")) if role != "container" else None,
        seconds=span.seconds,
        cost=number(attributes.get("llm.cost.total")),
        start=span.start,
    )


def _messages(attributes: Mapping[str, Any], side: str) -> list[dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        match = _MESSAGE.fullmatch(key)
        if match and match.group(1) == side:
            found.setdefault(int(match.group(2)), {})[match.group(3)] = value
    return [found[place] for place in sorted(found)]


def _said(attributes: Mapping[str, Any]) -> Any:
    """What the model answered: its text, and the calls it asked for."""
    text = "\n".join(dump(message["content"]) for message in _messages(attributes, "output") if message.get("content"))
    calls: dict[str, dict[str, Any]] = {}
    for key, value in attributes.items():
        if match := _OUTPUT_CALL.fullmatch(key):
            calls.setdefault(match.group(1), {})[match.group(2)] = value
    if not calls:
        return text or None
    return {"content": text or None, "tool_calls": list(calls.values())}


def _numbered(attributes: Mapping[str, Any], pattern: re.Pattern[str]) -> list[tuple[int, Any]]:
    matches = ((pattern.fullmatch(key), value) for key, value in attributes.items())
    return sorted(((int(match.group(1)), value) for match, value in matches if match), key=lambda item: item[0])


def _task(roots: list[Node]) -> str | None:
    """An agent's own input states the task best; failing that, the first user message a model was given."""
    agents = [node for node in walk(roots) if node.role == "container" and node.input is not None]
    for node in agents:
        if found := task_text(node.input):
            if "memory_step" in dump(node.input)[:40]:  # smolagents' step spans hold state, not the task
                continue
            return found
    calls = [node for node in walk(roots) if node.role == "llm"]
    return root_input(calls) if calls else None


def _answer(roots: list[Node]) -> str | None:
    tops = [node for node in walk(roots) if node.role == "container" and node.output not in (None, "")]
    return dump(tops[0].output) if tops and tops[0].children else None


OPENINFERENCE = Reader("openinference", _recognise, _read)
