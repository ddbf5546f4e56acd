"""Finds steps that go in vain whatever they brought: reading after the answer, and model calls that change nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.content_words import MAX_TEXT, tokens_in, words_in, words_of
from krino.judges.efficiency.finders.readings import only_reads
from krino.judges.efficiency.tables import words
from krino.judges.efficiency.traces.content import dump, text_of
from krino.judges.efficiency.traces.steps import Step


def after_completion(
    steps: Sequence[Step], calls: Sequence[Call], set_aside: Collection[int], handed: Collection[int]
) -> list[int]:
    """Reading steps behind the last words of a model that did not call for them.

    What follows a message that was `handed` to a user answers the user and is not late.
    """
    spoken = [place for place, step in enumerate(steps) if step.kind in ("llm", "message") and place not in set_aside]
    if not spoken:
        return []
    last = spoken[-1]
    said = text_of(steps[last].output)
    if not said.strip() or last in handed or (steps[last].kind == "message" and "?" in said):
        return []
    return [
        place
        for place in range(last + 1, len(steps))
        if place not in set_aside
        and only_reads(steps[place], calls[place])
        and not calls[place].is_watching
        and not _called_for(steps[place], said)
    ]


def _called_for(step: Step, said: str) -> bool:
    """Whether the words before a call name the tool, or announce it and hold most of what it was asked."""
    lowered = said[:MAX_TEXT].lower()
    if step.name.lower() in lowered or "tool_calls" in lowered or '"name"' in lowered:
        return True
    if words("cues", "intention").isdisjoint(tokens_in(lowered)):
        return False
    asked = words_of(step.input)
    return bool(asked) and len(asked & words_in(said)) * 2 > len(asked) + len(asked) // 2


def echoes(steps: Sequence[Step], set_aside: Collection[int]) -> list[int]:
    """Model calls that gave back their input unchanged."""
    return [
        place
        for place, step in enumerate(steps)
        if step.kind == "llm"
        and place not in set_aside
        and step.input not in (None, "")
        and dump(step.output).strip() == dump(step.input).strip()
    ]
