"""OpenAI Evals: output items of a run (`evals.runs.output_items.list`), and items of a data source with their samples.

Described at https://platform.openai.com/docs/api-reference/evals
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.cases.tools.case_parts import TOP, Tool, ToolCase, ToolRow, complete_case, make_case, reason_of

_OBJECT = "eval.run.output_item"


def _is_output_item(row: ToolRow) -> bool:
    return row.get("object") == _OBJECT and isinstance(row.get("datasource_item"), Mapping)


def _read_output_items(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each output item; a problem if its sample failed without an output."""
    for row in rows:
        sample = row.get("sample")
        sample = sample if isinstance(sample, Mapping) else {}
        output = _reply(sample.get("output"))
        made = make_case(row["datasource_item"], output)
        asked = sample.get("input")
        if isinstance(asked, list) and asked:
            made.setdefault("prompt", "\n".join(f"{one.get('role')}: {one.get('content')}" for one in asked))
        error = sample.get("error")
        message = error.get("message") if isinstance(error, Mapping) else error
        problem = reason_of(message) if message and output is None else None
        model = {"model": sample["model"]} if sample.get("model") else None
        yield complete_case(made, f"item-{row.get('datasource_item_id')}", metadata=model, problem=problem)


def _reply(messages: Any) -> str | None:
    """The last text of the assistant, who may have asked for tools before; None if there is none."""
    found = messages if isinstance(messages, list) else []
    texts = [one.get("content") for one in found if isinstance(one, Mapping) and one.get("role") in (None, "assistant")]
    texts = [text for text in texts if isinstance(text, str) and text]
    return texts[-1] if texts else None


OUTPUT_ITEMS = Tool("OpenAI Evals output item", _is_output_item, _read_output_items, paths=(TOP, ("data",)))


def _is_item(row: ToolRow) -> bool:
    sample = row.get("sample", {})
    return isinstance(row.get("item"), Mapping) and row.keys() <= {"item", "sample"} and isinstance(sample, Mapping)


def _read_items(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    for row in rows:
        sample = row.get("sample") or {}
        output = sample.get("output_text") or _reply(sample.get("output") or sample.get("choices"))
        yield complete_case(make_case(row["item"], output), row["item"].get("id"))


ITEMS = Tool("OpenAI Evals item", _is_item, _read_items)
