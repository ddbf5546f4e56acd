"""Tells what a JSON value holds: one trace, a piece of one, or several; and takes several apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from krino.judges.efficiency.case import TASK_NAMES, TRACE_NAMES
from krino.judges.efficiency.traces.agent_logs import is_smol_step
from krino.judges.efficiency.traces.content import from_json
from krino.judges.efficiency.traces.detect import recognise
from krino.judges.efficiency.traces.graph_stream import is_chunk
from krino.judges.efficiency.traces.messages import is_message
from krino.judges.efficiency.traces.openai_responses import is_item
from krino.judges.efficiency.traces.plain import is_step
from krino.judges.efficiency.traces.run_tree import runs_by_trace
from krino.judges.efficiency.traces.spans import is_span, raw_spans, trace_id_of
from krino.judges.efficiency.traces.stream_events import is_event

_EXPORTS = ("resourceSpans", "resource_spans")
_HOLDERS = frozenset({*TRACE_NAMES, *_EXPORTS, "spans", "data", "runs", "observations", "id"})
_TASK_ONLY = frozenset(TASK_NAMES) - {"query", "question"}  # which are as often what a step asks


def is_piece(first: Any) -> bool:
    """Whether a list that begins with this is one trace: a message, span, run, item or step, not a case of its own."""
    if isinstance(first, str) or is_chunk(first) or is_event(first):
        return True
    if not isinstance(first, Mapping) or names_trace(first):
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
    return names_trace(record) or recognise(record) is not None


def names_trace(record: Mapping[str, Any]) -> bool:
    return any(record.get(name) is not None for name in TRACE_NAMES)


# --- several traces in one record ------------------------------------------------------------------


def traces_in(record: Mapping[str, Any]) -> list[tuple[str | None, Mapping[str, Any]]]:
    """A record for each trace of an OpenTelemetry or LangSmith export, with the trace's id where it has one."""
    named = next((name for name in TRACE_NAMES if record.get(name) is not None), None)
    value = from_json(record if named is None else record[named])
    spans = [raw for raw, holder in raw_spans(value) if not holder]
    groups = _by_trace((trace_id_of(raw), raw) for raw in spans)
    if not groups:
        groups = _by_trace(runs_by_trace(value))
    if len([trace for trace in groups if trace]) < 2:
        return [(next(filter(None, groups), None), record)]
    kept = {key: held for key, held in record.items() if key not in _HOLDERS}
    holder = "spans" if spans else "runs"
    return [
        (trace or None, {**kept, "id": trace or None, "trace": {holder: members}}) for trace, members in groups.items()
    ]


def split_traces(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One record for each trace of an export that holds several; a record with one trace comes back alone."""
    return [dict(part) for _, part in traces_in(record)]


def _by_trace(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for trace, raw in rows:
        groups.setdefault(trace, []).append(raw)
    return groups
