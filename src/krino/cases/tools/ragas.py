"""Samples of Ragas: `EvaluationDataset.to_csv`, `to_jsonl`, and result tables, which have a column a metric beside.

Described at https://docs.ragas.io/en/stable/concepts/components/eval_sample/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.cases.tools.case_parts import Tool, ToolCase, ToolRow, as_chat, complete_case, decode, make_case

_ASKED = "user_input"
_BESIDE = frozenset(
    {"response", "retrieved_contexts", "reference_contexts", "reference_tool_calls", "reference_topics"}
)
_LISTS = ("retrieved_contexts", "reference_contexts", "reference_tool_calls", "reference_topics", "rubrics")
_RENAMED = frozenset({_ASKED, "response", "reference"})


def _is_sample(row: ToolRow) -> bool:
    return _ASKED in row and (not _BESIDE.isdisjoint(row) or _messages(row) is not None)


def _messages(row: ToolRow) -> list[Any] | None:
    """The messages of a sample of several turns; None for one of a single turn."""
    said = decode(row[_ASKED])
    is_talk = isinstance(said, list) and bool(said)
    return as_chat(said) if is_talk and all(isinstance(one, Mapping) and "content" in one for one in said) else None


def _read_samples(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each sample; one of several turns has messages and a trace instead of an input."""
    for row in rows:
        given = {
            name: decode(value) if name in _LISTS else value for name, value in row.items() if name not in _RENAMED
        }
        talk = _messages(row)
        made = make_case(given, row.get("response"), row.get("reference"))
        asked = {"input": row[_ASKED]} if talk is None else {"messages": talk}
        yield complete_case(asked | made, row.get("id"), trace=talk)


SAMPLES = Tool("Ragas sample", _is_sample, _read_samples)
