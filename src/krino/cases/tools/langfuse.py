"""Langfuse's observations: exports of the table (CSV, JSON, JSONL), of the API (`data`), and of one trace.

Described at https://langfuse.com/docs/api-and-data-platform/features/export-from-ui and .../blob-storage-export-fields.
The observations of one trace are one case; what went in and came out is that of the first one, which holds the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.cases.tools.case_parts import (
    TOP,
    Tool,
    ToolCase,
    ToolRow,
    complete_case,
    decode,
    first_of,
    make_case,
    reason_of,
)

_KINDS = frozenset(
    ("GENERATION", "SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "EVALUATOR", "GUARDRAIL")
)
_JSON = ("input", "output", "metadata", "usageDetails", "usage_details", "costDetails", "cost_details", "tags")
_SNAKE = {
    "trace_id": "traceId",
    "parent_observation_id": "parentObservationId",
    "start_time": "startTime",
    "end_time": "endTime",
    "status_message": "statusMessage",
    "usage_details": "usageDetails",
    "total_cost": "totalCost",
}


def _is_observation(row: ToolRow) -> bool:
    return bool(first_of(row, "traceId", "trace_id")) and str(row.get("type")) in _KINDS and "id" in row


def _trace_of(row: ToolRow) -> str:
    return str(first_of(row, "traceId", "trace_id"))


def _read_observations(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case: these are all observations of one trace, in any order."""
    found = sorted((_decode_observation(row) for row in rows), key=lambda one: str(one.get("startTime") or ""))
    held = {one.get("id") for one in found}
    root = next((one for one in found if not one.get("parentObservationId")), None)
    top = root or next((one for one in found if one.get("parentObservationId") not in held), found[0])
    yield _make_trace_case(_trace_of(top), top, found)


def _decode_observation(row: ToolRow) -> dict[str, Any]:
    """An observation under the names of the API, with the values of its JSON texts."""
    return {_SNAKE.get(name, name): decode(value) if name in _JSON else value for name, value in row.items()}


def _make_trace_case(own_id: Any, top: Mapping[str, Any], found: list[dict[str, Any]]) -> ToolCase:
    """The case of one trace: input and output of `top`, which is its first observation or the trace itself."""
    output = top.get("output")
    failed = next((one for one in (top, *found) if one.get("level") == "ERROR"), None)
    problem = reason_of(failed.get("statusMessage")) if failed is not None and output in (None, "") else None
    documents = [document for one in found if one.get("type") == "RETRIEVER" for document in _documents(one)]
    made = make_case(top.get("input"), output or None)
    trace = {"observations": found}
    return complete_case(
        made, own_id, metadata=top.get("metadata"), documents=documents, trace=trace if found else None, problem=problem
    )


def _documents(observation: Mapping[str, Any]) -> list[Any]:
    """The passages that a retriever gave back."""
    output = observation.get("output")
    return output if isinstance(output, list) else [output] if output else []


OBSERVATIONS = Tool("Langfuse observation", _is_observation, _read_observations, _trace_of, paths=(TOP, ("data",)))


def _is_trace(row: ToolRow) -> bool:
    inner = row.get("observations")
    is_list = isinstance(inner, list) and bool(inner)
    return is_list and "id" in row and all(isinstance(one, Mapping) and _is_observation(one) for one in inner or ())


def _read_traces(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each trace. Without input and output of its own, it has those of its first observation."""
    for row in rows:
        found = [_decode_observation(one) for one in row["observations"]]
        given = {
            "input": decode(row.get("input")),
            "output": decode(row.get("output")),
            "metadata": row.get("metadata"),
        }
        if given["input"] is None and given["output"] is None:
            yield from _read_observations(found)
        else:
            yield _make_trace_case(row["id"], given, found)


TRACES = Tool("Langfuse trace", _is_trace, _read_traces)
