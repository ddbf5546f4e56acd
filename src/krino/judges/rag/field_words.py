"""How other systems call the fields of a RAG case, in four languages, and what their values look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from krino.judges.rag.case import ANSWER_NAMES, CONTEXT_NAMES, PASSAGE_NAMES, QUESTION_NAMES, REFERENCE_NAMES

_EXPECTED = ("reponse attendue", "reponse correcte", "verwacht antwoord", "juist antwoord", "erwartete antwort")
FIELD_WORDS: Mapping[str, Sequence[str]] = {
    "question": (*QUESTION_NAMES, "prompt", "utterance", "user message", "request", "vraag", "frage", "ask", "user"),
    "context": (
        *(*CONTEXT_NAMES, "chunks", "docs", "sources", "hits", "snippets", "evidence", "bronnen", "quellen"),
        *("contexte", "kontext", "extraits", "results", "nodes", "retrieved", "knowledge"),
    ),
    "answer": (
        *(*ANSWER_NAMES, "output", "completion", "reply", "generation", "antwoord", "reponse", "antwort", "bot"),
        *("model output", "llm output", "llm answer", "final answer", "assistant", "result", "agent", "says", "said"),
    ),
    "reference": (
        *REFERENCE_NAMES,
        "ideal answer",
        "correct answer",
        "target",
        "golden answer",
        "referentie",
        "ideal",
        *_EXPECTED,
    ),
    "context.*.text": (*PASSAGE_NAMES["text"], "body", "chunk", "passage", "snippet", "tekst", "texte", "inhoud"),
    "context.*.title": ("title", "heading", "titel", "titre", "document title"),
    "context.*.id": ("id", "doc id", "chunk id", "source id", "document id"),
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
    "context.*.text": ("a text", _is_prose),
    "context.*.title": ("a text", _is_text),
    "context.*.id": ("a text or number", lambda value: isinstance(value, str | int) and len(str(value)) < 200),
}
