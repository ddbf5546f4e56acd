"""Writes steps of a trace as text: each with its facts, long texts folded, nothing shown twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.local import describe_place
from krino.judges.efficiency.steps import Step, one_line
from krino.judges.efficiency.traces.content import dump

FOLDS = (1_000_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120, 60, 30, 0)
_LONGEST_NAME = 80
_SYNOPSIS = 60


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring steps as text, and how many of their fields were folded."""

    places: range
    text: str
    folded: int


def fit(facts: EfficiencyFacts, places: range, room: int, folds: Sequence[int] = FOLDS) -> Stretch | None:
    """The steps with as little folding as lets them into so many letters; None when none of `folds` does."""
    for limit in folds:
        text, folded = show(facts, limit, places)
        if len(text) <= room:
            return Stretch(places, text, folded)
    return None


def fold(text: str, limit: int) -> str:
    """The text, or its two ends with a note of how much is left out between them."""
    if len(text) <= limit + 40:
        return text
    half = limit // 2
    tail = text[len(text) - half :] if half else ""
    return f"{text[:half]} [… {len(text) - 2 * half} characters folded …] {tail}".strip()


def show(facts: EfficiencyFacts, limit: int, places: range) -> tuple[str, int]:
    """The steps as text, and how many fields were folded to `limit` letters."""
    shown = _Shown(limit)
    for place in places:
        step = facts.steps[place]
        shown.lines.append(_heading(step))
        if told := describe_place(facts, place):
            shown.lines.append(f"facts: {told}")
        shown.field("input", _new_messages(step.input, shown.messages), step.id)
        shown.field("output", step.output, step.id)
        shown.field("came back", step.observed, step.id)
        shown.field("error", step.error, step.id)
    return "\n".join(shown.lines), shown.folded


def synopsis(step: Step) -> str:
    """The step on one line, for where only its neighbours are shown."""
    given = fold(" ".join(dump(step.input).split()), _SYNOPSIS)
    return f"{_heading(step)}: {given}" if given else _heading(step)


def _heading(step: Step) -> str:
    """On one line: a name with a line break in it must not pose as a line of facts."""
    return f"step {step.id} [{step.kind}] {fold(one_line(step.name), _LONGEST_NAME)}"


class _Shown:
    """The lines so far; a long text that stood there already is pointed at, not shown again."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lines: list[str] = []
        self.folded = 0
        self.messages: set[str] = set()
        self._texts: dict[str, str] = {}

    def field(self, name: str, value: Any, step: str) -> None:
        text = dump(value)
        if not text:
            return
        if len(text) > 80:
            first = self._texts.setdefault(text, f"{name} of step {step}")
            if first != f"{name} of step {step}":
                self.lines.append(f"| {name}: [the same {len(text)} characters as the {first}]")
                return
        cut = fold(text, self.limit)
        self.folded += cut != text
        self.lines.append(f"| {name}: " + cut.replace("\n", "\n|   "))


def _new_messages(value: Any, seen: set[str]) -> Any:
    """Of a message history only what no earlier step was given; how many messages are left out is said."""
    if not (isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value)):
        return value
    fresh = []
    for item in value:
        text = dump(item)
        if text not in seen:
            seen.add(text)
            fresh.append(item)
    before = len(value) - len(fresh)
    return [f"[{before} messages as before]", *fresh] if before else fresh
