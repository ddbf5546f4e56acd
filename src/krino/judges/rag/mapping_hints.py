"""How other systems call the fields of a RAG case (`data/mapping_hints.toml`), and what their values look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from krino.judges.rag.case import ANSWER_NAMES, CONTEXT_NAMES, PASSAGE_NAMES, QUESTION_NAMES, REFERENCE_NAMES
from krino.judges.rag.tables import table

_NAMES: Mapping[str, Sequence[str]] = {
    "question": QUESTION_NAMES,
    "context": CONTEXT_NAMES,
    "answer": ANSWER_NAMES,
    "reference": REFERENCE_NAMES,
    "context.*.text": PASSAGE_NAMES["text"],
}
FIELD_WORDS: Mapping[str, Sequence[str]] = {
    field: (*_NAMES.get(field, ()), *words) for field, words in table("mapping_hints").items()
}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_prose(value: Any) -> bool:
    return isinstance(value, str) and value.count(" ") > 1


def _are_passages(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, str | Mapping) for item in value)
    return isinstance(value, str) and value.count(" ") > 3


FIELD_SHAPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "question": ("a text", _is_text),
    "context": ("a list of texts or objects, or a text", _are_passages),
    "answer": ("a text", _is_text),
    "reference": ("a text", _is_text),
    "context.*.text": ("a text of several words", _is_prose),
    "context.*.title": ("a text", _is_text),
    "context.*.id": ("a text or number", lambda value: isinstance(value, str | int) and len(str(value)) < 200),
}
