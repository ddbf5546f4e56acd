"""Samples of Inspect logs: `.eval`, an archive with a file a sample, and `.json`, one document.

Described at https://inspect.aisi.org.uk/eval-logs.html. A case is what a sample was when it was solved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.cases.tools.case_parts import Tool, ToolCase, ToolRow, as_chat, complete_case, make_case, reason_of

_SAMPLE = frozenset({"id", "epoch", "input", "target", "messages", "output"})
_ATTACHED = "attachment://"
_DEEPEST = 50


def _is_sample(row: ToolRow) -> bool:
    return row.keys() >= _SAMPLE


def _read_samples(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each sample; its epoch is part of the id unless it is the first."""
    for row in rows:
        attached = row.get("attachments")
        kept = {name: row.get(name) for name in ("input", "messages", "output", "metadata", "target")}
        given = _with_attachments(kept, attached if isinstance(attached, Mapping) else {})
        messages, metadata = as_chat(given["messages"] or []), given["metadata"] or {}
        target = given["target"]
        expected = "".join(map(str, target)) if isinstance(target, list) else target
        made = make_case(metadata, _completion(given["output"]), expected or None)
        asked = given["input"] if isinstance(given["input"], str) else _last_question(given["input"])
        limit = row.get("limit")
        error = row.get("error") or (f"a limit was reached: {reason_of(limit, 'unknown')}" if limit else None)
        problem = reason_of(error) if error and "answer" not in made else None
        epoch = row.get("epoch")
        own_id = row["id"] if epoch in (1, None) else f"{row['id']}:{epoch}"
        made = {"input": asked, "messages": messages, **made}
        trace = messages if any(one.get("role") == "assistant" for one in messages) else None
        yield complete_case(made, own_id, metadata=metadata, trace=trace, problem=problem)


def _completion(output: Any) -> str | None:
    """The text of the last reply; none where the model was never asked."""
    if not isinstance(output, Mapping) or not output.get("choices"):
        return None
    stated = output.get("completion")
    if isinstance(stated, str):
        return stated
    message = output["choices"][0].get("message") or {}
    return _text(message.get("content"))


def _last_question(messages: Any) -> str:
    """The text of the last message of the user."""
    found = messages if isinstance(messages, list) else []
    asked = [one.get("content") for one in found if isinstance(one, Mapping) and one.get("role") == "user"]
    return _text(asked[-1]) if asked else ""


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(one["text"]) for one in blocks if isinstance(one, Mapping) and one.get("type") == "text")


def _with_attachments(value: Any, attached: Mapping[str, Any], depth: int = 0) -> Any:
    """The value with references to attachments replaced by their texts: a sample keeps long texts once, under their
    hash."""
    if not attached or depth > _DEEPEST:
        return value
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attached.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, Mapping):
        return {name: _with_attachments(item, attached, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_attachments(item, attached, depth + 1) for item in value]
    return value


SAMPLES = Tool("Inspect sample", _is_sample, _read_samples, paths=(("samples",), ()))
