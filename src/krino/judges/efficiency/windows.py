"""Cuts a trace that is too long to be shown at once into overlapping windows, and joins the labels they were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from krino.contract import Finding
from krino.errors import CannotJudge
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import EfficiencyLabels, StepLabel
from krino.judges.efficiency.showing import FOLDS, Stretch, fit, synopsis

_MOST_STEPS = 200
"""In one window: a label for each is a reply of several thousand tokens, about what models give whole."""
_FEW_STEPS = 8
_READABLE = 120
"""Letters of a text that still tell what it is about. Rather fewer steps than less of each, down to a few steps."""
_OVERLAP = 4
"""A window shows the last fourth of the one before it again."""
_MOST_TOLD = 20

Vote = tuple[int, StepLabel]
"""The number of a window and what it says of a step."""


def cut(facts: EfficiencyFacts, room: int) -> list[Stretch]:
    """Windows of so many letters that together show every step, each beginning inside the one before."""
    windows: list[Stretch] = []
    start, count = 0, len(facts.steps)
    while not windows or windows[-1].places.stop < count:
        most = 2 * len(windows[-1].places) if windows else _MOST_STEPS  # neighbours are much alike in size
        window = _widest(facts, start, room, min(most, _MOST_STEPS))
        windows.append(window)
        start = window.places.stop - max(1, len(window.places) // _OVERLAP)
    return windows


def _widest(facts: EfficiencyFacts, start: int, room: int, most: int) -> Stretch:
    count = len(facts.steps)
    size = min(most, count - start)
    while size >= 2:
        places = range(start, start + size)
        folds = FOLDS if size <= _FEW_STEPS else [limit for limit in FOLDS if limit >= _READABLE]
        outside = sum(len(synopsis(facts.steps[place])) + 1 for place in referred(facts, places))
        window = fit(facts, places, room - outside, folds)
        if window is not None:
            return window
        if size == 2:
            break
        size = max(2, size // 2)
    raise CannotJudge(
        f"the trace has {count} steps, and the window does not hold even two of them (number {start + 1} and the "
        f"next) with all their texts folded: it has room for {room} characters beside the task; "
        "raise the option `window_tokens`"
    )


def referred(facts: EfficiencyFacts, places: range) -> list[int]:
    """The steps outside a window that the facts of its steps speak of."""
    found: set[int] = set()
    for place in places:
        repeat = facts.repeats.get(place)
        named = (repeat.of if repeat else None, facts.recovered.get(place), facts.restyled.get(place))
        found.update(other for other in named if other is not None and other not in places)
    return sorted(found)


def shown_ids(facts: EfficiencyFacts, covers: Sequence[str]) -> set[str]:
    """The ids that a window shows: of its own steps, and of those that their facts speak of."""
    outside = referred(facts, _places(facts, covers))
    return {*covers, *(facts.steps[place].id for place in outside)}


def _places(facts: EfficiencyFacts, covers: Sequence[str]) -> range:
    return range(facts.places[covers[0]], facts.places[covers[-1]] + 1)


# --- labels of windows -----------------------------------------------------------------------------


def join(
    facts: EfficiencyFacts, labelled: Sequence[tuple[Sequence[str], EfficiencyLabels]]
) -> tuple[EfficiencyLabels, tuple[Finding, ...]]:
    """One label for each step. Where windows differ, the one that shows more around the step decides (EFF-W2)."""
    windows = [_places(facts, covers) for covers, _ in labelled]
    votes: dict[str, list[Vote]] = {step.id: [] for step in facts.steps}
    for number, (_, labels) in enumerate(labelled):
        for item in labels.steps:
            votes[item.step].append((number, item))
    decided: list[StepLabel] = []
    split: dict[str, tuple[Vote, list[Vote]]] = {}
    for step, given in votes.items():
        ranked = sorted(given, key=lambda vote: _weight(facts, windows[vote[0]], vote[1]), reverse=True)
        decided.append(ranked[0][1])
        if len({item.label for _, item in given}) > 1:
            split[step] = ranked[0], given
    return EfficiencyLabels(steps=decided), tuple(_findings(windows, votes, split))


def _weight(facts: EfficiencyFacts, window: range, item: StepLabel) -> tuple[int, bool]:
    """How much a window sees around a step; where that is the same, in doubt the step is unnecessary."""
    place = facts.places[item.step]
    return min(place - window.start, window.stop - 1 - place), item.label != "necessary"


def _findings(
    windows: Sequence[range], votes: Mapping[str, Sequence[Vote]], split: Mapping[str, tuple[Vote, list[Vote]]]
) -> Iterator[Finding]:
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
