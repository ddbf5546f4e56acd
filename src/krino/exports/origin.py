"""Where a judged answer came from: the trace, span and response that its case names, so that events can point there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from krino.judges.efficiency.case import TRACE_NAMES, EfficiencyCase
from krino.judges.efficiency.traces.spans import spans_of

_TRACE = re.compile(r"(?!0{32})[0-9a-f]{32}")
_SPAN = re.compile(r"(?!0{16})[0-9a-f]{16}")
_HOLD_SPANS = frozenset({*TRACE_NAMES, "resourceSpans", "resource_spans", "spans"})
_LONGEST_RESPONSE_ID = 200


class Origin(NamedTuple):
    trace_id: str | None = None
    span_id: str | None = None
    response_id: str | None = None


NOWHERE = Origin()


def origin_of(record: Any) -> Origin:
    """`trace_id`, `span_id` and `response_id` of the record itself, or the root span of a trace of spans in it.

    What is no valid id is left out: a wrong link is worse than none.
    """
    if not isinstance(record, Mapping):
        return NOWHERE
    response = _text(record, "response_id", "responseId", "gen_ai.response.id")
    trace = _matching(_TRACE, _text(record, "trace_id", "traceId"))
    if trace is not None:
        return Origin(trace, _matching(_SPAN, _text(record, "span_id", "spanId")), response)
    if record.keys().isdisjoint(_HOLD_SPANS):
        return Origin(response_id=response)
    return _root_span(record, response)


def _root_span(record: Mapping[str, Any], response: str | None) -> Origin:
    try:
        spans = spans_of(EfficiencyCase.model_validate(record).trace)
    except Exception:  # no trace, or one that no reader takes: then it names no span
        return Origin(response_id=response)
    root = next((span for span in spans if not span.parent), None)
    if root is None or (trace := _matching(_TRACE, root.trace)) is None:
        return Origin(response_id=response)
    return Origin(trace, _matching(_SPAN, root.id), response)


def _matching(pattern: re.Pattern[str], text: str | None) -> str | None:
    found = (text or "").lower().removeprefix("0x")
    return found if pattern.fullmatch(found) else None


def _text(record: Mapping[str, Any], *names: str) -> str | None:
    found = next((record[name] for name in names if isinstance(record.get(name), str)), "")
    return found if 0 < len(found) <= _LONGEST_RESPONSE_ID else None
