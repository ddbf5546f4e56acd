"""Reads traces made of spans: OTLP with GenAI attributes, MLflow, Langfuse, OpenAI Agents, OpenInference, DeepEval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.traces.content import (
    extract_text,
    find_list,
    from_json,
    keep_objects,
    parse_count,
    parse_number,
    parse_time,
    time_between,
    to_text,
)
from krino.judges.efficiency.traces.spans import (
    Span,
    build_tree,
    count_orphans,
    is_agents_row,
    is_observation,
    is_span,
    iterate_spans,
    read_spans,
    refuse_fragment,
)
from krino.judges.efficiency.traces.steps import Reader, Trace
from krino.judges.efficiency.traces.tree import (
    Node,
    Role,
    extract_task,
    find_closing_agent,
    find_task,
    list_steps,
    walk_tree,
)
from krino.judges.efficiency.traces.turns_to_steps import find_task_media

# --- attributes that name the operation ------------------------------------------------------------

INPUTS = (
    *("gen_ai.tool.call.arguments", "gen_ai.input.messages", "gen_ai.prompt", "traceloop.entity.input", "input"),
    *("mlflow.spanInputs", "langfuse.observation.input", "openai_agents.input"),
)
OUTPUTS = (
    *("gen_ai.tool.call.result", "gen_ai.output.messages", "gen_ai.completion", "traceloop.entity.output", "output"),
    *("mlflow.spanOutputs", "langfuse.observation.output", "openai_agents.output"),
)
_OLD_PROMPT = re.compile(r"gen_ai\.prompt\.(\d+)\.(role|content)")
_OLD_REPLY = re.compile(r"gen_ai\.completion\.(\d+)\.(role|content)")
_ASKED_EVENTS = re.compile(r"gen_ai\.(?:system|user|assistant|tool)\.message|gen_ai\.content\.prompt")
_REPLY_EVENTS = re.compile(r"gen_ai\.choice|gen_ai\.content\.completion")


def _has(prefix: str, value: Any) -> str | None:
    found = any(key.startswith(prefix) for span in read_spans(value) for key in span.attributes)
    return f"spans with {prefix}* attributes" if found else None


def _recognise_otlp(value: Any) -> str | None:
    """Returns by what OpenTelemetry spans are recognised, or None."""
    if (seen := _has("gen_ai.", value)) is not None:
        return seen
    if isinstance(value, Mapping) and ("resourceSpans" in value or "resource_spans" in value):
        return "resourceSpans"
    raw = value.get("spans") if isinstance(value, Mapping) else value
    return "spans" if isinstance(raw, list) and raw and is_span(raw[0]) else None


def _recognise_langfuse(value: Any) -> str | None:
    if isinstance(value, Mapping) and any(map(is_observation, keep_objects(find_list(value.get("observations"))))):
        return "observations"
    return _has("langfuse.observation.", value)


def _recognise_agents(value: Any) -> str | None:
    return "spans with span_data" if any(is_agents_row(raw) for raw, _ in iterate_spans(value)) else None


def _read_otlp(value: Any) -> Trace:
    """Reads OpenTelemetry spans with GenAI attributes."""
    spans = read_spans(value)
    known = any(_find_role(span) for span in spans)
    roots = build_tree(spans, lambda span: _make_otlp_node(span, known))
    refuse_fragment(spans, roots)
    agent = find_closing_agent(roots)
    said = from_json(agent.output) if agent is not None else None
    answer = extract_text(said if isinstance(said, list) else agent.output) if agent is not None else None
    task, media = find_task(roots), find_task_media(*(node.input for node in roots))
    steps = list_steps(roots)
    if isinstance(value, Mapping) and "observations" in value:  # Langfuse keeps input and output beside its spans
        task = extract_task(value.get("input")) or task
        answer = answer or to_text(value.get("output")) or None
    return Trace(tuple(steps), task, answer, count_orphans(spans), media)


def _find_role(span: Span) -> Role | None:
    """Returns the role that an attribute of some product gives a span."""
    for dialect in table("spans")["dialect"]:
        said = str(from_json(span.attributes.get(dialect["attribute"])) or "").lower()
        if said in dialect["roles"]:
            role: Role = dialect["roles"][said]
            return role
    if "gen_ai.tool.name" in span.attributes:
        return "tool"
    return "llm" if "gen_ai.request.model" in span.attributes else None


def _make_otlp_node(span: Span, known: bool) -> Node:
    """Returns a span as a node of the tree.

    If some spans name their operation (`known`), the others belong to the application; otherwise every leaf is a
    step.
    """
    role = _find_role(span) or ("glue" if known else "container")
    attributes = span.attributes
    error = span.error or (str(attributes["error.type"]) if attributes.get("error.type") else None)
    return Node(
        id=span.id,
        name=str(attributes.get("gen_ai.tool.name") or attributes.get("traceloop.entity.name") or span.name),
        role=role,
        input=_read_side(span, INPUTS, _OLD_PROMPT, _ASKED_EVENTS),
        output=_read_side(span, OUTPUTS, _OLD_REPLY, _REPLY_EVENTS),
        error=error,
        tokens=_count_otlp_tokens(attributes),
        seconds=span.seconds,
        cost=parse_number(attributes.get("gen_ai.usage.cost", attributes.get("cost"))),
        start=span.start,
    )


def _read_side(span: Span, names: tuple[str, ...], old: re.Pattern[str], events: re.Pattern[str]) -> Any:
    """Returns input or output of a span, or None: from an attribute, numbered attributes, or events."""
    for name in names:
        if (value := span.attributes.get(name)) not in (None, ""):
            return from_json(value) if isinstance(value, str) and value.startswith('"') else value
    numbered: dict[int, dict[str, Any]] = {}
    for key, value in span.attributes.items():
        if match := old.fullmatch(key):
            numbered.setdefault(int(match.group(1)), {})[match.group(2)] = value
    if numbered:
        return [numbered[place] for place in sorted(numbered)]
    found_events = [_read_event(name, attributes) for name, attributes in span.events if events.fullmatch(name)]
    return found_events or None


def _read_event(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an event as a message."""
    content = next(
        (attributes[key] for key in ("content", "gen_ai.prompt", "gen_ai.completion") if key in attributes), ""
    )
    if not content and "message" in attributes:
        content = to_text(attributes["message"])
    role = attributes.get("role") or name.removeprefix("gen_ai.").partition(".")[0]
    return {"role": "assistant" if role == "choice" else role, "content": content}


def _count_otlp_tokens(attributes: Mapping[str, Any]) -> int | None:
    """Returns how many tokens a span counts, or None."""
    if (total := parse_count(attributes.get("tokens"))) is not None:
        return total
    names = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
    counts = [
        next(
            (count for name in pair if (count := parse_count(attributes.get(f"gen_ai.usage.{name}"))) is not None), None
        )
        for pair in names
    ]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


MLFLOW = Reader("mlflow", partial(_has, "mlflow.span"), _read_otlp)
LANGFUSE = Reader("langfuse", _recognise_langfuse, _read_otlp)
OPENAI_AGENTS = Reader("openai_agents", _recognise_agents, _read_otlp)
OTLP = Reader("otlp", _recognise_otlp, _read_otlp)


# --- OpenInference ---------------------------------------------------------------------------------

_KIND = "openinference.span.kind"
_OPENINFERENCE_ROLES: Mapping[str, Role] = {
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


def _recognise_openinference(value: Any) -> str | None:
    return f"spans with {_KIND}" if any(_KIND in span.attributes for span in read_spans(value)) else None


def _read_openinference(value: Any) -> Trace:
    """Reads OpenInference spans."""
    spans = read_spans(value)
    roots = build_tree(spans, _make_openinference_node)
    refuse_fragment(spans, roots)
    return Trace(tuple(list_steps(roots)), _choose_task(roots), _answer(roots), count_orphans(spans))


def _make_openinference_node(span: Span) -> Node:
    """Returns an OpenInference span as a node of the tree."""
    attributes = span.attributes
    kind = str(attributes.get(_KIND) or "").upper()
    role: Role = _OPENINFERENCE_ROLES.get(
        kind, "glue"
    )  # a span that names no kind is the application's, not the agent's
    given, gave = attributes.get("input.value"), attributes.get("output.value")
    if role == "llm":
        given = _read_messages(attributes, "input") or given
        gave = _read_reply(attributes) or gave
    if role == "retrieval" and gave is None:
        gave = [text for _, text in _numbered(attributes, _DOCUMENT)] or None
    return Node(
        id=span.id,
        name=str(attributes.get("tool.name") or span.name),
        role=role,
        input=given,
        output=gave,
        error=span.error,
        tokens=parse_count(attributes.get("llm.token_count.total")) if role != "container" else None,
        seconds=span.seconds,
        cost=parse_number(attributes.get("llm.cost.total")),
        start=span.start,
    )


def _read_messages(attributes: Mapping[str, Any], side: str) -> list[dict[str, Any]]:
    """Returns the messages that numbered attributes hold."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in attributes.items():
        match = _MESSAGE.fullmatch(key)
        if match and match.group(1) == side:
            found.setdefault(int(match.group(2)), {})[match.group(3)] = value
    return [found[place] for place in sorted(found)]


def _read_reply(attributes: Mapping[str, Any]) -> Any:
    """Returns the model's reply: its text, or an object with text and requested calls; None without either."""
    text = "\n".join(
        to_text(message["content"]) for message in _read_messages(attributes, "output") if message.get("content")
    )
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


def _choose_task(roots: list[Node]) -> str | None:
    """Returns the task, or None.

    An agent's own input states it best; failing that, the first user message a model was given.
    """
    agents = [node for node in walk_tree(roots) if node.role == "container" and node.input is not None]
    for node in agents:
        if found := extract_task(node.input):
            if "memory_step" in to_text(node.input)[:40]:  # smolagents' step spans hold state, not the task
                continue
            return found
    calls = [node for node in walk_tree(roots) if node.role == "llm"]
    return find_task(calls) if calls else None


def _answer(roots: list[Node]) -> str | None:
    tops = [node for node in walk_tree(roots) if node.role == "container" and node.output not in (None, "")]
    return to_text(tops[0].output) if tops and tops[0].children else None


OPENINFERENCE = Reader("openinference", _recognise_openinference, _read_openinference)


# --- nested span objects (DeepEval) ----------------------------------------------------------------

_NESTED_ROLES: Mapping[str, Role] = {
    "llm": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "agent": "container",
    "base": "container",
    "span": "container",
    "chain": "container",
}
_MAX_SPANS = 200_000


def _recognise_nested(value: Any) -> str | None:
    """Returns by what spans that hold their children, as DeepEval writes them, are recognised, or None."""
    tops = _find_tops(value)
    if tops and any(isinstance(top.get("children"), list) for top in tops) and all(_is_span(top) for top in tops):
        return "spans with type and children"
    return None


def _find_tops(value: Any) -> list[Mapping[str, Any]]:
    """Returns the top spans of a record."""
    if isinstance(value, Mapping):
        inner = value.get("root_spans") or value.get("rootSpans")
        return keep_objects(inner) if isinstance(inner, list) else [value]
    return keep_objects(find_list(value))


def _is_span(raw: Mapping[str, Any]) -> bool:
    return "run_type" not in raw and ("name" in raw or "type" in raw) and ("children" in raw or "type" in raw)


def _read_nested(value: Any) -> Trace:
    """Reads spans that hold their children."""
    tops = _find_tops(value)
    roots = [_grow_nested(top) for top in tops]
    answer = to_text(tops[0].get("output")) if len(tops) == 1 and roots[0].children else ""
    return Trace(tuple(list_steps(roots)), find_task(roots), answer or None)


def _grow_nested(top: Mapping[str, Any]) -> Node:
    """Builds the tree below one top span, without recursion and up to a number of spans; returns its root."""
    root = _read_nested_node(top)
    waiting = [(top, root)]
    count = 0
    while waiting and count < _MAX_SPANS:
        raw, node = waiting.pop()
        for child in keep_objects(find_list(raw, "children") or []):
            grown = _read_nested_node(child)
            node.children.append(grown)
            waiting.append((child, grown))
            count += 1
    return root


def _read_nested_node(raw: Mapping[str, Any]) -> Node:
    """Returns one nested span as a node of the tree."""
    start = parse_time(raw.get("start_time", raw.get("startTime")))
    end = parse_time(raw.get("end_time", raw.get("endTime")))
    counts = [parse_count(raw.get(name)) for name in ("input_token_count", "output_token_count")]
    known = [count for count in counts if count is not None]
    failed = raw.get("error") or (str(raw.get("status")).lower().endswith("errored") and "errored")
    role = _NESTED_ROLES.get(str(raw.get("type") or "base").lower(), "other")
    return Node(
        id=str(raw.get("uuid") or raw.get("id") or raw.get("span_id") or ""),
        name=str(raw.get("name") or raw.get("type") or "span"),
        role=role,
        input=raw.get("input"),
        output=raw.get("output"),
        error=str(failed)[:400] if failed else None,
        tokens=sum(known) if known else None,
        seconds=time_between(start, end),
        cost=parse_number(raw.get("cost")),
        start=start,
    )


DEEPEVAL = Reader("deepeval", _recognise_nested, _read_nested)
