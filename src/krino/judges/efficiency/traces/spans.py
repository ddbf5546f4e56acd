"""Reads OpenTelemetry spans of any export into one form, and builds their tree; `span_dialects` makes steps of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krino.errors import CannotJudge
from krino.judges.efficiency.traces.content import (
    find_list,
    first_of,
    keep_objects,
    parse_duration,
    parse_time,
    time_between,
)
from krino.judges.efficiency.traces.tree import Node

_OBSERVATIONS = frozenset(
    ("GENERATION", "SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "EVALUATOR", "GUARDRAIL")
)
_ERROR_CODES = frozenset({2, "2", "STATUS_CODE_ERROR", "ERROR", "Error", "error"})


@dataclass(frozen=True, slots=True)
class Span:
    """A span with its attributes as one flat mapping."""

    trace: str
    id: str
    parent: str
    name: str
    attributes: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...]
    start: float | None
    seconds: float | None
    error: str | None


def read_spans(value: Any) -> list[Span]:
    """Returns every span in the order of the file; empty if there are none."""
    return [_read_span(raw, parent) for raw, parent in iterate_spans(value) if raw.get("object") != "trace"]


def iterate_spans(value: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yields every span of an export, with the id of the span that holds it, or an empty text."""
    if isinstance(value, Mapping) and (resources := find_list(value, "resourceSpans", "resource_spans")):
        for resource in keep_objects(resources):
            scopes = find_list(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans")
            for scope in keep_objects(scopes):
                yield from ((raw, "") for raw in keep_objects(find_list(scope, "spans")))
        return
    top = keep_objects(find_list(value, "spans", "data", "observations"))
    if isinstance(value, Mapping) and isinstance(inner := value.get("data"), Mapping):  # MLflow
        top = keep_objects(find_list(inner, "spans"))
    if top and all("resourceSpans" in item for item in top):  # several OTLP requests in one list
        for item in top:
            yield from iterate_spans(item)
        return
    if not top or not is_span(top[0]):
        return
    waiting = [(raw, "") for raw in reversed(top)]
    while waiting:
        raw, parent = waiting.pop()
        yield raw, parent
        own = _text(raw, "span_id", "spanId", "id")
        waiting.extend(
            (child, own) for child in reversed(keep_objects(find_list(raw, "child_spans", "childSpans") or []))
        )


def is_span(raw: Any) -> bool:
    """Is an object a span of any known export?"""
    if not isinstance(raw, Mapping):
        return False
    context = raw.get("context")
    if any(name in raw for name in ("spanId", "span_id", "context.span_id")) or is_agents_row(raw):
        return True
    return is_observation(raw) or (isinstance(context, Mapping) and "span_id" in context)


def is_observation(raw: Mapping[str, Any]) -> bool:
    """Is it a span as Langfuse's API returns it?"""
    named = "parentObservationId" in raw or "parent_observation_id" in raw or "traceId" in raw or "trace_id" in raw
    return named and str(raw.get("type")) in _OBSERVATIONS and "id" in raw


def is_agents_row(raw: Mapping[str, Any]) -> bool:
    """Is it a span or the closing line of a trace as the OpenAI Agents SDK exports them?"""
    return raw.get("object") in ("trace", "trace.span") and ("span_data" in raw or "workflow_name" in raw)


def read_trace_id(raw: Mapping[str, Any]) -> str:
    """Returns the id of the trace that a span belongs to; empty if it names none."""
    if raw.get("object") == "trace":
        return str(raw.get("id") or "")
    return _text(raw, "traceId", "trace_id", "context.trace_id") or str(_context(raw).get("trace_id") or "")


def _data(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of a span of the OpenAI Agents SDK; the line about the whole trace has none."""
    found = raw.get("span_data") if is_agents_row(raw) else None
    return found if isinstance(found, Mapping) else {}


def _context(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    found = raw.get("context")
    return found if isinstance(found, Mapping) else {}


def _read_span(raw: Mapping[str, Any], holder: str) -> Span:
    """Reads one span into the common form."""
    start = parse_time(first_of(raw, _STARTS))
    end = parse_time(first_of(raw, _ENDS))
    seconds = parse_duration(raw.get("duration")) if "duration" in raw else time_between(start, end)
    parent = _text(raw, "parentSpanId", "parent_span_id", "parent_id", "parentObservationId", "parent_observation_id")
    return Span(
        trace=read_trace_id(raw),
        id=_text(raw, "spanId", "span_id", "context.span_id") or _text(_context(raw), "span_id") or _text(raw, "id"),
        parent=parent or holder,
        name=_text(raw, "name", "span_name") or _text(_data(raw), "name", "type") or "span",
        attributes=_collect_attributes(raw),
        events=tuple(_events(raw)),
        start=start,
        seconds=seconds,
        error=_find_error(raw),
    )


def _collect_attributes(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the attributes of a span, those of other products under common names."""
    given = first_of(raw, ("attributes", "span_attributes"))
    found = flatten_attributes(given)
    if is_observation(raw):
        found |= {f"langfuse.observation.{key}": raw.get(key) for key in ("type", "input", "output")}
        usage = raw.get("usageDetails", raw.get("usage"))
        found["tokens"] = usage.get("total", usage.get("totalTokens")) if isinstance(usage, Mapping) else None
        found["cost"] = first_of(raw, ("totalCost", "calculatedTotalCost"))
    for key, held in _data(raw).items():
        found[f"openai_agents.{key}"] = held
    for key, value in raw.items():  # tables exported from Phoenix have one column an attribute
        if isinstance(key, str) and key.startswith("attributes.") and value is not None:
            _add_flattened(key.removeprefix("attributes."), value, found)
    if "span_kind" in raw and "openinference.span.kind" not in found and raw["span_kind"] in _OPENINFERENCE_KINDS:
        found["openinference.span.kind"] = raw["span_kind"]
    return found


_STARTS = ("startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "timestamp", "started_at")
_ENDS = ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "ended_at")
_DEEPEST = 6
_OPENINFERENCE_KINDS = ("LLM", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL")


def flatten_attributes(given: Any) -> dict[str, Any]:
    """Returns OTLP's list of key and value, or a plain mapping (nested or dotted), as one flat mapping."""
    found: dict[str, Any] = {}
    if isinstance(given, Mapping):
        for key, value in given.items():
            _add_flattened(str(key), value, found)
    for item in keep_objects(given if isinstance(given, list) else None):
        if "key" in item:
            found[str(item["key"])] = _unwrap_value(item.get("value"))
    return found


def _add_flattened(key: str, value: Any, into: dict[str, Any], depth: int = 0) -> None:
    """Adds a value under its key, and its parts under dotted keys (`a.b`, `a.0.b`), down to `_DEEPEST` levels.

    List items that are not objects get no key of their own.
    """
    into[key] = value
    if depth >= _DEEPEST:
        return
    if isinstance(value, Mapping):
        for inner, item in value.items():
            _add_flattened(f"{key}.{inner}", item, into, depth + 1)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if isinstance(item, Mapping):
                _add_flattened(f"{key}.{number}", item, into, depth + 1)


def _unwrap_value(value: Any, depth: int = 0) -> Any:
    """Returns the value without OTLP's object that names its type, also inside lists and maps."""
    if not isinstance(value, Mapping) or depth > 20:
        return value
    for name in ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue"):
        if name in value:
            return value[name]
    if isinstance(inner := value.get("arrayValue"), Mapping):
        return [_unwrap_value(item, depth + 1) for item in inner.get("values") or ()]
    if isinstance(inner := value.get("kvlistValue"), Mapping):
        return {
            str(item.get("key")): _unwrap_value(item.get("value"), depth + 1)
            for item in keep_objects(inner.get("values"))
        }
    return dict(value) or None


def _events(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for event in keep_objects(find_list(raw, "events") or []):
        name = str(first_of(event, ("name", "Name")) or "")
        yield name, flatten_attributes(first_of(event, ("attributes", "Attributes")))


def _find_error(raw: Mapping[str, Any]) -> str | None:
    """Returns the error of a span, or None."""
    if raw.get("level") == "ERROR" or (is_agents_row(raw) and raw.get("error")):
        error = raw.get("error")
        message = (
            error.get("message") if isinstance(error, Mapping) else first_of(raw, ("statusMessage", "status_message"))
        )
        return str(message or "error")[:400]
    status = raw.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else raw.get("status_code")
    if not isinstance(code, str | int) or code not in _ERROR_CODES:
        return None
    message = status.get("message", status.get("description")) if isinstance(status, Mapping) else None
    for _, attributes in _events(raw):
        message = message or attributes.get("exception.message")
    return str(message or raw.get("status_message") or "error")[:400]


def _text(raw: Mapping[str, Any], *names: str) -> str:
    found = first_of(raw, names)
    return str(found) if isinstance(found, str | int) else ""


# --- the tree of spans -----------------------------------------------------------------------------


def build_tree(spans: Sequence[Span], to_node: Callable[[Span], Node]) -> list[Node]:
    """Builds the tree of spans and returns its roots: spans without a parent, or whose parent is not in the file.

    Refuses spans of several traces; a span that is there twice counts once.
    """
    require_one_trace(spans)
    nodes: dict[str, Node] = {}
    made: list[tuple[Span, Node]] = []
    for span in spans:
        if span.id and span.id in nodes:
            continue  # an export that holds a span twice
        node = to_node(span)
        nodes[span.id] = node
        made.append((span, node))
    roots = []
    for span, node in made:
        parent = nodes.get(span.parent) if span.parent and span.parent != span.id else None
        if parent is None:
            roots.append(node)
        else:
            parent.children.append(node)
    return roots


def refuse_fragment(spans: Sequence[Span], roots: Sequence[Node]) -> None:
    """Raises `CannotJudge` for spans whose parents are all missing, without a root among them.

    Agents and chains with children can be judged without their parent: it belongs to the calling service, or never
    ended and so was not exported. Bare calls of models and tools cannot: most of their trace is elsewhere.
    """
    if not count_orphans(spans) or any(not span.parent or span.parent == span.id for span in spans):
        return
    if any(node.role == "container" and node.children for node in roots):
        return
    raise CannotJudge(
        f"the record holds a fragment of a trace: no span is its root, and {count_orphans(spans)} of {len(spans)} "
        "name a parent that is not there; bring all spans of the trace together in one record"
    )


def count_orphans(spans: Sequence[Span]) -> int:
    """Returns the number of spans whose parent is missing."""
    known = {span.id for span in spans}
    return sum(1 for span in spans if span.parent and span.parent not in known)


def require_one_trace(spans: Sequence[Span]) -> None:
    """Refuses spans of several traces in one record."""
    traces = list(dict.fromkeys(span.trace for span in spans if span.trace))
    if len(traces) > 1:
        shown = ", ".join(traces[:3]) + (", …" if len(traces) > 3 else "")
        raise CannotJudge(
            f"the record holds {len(traces)} traces ({shown}): give one trace a record "
            "(krino.judge_many and the command `krino judge` take them apart)"
        )
