"""Finds repeated calls: the same call, or nearly the same wording; and cycles, fan-outs and restarts of a run.

One pass with bounded work per step: keys are looked up, and similar wordings come from a sketch index. A step is only
compared with steps that were no repeats themselves, so that removing a repeat changes nothing for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.effects import is_pending
from krino.judges.efficiency.finders.similarity import (
    NearIndex,
    Wording,
    ask_different_things,
    differ_in_one_word,
    measure_similarity,
    read_wording,
)
from krino.judges.efficiency.finders.task import ONCE, Repetition
from krino.judges.efficiency.finders.tokens import normalise_text, texts_in
from krino.judges.efficiency.traces.content import to_text
from krino.judges.efficiency.traces.steps import Step

Ground = Literal["change", "ordered", "moving", "waiting"]
"""Why a call had to be repeated: a step in between, the task, a tool that advances with each call, a pending state."""
Level = Literal["exact", "normalised", "near"]
_CODE_MARK = re.compile(r"[=;{}]|\w\(")
_WORDINGS_ENOUGH = 2
"""After so many similar wordings of one question another is a repeat, even if it is less similar to each."""
_SHORT_RESULT = 200
_LONGEST_CYCLE = 12
_LEAST_FAN = 3


@cache
def _passing() -> re.Pattern[str]:
    return re.compile("|".join(re.escape(cue) for cue in table("cues")["passing_errors"]), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Step `place` repeats step `of`. `waste` is False where the repeat had a ground, was a retry or returned news."""

    place: int
    of: int
    level: Level
    same_result: bool
    waste: bool
    retry: bool = False
    ground: Ground | None = None


@dataclass(slots=True)
class _Seen:
    """One call as it was made so far."""

    first: int
    leader: int
    succeeded: bool
    results: dict[bytes, int] = field(default_factory=dict)
    failures: list[int] = field(default_factory=list)
    last: int = 0
    times: int = 0


@dataclass(slots=True)
class RepeatSearch:
    """The state of the one pass; `repeats` and `recovered` are its results."""

    steps: Sequence[Step]
    calls: Sequence[Call]
    ordered: Repetition = ONCE
    repeats: dict[int, Repeat] = field(default_factory=dict)
    recovered: dict[int, int] = field(default_factory=dict)
    """From a failed step to the later step that made the same call with success."""
    _exact: dict[bytes, int] = field(default_factory=dict)
    _normal: dict[bytes, _Seen] = field(default_factory=dict)
    _near: dict[bytes, NearIndex] = field(default_factory=dict)
    _changes: list[int] = field(default_factory=list)
    """For each place, how many earlier steps changed something and were no useless repeats."""
    _unclear: list[int] = field(default_factory=list)
    """For each place, how many earlier steps may have changed something."""
    _writes: list[int] = field(default_factory=list)
    """For each place, how many earlier steps write, repeats among them."""
    _last_before: dict[int, int] = field(default_factory=dict)
    """From a place to the last earlier place of the same call."""
    _news: dict[int, int] = field(default_factory=dict)
    """From a place to the next place where the same call returns something else."""

    def run(self) -> None:
        """Finds all repeats, in the order of the steps; fills `repeats` and `recovered`."""
        self._note_changes()
        changed = 0
        for place in range(len(self.steps)):
            self._changes.append(changed)
            call = self.calls[place]
            seen = self._normal.get(call.normal)
            repeat = self._match_same(place, seen) if seen is not None else self._match_similar(place)
            if repeat is not None:
                self.repeats[place] = repeat
            if call.effect in ("changes", "waits") and (repeat is None or not repeat.waste):
                changed += 1
            self._remember(place, seen, repeat)

    # --- the same call ---

    def _note_changes(self) -> None:
        """Notes for each step how many changes came before it, and when its result was new."""
        unclear = writes = 0
        following: dict[bytes, int] = {}
        for call in self.calls:
            self._unclear.append(unclear)
            self._writes.append(writes)
            unclear += call.effect != "none"
            writes += call.effect == "changes"
        latest: dict[bytes, int] = {}
        for place, call in enumerate(self.calls):
            if call.normal in latest:
                self._last_before[place] = latest[call.normal]
            latest[call.normal] = place
        for place in range(len(self.calls) - 1, -1, -1):
            call, state = self.calls[place], self._state(place)
            if state is None:
                continue  # an error, or an unrecorded result, is no news
            if (after := following.get(call.normal)) is not None:
                self._news[place] = self._news.get(after, -1) if self._state(after) == state else after
            following[call.normal] = place

    def _state(self, place: int) -> bytes | None:
        """Returns what a call found: the key of its result, or that there was nothing.

        None where that is not recorded.
        """
        call = self.calls[place]
        if self.steps[place].error is not None or not call.has_result:
            return None
        return b"nothing" if call.is_empty else call.result

    def _match_same(self, place: int, seen: _Seen) -> Repeat:
        """Returns the repeat of an equal call, and whether there was ground for it.

        Also notes failed calls that this one recovered.
        """
        step, call = self.steps[place], self.calls[place]
        level: Level = "exact" if call.exact in self._exact else "normalised"
        state = self._state(place)
        known = state is None or state in seen.results
        of = seen.leader if state is None else seen.results.get(state, seen.leader)
        changed = self._changes[place] > self._changes[seen.last + 1]
        if not seen.succeeded:
            again = step.error is not None and self._is_same_error(place, seen.failures[-1]) and not changed
            if step.error is None and (level == "exact" or changed or self._have_passed(seen.failures)):
                self.recovered.update(dict.fromkeys(seen.failures, place))
            return Repeat(place, seen.first, level, again, waste=again, retry=not again)
        ground: Ground | None = "change" if changed else self._find_ground(place, seen)
        stateless = call.is_search or call.is_write or (step.kind == "llm" and not call.speaks)
        waste = ground is None and (step.error is not None or known or stateless)
        return Repeat(place, of, level, known and step.error is None, waste, ground=ground)

    def _find_ground(self, place: int, seen: _Seen) -> Ground | None:
        """Returns why a call was rightly made again, or None.

        The task orders that many calls, the tool is used by calling it repeatedly, or a state is waited for.
        """
        call = self.calls[place]
        looks = call.effect == "none" and self.steps[place].kind != "llm"
        most = 1 if call.speaks else self.ordered.reads if looks else self.ordered.acts
        if str(most) in texts_in(self.steps[place].input):
            most = 1  # the call itself holds the number ("roll 3 dice"), so that one call does it
        if seen.times < most:
            return "ordered"
        if call.is_moving and not self._fails_again(place):
            return "moving"
        if call.effect == "waits":
            return "waiting"
        if call.is_paging or self.steps[place].kind == "llm" or (call.is_search and not call.is_watching):
            return None
        news = self._news.get(place, -1)
        changes_by_itself = news > place and self._writes[news] == self._writes[place + 1]
        return "waiting" if changes_by_itself or is_pending(self.steps[seen.last]) else None

    def _fails_again(self, place: int) -> bool:
        """Does the same short result say again that the thing could not be done?"""
        before = self._last_before.get(place)
        result = normalise_text(to_text(self.steps[place].output))
        same = before is not None and self.calls[before].result == self.calls[place].result
        return same and len(result) < _SHORT_RESULT and any(cue in result for cue in table("cues")["failing"])

    def may_have_changed(self, place: int, earlier: int) -> bool:
        """Whether anything between two steps could have changed the result of the call."""
        return self._unclear[place] > self._unclear[earlier + 1]

    def find_certain(self) -> Iterator[int]:
        """Yields repeats with the same recorded result for which neither task, tool nor a step between is a ground."""
        for place, repeat in self.repeats.items():
            call = self.calls[place]
            if not repeat.waste or repeat.retry or repeat.level not in ("exact", "normalised"):
                continue
            if not repeat.same_result or call.result is None or call.is_watching or call.is_moving or call.is_paging:
                continue
            if not self._may_be_ordered(call) and not self.may_have_changed(place, self._last_before[place]):
                yield place

    def _may_be_ordered(self, call: Call) -> bool:
        return self.ordered.perhaps_reads if call.effect == "none" else self.ordered.perhaps_acts

    def _have_passed(self, failures: Sequence[int]) -> bool:
        """Whether all the errors are of a kind that passes: a time-out, a gateway, an overload."""
        return all(_passing().search(self.steps[place].error or "") for place in failures)

    def _is_same_error(self, place: int, earlier: int) -> bool:
        """The same error twice will not pass, unless it is of a kind that does."""
        error, before = self.steps[place].error or "", self.steps[earlier].error or ""
        return normalise_text(error) == normalise_text(before) and not _passing().search(error)

    # --- a similar wording ---

    def _match_similar(self, place: int) -> Repeat | None:
        """Returns the repeat of a call with nearly the same wording, or None."""
        call, step = self.calls[place], self.steps[place]
        if step.error is not None or not call.wording or call.is_moving or call.is_paging:
            return None
        if step.kind == "message" or (step.kind == "llm" and not call.speaks):
            return None  # a conversation may say similar things; only equal messages are repeats
        index = self._near.get(call.frame)
        if index is None:
            return None
        wording = read_wording(call.wording)
        similar = []
        for earlier in index.candidates(wording):
            other = self.calls[earlier]
            same = call.result is not None and call.result == other.result
            if self._changes[place] > self._changes[earlier + 1] and not call.is_search:
                continue
            asked = read_wording(other.wording)
            if not call.speaks and ask_different_things(wording, asked):
                continue
            on_purpose = not same and not call.speaks and differ_in_one_word(wording, asked)
            similarity = measure_similarity(wording, asked)
            if similarity >= _choose_limit(call, wording, same, other) and not on_purpose:
                return Repeat(place, earlier, "near", same, waste=True)
            if similarity >= table("limits")["query_third"] and call.is_search:
                similar.append(earlier)
        if len(similar) >= _WORDINGS_ENOUGH:
            return Repeat(place, min(similar), "near", False, waste=True)
        return None

    # --- memory ---

    def _remember(self, place: int, seen: _Seen | None, repeat: Repeat | None) -> None:
        """Notes a step, so that later ones can be found to repeat it."""
        step, call = self.steps[place], self.calls[place]
        succeeded = step.error is None
        self._exact.setdefault(call.exact, place)
        if seen is None:
            seen = self._normal[call.normal] = _Seen(place, repeat.of if repeat else place, False)
        elif succeeded and not seen.succeeded:
            seen.leader = place
        seen.last = place
        seen.times += 1
        if succeeded:
            seen.succeeded = True
            if (state := self._state(place)) is not None:
                seen.results.setdefault(state, repeat.of if repeat and repeat.waste else place)
        elif not seen.succeeded:
            seen.failures.append(place)
        if succeeded and (repeat is None or repeat.retry) and call.wording:
            self._near.setdefault(call.frame, NearIndex()).add(place, read_wording(call.wording))


def _choose_limit(call: Call, wording: Wording, same: bool, other: Call) -> float:
    """Returns how similar two wordings must be to count as one; code and long texts must be all but equal."""
    limits = table("limits")
    if same:
        return float(limits["query_same_result"])
    if call.is_empty and other.is_empty:
        return float(limits["query_empty"])
    if _CODE_MARK.search(call.wording) and "\n" in call.wording.strip():
        return 1.0 + 1e-9 if not call.speaks else float(limits["text"]) + 0.05
    if wording.count >= limits["long_query"] or call.speaks:
        return float(limits["text"])
    return float(limits["query"])


# --- patterns over many steps -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cycle:
    """From `start` on, the same `length` calls were made `times` times in the same order."""

    start: int
    length: int
    times: int


def find_cycles(calls: Sequence[Call]) -> list[Cycle]:
    """Returns where the same calls were made at least twice in the same order, directly after each other.

    The shortest period wins; each step belongs to one cycle at most.
    """
    found: list[Cycle] = []
    covered = -1
    for start in range(len(calls)):
        if start <= covered:
            continue
        cycle = _find_cycle_at(calls, start)
        if cycle is not None:
            found.append(cycle)
            covered = start + cycle.length * cycle.times - 1
    return found


def _find_cycle_at(calls: Sequence[Call], start: int) -> Cycle | None:
    """Returns the shortest cycle that begins at a step, or None."""
    for length in range(1, _LONGEST_CYCLE + 1):
        place = start + length
        while place < len(calls) and calls[place].normal == calls[place - length].normal:
            place += 1
        times = (place - start) // length
        if times >= 2:
            return Cycle(start, length, times)
    return None


def find_fan_outs(steps: Sequence[Step], calls: Sequence[Call]) -> list[tuple[int, int]]:
    """Returns stretches (first, last) of different questions to one search tool without another step between them."""
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


def find_restarts(steps: Sequence[Step], calls: Sequence[Call], repeats: Mapping[int, Repeat]) -> list[int]:
    """Returns the steps at which the run began again: the opening words come back, or the first two calls in a row."""
    found = []
    for place, repeat in repeats.items():
        if repeat.of != 0 or repeat.retry:
            continue
        follower = repeats.get(place + 1)
        if calls[0].speaks or (len(steps) > 2 and follower is not None and follower.of == 1):
            found.append(place)
    return found
