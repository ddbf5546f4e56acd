"""Finds results that nothing uses, and what was fetched after the answer was already there."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from krino.judges.efficiency.finders.calls import Call, texts_in
from krino.judges.efficiency.finders.nearness import by_words, read_wording
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import dump, text_of
from krino.judges.efficiency.traces.steps import Step

_WORD = re.compile(r"[^\W_]+")
_MAX_TEXT = 20_000
_LEAST_LETTERS = 3


def unused_results(
    steps: Sequence[Step], calls: Sequence[Call], task: str, answer: str | None, set_aside: Collection[int]
) -> list[int]:
    """Reading steps whose result brought words of its own, none of which a later step or the answer takes up.

    `set_aside` are repeats, failures and the like: they do not count as a use, and neither does a step whose own
    result goes unused. Going from the end, both are known in time.
    """
    known = _words(task)
    least = table("nearness")["least_distinctive"]
    taken_up = _words(answer or "")
    unused = []
    behind = False
    for place in range(len(steps) - 1, -1, -1):
        if place in set_aside:
            continue
        step = steps[place]
        if behind and _only_reads(step, calls[place]):
            brought = (_words_of(step.output) | _words(step.observed)) - known - _words_of(step.input)
            if len(brought) >= least and brought.isdisjoint(taken_up):
                unused.append(place)
                continue
        behind = True
        taken_up |= _words_taken_up(step)
    return unused


def _only_reads(step: Step, call: Call) -> bool:
    return step.kind in ("tool", "retrieval") and (call.is_search or call.is_read) and not call.is_write


def _words_taken_up(step: Step) -> set[str]:
    """What a step shows to have taken from before: its arguments, and for a model its words.

    The message history that a model was given holds everything and so proves nothing.
    """
    if step.kind in ("llm", "message"):
        given = step.input if isinstance(step.input, str) else None
        return _words_of(step.output) | _words_of(given)
    return _words_of(step.input)


def _words_of(value: object) -> set[str]:
    if isinstance(value, str):
        return _words(value)
    found: set[str] = set()
    for text in texts_in(value):
        found |= _words(text)
    return found


def _words(text: str) -> set[str]:
    found = set(_WORD.findall(text[:_MAX_TEXT].lower()))
    return {word for word in found - words("cues", "stop_words") if len(word) >= _LEAST_LETTERS or word.isdigit()}


def after_completion(steps: Sequence[Step], calls: Sequence[Call], set_aside: Collection[int]) -> list[int]:
    """Reading steps behind the last words of a model that did not call for them.

    A message hands the turn to the user, so that what follows it answers the user and is not late.
    """
    spoken = [place for place, step in enumerate(steps) if step.kind in ("llm", "message") and place not in set_aside]
    if not spoken:
        return []
    last = spoken[-1]
    said = text_of(steps[last].output)
    if not said.strip() or steps[last].kind == "message":
        return []
    behind = range(last + 1, len(steps))
    return [
        place
        for place in behind
        if place not in set_aside
        and _only_reads(steps[place], calls[place])
        and not calls[place].is_stateful
        and not _called_for(steps[place], said)
    ]


def _called_for(step: Step, said: str) -> bool:
    """Whether the words before a call name the tool, or hold most of what it was asked."""
    lowered = said[:_MAX_TEXT].lower()
    if step.name.lower() in lowered or "tool_calls" in lowered:
        return True
    asked = _words_of(step.input)
    return bool(asked) and len(asked & _words(said)) * 2 > len(asked) + len(asked) // 2


def restylings(steps: Sequence[Step], task: str, set_aside: Collection[int]) -> dict[int, int]:
    """Model calls that were given an earlier model's text and gave it back in nearly the same words."""
    if _words(task) & words("cues", "rewording_tasks"):
        return {}
    found: dict[int, int] = {}
    previous: int | None = None
    for place, step in enumerate(steps):
        if step.kind != "llm" or place in set_aside:
            continue
        said = text_of(step.output)
        if previous is not None and isinstance(step.input, str):
            before = text_of(steps[previous].output)[:_MAX_TEXT].strip()
            if before and before in step.input and before != said:
                near = by_words(read_wording(before), read_wording(said))
                if near >= table("nearness")["restyle"] and read_wording(before).count >= 8:
                    found[place] = previous
                    continue
        previous = place
    return found


def echoes(steps: Sequence[Step], set_aside: Collection[int]) -> list[int]:
    """Model calls that gave back their input unchanged."""
    return [
        place
        for place, step in enumerate(steps)
        if step.kind == "llm"
        and place not in set_aside
        and step.input not in (None, "")
        and dump(step.output).strip() == dump(step.input).strip()
    ]
