"""Walks a tree of spans and keeps what is an action: containers that only hold other spans are no steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from krino.judges.efficiency.traces.content import Album, clean, dump, from_json, text_of
from krino.judges.efficiency.traces.failure import failure_of
from krino.judges.efficiency.traces.steps import Kind, Step

Role = Kind | Literal["container", "glue"]
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


def walk(roots: list[Node]) -> Iterator[Node]:
    """Every node, parents before children; deep trees are no danger."""
    waiting = list(reversed(roots))
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def tree_steps(roots: list[Node]) -> list[Step]:
    """The steps of a tree in order of time; a span without a time stays behind the one before it."""
    found: list[tuple[float, Node]] = []
    latest = float("-inf")
    for node in _without_copies(roots):
        latest = node.start if node.start is not None else latest
        if _is_step(node):
            found.append((latest, node))
    observed, failed = _observations(roots)
    for _, node in found:
        node.error = node.error or failed.get(id(node))
    steps = [_step(node, observed.get(id(node), "")) for _, node in sorted(found, key=lambda item: item[0])]
    return with_answer(roots, steps)


def _without_copies(roots: list[Node]) -> Iterator[Node]:
    """Exports sometimes hold the same span twice: one id is one span."""
    seen: set[str] = set()
    for node in walk(roots):
        if node.id:
            if node.id in seen:
                continue
            seen.add(node.id)
        yield node


def _is_step(node: Node) -> bool:
    if node.role == "glue":
        return False
    if node.role != "container":
        return True
    return not node.children and (node.input is not None or node.output is not None or node.error is not None)


def _observations(roots: list[Node]) -> tuple[dict[int, str], dict[int, str]]:
    """What a container gives back after its last model call, or how it failed, when no tool span shows it.

    Code agents run what the model wrote inside such a container: its log is the result of the model's step.
    """
    observed, failed = {}, {}
    for node in walk(roots):
        if node.role != "container" or not node.children:
            continue
        actions = [child for child in node.children if _is_step(child)]
        if not actions or len(actions) < len(node.children) or any(child.role != "llm" for child in actions):
            continue
        last = actions[-1]
        text = dump(node.output)
        if text and text != dump(last.output):
            observed[id(last)] = text
        if node.error is not None:
            failed[id(last)] = node.error
    return observed, failed


def _step(node: Node, observed: str) -> Step:
    album = Album()
    output = clean(from_json(node.output), album)
    if node.role == "llm":
        output = _reply(output)
    kind: Kind = "other" if node.role == "container" or node.role == "glue" else node.role
    error = node.error
    if error is None and kind in ("tool", "retrieval"):
        error = failure_of(node.name, from_json(node.input), output)
    return Step(
        id=node.id,
        kind=kind,
        name=node.name,
        input=clean(from_json(node.input), album),
        output=output,
        error=error,
        observed=observed,
        tokens=node.tokens,
        seconds=node.seconds,
        cost=node.cost,
        media=tuple(album.items),
    )


def _reply(output: Any) -> Any:
    """The words of a model's reply, however it is wrapped; a reply that calls tools stays as it is."""
    for _ in range(_MAX_DEPTH + 2):
        inner = output[0] if isinstance(output, list) and len(output) == 1 else output
        if not isinstance(inner, dict) or inner.get("tool_calls"):
            return output if not isinstance(output, list) or len(output) > 1 or isinstance(inner, dict) else inner
        name = next((key for key in ("choices", "generations", "message", "kwargs") if inner.get(key)), None)
        if name is None:
            return text_of(inner["content"]) if inner.get("content") and inner.get("type") != "tool_use" else output
        output = inner[name]
    return output


def with_answer(roots: list[Node], steps: list[Step]) -> list[Step]:
    """The steps with the final answer as the last one, where the agent's own span is all that holds it.

    Then no words of a model follow the last tool: no span shows that call, or its span is without its words. In a list
    of messages the answer is always there, and the same work must score the same.
    """
    agent = closing_agent(roots)
    said = _said(clean(from_json(agent.output), Album())).strip() if agent is not None else ""
    if agent is None or not said or not steps:
        return steps
    last = steps[-1]
    if last.kind == "llm":
        return steps if dump(last.output) or last.error else [*steps[:-1], replace(last, output=said)]
    if last.kind == "message" or _one_line(said) in _one_line(" ".join(_spoken(steps))):
        return steps
    return [*steps, Step(agent.id, "message", "message", None, said)]


def closing_agent(roots: list[Node]) -> Node | None:
    """The outermost agent or chain that gave something back."""
    holders = (node for node in walk(roots) if node.role == "container" and node.children)
    return next((node for node in holders if node.output not in (None, "", {}, [])), None)


def _spoken(steps: list[Step]) -> Iterator[str]:
    """Where the answer may stand already: in a model's words, or in a last call that hands it over."""
    for step in steps:
        if step.kind in ("llm", "message"):
            yield f"{dump(step.output)} {step.observed}"
    yield f"{dump(steps[-1].input)} {dump(steps[-1].output)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _said(value: Any, depth: int = 0) -> str:
    """The words of an agent's output: a text, or those of the last message in it that has any; data has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and depth < _MAX_DEPTH and all(isinstance(item, dict) for item in value):
        spoken = [item for item in value if item.get("role", item.get("type")) in ("assistant", "ai", None)]
        return next((text for item in reversed(spoken) if (text := _said(item, depth + 1))), "")
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        name = next((name for name in _ANSWER_FIELDS if value.get(name)), None)
        if name in ("content", "parts", "text"):
            return text_of(value[name])
        return _said(value[name], depth + 1) if name else ""
    return ""


def root_input(roots: list[Node]) -> str | None:
    """The task, where the outermost span that has an input states it in words."""
    for node in walk(roots):
        if node.role in ("container", "other", "llm") and node.input not in (None, "", {}, []):
            return task_text(node.input)
    return None


def task_text(value: Any, depth: int = 0) -> str | None:
    """The words of an input: a text, the one field that is known to hold the question, or a user message."""
    value = from_json(value)
    if isinstance(value, str):
        return value.strip() or None
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        users = [item for item in value if isinstance(item, dict) and item.get("role", item.get("type")) in _USERS]
        for item in users or value:
            if isinstance(item, dict | list) and (found := task_text(item, depth + 1)):
                return found
        return None
    if isinstance(value, dict):
        for name in _TASK_FIELDS:
            if name in value and (found := task_text(value[name], depth + 1)):
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
