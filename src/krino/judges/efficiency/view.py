"""Shows an efficiency judgement as a timeline: every step coloured by its label, redundant ones pointing back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import orjson

from krino.blocks import Block, DataTable, MarkedText, Segment, Tone
from krino.contract import Judgement
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import EfficiencyLabels, StepLabel
from krino.judges.efficiency.traces.steps import Step

_TONES: Mapping[str, Tone] = {
    "necessary": "good",
    "redundant": "bad",
    "speculative": "warn",
    "enrichment": "warn",
    "indirect": "warn",
    "failed": "info",
}
_LONGEST = 120  # of a call in the timeline; the table below has it whole
_LONGEST_CALL = 2_000
_MOST_STEPS = 400


def efficiency_blocks(facts: EfficiencyFacts, judgement: Judgement) -> Sequence[Block]:
    """Needs labels: without them the case is shown as any other."""
    if not judgement.labels:
        return ()
    labels = {item.step: item for item in EfficiencyLabels.model_validate(judgement.labels).steps}
    steps = facts.steps[:_MOST_STEPS]
    named = [(facts.called(step.id), step) for step in steps]
    title = f"Timeline, read as {facts.trace.format}"
    if len(facts.steps) > len(steps):
        title += f" (the first {len(steps)} of {len(facts.steps)} steps)"
    return [
        MarkedText("Task", [Segment(facts.task)]),
        MarkedText(title, list(_timeline(named, labels)), _TONES),
        DataTable("Steps", ("step", "kind", "what", "label", "why"), [_row(*pair, labels) for pair in named]),
    ]


def _timeline(named: Sequence[tuple[str, Step]], labels: Mapping[str, StepLabel]) -> Iterator[Segment]:
    for called, step in named:
        label = labels.get(step.id)
        back = f"step-{label.because_of}" if label is not None and label.because_of else None
        told = label.why if label is not None and label.why else None
        yield Segment(f"{called}  {_what(step)}", label.label if label else None, told, back, key=f"step-{step.id}")
        yield Segment("\n")


def _row(called: str, step: Step, labels: Mapping[str, StepLabel]) -> tuple[str, ...]:
    label = labels.get(step.id)
    return (called, step.kind, _what(step, _LONGEST_CALL), label.label if label else "", label.why if label else "")


def _what(step: Step, longest: int = _LONGEST) -> str:
    """The call as one line: name and input, shortened where it must be."""
    given = step.input if isinstance(step.input, str) else orjson.dumps(step.input, default=repr).decode()
    flat = " ".join(given.split()) if step.input is not None else ""
    text = f"{step.name}({flat})" if flat else step.name
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
