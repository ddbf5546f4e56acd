"""Shows an efficiency judgement as a timeline: every step coloured by its label, redundant ones pointing back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from krino.blocks import Block, DataTable, MarkedText, Segment, Tone
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.labels import EfficiencyLabels, StepLabel
from krino.judges.efficiency.traces.detect import read_trace
from krino.judges.efficiency.traces.steps import Step, are_numbered

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


def efficiency_blocks(judgement: Mapping[str, Any]) -> Sequence[Block]:
    """Needs the case beside the labels: without either there is nothing to show."""
    if not judgement.get("case") or not judgement.get("labels"):
        return ()
    case = EfficiencyCase.model_validate(judgement["case"])
    labels = {item.step: item for item in EfficiencyLabels.model_validate(judgement["labels"]).steps}
    trace = read_trace(case.trace)
    steps = trace.steps[:_MOST_STEPS]
    numbered = are_numbered(trace.steps)  # then the reason tells of steps by their number
    named = [(str(number) if numbered else step.id, step) for number, step in enumerate(steps, 1)]
    title = f"Timeline, read as {trace.format}"
    if len(trace.steps) > len(steps):
        title += f" (the first {len(steps)} of {len(trace.steps)} steps)"
    return [
        MarkedText("Task", [Segment(case.task or trace.task or "")]),
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
