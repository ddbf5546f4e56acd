"""The one shape that every trace is read into: steps in order, the task and the answer where they are plain."""

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

Kind = Literal["tool", "retrieval", "llm", "message", "other"]
"""`llm` is a call of a model, `message` a text that an assistant or agent sends; both are made of words."""


@dataclass(frozen=True, slots=True)
class Step:
    """One action of the agent. `id` is the trace's own wherever it has one."""

    id: str
    kind: Kind
    name: str
    input: Any = None
    """None where the trace does not record it; a call without arguments has an empty object."""
    output: Any = None
    error: str | None = None
    observed: str = ""
    """What came back from outside after the step (a code run's log, another agent's reply), if it is no step."""
    said: str = ""
    """What the model said beside the call. Labellers are shown it; facts do not rest on it."""
    tokens: int | None = None
    seconds: float | None = None
    cost: float | None = None
    media: tuple[Media, ...] = ()

    @property
    def talks(self) -> bool:
        """Whether it is made of words."""
        return self.kind in ("llm", "message")


@dataclass(frozen=True, slots=True)
class Trace:
    """A trace as read; `seen` says what its format was recognised by."""

    steps: tuple[Step, ...]
    task: str | None = None
    answer: str | None = None
    orphans: int = 0
    """Spans that name a parent which is not there: the trace may be cut, or lie in more than one record."""
    media: tuple[Media, ...] = ()
    """What came with the task: an image that the user sent."""
    opening: str = ""
    """The first words of the user, where the trace shows them: what the agent was told of the task."""
    moved: int = 0
    """Messages or steps that name the user as who acted, and were read as the agent's."""
    format: str = ""
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: `recognise` says by what a value is known to be in it (None: it is not), `read` reads it."""

    name: str
    recognise: Callable[[Any], str | None]
    read: Callable[[Any], Trace]


def with_own_ids(steps: list[Step]) -> tuple[Step, ...]:
    """The same steps, each with an id of its own: a missing one is its position, a second use is counted."""
    taken: set[str] = {one_line(step.id) for step in steps if step.id}
    used: set[str] = set()
    named = []
    for position, step in enumerate(steps, 1):
        own = one_line(step.id)
        if not own or own in used:
            own = _free(f"{own}#" if own else "", position, used if own else taken | used)
        used.add(own)
        named.append(step if own == step.id else replace(step, id=own))
    return tuple(named)


def are_numbered(steps: Sequence[Step]) -> bool:
    """Whether steps are told by their number: one id that only a machine can read is enough, so that none is mixed."""
    return any(len(step.id) > _LONGEST_ID or _MACHINE_ID.search(step.id) for step in steps)


def one_line(text: str) -> str:
    """A name or id as it can be shown among other lines without posing as one."""
    return text if text.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _free(prefix: str, number: int, taken: set[str]) -> str:
    candidate = f"{prefix}{number}"
    while candidate in taken:
        candidate += "'"
    return candidate
