"""Shows an efficiency judgement as a timeline: every step coloured by its label, redundant ones pointing back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.blocks import Block, BulletList, DataTable, MarkedText, Segment, Tone
from krino.contract import Judgement
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import BY_FACTS, EfficiencyLabels, StepLabel
from krino.judges.efficiency.traces.content import to_text
from krino.judges.efficiency.traces.steps import Step
from krino.text.clean import cut

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


def build_blocks(facts: EfficiencyFacts, judgement: Judgement) -> Sequence[Block]:
    """Returns task, timeline, minimal sequence and table of the steps.

    Empty without labels: then the case is shown in the default view.
    """
    if not judgement.labels:
        return ()
    read = EfficiencyLabels.model_validate(judgement.labels)
    labels = {item.step: item for item in read.steps}
    steps = facts.steps[:_MOST_STEPS]
    named = [(facts.display_id(step.id), step) for step in steps]
    title = f"Timeline, read as {facts.trace.format}"
    if len(facts.steps) > len(steps):
        title += f" (the first {len(steps)} of {len(facts.steps)} steps)"
    called = {step.id: facts.display_id(step.id) for step in facts.steps}
    heads = ("step", "kind", "what", "label", "because of", "why", "result")
    return [
        MarkedText("Task", [Segment(facts.task)]),
        MarkedText(title, list(_draw_timeline(named, labels)), _TONES),
        *_show_shortest(read.shortest, named, labels),
        DataTable("Steps", heads, [_make_row(*pair, labels, called) for pair in named], tones=_tones(named, labels)),
    ]


def _show_shortest(thought: str, named: Sequence[tuple[str, Step]], labels: Mapping[str, StepLabel]) -> Iterator[Block]:
    """Yields the shortest sequence as the labeller describes it, and the steps that it calls necessary."""
    if thought not in ("", BY_FACTS):
        yield MarkedText("Shortest way, as the labeller thinks of it", [Segment(thought)])
    needed = [
        f"{called}  {_describe_step(step)}"
        for called, step in named
        if (label := labels.get(step.id)) is not None and label.label == "necessary"
    ]
    yield BulletList(f"Minimal sequence: {len(needed)} of {len(named)} steps are necessary", needed)


def _tones(named: Sequence[tuple[str, Step]], labels: Mapping[str, StepLabel]) -> list[Tone | None]:
    """Necessary steps have no colour."""
    marks = [label.label if (label := labels.get(step.id)) is not None else "" for _, step in named]
    return [None if mark == "necessary" else _TONES.get(mark) for mark in marks]


def _draw_timeline(named: Sequence[tuple[str, Step]], labels: Mapping[str, StepLabel]) -> Iterator[Segment]:
    """Yields the steps as segments, coloured by label."""
    for called, step in named:
        label = labels.get(step.id)
        back = f"step-{label.because_of}" if label is not None and label.because_of else None
        details = label.why if label is not None and label.why else None
        yield Segment(
            f"{called}  {_describe_step(step)}", label.label if label else None, details, back, key=f"step-{step.id}"
        )
        yield Segment("\n")


def _make_row(name: str, step: Step, labels: Mapping[str, StepLabel], called: Mapping[str, str]) -> tuple[str, ...]:
    """Returns one step as a row of the table."""
    label = labels.get(step.id)
    details = ("", "", "")
    if label is not None:
        details = (label.label, called.get(label.because_of, "") if label.because_of else "", label.why)
    return (name, step.kind, _describe_step(step, _LONGEST_CALL), *details, _format_result(step))


def _format_result(step: Step) -> str:
    """Returns the result, error and reply of a step; the text of a message is left out, as it is shown as the call."""
    output = "" if _speaks(step) else _flat(step.output)
    error = step.error if step.error and step.error not in output else ""
    parts = [output, f"error: {error}" if error else "", f"reply: {step.observed}" if step.observed else ""]
    return cut(" ".join(part for part in parts if part), _LONGEST_CALL)


def _speaks(step: Step) -> bool:
    """Whether the step is text only: a message, or a model's reply without a recorded input."""
    return step.talks and step.input in (None, "", {}, [])


def _describe_step(step: Step, longest: int = _LONGEST) -> str:
    """Returns the call, or the text of a message, on one line, shortened to `longest`."""
    if _speaks(step):
        said = _flat(step.output)
        return cut(f"{step.name}: {said}" if said else step.name, longest)
    given = _flat(step.input)
    beside = f"{_flat(step.said)} " if step.said else ""
    return cut(f"{beside}{step.name}({given})" if given else f"{beside}{step.name}", longest)


def _flat(value: Any) -> str:
    """A value on one line; only as much is read as can be shown."""
    return " ".join(to_text(value)[: 2 * _LONGEST_CALL].split())
