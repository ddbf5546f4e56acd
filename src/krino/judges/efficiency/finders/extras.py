"""Finds work beside the task: planning and checking, restyling and adding to an answer, lookups beside the point.

It goes by the words of names, questions and instructions, and leaves a kind of work alone where the task asks for it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.effects import name_parts, names
from krino.judges.efficiency.finders.nearness import by_words, read_wording
from krino.judges.efficiency.finders.unused_results import is_bookkeeping, words_in, words_of
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import dump, text_of
from krino.judges.efficiency.traces.steps import Step

_WORD = re.compile(r"[^\W_]+")
_MAX_TEXT = 20_000
_INSTRUCTION = 300
_QUERY = 40
_FIRST = 5
_LEAST_REWORDED = 8
_LEAST_NUMBERS = 2
_NEARBY = 20
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Extra:
    """Why a step is beside the task; `of` is the step it works over, if there is one."""

    label: Literal["speculative", "enrichment"]
    why: str
    of: int | None = None


def restylings(steps: Sequence[Step]) -> dict[int, int]:
    """Model calls that were given an earlier model's text and gave it back in nearly the same words."""
    found: dict[int, int] = {}
    previous: int | None = None
    for place, step in enumerate(steps):
        if step.kind != "llm":
            continue
        if previous is not None and _works_over(step, steps[previous]) and _is_reworded(steps[previous], step):
            found[place] = previous
        else:
            previous = place
    return found


def brings_nothing_new(steps: Sequence[Step], place: int) -> bool:
    """Whether a model's words hold next to nothing that it was not given or that no model had said: a restyling."""
    step = steps[place]
    if step.kind not in ("llm", "message"):
        return False
    told = {*name_parts(step.name), *_WORD.findall(_instruction(step))}
    if not told.isdisjoint(words("cues", "adding")):
        return False
    said = words_of(step.output)
    new = said - words_of(step.input)
    for earlier in steps[max(0, place - _NEARBY) : place]:
        if earlier.kind in ("llm", "message") and new:
            new -= words_of(earlier.output)
    most: float = table("nearness")["new_share"] * len(said)
    return len(new) <= most


def _instruction(step: Step) -> str:
    """The opening of what a model was told."""
    return step.input[:_INSTRUCTION].lower() if isinstance(step.input, str) else ""


def _works_over(step: Step, earlier: Step) -> bool:
    before = text_of(earlier.output)[:_MAX_TEXT].strip()
    return bool(before) and isinstance(step.input, str) and before in step.input


def extras(
    steps: Sequence[Step], calls: Sequence[Call], task: str, restyled: Mapping[int, int], set_aside: Collection[int]
) -> dict[int, Extra]:
    """The steps that are beside the task. What is the only step, or the only words of a model, is never called so."""
    found: dict[int, Extra] = {}
    asked = set(_WORD.findall(task[:_MAX_TEXT].lower()))
    spoken = [place for place, step in enumerate(steps) if step.kind in ("llm", "message") and place not in set_aside]
    searches = [place for place, call in enumerate(calls) if call.is_search]
    for place in range(len(steps)):
        if place in set_aside or len(steps) - len(set_aside) < 2:
            continue
        extra = next(_extra(steps, calls, place, asked, restyled, spoken, searches), None)
        if extra is not None:
            found[place] = extra
    return found


def _extra(
    steps: Sequence[Step],
    calls: Sequence[Call],
    place: int,
    asked: set[str],
    restyled: Mapping[int, int],
    spoken: Sequence[int],
    searches: Sequence[int],
) -> Iterator[Extra]:
    step, call = steps[place], calls[place]
    if step.kind == "llm" and len(spoken) > 1:
        yield from _of_a_model(steps, place, asked, restyled, spoken)
    if step.kind == "message":
        yield from _asked_back(step, place, asked, spoken)
    if step.kind in ("tool", "other") and not call.is_read:
        if names(step.name, "musing") and _free("musing", asked):
            yield Extra("speculative", "thinks about the work instead of doing it")
        if is_bookkeeping(step) and _free("bookkeeping", asked):
            yield Extra("speculative", "keeps a note that nobody asked for")
    if step.kind in ("tool", "retrieval") and call.is_search:
        yield from _beside_the_point(steps, calls, place, asked, searches)
    if step.kind == "tool" and _free("checking", asked):
        yield from _worked_out_again(steps, calls, place)


def _of_a_model(
    steps: Sequence[Step], place: int, asked: set[str], restyled: Mapping[int, int], spoken: Sequence[int]
) -> Iterator[Extra]:
    step = steps[place]
    earlier = spoken[: bisect_left(spoken, place)]
    if names(step.name, "musing") and _free("musing", asked):
        yield Extra("speculative", "thinks about the work instead of doing it")
    if names(step.name, "checking") and _free("checking", asked):
        yield Extra("speculative", "checks what was there")
    if not earlier or not _free("rewording_tasks", asked) or not _free("restyling", asked):
        return
    last = earlier[-1]
    told = {*name_parts(step.name), *_WORD.findall(_instruction(step).split(":")[0])}
    over = _works_over(step, steps[last])
    if not told.isdisjoint(words("cues", "adding")) and (over or names(step.name, "adding")) and _free("adding", asked):
        yield Extra("enrichment", "adds to an earlier output", last)
    if place in restyled:
        yield Extra("enrichment", "rewords an earlier output", restyled[place])
    if names(step.name, "restyling"):
        same = brings_nothing_new(steps, place)
        if over or same:
            yield Extra("enrichment", "rewords an earlier output" if same else "goes beyond an earlier output", last)


def _is_reworded(earlier: Step, step: Step) -> bool:
    before, said = text_of(earlier.output)[:_MAX_TEXT].strip(), text_of(step.output)
    one, other = read_wording(before), read_wording(said)
    return before != said and one.count >= _LEAST_REWORDED and by_words(one, other) >= table("nearness")["restyle"]


def _asked_back(step: Step, place: int, asked: set[str], spoken: Sequence[int]) -> Iterator[Extra]:
    """A question that opens the run and only says the task again."""
    said = text_of(step.output).strip()
    if not said.endswith("?") or place != spoken[0] or len(spoken) < 2:
        return
    meant = words_in(said) - words("cues", "asking_back")
    if meant and len(meant & asked) >= table("nearness")["asked_back"] * len(meant):
        yield Extra("speculative", "asks back what the task says")


def _beside_the_point(
    steps: Sequence[Step], calls: Sequence[Call], place: int, asked: set[str], searches: Sequence[int]
) -> Iterator[Extra]:
    """A question to a search tool that is not the only one, with words of confirming or embellishing."""
    query = _WORD.findall(calls[place].wording.lower() or " ".join(words_of(steps[place].input)))
    if len(searches) < 2 or len(query) > _QUERY:
        return
    if query[:1] and query[0] in words("cues", "checking") and _free("checking", asked) and place > searches[0]:
        yield Extra("speculative", "asks to confirm what was found")
    beside = set(query) & words("cues", "embellishing")
    if beside and _free("embellishing", asked):
        topic = asked.union(*(words_of(steps[other].output) for other in searches[:_FIRST] if other < place))
        if not topic.isdisjoint(words_in(" ".join(query))):
            yield Extra("enrichment", f"looks up what was not asked for ({sorted(beside)[0]})")


def _worked_out_again(steps: Sequence[Step], calls: Sequence[Call], place: int) -> Iterator[Extra]:
    """The same numbers were given in another way, or to another tool, and gave the same number."""
    result = calls[place].result
    nearby = range(max(0, place - _NEARBY), place)
    alike = [earlier for earlier in nearby if calls[earlier].result == result] if result is not None else []
    numbers = _numbers(dump(steps[place].input)) if alike else frozenset()
    if len(numbers) < _LEAST_NUMBERS or not _numbers(dump(steps[place].output)):
        return
    for earlier in alike:
        other = steps[earlier]
        another_way = other.name != steps[place].name or calls[place].effect == "unclear"
        if other.kind == "tool" and another_way and _numbers(dump(other.input)) == numbers:
            yield Extra("speculative", "works out again what was known", earlier)


def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text[:_INSTRUCTION]))


def _free(family: str, asked: set[str]) -> bool:
    """Whether the task says nothing of this kind of work."""
    return asked.isdisjoint(words("cues", family))
