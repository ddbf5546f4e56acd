"""MLflow's traces (`Trace.to_dict`, `to_json`), tables with a trace a row (`search_traces`, `mlflow.genai.evaluate`),
and the table of `mlflow.models.evaluate` (`eval_results_table.json`).

Described at https://mlflow.org/docs/latest/genai/tracing/ and https://mlflow.org/docs/latest/ml/evaluation/
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

_ROW = frozenset({"trace_id", "trace", "request", "response", "state"})
_INPUTS, _OUTPUTS, _KIND = "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.spanType"
_TABLE_INPUTS = ("inputs", "input", "question", "query")
_TABLE_OUTPUTS = ("outputs", "output", "predictions", "prediction")
_TABLE_TARGETS = ("ground_truth", "targets", "target", "expected")
_OWN = "mlflow."


def _is_trace(row: ToolRow) -> bool:
    info, data = row.get("info"), row.get("data")
    named = isinstance(info, Mapping) and bool(first_of(info, "trace_id", "request_id"))
    return named and isinstance(data, Mapping) and isinstance(data.get("spans"), list)


def _read_traces(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each trace, with the input and output of its root span."""
    for row in rows:
        info, spans = row["info"], [span for span in row["data"]["spans"] if isinstance(span, Mapping)]
        root = next((span for span in spans if not first_of(span, "parent_span_id", "parent_id")), None)
        given, output = (_attribute(root, name) for name in (_INPUTS, _OUTPUTS))
        failed = first_of(info, "state", "status") == "ERROR" and output in (None, "")
        tags = info.get("tags")
        own = {name: value for name, value in tags.items() if not name.startswith(_OWN)} if tags else {}
        yield complete_case(
            make_case(given, output, _expectations(info)),
            first_of(info, "trace_id", "request_id"),
            metadata=own,
            documents=[document for span in spans for document in _documents(span)],
            trace={"spans": spans},
            problem=reason_of(_status_message(root)) if failed else None,
        )


def _attribute(span: Mapping[str, Any] | None, name: str) -> Any:
    attributes = span.get("attributes") if span is not None else None
    return decode(attributes.get(name)) if isinstance(attributes, Mapping) else None


def _status_message(span: Mapping[str, Any] | None) -> Any:
    status = span.get("status") if span is not None else None
    return status.get("message") if isinstance(status, Mapping) else span and span.get("status_message")


def _documents(span: Mapping[str, Any]) -> list[Any]:
    found = _attribute(span, _OUTPUTS) if _attribute(span, _KIND) == "RETRIEVER" else None
    return found if isinstance(found, list) else []


def _expectations(info: Mapping[str, Any]) -> dict[str, Any]:
    """What people and datasets expected of the trace, by name."""
    found = {}
    for item in info.get("assessments") or ():
        expected = item.get("expectation") if isinstance(item, Mapping) else None
        if isinstance(expected, Mapping) and item.get("assessment_name"):
            found[str(item["assessment_name"])] = expected.get("value")
    return found


TRACES = Tool("MLflow trace", _is_trace, _read_traces, paths=(TOP, ("traces",)))


def _is_row(row: ToolRow) -> bool:
    trace = decode(row.get("trace"))
    return row.keys() >= _ROW and isinstance(trace, Mapping) and _is_trace(trace)


def _read_rows(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    yield from _read_traces([decode(row["trace"]) for row in rows])


ROWS = Tool("MLflow table row with a trace", _is_row, _read_rows)


def _is_table(row: ToolRow) -> bool:
    columns, data = row.get("columns"), row.get("data")
    if row.keys() != {"columns", "data"} or not isinstance(columns, list) or not isinstance(data, list):
        return False
    return all(isinstance(name, str) for name in columns) and all(isinstance(cells, list) for cells in data)


def _read_tables(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each row of each table; a row of another width is a problem."""
    for table in rows:
        names = table["columns"]
        for number, cells in enumerate(table["data"], 1):
            if len(cells) != len(names):
                reason = f"row {number} of the table has {len(cells)} cells, and there are {len(names)} columns"
                yield ToolCase({"id": f"row-{number}"}, reason)
                continue
            row = dict(zip(names, cells, strict=True))
            taken = {name for group in (_TABLE_INPUTS, _TABLE_OUTPUTS, _TABLE_TARGETS) for name in group}
            given, output, target = (first_of(row, *group) for group in (_TABLE_INPUTS, _TABLE_OUTPUTS, _TABLE_TARGETS))
            rest = {name: value for name, value in row.items() if name not in taken}
            made = rest | make_case(given, output, target)
            yield complete_case(made, row.get("id", f"row-{number}"))


TABLES = Tool("MLflow evaluation table", _is_table, _read_tables)
