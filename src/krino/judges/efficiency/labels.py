"""The labels of a trace: one for each step, with the reason and the step that makes it unnecessary."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from krino.contract import Finding
from krino.judges.copies import Copy, drop_copies, find_copies
from krino.judges.efficiency.facts import EfficiencyFacts

StepLabelName = Literal["necessary", "redundant", "speculative", "enrichment", "indirect", "failed"]
_SHOWN = 5


class _Strict(BaseModel):
    """No field may be missing or added: what a reply does not say is never guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


BY_FACTS = "labelled by facts alone"
"""The embedded labeller's value of `shortest`: it does not think of a shortest sequence."""


class StepLabel(_Strict):
    """The reason comes before the label because a model writes the fields in this order."""

    step: str = Field(description="the id of the step, as shown")
    why: str = Field(max_length=600, description="a few words; may be empty for a necessary step")
    because_of: str | None = Field(description="for `redundant` the id of an earlier step; else null or one")
    label: StepLabelName


class EfficiencyLabels(_Strict):
    """Every step of the trace exactly once."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"required": ["shortest", "steps"]})

    shortest: str = Field("", max_length=2000, description="the shortest sequence of actions that would do the task")
    steps: list[StepLabel]


def merge_copies(labels: EfficiencyLabels) -> tuple[list[StepLabel], list[str]]:
    """Returns the step labels without copies that agree with an earlier label, and the steps that had such copies."""
    copies = _find_copies(labels)
    again = [labels.steps[copy.place].step for copy in copies if copy.agrees]
    return drop_copies(labels.steps, copies), list(dict.fromkeys(again))


def copies_finding(again: list[str], where: str | None = None) -> Finding:
    """Returns the finding that steps were labelled again with the same label and counted once."""
    return Finding("EFF-N11", f"labelled again with the same label, counted once: {_list_ids(again)}", where)


def _find_copies(labels: EfficiencyLabels) -> list[Copy]:
    return find_copies(labels.steps, lambda item: item.step, lambda item: item.label)


def check_labels(
    facts: EfficiencyFacts, labels: EfficiencyLabels, wanted: Collection[str], known: Collection[str]
) -> list[str]:
    """Returns the problems of labels, the first twenty.

    A wanted step without a label, a step with two, a step that is not wanted, a reference to an unknown or later
    step.
    """
    problems = []
    given = [item.step for item in labels.steps]
    if unknown := list(dict.fromkeys(step for step in given if step not in wanted)):
        problems.append(f"steps: there is no step {_list_ids(unknown)} to label")
    if several := list(dict.fromkeys(given[copy.place] for copy in _find_copies(labels) if not copy.agrees)):
        problems.append(f"steps: labelled more than once, with different labels: {_list_ids(several)}")
    labelled = set(given)
    if missing := [step for step in wanted if step not in labelled]:
        problems.append(f"steps: no label for {_list_ids(missing)}")
    for item in labels.steps:
        if item.step in wanted and (problem := _check_reference(facts, item, known)):
            problems.append(problem)
    return problems[:20]


def _check_reference(facts: EfficiencyFacts, item: StepLabel, known: Collection[str]) -> str | None:
    """Returns what is wrong with the step that a label refers to, or None."""
    if item.because_of is None:
        return (
            f"step {item.step}: redundant, but because_of names no earlier step" if item.label == "redundant" else None
        )
    if item.because_of not in known:
        return f"step {item.step}: because_of {item.because_of!r} is no step"
    earlier = facts.places[item.because_of] < facts.places[item.step]
    return None if earlier else f"step {item.step}: because_of {item.because_of!r} does not come before it"


def _list_ids(ids: list[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(repr(step) for step in ids[:_SHOWN]) + more
