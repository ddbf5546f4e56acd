"""Turns a tree of spans into steps; containers that only hold other spans are no steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from krino.judges.efficiency.traces.content import Album, extract_text, from_json, replace_media, to_text
from krino.judges.efficiency.traces.failure import find_failure
from krino.judges.efficiency.traces.steps import Step, StepKind

Role = StepKind | Literal["container", "glue"]
"""`container`: an agent or chain that is made of its children. `glue`: no action of the agent, never a step."""


@dataclass(slots=True)
class Node:
    """One span, whatever format it came in."""

    id: str
    name: str
    role: Role
    input: Any = None
    output: Any = None
    error: str | None = None
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    start: float | None = None
    children: list[Node] = field(default_factory=list)


def walk_tree(roots: list[Node]) -> Iterator[Node]:
    """Yields every node, parents before children; iterative, so that any depth works."""
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def list_steps(roots: list[Node]) -> list[Step]:
    """Returns the steps of a tree in order of time, with what later spans observed of them.

    Copies are dropped, an answer that only the agent's own span holds is added, and a span without a time follows the
    one before it.
    """
    found: list[tuple[float, Node]] = []
    latest = float("-inf")
    for node in _drop_copies(roots):
        latest = node.start if node.start is not None else latest
        if _is_step(node):
            found.append((latest, node))
    observed, failed = _find_observations(roots)
    for _, node in found:
        node.error = node.error or failed.get(id(node))
    steps = [_make_step(node, observed.get(id(node), "")) for _, node in sorted(found, key=lambda item: item[0])]
    return add_answer(roots, steps)


def _drop_copies(roots: list[Node]) -> Iterator[Node]:
    """Yields the nodes without copies: some exports hold a span twice."""
    seen: set[str] = set()
    for node in walk_tree(roots):
        if node.id:
            if node.id in seen:
                continue
            seen.add(node.id)
        yield node


def _is_step(node: Node) -> bool:
    """Is a node a step, rather than a container of others?"""
    if node.role == "glue":
        return False
    if node.role != "container":
        return True
    return not node.children and (node.input is not None or node.output is not None or node.error is not None)


def _find_observations(roots: list[Node]) -> tuple[dict[int, str], dict[int, str]]:
    """Returns outputs and errors of containers that hold only model calls, by the `id()` of the last such call.

    Code agents run what the model wrote inside such a container: its log is the result of the model's step.
    """
    observed, failed = {}, {}
    for node in walk_tree(roots):
        if node.role != "container" or not node.children:
            continue
        actions = [child for child in node.children if _is_step(child)]
        if not actions or len(actions) < len(node.children) or any(child.role != "llm" for child in actions):
            continue
        last = actions[-1]
        text = to_text(node.output)
        if text and text != to_text(last.output):
            observed[id(last)] = text
        if node.error is not None:
            failed[id(last)] = node.error
    return observed, failed


def _make_step(node: Node, observed: str) -> Step:
    """Returns a node as a step."""
    album = Album()
    output = replace_media(from_json(node.output), album)
    if node.role == "llm":
        output = _read_reply(output)
    kind: StepKind = "other" if node.role == "container" or node.role == "glue" else node.role
    error = node.error
    if error is None and kind in ("tool", "retrieval"):
        error = find_failure(node.name, from_json(node.input), output)
    return Step(
        id=node.id,
        kind=kind,
        name=node.name,
        input=replace_media(from_json(node.input), album),
        output=output,
        error=error,
        observed=observed,
        tokens=node.tokens,
        seconds=node.seconds,
        cost=node.cost,
        media=tuple(album.items),
    )


def _read_reply(output: Any) -> Any:
    """Returns the words of a model's reply, however it is wrapped; a reply that calls tools stays as it is."""
    for _ in range(_MAX_DEPTH + 2):
        inner = output[0] if isinstance(output, list) and len(output) == 1 else output
        if not isinstance(inner, dict) or inner.get("tool_calls"):
            return output if not isinstance(output, list) or len(output) > 1 or isinstance(inner, dict) else inner
        name = next((key for key in ("choices", "generations", "message", "kwargs") if inner.get(key)), None)
        if name is None:
            return (
                extract_text(inner["content"]) if inner.get("content") and inner.get("type") != "tool_use" else output
            )
        output = inner[name]
    return output


def add_answer(roots: list[Node], steps: list[Step]) -> list[Step]:
    """Returns the steps with the final answer as the last one if only the agent's own span holds it.

    Some exports have no span, or an empty one, for the last model call. A list of messages always has the answer,
    and the same work must score the same in both.
    """
    agent = find_closing_agent(roots)
    said = _extract_answer(replace_media(from_json(agent.output), Album())).strip() if agent is not None else ""
    if agent is None or not said or not steps:
        return steps
    last = steps[-1]
    if last.kind == "llm":
        return steps if to_text(last.output) or last.error else [*steps[:-1], replace(last, output=said)]
    if last.kind == "message" or _one_line(said) in _one_line(" ".join(_list_texts(steps))):
        return steps
    return [*steps, Step(agent.id, "message", "message", None, said)]


def find_closing_agent(roots: list[Node]) -> Node | None:
    """Returns the outermost agent or chain that gave something back, or None."""
    holders = (node for node in walk_tree(roots) if node.role == "container" and node.children)
    return next((node for node in holders if node.output not in (None, "", {}, [])), None)


def _list_texts(steps: list[Step]) -> Iterator[str]:
    """Yields the texts that may hold the answer already: models' texts, or a last call that submits it."""
    for step in steps:
        if step.kind in ("llm", "message"):
            yield f"{to_text(step.output)} {step.observed}"
    yield f"{to_text(steps[-1].input)} {to_text(steps[-1].output)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _extract_answer(value: Any, depth: int = 0) -> str:
    """Returns the text of an agent's output, or of the last message in it that has any; empty for data."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth < _MAX_DEPTH and all(isinstance(item, dict) for item in value):
        spoken = [item for item in value if item.get("role", item.get("type")) in ("assistant", "ai", None)]
        return next((text for item in reversed(spoken) if (text := _extract_answer(item, depth + 1))), "")
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        name = next((name for name in _ANSWER_FIELDS if value.get(name)), None)
        if name in ("content", "parts", "text"):
            return extract_text(value[name])
        return _extract_answer(value[name], depth + 1) if name else ""
    return ""


def find_task(roots: list[Node]) -> str | None:
    """Returns the task, if the outermost span with an input states it as text."""
    for node in walk_tree(roots):
        if node.role in ("container", "other", "llm") and node.input not in (None, "", {}, []):
            return extract_task(node.input)
    return None


def extract_task(value: Any, depth: int = 0) -> str | None:
    """Returns the text of an input, or None: itself, the field that commonly holds the question, or a user message."""
    value = from_json(value)
    if isinstance(value, str):
        return value.strip() or None
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        users = [item for item in value if isinstance(item, dict) and item.get("role", item.get("type")) in _USERS]
        for item in users or value:
            if isinstance(item, dict | list) and (found := extract_task(item, depth + 1)):
                return found
        return None
    if isinstance(value, dict):
        for name in _TASK_FIELDS:
            if name in value and (found := extract_task(value[name], depth + 1)):
                return found
        texts = [item for item in value.values() if isinstance(item, str) and item.strip()]
        return texts[0].strip() if len(texts) == 1 and len(value) == 1 else None
    return None


_MAX_DEPTH = 4
_ANSWER_FIELDS = ("content", "parts", "text", "messages", "message", "output", "answer")
_USERS = ("user", "human")
_TASK_FIELDS = (
    "task",
    "question",
    "query",
    "input",
    "instruction",
    "prompt",
    "goal",
    "user_input",
    "messages",
    "content",
    "text",
    "parts",
    "kwargs",
)
