"""Shows a trace to people who label it: the task and every step with its texts, without the facts found by code."""

from __future__ import annotations

from collections.abc import Iterator

from krino.contract.hooks import Exhibit, Exhibits
from krino.judges.efficiency.ask import new_messages, write_count
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.traces.content import to_text
from krino.judges.efficiency.traces.steps import Step, one_line

_LONGEST_NAME = 80


def build_exhibits(case: EfficiencyCase, facts: EfficiencyFacts) -> Exhibits:
    """Shows task and steps to a person who labels the trace."""
    work = [Exhibit("Task", facts.task)]
    if answer := case.answer or facts.trace.answer:
        work.append(Exhibit("What the agent answered", answer))
    steps = tuple(_exhibit_steps(facts))
    return Exhibits(tuple(work), steps, write_count(len(steps), "trace"))


def _exhibit_steps(facts: EfficiencyFacts) -> Iterator[Exhibit]:
    """Yields the steps with their texts."""
    seen: set[str] = set()
    for place, step in enumerate(facts.steps, 1):
        name = one_line(step.name)
        name = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        own = "" if step.id == str(place) else f" · {step.id}"
        yield Exhibit(f"Step {place}: {step.kind} {name}{own}", "\n".join(_list_texts(step, seen)))


def _list_texts(step: Step, seen: set[str]) -> Iterator[str]:
    """Yields the texts of a step, or one line if it has none.

    `seen`: messages of earlier steps, which a history repeats.
    """
    said = (
        ("said", step.said),
        ("given", to_text(new_messages(step.input, seen))),
        ("result", to_text(step.output)),
        ("came back", step.observed),
        ("error", step.error or ""),
        ("attached", ", ".join(medium.placeholder() for medium in step.media)),
    )
    found = [f"{name}: {text}" for name, text in said if text]
    yield from found or ["The trace records neither what the step was given nor what it brought."]
