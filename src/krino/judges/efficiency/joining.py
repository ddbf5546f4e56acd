"""Joins the step labels of several seats: first whether a step was needed, then what kind of waste it was."""

from __future__ import annotations

from collections.abc import Sequence

from krino.contract import Joined
from krino.contract.joining import canonical, leaders, spell
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import EfficiencyLabels, StepLabel, StepLabelName

_HARDEST_FIRST: tuple[StepLabelName, ...] = ("speculative", "indirect", "enrichment", "redundant", "failed")
"""Kinds of waste by what they cost under the strict table: a duplicate or restyling may be small, a failure excused."""


def join_votes(facts: EfficiencyFacts, ballots: Sequence[EfficiencyLabels]) -> Joined[EfficiencyLabels]:
    """Every ballot labels every step once, so that each step has as many votes as there are ballots."""
    by_step = [{item.step: item for item in ballot.steps} for ballot in ballots]
    ties: list[str] = []
    steps = [_step([labels[step] for labels in by_step], ties) for step in facts.places]
    return Joined(EfficiencyLabels(steps=steps), tuple(ties))


def _step(votes: Sequence[StepLabel], ties: list[str]) -> StepLabel:
    """In doubt a step is unnecessary: so the rubric says, and so a tie is taken."""
    label = _label([vote.label for vote in votes], votes[0].step, ties)
    return min((vote for vote in votes if vote.label == label), key=canonical)


def _label(labels: Sequence[StepLabelName], step: str, ties: list[str]) -> StepLabelName:
    needed = sum(label == "necessary" for label in labels)
    if 2 * needed > len(labels):
        return "necessary"
    wasteful = [label for label in labels if label != "necessary"]
    best = leaders(wasteful)
    taken = min(best, key=_HARDEST_FIRST.index)
    if 2 * needed == len(labels) or len(best) > 1:
        ties.append(f"step {step}: {spell(labels)}; taken as {taken}")
    return taken
