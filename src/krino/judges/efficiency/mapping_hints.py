"""The names that other systems use for the fields of an efficiency case, and what the values look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from krino.judges.efficiency.case import ANSWER_NAMES
from krino.judges.efficiency.traces.detect import is_piece, is_trace
from krino.judges.efficiency.traces.steps import TASK_NAMES, TRACE_NAMES

FIELD_WORDS: Mapping[str, Sequence[str]] = {
    "task": (*TASK_NAMES, "input", "prompt", "objective", "request", "opdracht", "taak", "tache", "aufgabe", "user"),
    "trace": (*TRACE_NAMES, "steps", "messages", "spans", "events", "runs", "log", "history", "actions", "stappen"),
    "answer": (*ANSWER_NAMES, "output", "result", "response", "final output", "antwoord", "reponse", "antwort"),
}


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_trace(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], Mapping) and is_piece(value[0])
    return isinstance(value, Mapping) and is_trace(value)


FIELD_SHAPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "task": ("a text", _is_text),
    "trace": ("a trace that a reader knows", _is_trace),
    "answer": ("a text", _is_text),
}
