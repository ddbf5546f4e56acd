"""Recognises the tool that wrote a file, by the field names of its first row."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from krino.cases.item import Row
from krino.cases.tools import (
    deepeval,
    inspect_log,
    langfuse,
    langsmith,
    mlflow,
    openai_evals,
    phoenix,
    promptfoo,
    ragas,
)
from krino.cases.tools.case_parts import Path, Tool

TOOLS = (
    *(
        promptfoo.RESULTS,
        inspect_log.SAMPLES,
        deepeval.GOLDENS,
        deepeval.TEST_CASES,
        langsmith.RUNS,
        langsmith.EXAMPLES,
    ),
    *(mlflow.ROWS, mlflow.TRACES, mlflow.TABLES, langfuse.OBSERVATIONS, langfuse.TRACES, phoenix.SPANS),
    *(openai_evals.OUTPUT_ITEMS, openai_evals.ITEMS, ragas.SAMPLES),
)
DOCUMENT_PATHS: tuple[Path, ...] = tuple(sorted({path for tool in TOOLS for path in tool.paths if path}))
"""Where in a JSON document the rows of a tool may be."""
_MOST_BROKEN = 20
"""Rows that cannot be read before the first that can."""


def tool_of_rows(rows: Iterable[Row]) -> Tool | None:
    """The tool whose rows these are, by the first that can be read; None if no tool writes such rows."""
    first = next((record for _, record, _, _ in islice(rows, _MOST_BROKEN) if record is not None), None)
    return tool_of(first, ())


def tool_of(row: Any, path: Path) -> Tool | None:
    """The tool that writes such a row at this path of a document; None if none does."""
    if not isinstance(row, dict):
        return None
    return next((tool for tool in TOOLS if path in tool.paths and tool.recognise(row)), None)
