"""Asks about a trace: in one piece where it fits the window, else in overlapping windows, no step left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krino.contract import Media, Passage, Questions
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.showing import Stretch, fit, fold, synopsis
from krino.judges.efficiency.tables import package_text
from krino.judges.efficiency.windows import cut, referred

_LETTERS_A_TOKEN = 3
"""On the safe side: English text has four or more letters to a token, code and JSON about three."""
_TASK_SHARE = 4
_MOST_MEDIA = 20


def ask(facts: EfficiencyFacts, window: int) -> Questions:
    """The questions of one trace; raises `CannotJudge` when the window holds not even two of its steps."""
    budget = window * _LETTERS_A_TOKEN
    task = fold(facts.task, budget // _TASK_SHARE)
    room = budget - len(task)
    whole = fit(facts, range(len(facts.steps)), room)
    if whole is not None:
        return _questions(facts, task, whole, [_count(len(facts.steps), "trace")])
    return Questions((), "", parts=tuple(_parts(facts, task, cut(facts, room))))


def _parts(facts: EfficiencyFacts, task: str, windows: Sequence[Stretch]) -> Iterator[Questions]:
    steps = facts.steps
    for number, window in enumerate(windows, 1):
        places = window.places
        lines = [
            f"The trace is too long to be shown at once. This is window {number} of {len(windows)}: steps number "
            f"{places.start + 1} to {places.stop} of {len(steps)}. The others are labelled apart; what the facts say "
            "holds for the whole trace, so a result may be used behind the end of this window.",
            _count(len(places), "window"),
        ]
        outside = referred(facts, places)
        if outside:
            lines.append("The block `elsewhere` names steps outside this window that the facts speak of: no labels.")
        covers = tuple(steps[place].id for place in places)
        yield _questions(facts, task, window, lines, "\n".join(synopsis(steps[place]) for place in outside), covers)


def _questions(
    facts: EfficiencyFacts,
    task: str,
    shown: Stretch,
    lines: list[str],
    elsewhere: str = "",
    covers: tuple[str, ...] = (),
) -> Questions:
    passages = [Passage("task", task), Passage("trace", shown.text)]
    if elsewhere:
        passages.append(Passage("elsewhere", elsewhere))
    media = _media(facts, shown.places)
    if shown.folded:
        lines.append(f"{shown.folded} long texts were folded to fit.")
    if media:
        lines.append(package_text("multimodal.md").strip())
    return Questions(tuple(passages), "\n".join(lines), media, covers=covers)


def _media(facts: EfficiencyFacts, places: range) -> tuple[Media, ...]:
    return tuple([medium for place in places for medium in facts.steps[place].media][:_MOST_MEDIA])


def _count(steps: int, of: str) -> str:
    return f"Label {'the one step' if steps == 1 else f'all {steps} steps'} of the {of}."
