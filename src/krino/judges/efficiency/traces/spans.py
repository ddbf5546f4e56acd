"""Brings OpenTelemetry spans into one form: OTLP JSON, flat span lists, and exports with nested child spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from krino.judges.efficiency.traces.content import duration, elapsed, instant, listed, objects

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


def spans_of(value: Any) -> list[Span]:
    """Every span in the order of the file; an empty list when there are none to be found."""
    return [_span(raw, parent) for raw, parent in raw_spans(value)]


def raw_spans(value: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    if isinstance(value, Mapping) and (resources := listed(value, "resourceSpans", "resource_spans")):
        for resource in objects(resources):
            scopes = listed(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans")
            for scope in objects(scopes):
                yield from ((raw, "") for raw in objects(listed(scope, "spans")))
        return
    top = objects(listed(value, "spans", "data"))
    if top and all("resourceSpans" in item for item in top):  # several OTLP requests in one list
        for item in top:
            yield from raw_spans(item)
        return
    if not top or not is_span(top[0]):
        return
    waiting = [(raw, "") for raw in reversed(top)]
    while waiting:
        raw, parent = waiting.pop()
        yield raw, parent
        own = _text(raw, "span_id", "spanId")
        waiting.extend((child, own) for child in reversed(objects(listed(raw, "child_spans", "childSpans") or [])))


def is_span(raw: Any) -> bool:
    if not isinstance(raw, Mapping):
        return False
    context = raw.get("context")
    return any(name in raw for name in ("spanId", "span_id", "context.span_id")) or (
        isinstance(context, Mapping) and "span_id" in context
    )


def trace_id_of(raw: Mapping[str, Any]) -> str:
    return _text(raw, "traceId", "trace_id", "context.trace_id") or str(_context(raw).get("trace_id") or "")


def _context(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    found = raw.get("context")
    return found if isinstance(found, Mapping) else {}


def _span(raw: Mapping[str, Any], holder: str) -> Span:
    start = instant(_first(raw, "startTimeUnixNano", "start_time_unix_nano", "start_time", "startTime", "timestamp"))
    end = instant(_first(raw, "endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime"))
    seconds = duration(raw.get("duration")) if "duration" in raw else elapsed(start, end)
    parent = _text(raw, "parentSpanId", "parent_span_id", "parent_id")
    return Span(
        trace=trace_id_of(raw),
        id=_text(raw, "spanId", "span_id", "context.span_id") or str(_context(raw).get("span_id") or ""),
        parent=parent or holder,
        name=_text(raw, "name", "span_name") or "span",
        attributes=_attributes(raw),
        events=tuple(_events(raw)),
        start=start,
        seconds=seconds,
        error=_error(raw),
    )


def _attributes(raw: Mapping[str, Any]) -> dict[str, Any]:
    given = _first(raw, "attributes", "span_attributes")
    found = attribute_map(given)
    for key, value in raw.items():  # tables exported from Phoenix have one column an attribute
        if isinstance(key, str) and key.startswith("attributes.") and value is not None:
            _flatten(key.removeprefix("attributes."), value, found)
    if "span_kind" in raw and "openinference.span.kind" not in found and raw["span_kind"] in _OPENINFERENCE_KINDS:
        found["openinference.span.kind"] = raw["span_kind"]
    return found


_OPENINFERENCE_KINDS = ("LLM", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL")


def attribute_map(given: Any) -> dict[str, Any]:
    """OTLP's list of key and value, or a plain mapping (nested or dotted), as one flat mapping."""
    found: dict[str, Any] = {}
    if isinstance(given, Mapping):
        for key, value in given.items():
            _flatten(str(key), value, found)
    for item in objects(given if isinstance(given, list) else None):
        if "key" in item:
            found[str(item["key"])] = _any_value(item.get("value"))
    return found


def _flatten(key: str, value: Any, into: dict[str, Any], depth: int = 0) -> None:
    into[key] = value
    if isinstance(value, Mapping) and depth < 4:
        for inner, item in value.items():
            _flatten(f"{key}.{inner}", item, into, depth + 1)


def _any_value(value: Any, depth: int = 0) -> Any:
    """OTLP wraps each value in an object that names its type."""
    if not isinstance(value, Mapping) or depth > 20:
        return value
    for name in ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue"):
        if name in value:
            return value[name]
    if isinstance(inner := value.get("arrayValue"), Mapping):
        return [_any_value(item, depth + 1) for item in inner.get("values") or ()]
    if isinstance(inner := value.get("kvlistValue"), Mapping):
        return {str(item.get("key")): _any_value(item.get("value"), depth + 1) for item in objects(inner.get("values"))}
    return dict(value) or None


def _events(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for event in objects(listed(raw, "events") or []):
        name = str(_first(event, "name", "Name") or "")
        yield name, attribute_map(_first(event, "attributes", "Attributes"))


def _error(raw: Mapping[str, Any]) -> str | None:
    status = raw.get("status")
    code = status.get("code", status.get("status_code")) if isinstance(status, Mapping) else raw.get("status_code")
    if not isinstance(code, str | int) or code not in _ERROR_CODES:
        return None
    message = status.get("message", status.get("description")) if isinstance(status, Mapping) else None
    for _, attributes in _events(raw):
        message = message or attributes.get("exception.message")
    return str(message or raw.get("status_message") or "error")[:400]


def _first(raw: Mapping[str, Any], *names: str) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _text(raw: Mapping[str, Any], *names: str) -> str:
    found = _first(raw, *names)
    return str(found) if isinstance(found, str | int) else ""
