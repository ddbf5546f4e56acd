"""DeepEval's goldens (`EvaluationDataset.save_as`: JSON, JSONL, CSV) and test runs (`DEEPEVAL_RESULTS_FOLDER`, JSON).

Described at https://deepeval.com/docs/evaluation-datasets and https://deepeval.com/docs/evaluation-introduction
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.cases.tools.case_parts import Tool, ToolCase, ToolRow, complete_case, decode, first_of

_GOLDEN = frozenset({"input", "actual_output", "expected_output", "retrieval_context", "custom_column_key_values"})
_TALK = frozenset({"scenario", "turns", "expected_outcome", "custom_column_key_values"})
_NAMES = {
    "input": ("input",),
    "answer": ("actual_output", "actualOutput"),
    "reference": ("expected_output", "expectedOutput", "expected_outcome", "expectedOutcome"),
    "retrieval_context": ("retrieval_context", "retrievalContext"),
    "context": ("context",),
    "scenario": ("scenario",),
    "messages": ("turns",),
    "tools_called": ("tools_called", "toolsCalled"),
    "expected_tools": ("expected_tools", "expectedTools"),
}
_PASSAGES = ("retrieval_context", "context")
_TEXTS = frozenset({"input", "answer", "reference", "scenario"})
_SPANS = "Spans"
_JOIN = "|"
"""Between passages in CSV and JSONL."""


def _is_golden(row: ToolRow) -> bool:
    return row.keys() >= _GOLDEN or row.keys() >= _TALK


def _is_test_case(row: ToolRow) -> bool:
    return "metricsData" in row and ("input" in row or "turns" in row)


def _read(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each golden or test case."""
    for row in rows:
        found = {name: value for name, own in _NAMES.items() if (value := _value(row, name, own)) is not None}
        metadata = decode(first_of(row, "additional_metadata", "additionalMetadata", "metadata"))
        trace = _as_tree(row.get("trace")) or _as_steps(found.get("tools_called")) or found.get("messages")
        yield complete_case(found, row.get("name"), metadata=metadata, trace=trace)


def _value(row: ToolRow, name: str, own: tuple[str, ...]) -> Any:
    """The value under the first of these names; passages in one text are split at `|`, and JSON in other than text
    fields is parsed."""
    value = first_of(row, *own)
    if name in _PASSAGES and isinstance(value, str):
        return value.split(_JOIN)
    return value if name in _TEXTS else decode(value)


def _as_tree(trace: Any) -> dict[str, Any] | None:
    """The spans of a traced test case, which are listed by kind, each below its parent; None if there are none."""
    lists = [spans for name, spans in trace.items() if name.endswith(_SPANS)] if isinstance(trace, Mapping) else []
    found = [span for spans in lists if isinstance(spans, list) for span in spans if isinstance(span, Mapping)]
    found.sort(key=lambda span: str(span.get("startTime") or ""))
    below: dict[str, list[dict[str, Any]]] = {}
    spans = [{**span, "children": below.setdefault(str(span.get("uuid")), [])} for span in found]
    known = {str(span.get("uuid")) for span in found}
    roots: list[dict[str, Any]] = []
    for span in spans:
        parent = str(span.get("parentUuid") or "")
        (below[parent] if parent in known else roots).append(span)
    return {"root_spans": roots} if roots else None


def _as_steps(calls: Any) -> list[dict[str, Any]] | None:
    """The tools that were called, as steps of a trace."""
    if not isinstance(calls, list) or not all(isinstance(call, Mapping) for call in calls):
        return None
    names = {"name": ("name",), "input": ("inputParameters", "input_parameters"), "output": ("output",)}
    return [{name: first_of(call, *own) for name, own in names.items()} for call in calls]


GOLDENS = Tool("DeepEval golden", _is_golden, _read)
TEST_CASES = Tool("DeepEval test case", _is_test_case, _read, paths=(("testCases",), ("conversationalTestCases",)))
