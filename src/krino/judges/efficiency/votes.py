"""Joins step labels: of several seats (was it needed, then which kind of waste), and of overlapping windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from krino.contract import Finding, Joined
from krino.contract.joining import canonical_labels, leaders, spell
from krino.judges.efficiency.ask import find_places
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import (
    BY_FACTS,
    EfficiencyLabels,
    StepLabel,
    StepLabelName,
    copies_finding,
    merge_copies,
)

_MOST_TOLD = 20
_HARDEST_FIRST: tuple[StepLabelName, ...] = ("speculative", "indirect", "enrichment", "redundant", "failed")
"""Kinds of waste by their cost in the strict table: duplicates and restylings may be small, failures excused."""

Vote = tuple[int, StepLabel]
"""The number of a window and its label of a step."""


def join_votes(facts: EfficiencyFacts, ballots: Sequence[EfficiencyLabels]) -> Joined[EfficiencyLabels]:
    """Joins the labels of all seats step by step; ties are listed.

    Every ballot labels every step once, so that each step has as many votes as there are ballots.
    """
    by_step = [{item.step: item for item in ballot.steps} for ballot in ballots]
    ties: list[str] = []
    steps = [_step([labels[step] for labels in by_step], ties) for step in facts.places]
    thought = [ballot.shortest for ballot in ballots if ballot.shortest not in ("", BY_FACTS)]
    shortest = min(thought, key=lambda text: (len(text), text), default=ballots[0].shortest)
    return Joined(EfficiencyLabels(shortest=shortest, steps=steps), tuple(ties))


def _step(votes: Sequence[StepLabel], ties: list[str]) -> StepLabel:
    """A tie means unnecessary, because the rubric says that in doubt a step is."""
    label = _join_step_labels([vote.label for vote in votes], votes[0].step, ties)
    return min((vote for vote in votes if vote.label == label), key=canonical_labels)


def _join_step_labels(labels: Sequence[StepLabelName], step: str, ties: list[str]) -> StepLabelName:
    """Returns the label of one step from those of several seats; in a tie the costlier kind of waste counts.

    Ties are noted in `ties`.
    """
    needed = sum(label == "necessary" for label in labels)
    if 2 * needed > len(labels):
        return "necessary"
    wasteful = [label for label in labels if label != "necessary"]
    best = leaders(wasteful)
    taken = min(best, key=_HARDEST_FIRST.index)
    if 2 * needed == len(labels) or len(best) > 1:
        ties.append(f"step {step}: {spell(labels)}; taken as {taken}")
    return taken


# --- windows ----------------------------------------------------------------------------------------


def join_windows(
    facts: EfficiencyFacts, labelled: Sequence[tuple[Sequence[str], EfficiencyLabels]]
) -> tuple[EfficiencyLabels, tuple[Finding, ...]]:
    """Returns one label for each step, and findings on the windows.

    If they differ, the one that shows more steps around it decides (EFF-W2).
    """
    windows = [find_places(facts, covers) for covers, _ in labelled]
    votes: dict[str, list[Vote]] = {step.id: [] for step in facts.steps}
    copies: list[Finding] = []
    for number, (_, labels) in enumerate(labelled):
        steps, again = merge_copies(labels)
        if again:
            copies.append(copies_finding(again, f"window {number + 1}"))
        for item in steps:
            votes[item.step].append((number, item))
    decided: list[StepLabel] = []
    split: dict[str, tuple[Vote, list[Vote]]] = {}
    for step, given in votes.items():
        ranked = sorted(given, key=lambda vote: _weight(facts, windows[vote[0]], vote[1]), reverse=True)
        decided.append(ranked[0][1])
        if len({item.label for _, item in given}) > 1:
            split[step] = ranked[0], given
    shortest = " ".join(labels.shortest for _, labels in labelled)[:2000]
    return EfficiencyLabels(shortest=shortest, steps=decided), (*_describe_windows(windows, votes, split), *copies)


def _weight(facts: EfficiencyFacts, window: range, item: StepLabel) -> tuple[int, bool]:
    """How many steps a window shows around a step; if that is equal, unnecessary wins."""
    place = facts.places[item.step]
    return min(place - window.start, window.stop - 1 - place), item.label != "necessary"


def _describe_windows(
    windows: Sequence[range], votes: Mapping[str, Sequence[Vote]], split: Mapping[str, tuple[Vote, list[Vote]]]
) -> Iterator[Finding]:
    """Yields findings on how the trace was cut into windows, and where they differ."""
    seen_twice = sum(1 for given in votes.values() if len(given) > 1)
    stretches = ", ".join(f"{window.start + 1} to {window.stop}" for window in windows[:_MOST_TOLD])
    more = ", …" if len(windows) > _MOST_TOLD else ""
    yield Finding(
        "EFF-W1",
        f"labelled in {len(windows)} windows (steps number {stretches}{more}); {seen_twice} steps were seen by more "
        f"than one, {len(split)} of them labelled differently",
    )
    for step, (winner, given) in list(split.items())[:_MOST_TOLD]:
        said = ", ".join(f"window {number + 1} {item.label}" for number, item in given)
        yield Finding("EFF-W2", f"{said}: window {winner[0] + 1} counts", step)
    if len(split) > _MOST_TOLD:
        yield Finding("EFF-W2", f"and {len(split) - _MOST_TOLD} more steps that windows labelled differently")
