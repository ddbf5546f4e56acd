"""A RAG case: question, retrieved context, answer, and perhaps a history, a reference and a goal, under many names."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

from krino.contract.record_fields import Reads, is_nothing
from krino.judges.rag.conversation import MESSAGE_NAMES, find_conversation, passages_of_turn, read_conversation
from krino.text.forms import is_blank
from krino.text.python_values import looks_like_list, parse_python

QUESTION_NAMES = ("question", "query", "user_input", "user_query", "user_question", "input")
CONTEXT_NAMES = (
    "retrieval_context",
    "retrieved_contexts",
    "retrieved_context",
    "context",
    "contexts",
    "passages",
    "documents",
    "retrieved_docs",
    "retrieved_documents",
    "retrieved_passages",
)
"""What was retrieved comes first: some tools use `context` beside it for what should have been."""
ANSWER_NAMES = ("answer", "response", "actual_output", "generated_answer", "bot_answer", "model_answer", "prediction")
REFERENCE_NAMES = (
    "reference",
    "reference_answer",
    "ground_truth",
    "ground_truths",
    "expected_output",
    "expected_answer",
    "gold_answer",
    "gold",
)
GOAL_NAMES = ("goal", "evaluation_goal")
PASSAGE_NAMES = {"text": ("text", "content", "page_content"), "id": ("id",), "title": ("title",), "score": ("score",)}
_TEXT_NAMES = PASSAGE_NAMES["text"]
IDEAL_CONTEXT_NAMES = ("context", "contexts")
"""Beside `retrieval_context`, what should have been retrieved."""

_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_MOST_PARAGRAPHS = 64
_HEADING_LENGTH = 60


class Passage(BaseModel):
    """One retrieved passage. `id`, `title` and `score` are the retriever's own, where it gave them."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)

    text: str
    id: str | None = None
    title: str | None = None
    score: float | None = None

    @property
    def shown(self) -> str:
        """What a labeller reads, and so what may be quoted: the title stands above the text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class RagCase(BaseModel):
    """The inputs of the rubric. A blank question or answer is kept, so that the judge can say why it fails."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=True)

    question: str = Field("", description="what the user asked")
    context: tuple[Passage, ...] = Field(
        (), description="the passages that were retrieved: one text, texts, or objects with text, title and id"
    )
    answer: str = Field("", description="what was answered, which is what is judged")
    reference: str | None = Field(None, description="a right answer to compare with")
    goal: str | None = Field(None, description="what the evaluation is for; it goes before the option")
    history: str = Field(
        "", description="what was said before: messages, whose last question is judged if the record has no other"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_any_names(cls, record: Any) -> Any:
        """Reads question, context, answer, reference and goal under any of their known names, or from messages."""
        if not isinstance(record, Mapping):
            return record
        found = {
            "question": _blank_if_none(_first(record, QUESTION_NAMES)),
            "context": _listed_if_text(_first(record, _context_names(record))),
            "answer": _blank_if_none(_first(record, ANSWER_NAMES)),
            "reference": _reference(_first(record, REFERENCE_NAMES)),
            "goal": _first(record, GOAL_NAMES),
        }
        return _add_conversation(record, found)


def _add_conversation(record: Mapping[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields, those that the record does not state taken from its messages, and the context as passages."""
    context = found["context"]
    name = find_conversation(record, QUESTION_NAMES)
    if name is not None:
        found["question"] = "" if name in QUESTION_NAMES else found["question"]
        question = found["question"] if isinstance(found["question"], str) else ""
        talk = read_conversation(name, record[name], question, CONTEXT_NAMES)
        found |= {"history": talk.history, "question": found["question"] or talk.question}
        found["answer"] = found["answer"] or talk.answer
        context = talk.passages if context is None else passages_of_turn(context, talk)
    return found | {"context": _read_passages(context)}


def reads_of_record() -> Reads:
    """Returns the names that are read: those at the top, and those inside a passage or its metadata."""
    details = dict.fromkeys(name for field, names in PASSAGE_NAMES.items() for name in names if field != "text")
    passage: Reads = {**dict.fromkeys(_TEXT_NAMES), **details, "metadata": details}
    names = (*QUESTION_NAMES, *ANSWER_NAMES, *REFERENCE_NAMES, *GOAL_NAMES, *MESSAGE_NAMES)
    return {**dict.fromkeys(names), **dict.fromkeys(CONTEXT_NAMES, passage)}


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """The first value that is not empty; where all are, the first that is there at all."""
    given = [value for name in names if not _is_null(value := record.get(name))]
    return next((value for value in given if not is_nothing(value)), given[0] if given else None)


def _context_names(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Where nothing was retrieved, what should have been is not the context."""
    if _is_null(record.get(CONTEXT_NAMES[0])):
        return CONTEXT_NAMES
    return tuple(name for name in CONTEXT_NAMES if name not in IDEAL_CONTEXT_NAMES)


def _is_null(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _blank_if_none(value: Any) -> Any:
    return "" if value is None else value


def _reference(value: Any) -> Any:
    """The first reference with text; None for what the rubric calls absent."""
    if isinstance(value, list | tuple):
        value = next((item for item in value if not _is_absent(item)), None)
    return None if _is_absent(value) else value


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and (is_blank(value) or value.strip().lower() == "none"))


def _listed_if_text(value: Any) -> Any:
    return _parse_list(value) if isinstance(value, str) and looks_like_list(value) else value


def _read_passages(value: Any) -> Any:
    """Returns the passages of a context: a list, a list written as text, one object, or a text's paragraphs.

    What is none of these is returned unchanged.
    """
    if value is None:
        return ()
    value = _listed_if_text(value)
    if isinstance(value, str):
        return tuple({"text": paragraph} for paragraph in _split_paragraphs(value))
    if isinstance(value, Mapping | Passage):
        value = [value]
    if isinstance(value, list | tuple):
        return tuple(_read_passage(item) for item in value)
    return value


def _parse_list(text: str) -> Any:
    """Parses a list that was written as text, in JSON or as Python prints it; raises `ValueError` if it is none.

    Read as one passage, it would hide where one ends.
    """
    try:
        found = orjson.loads(text)
        return _parse_list(found) if isinstance(found, str) and looks_like_list(found) else found
    except orjson.JSONDecodeError:
        pass
    try:
        return parse_python(text)
    except ValueError as problem:
        raise ValueError(
            f"the text begins like a list, but is none, as JSON or as Python prints it ({problem}): write the passages "
            "as a JSON list"
        ) from None


def _read_passage(item: Any) -> Any:
    """Returns one passage with its text, id, title and score; a score that is no number is dropped.

    What is no passage is returned unchanged.
    """
    if item is None:
        return {"text": ""}
    if isinstance(item, str):
        return {"text": item}
    if not isinstance(item, Mapping):
        return item
    metadata = item.get("metadata")
    details = {**metadata, **item} if isinstance(metadata, Mapping) else item
    text = _first(item, _TEXT_NAMES)
    named = {name: details.get(name) for name in ("id", "title", "score")}
    named["score"] = named["score"] if isinstance(named["score"], int | float) else None
    return named if text is None and not any(name in item for name in _TEXT_NAMES) else named | {"text": text or ""}


def _split_paragraphs(text: str) -> list[str]:
    """Cuts one context string at blank lines; a heading stays with the paragraph below it."""
    paragraphs: list[str] = []
    heading = ""
    for piece in _BLANK_LINES.split(text.strip(), maxsplit=_MOST_PARAGRAPHS):
        joined = f"{heading}\n\n{piece}" if heading else piece
        if len(joined) < _HEADING_LENGTH and not joined.rstrip().endswith((".", "!", "?")):
            heading = joined
            continue
        paragraphs.append(joined)
        heading = ""
    if heading:
        paragraphs.append(heading)
    return [paragraph for paragraph in paragraphs if not is_blank(paragraph)]
