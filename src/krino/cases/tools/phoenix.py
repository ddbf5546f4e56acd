"""Phoenix's spans: `client.spans.get_spans_dataframe()`, written as Parquet, JSON or CSV, a column an attribute.

Described at https://arize.com/docs/phoenix/tracing/how-to-tracing/importing-and-exporting-traces; the attributes are
OpenInference's. The spans of one trace are one case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.cases.tools.case_parts import Tool, ToolCase, ToolRow, complete_case, decode, make_case, reason_of

_SPAN = frozenset({"span_kind", "parent_id", "context.trace_id"})
_ATTRIBUTE = "attributes."
_DOCUMENTS = "attributes.retrieval.documents"
_INPUT, _OUTPUT = "attributes.input.value", "attributes.output.value"
_METADATA = "attributes.metadata"
_JSON_TYPE = "application/json"
_PASSAGE = {"document.content": "text", "document.id": "id", "document.score": "score", "document.metadata": "metadata"}


def _is_span(row: ToolRow) -> bool:
    return row.keys() >= _SPAN


def _trace_of(row: ToolRow) -> str:
    return str(row["context.trace_id"])


def _read_trace(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields the one case of a trace from its spans: input and output are those of the root span.

    If the root is missing, the case has neither, and a problem.
    """
    spans = sorted((_decode_span(row) for row in rows), key=lambda span: str(span.get("start_time") or ""))
    root = next((span for span in spans if not span.get("parent_id")), None)
    problem = None
    if root is None:
        problem = "the span that began the trace is not in the file"
    elif root.get("status_code") == "ERROR" and root.get(_OUTPUT) is None:
        problem = reason_of(root.get("status_message"))
    top = root or spans[0]
    yield complete_case(
        make_case(_input_or_output(top, "input"), _input_or_output(top, "output")) if root else {},
        _trace_of(top),
        metadata=decode(top.get(_METADATA)),
        documents=[_passage(found) for span in spans for found in span.get(_DOCUMENTS) or ()],
        trace={"spans": spans},
        problem=problem,
    )


def _decode_span(row: ToolRow) -> dict[str, Any]:
    """A span without its empty columns, its JSON texts parsed (a list is a text in a CSV) but for input and output."""
    given = {name: value for name, value in row.items() if value not in (None, "")}
    texts = (_INPUT, _OUTPUT)
    return {name: value if name in texts else decode(value) for name, value in given.items()}


def _input_or_output(span: Mapping[str, Any], side: str) -> Any:
    """Input or output of a span: a text, or an object where the span says that it is JSON."""
    value = span.get(f"{_ATTRIBUTE}{side}.value")
    return decode(value) if span.get(f"{_ATTRIBUTE}{side}.mime_type") == _JSON_TYPE else value


def _passage(document: Any) -> Any:
    if not isinstance(document, Mapping):
        return document
    return {_PASSAGE.get(str(name), str(name)): value for name, value in document.items() if value is not None}


SPANS = Tool("Phoenix span", _is_span, _read_trace, _trace_of)
