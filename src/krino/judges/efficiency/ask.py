"""Asks about a trace: in one piece where it fits the window, else in overlapping windows, no step left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from krino.contract import Media, Passage, Questions
from krino.errors import CannotJudge
from krino.judges.efficiency.data_files import package_text
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.local import describe_place
from krino.judges.efficiency.traces.content import to_text
from krino.judges.efficiency.traces.steps import Step, one_line

_LETTERS_A_TOKEN = 3
"""A low estimate: English text has four or more characters per token, code and JSON about three."""
_TASK_SHARE = 4
_MOST_MEDIA = 20
_MOST_STEPS = 200
"""Per window. A label for each is a reply of several thousand tokens, about what models return without cutting it."""
_FEW_STEPS = 8
_READABLE = 120
"""Characters that still show what a text is about. A window shows fewer steps before it shows less of each."""
_OVERLAP = 4
"""Neighbouring windows overlap by a fourth."""


def ask(facts: EfficiencyFacts, window: int) -> Questions:
    """Returns the questions of one trace, in windows if it does not fit the prompt.

    Raises `CannotJudge` if the window cannot hold even two of its steps.
    """
    task, room = _find_room(facts, window)
    whole = fit(facts, range(len(facts.steps)), room)
    if whole is not None:
        return _build_questions(facts, task, whole, [write_count(len(facts.steps), "trace")])
    return Questions((), "", parts=tuple(_ask_in_windows(facts, task, cut_windows(facts, room))))


def list_stretches(facts: EfficiencyFacts, window: int) -> tuple[str, list[Stretch], list[Media]]:
    """Returns what `ask` shows: the task, the stretches of steps, and the media that did not fit any prompt.

    There is one stretch if the trace fits in one piece, else one for each window.
    """
    task, room = _find_room(facts, window)
    whole = fit(facts, range(len(facts.steps)), room)
    stretches = [whole] if whole is not None else cut_windows(facts, room)
    shown = {medium for stretch in stretches for medium in _list_media(facts, stretch.places)}
    held = dict.fromkeys((*facts.trace.media, *(medium for step in facts.steps for medium in step.media)))
    return task, stretches, [medium for medium in held if medium not in shown]


def _find_room(facts: EfficiencyFacts, window: int) -> tuple[str, int]:
    """The task as it is shown, and how many characters are left for the steps."""
    task = fold_middle(facts.task, task_limit(window))
    return task, window * _LETTERS_A_TOKEN - len(task)


def task_limit(window: int) -> int:
    """How many characters of a task a prompt shows."""
    return window * _LETTERS_A_TOKEN // _TASK_SHARE


def _ask_in_windows(facts: EfficiencyFacts, task: str, windows: Sequence[Stretch]) -> Iterator[Questions]:
    """Yields the questions of every window of a long trace."""
    steps = facts.steps
    for number, window in enumerate(windows, 1):
        places = window.places
        lines = [
            f"The trace is too long to be shown at once. This is window {number} of {len(windows)}: steps number "
            f"{places.start + 1} to {places.stop} of {len(steps)}. The others are labelled apart; what the facts say "
            "holds for the whole trace, so a result may be used behind the end of this window.",
            write_count(len(places), "window"),
        ]
        outside = find_referenced(facts, places)
        if outside:
            lines.append("The block `elsewhere` names steps outside this window that the facts speak of: no labels.")
        covers = tuple(steps[place].id for place in places)
        yield _build_questions(
            facts, task, window, lines, "\n".join(synopsis(steps[place]) for place in outside), covers
        )


def _build_questions(
    facts: EfficiencyFacts,
    task: str,
    shown: Stretch,
    lines: list[str],
    elsewhere: str = "",
    covers: tuple[str, ...] = (),
) -> Questions:
    """Builds the questions of a trace, or of a window of it."""
    passages = [Passage("task", task), Passage("trace", shown.text)]
    if elsewhere:
        passages.append(Passage("elsewhere", elsewhere))
    media = _list_media(facts, shown.places)
    if media:
        lines.append(package_text("multimodal.md").strip())
    return Questions(tuple(passages), "\n".join(lines), media, covers=covers)


def _list_media(facts: EfficiencyFacts, places: range) -> tuple[Media, ...]:
    """The media of the task, then those of the steps, each once."""
    held = (medium for place in places for medium in facts.steps[place].media)
    return tuple(dict.fromkeys((*facts.trace.media, *held)))[:_MOST_MEDIA]


def write_count(steps: int, of: str) -> str:
    """Returns the request to label so many steps: "Label all 5 steps of the trace." (`of`: "trace" or "window")."""
    return f"Label {'the one step' if steps == 1 else f'all {steps} steps'} of the {of}."


# --- windows ----------------------------------------------------------------------------------------


def cut_windows(facts: EfficiencyFacts, room: int) -> list[Stretch]:
    """Returns overlapping windows of at most `room` characters that together show every step."""
    windows: list[Stretch] = []
    start, count = 0, len(facts.steps)
    while not windows or windows[-1].places.stop < count:
        most = 2 * len(windows[-1].places) if windows else _MOST_STEPS  # neighbouring windows have about the same size
        window = _find_widest(facts, start, room, min(most, _MOST_STEPS))
        windows.append(window)
        start = window.places.stop - max(1, len(window.places) // _OVERLAP)
    return windows


def _find_widest(facts: EfficiencyFacts, start: int, room: int, most: int) -> Stretch:
    """Returns the widest window that fits the room, with texts folded as little as possible.

    Raises `CannotJudge` if not even two steps fit.
    """
    count = len(facts.steps)
    size = min(most, count - start)
    while size >= 2:
        places = range(start, start + size)
        folds = FOLDS if size <= _FEW_STEPS else [limit for limit in FOLDS if limit >= _READABLE]
        outside = sum(len(synopsis(facts.steps[place])) + 1 for place in find_referenced(facts, places))
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


def find_referenced(facts: EfficiencyFacts, places: range) -> list[int]:
    """Returns the places of the steps outside a window that the facts of its steps refer to."""
    found: set[int] = set()
    for place in places:
        repeat = facts.repeats.get(place)
        unneeded = facts.unneeded.get(place)
        named = (
            *(repeat.of if repeat else None, unneeded.of if unneeded else None),
            *(facts.recovered.get(place), facts.reworded.get(place)),
        )
        found.update(other for other in named if other is not None and other not in places)
    return sorted(found)


def shown_ids(facts: EfficiencyFacts, covers: Sequence[str]) -> set[str]:
    """Returns the ids that a window shows: of its own steps, and of those that their facts refer to."""
    outside = find_referenced(facts, find_places(facts, covers))
    return {*covers, *(facts.steps[place].id for place in outside)}


def find_places(facts: EfficiencyFacts, covers: Sequence[str]) -> range:
    """Returns the places of the steps of a window, from the first of these ids to the last."""
    return range(facts.places[covers[0]], facts.places[covers[-1]] + 1)


# --- steps as text -----------------------------------------------------------------------------------

FOLDS = (1_000_000, 16_000, 8_000, 4_000, 2_000, 1_000, 500, 250, 120, 60, 30, 0)
_LONGEST_NAME = 80
_SYNOPSIS = 60


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring steps as text, and the parts of their fields that were folded: step, field, and the hidden text."""

    places: range
    text: str
    cuts: tuple[tuple[str, str, str], ...]

    @property
    def folded(self) -> int:
        """How many fields were folded."""
        return len(self.cuts)


def fit(facts: EfficiencyFacts, places: range, room: int, folds: Sequence[int] = FOLDS) -> Stretch | None:
    """Returns the steps folded as little as possible to fit `room` characters, or None if no limit in `folds` does."""
    for limit in folds:
        text, cuts = show(facts, limit, places)
        if len(text) <= room:
            return Stretch(places, text, cuts)
    return None


def fold_middle(text: str, limit: int) -> str:
    """Returns the text, or its two ends with a note of how much is hidden between them."""
    middle = find_folded(text, limit)
    if not middle:
        return text
    half = limit // 2
    tail = text[len(text) - half :] if half else ""
    return f"{text[:half]} [… {len(middle)} characters folded …] {tail}".strip()


def find_folded(text: str, limit: int) -> str:
    """Returns what `fold_middle` hides of the text; empty if nothing."""
    half = limit // 2
    return text[half : len(text) - half] if len(text) > limit + 40 else ""


def show(facts: EfficiencyFacts, limit: int, places: range) -> tuple[str, tuple[tuple[str, str, str], ...]]:
    """Returns the steps as text, and what was hidden of the fields that were folded to `limit` characters."""
    shown = _Shown(limit)
    for place in places:
        step = facts.steps[place]
        shown.lines.append(_heading(step))
        if described := describe_place(facts, place):
            shown.lines.append(f"facts: {described}")
        shown.add_field("said", step.said, step.id)
        shown.add_field("input", new_messages(step.input, shown.messages), step.id)
        shown.add_field("output", step.output, step.id)
        shown.add_field("came back", step.observed, step.id)
        shown.add_field("error", step.error, step.id)
    return "\n".join(shown.lines), tuple(shown.cuts)


def synopsis(step: Step) -> str:
    """Returns the step on one line, for windows that do not show it in full."""
    given = fold_middle(" ".join(to_text(step.input).split()), _SYNOPSIS)
    return f"{_heading(step)}: {given}" if given else _heading(step)


def _heading(step: Step) -> str:
    """On one line: a name with a line break must not pass for a line of facts."""
    return f"step {step.id} [{step.kind}] {fold_middle(one_line(step.name), _LONGEST_NAME)}"


class _Shown:
    """The lines so far; a long text that was shown before is referred to, not repeated."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.lines: list[str] = []
        self.cuts: list[tuple[str, str, str]] = []
        self.messages: set[str] = set()
        self._texts: dict[str, str] = {}

    def add_field(self, name: str, value: Any, step: str) -> None:
        """Appends one field of a step, folded to the limit; an empty one is left out.

        A long text that was shown before becomes a reference to it.
        """
        text = to_text(value)
        if not text:
            return
        if len(text) > 80:
            first = self._texts.setdefault(text, f"{name} of step {step}")
            if first != f"{name} of step {step}":
                self.lines.append(f"| {name}: [the same {len(text)} characters as the {first}]")
                return
        if middle := find_folded(text, self.limit):
            self.cuts.append((step, name, middle))
        self.lines.append(f"| {name}: " + fold_middle(text, self.limit).replace("\n", "\n|   "))


def new_messages(value: Any, seen: set[str]) -> Any:
    """Returns a message history without the messages in `seen`, and how many those were; adds the new ones to `seen`.

    Any other value is returned unchanged.
    """
    if not (isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value)):
        return value
    fresh = []
    for item in value:
        text = to_text(item)
        if text not in seen:
            seen.add(text)
            fresh.append(item)
    before = len(value) - len(fresh)
    return [f"[{before} messages as before]", *fresh] if before else fresh
