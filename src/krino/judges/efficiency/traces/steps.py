"""The common form of every trace: steps in order, and the task and answer if the trace states them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from krino.contract import Media

TASK_NAMES = ("task", "instruction", "question", "query", "user_input", "goal", "problem")
TRACE_NAMES = ("trace", "trace_dict", "_trace_dict", "execution_trace", "trajectory")
"""The fields of a record that commonly hold the task and the trace."""

_MACHINE_ID = re.compile(r"(?=[^\W_]*\d)[^\W_]{8,}|[^\W_]{16,}")  # a span's id, a UUID, a call's random letters
_LONGEST_ID = 24

StepKind = Literal["tool", "retrieval", "llm", "message", "other"]
"""`llm` is a call of a model, `message` a text that an assistant or agent sends."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action of the agent. `id` is the trace's own wherever it has one."""

    id: str
    kind: StepKind
    name: str
    input: Any = None
    """None if the trace does not record it; a call without arguments has an empty object."""
    output: Any = None
    error: str | None = None
    observed: str = ""
    """What came back after the step (the log of a code run, a user's or another agent's reply), if that is no step."""
    said: str = ""
    """What the model said beside the call. Model labellers see it; facts do not use it."""
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    media: tuple[Media, ...] = ()

    @property
    def talks(self) -> bool:
        """Whether the step is text of a model or agent."""
        return self.kind in ("llm", "message")


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as read; `seen` says what its format was recognised by."""

    steps: tuple[Step, ...]
    task: str | None = None
    answer: str | None = None
    orphans: int = 0
    """Spans whose parent is missing: the trace may be cut or spread over several records."""
    media: tuple[Media, ...] = ()
    """Media of the task, such as an image that the user sent."""
    opening: str = ""
    """The first words of the user, if the trace shows them."""
    moved: int = 0
    """How many calls were recorded under the user's role and read as the agent's."""
    format: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """One format. `recognise` returns what the format was recognised by, or None; `read` reads a trace."""

    name: str
    recognise: Callable[[Any], str | None]
    read: Callable[[Any], Trace]


def assign_ids(steps: list[Step]) -> tuple[Step, ...]:
    """Returns the steps with unique one-line ids: a missing id becomes the position, a repeated one gets a suffix."""
    taken: set[str] = {one_line(step.id) for step in steps if step.id}
    used: set[str] = set()
    named = []
    for position, step in enumerate(steps, 1):
        own = one_line(step.id)
        if not own or own in used:
            own = _find_free_id(f"{own}#" if own else "", position, used if own else taken | used)
        used.add(own)
        named.append(step if own == step.id else replace(step, id=own))
    return tuple(named)


def are_numbered(steps: Sequence[Step]) -> bool:
    """Do readers see numbers instead of ids? One machine-made id is enough, so that the two are not mixed."""
    return any(len(step.id) > _LONGEST_ID or _MACHINE_ID.search(step.id) for step in steps)


def one_line(text: str) -> str:
    """Returns a name or id on one line, so that it cannot pass for a line of its own."""
    return text if text.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _find_free_id(prefix: str, number: int, taken: set[str]) -> str:
    """Returns an id that is not taken."""
    candidate = f"{prefix}{number}"
    while candidate in taken:
        candidate += "'"
    return candidate
