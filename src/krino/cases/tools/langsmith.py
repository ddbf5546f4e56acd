"""LangSmith's examples and runs, as its SDK writes them (`model_dump_json`) and its bulk export (Parquet).

Described at https://docs.langchain.com/langsmith/example-data-format and .../langsmith/run-data-format. An example has
no output of its own: what it holds as outputs is the reference. The runs of one trace are one case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.cases.tools.case_parts import Tool, ToolCase, ToolRow, complete_case, decode, make_case, reason_of

_EXAMPLE = frozenset({"id", "dataset_id", "inputs", "outputs"})


def _is_example(row: ToolRow) -> bool:
    return row.keys() >= _EXAMPLE and "run_type" not in row


def _read_examples(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each example, its outputs as the reference."""
    for row in rows:
        made = make_case(decode(row["inputs"]), None, decode(row["outputs"]))
        yield complete_case(made, row["id"], metadata=decode(row.get("metadata")))


EXAMPLES = Tool("LangSmith example", _is_example, _read_examples)


def _is_run(row: ToolRow) -> bool:
    return "run_type" in row and bool(row.get("trace_id"))


def _trace_of(row: ToolRow) -> str:
    return str(row["trace_id"])


def _read_runs(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case: these are all runs of one trace. Without the run that began it, the case is a problem."""
    runs = [_decode_run(row) for row in rows]
    root = next((run for run in runs if not run.get("parent_run_id")), None)
    top = root or runs[0]
    made = make_case(top.get("inputs"), top.get("outputs")) if root is not None else {}
    extra = top.get("extra")
    problem = None
    if root is None:
        problem = "the run that began the trace is not in the file"
    elif root.get("error") and not root.get("outputs"):
        problem = reason_of(root["error"])
    yield complete_case(
        made,
        _trace_of(top),
        metadata=extra.get("metadata") if isinstance(extra, Mapping) else None,
        documents=[document for run in runs for document in _documents(run)],
        trace={"runs": runs},
        problem=problem,
    )


def _decode_run(row: ToolRow) -> dict[str, Any]:
    """A run whose fields are JSON texts in a table."""
    return {name: decode(value) if name in ("inputs", "outputs", "extra") else value for name, value in row.items()}


def _documents(run: Mapping[str, Any]) -> list[Any]:
    """The passages that a retriever and what is below it returned."""
    found = [document for child in run.get("child_runs") or () for document in _documents(_decode_run(child))]
    outputs = run.get("outputs")
    if run.get("run_type") == "retriever" and isinstance(outputs, Mapping):
        documents = outputs.get("documents", outputs.get("output"))
        found += documents if isinstance(documents, list) else []
    return found


RUNS = Tool("LangSmith run", _is_run, _read_runs, _trace_of)
