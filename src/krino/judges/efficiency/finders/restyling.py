"""Finds where a model went over a text that was there: reworded, restyled, or with next to nothing new."""

from __future__ import annotations

from collections.abc import Sequence

from krino.judges.efficiency.finders.content_words import MAX_TEXT, tokens_in, words_of
from krino.judges.efficiency.finders.effects import name_parts
from krino.judges.efficiency.finders.nearness import by_words, read_wording
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import text_of
from krino.judges.efficiency.traces.steps import Step

_INSTRUCTION = 300
_LEAST_REWORDED = 8
_NEARBY = 20


def restylings(steps: Sequence[Step]) -> dict[int, int]:
    """Model calls that were given an earlier model's text and gave it back in nearly the same words."""
    found: dict[int, int] = {}
    previous: int | None = None
    for place, step in enumerate(steps):
        if step.kind != "llm":
            continue
        if previous is not None and works_over(step, steps[previous]) and _is_reworded(steps[previous], step):
            found[place] = previous
        else:
            previous = place
    return found


def brings_nothing_new(steps: Sequence[Step], place: int) -> bool:
    """Whether a model's words hold next to nothing that it was not given or that no model had said: a restyling."""
    step = steps[place]
    if step.kind not in ("llm", "message"):
        return False
    said = words_of(step.output)
    if step.kind == "message":
        said -= words("cues", "courtesy") | words("cues", "talk")
    new = said - words_of(step.input)
    for earlier in steps[max(0, place - _NEARBY) : place]:
        if earlier.kind in ("llm", "message") and new:
            new -= words_of(earlier.output)
    told = {*name_parts(step.name), *tokens_in(instruction_of(step))}
    if not told.isdisjoint(words("cues", "adding")):
        return not new
    most: float = table("nearness")["new_share"] * len(said)
    return len(new) <= most


def instruction_of(step: Step) -> str:
    """The opening of what a model was told."""
    return step.input[:_INSTRUCTION].lower() if isinstance(step.input, str) else ""


def works_over(step: Step, earlier: Step) -> bool:
    before = text_of(earlier.output)[:MAX_TEXT].strip()
    return bool(before) and isinstance(step.input, str) and before in step.input


def _is_reworded(earlier: Step, step: Step) -> bool:
    before, said = text_of(earlier.output)[:MAX_TEXT].strip(), text_of(step.output)
    one, other = read_wording(before), read_wording(said)
    return before != said and one.count >= _LEAST_REWORDED and by_words(one, other) >= table("nearness")["restyle"]
