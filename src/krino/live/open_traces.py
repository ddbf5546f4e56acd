"""Collects spans into traces, and says which traces are complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from krino.adapters.cases import make_case
from krino.judges.efficiency.traces.content import from_json
from krino.judges.efficiency.traces.span_dialects import INPUTS, OUTPUTS
from krino.judges.efficiency.traces.spans import Span, is_observation, is_span, iterate_spans, read_spans
from krino.live.interfaces import WatchedTrace

LATE = 2.0
"""Seconds that other services have to deliver their spans once the root has ended."""
MOST_SPANS = 20_000
"""A trace with so many spans is judged as it is: it may never end."""
RawSpan = Mapping[str, Any]


@dataclass(slots=True)
class _OpenTrace:
    """A trace that is not known to be complete."""

    last: float
    """When its latest span came."""
    spans: dict[str, RawSpan] = field(default_factory=dict)
    """By id: a span that is delivered twice counts once, in its latest form."""
    has_ended: bool = False
    """Whether its root has ended."""


class OpenTraces:
    """The spans of traces that are still going on."""

    def __init__(self, quiet: float, is_known: Callable[[str], bool]) -> None:
        """`quiet`: a trace without an ended root is complete after so many seconds without a new span. `is_known`:
        whether a trace was judged; spans that come later change nothing."""
        self._quiet = quiet
        self._is_known = is_known
        self._traces: dict[str, _OpenTrace] = {}
        self.late = 0
        """Spans that came after their trace was judged."""

    def add(self, data: Any, now: float) -> None:
        """Adds one span, or all spans of an export, to their traces."""
        for raw, _ in iterate_spans([data] if is_span(data) else data):
            for span in read_spans([raw]):
                self._add_span(raw, span, now)

    def _add_span(self, raw: RawSpan, span: Span, now: float) -> None:
        """Adds a span to its trace; one whose trace was judged is only counted, one without a trace left out."""
        if not span.trace:
            return
        if self._is_known(span.trace):
            self.late += 1
            return
        found = self._traces.setdefault(span.trace, _OpenTrace(now))
        if found.spans.get(span.id) != raw:
            found.spans[span.id] = raw
            found.last = now
        is_root = not span.parent or raw.get("isRootObservation") is True
        found.has_ended = found.has_ended or (is_root and span.seconds is not None)

    def spans(self) -> Iterator[RawSpan]:
        """Returns all spans of traces that are not complete."""
        return (span for found in self._traces.values() for span in found.spans.values())

    @property
    def any_ended(self) -> bool:
        """Whether a trace waits only for late spans."""
        return any(found.has_ended for found in self._traces.values())

    def take_complete(self, now: float) -> list[dict[str, RawSpan]]:
        """Removes and returns the spans of the traces that are complete."""
        ready = [
            trace
            for trace, found in self._traces.items()
            if now - found.last >= (LATE if found.has_ended else self._quiet) or len(found.spans) >= MOST_SPANS
        ]
        return [self._traces.pop(trace).spans for trace in ready]


def describe_late_spans(count: int) -> str:
    """Returns the line that reports spans which came too late."""
    if count == 1:
        return "1 span came after its trace was judged and was left out"
    return f"{count:,} spans came after their trace was judged and were left out"


def make_trace(raw: Mapping[str, RawSpan]) -> WatchedTrace:
    """Makes the case of a trace: its spans, and the input and output of its root for judges that read no traces.

    An input or output that is a JSON object gives its fields, as in the adapters.
    """
    spans = read_spans(list(raw.values()))
    root = next((span for span in spans if not span.parent), spans[0])
    trace: dict[str, Any] = {"resourceSpans": [{"scopeSpans": [{"spans": list(raw.values())}]}]}
    if all(map(is_observation, raw.values())):
        trace = {"observations": list(raw.values())}
    case = make_case(_read_side(root, "input.value", *INPUTS), _read_side(root, "output.value", *OUTPUTS))
    own = {"id": root.trace, "trace_id": root.trace, "span_id": root.id, "trace": trace}
    return WatchedTrace(root.trace, {**case, **own})


def _read_side(span: Span, *names: str) -> Any:
    """Returns the first of these attributes that the span has, None without any; JSON text is parsed."""
    value = next((span.attributes[name] for name in names if span.attributes.get(name) not in (None, "")), None)
    return from_json(value)
