"""Finds patterns over many steps: cycles, fan-outs of one search tool, and runs that started over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.repeats import Repeat
from krino.judges.efficiency.traces.steps import Step

_LONGEST_CYCLE = 12
_LEAST_FAN = 3


@dataclass(frozen=True, slots=True)
class Cycle:
    """Steps from `start` on are `length` calls, made `times` times in the same order."""

    start: int
    length: int
    times: int


def cycles(calls: Sequence[Call]) -> list[Cycle]:
    """The shortest period wins; a stretch belongs to one cycle only."""
    found: list[Cycle] = []
    covered = -1
    for start in range(len(calls)):
        if start <= covered:
            continue
        cycle = _cycle_at(calls, start)
        if cycle is not None:
            found.append(cycle)
            covered = start + cycle.length * cycle.times - 1
    return found


def _cycle_at(calls: Sequence[Call], start: int) -> Cycle | None:
    for length in range(1, _LONGEST_CYCLE + 1):
        place = start + length
        while place < len(calls) and calls[place].normal == calls[place - length].normal:
            place += 1
        times = (place - start) // length
        if times >= 2:
            return Cycle(start, length, times)
    return None


def fan_outs(steps: Sequence[Step], calls: Sequence[Call]) -> list[tuple[int, int]]:
    """Stretches (first, last) of different questions to one search tool without another step between them."""
    found = []
    start = 0
    for place in range(1, len(steps) + 1):
        goes_on = place < len(steps) and calls[place].is_search and steps[place].name == steps[start].name
        if goes_on:
            continue
        kinds = len({calls[inner].normal for inner in range(start, place)})
        if kinds >= _LEAST_FAN and calls[start].is_search:
            found.append((start, place - 1))
        start = place
    return found


def restarts(steps: Sequence[Step], calls: Sequence[Call], repeats: Mapping[int, Repeat]) -> list[int]:
    """Steps at which the run began again: the opening words come back, or the first two calls in a row."""
    found = []
    for place, repeat in repeats.items():
        if repeat.of != 0 or repeat.retry or repeat.level == "known_result":
            continue
        follower = repeats.get(place + 1)
        if calls[0].speaks or (len(steps) > 2 and follower is not None and follower.of == 1):
            found.append(place)
    return found
