"""Shows a trace to a labeller: every step with its facts, folded inside the steps until it fits the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from krino.contract import Media, Passage, Questions
from krino.errors import CannotJudge
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.local import describe_place
from krino.judges.efficiency.tables import package_text
from krino.judges.efficiency.traces.content import dump

_LETTERS_A_TOKEN = 3
"""On the safe side: English text has four or more letters to a token, code and JSON about three."""
_FOLDS = (1_000_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120, 60, 30, 0)
_TASK_SHARE = 4
_MOST_MEDIA = 20


def ask(facts: EfficiencyFacts, window: int) -> Questions:
    """The questions of one trace; raises `CannotJudge` when not even the shortest folding fits."""
    budget = window * _LETTERS_A_TOKEN
    task = fold(facts.task, budget // _TASK_SHARE)
    media = [medium for step in facts.steps for medium in step.media][:_MOST_MEDIA]
    shortest = 0
    for limit in _FOLDS:
        text, folded = show(facts, limit)
        shortest = len(text) + len(task)
        if shortest <= budget:
            return Questions(
                (Passage("task", task), Passage("trace", text)), _request(facts, media, folded), tuple(media)
            )
    raise CannotJudge(
        f"the trace has {len(facts.steps)} steps and does not fit the window: with every step folded to its name "
        f"it takes about {shortest // _LETTERS_A_TOKEN} tokens, the window is {window}; "
        "raise the option `window_tokens` or split the trace"
    )


def fold(text: str, limit: int) -> str:
    """The text, or its two ends with a note of how much is left out between them."""
    if len(text) <= limit + 40:
        return text
    half = limit // 2
    tail = text[len(text) - half :] if half else ""
    return f"{text[:half]} [… {len(text) - 2 * half} characters folded …] {tail}".strip()


def show(facts: EfficiencyFacts, limit: int) -> tuple[str, int]:
    """The trace as text, and how many fields were folded to `limit` letters."""
    shown = _Shown(limit)
    for place, step in enumerate(facts.steps):
        shown.lines.append(f"step {step.id} [{step.kind}] {fold(step.name, 80)}")
        if told := describe_place(facts, place):
            shown.lines.append(f"facts: {told}")
        shown.field("input", _new_messages(step.input, shown.messages), step.id)
        shown.field("output", step.output, step.id)
        shown.field("came back", step.observed, step.id)
        shown.field("error", step.error, step.id)
    return "\n".join(shown.lines), shown.folded


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


def _request(facts: EfficiencyFacts, media: Sequence[Media], folded: int) -> str:
    count = len(facts.steps)
    lines = [f"Label {'the one step' if count == 1 else f'all {count} steps'} of the trace."]
    if folded:
        lines.append(f"{folded} long texts were folded to fit.")
    if media:
        lines.append(package_text("multimodal.md").strip())
    return "\n".join(lines)
