"""Finds steps that repeat an earlier one: the same call, a near wording, a result that was known, the same words.

One pass, bounded work a step: keys are looked up, and near wordings come from a sketch index. A step is only held
against steps that were themselves no repeats, so that taking a repeat out changes nothing for the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from krino.judges.efficiency.finders.calls import Call, spoken_action, squeeze, texts_in
from krino.judges.efficiency.finders.content_words import tokens_of
from krino.judges.efficiency.finders.effects import ONCE, Ordered, is_pending, names
from krino.judges.efficiency.finders.known_results import KnownResults
from krino.judges.efficiency.finders.nearness import (
    NearIndex,
    Nearness,
    Wording,
    ask_another,
    by_words,
    differ_in_one_word,
    read_wording,
)
from krino.judges.efficiency.tables import table
from krino.judges.efficiency.traces.content import dump, text_of
from krino.judges.efficiency.traces.steps import Step

Ground = Literal["change", "ordered", "moving", "waiting"]
"""What forces a repetition: a step in between, the task, a tool that goes on with each call, a state waited for."""
Level = Literal["exact", "normalised", "near", "same_result", "same_words", "known_result"]
_CODE_MARK = re.compile(r"[=;{}]|\w\(")
_WORDINGS_ENOUGH = 2
"""Earlier wordings of one question from which on another one is a repeat, even if it is less near to each."""
_SHORT_RESULT = 200
_TELLING = 4
"""Letters of a word by which a step is seen to follow up an error."""


@cache
def _passing() -> re.Pattern[str]:
    return re.compile("|".join(re.escape(cue) for cue in table("cues")["passing_errors"]), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Step `place` repeats step `of`. `waste` is False where the repeat had a ground (a retry, a new result)."""

    place: int
    of: int
    level: Level
    same_result: bool
    waste: bool
    retry: bool = False
    ground: Ground | None = None
    """What forces the repetition, if anything does."""


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
    """The state of the one pass; `repeats` and `recovered` are what comes out of it."""

    steps: Sequence[Step]
    calls: Sequence[Call]
    nearness: Nearness = by_words
    ordered: Ordered = ONCE
    repeats: dict[int, Repeat] = field(default_factory=dict)
    recovered: dict[int, int] = field(default_factory=dict)
    """Failed step to the later step that made the same call with success."""
    _exact: dict[bytes, int] = field(default_factory=dict)
    _normal: dict[bytes, _Seen] = field(default_factory=dict)
    _near: dict[bytes, NearIndex] = field(default_factory=dict)
    _said: dict[str, tuple[dict[str, int], NearIndex]] = field(default_factory=dict)
    _results: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    _replies: dict[tuple[str, bytes], int] = field(default_factory=dict)
    _known: KnownResults = field(default_factory=KnownResults)
    _changes: list[int] = field(default_factory=list)
    """For each place, how many steps before it changed something and were no repeats in vain."""
    _unclear: list[int] = field(default_factory=list)
    """How many steps before it may have changed something."""
    _writes: list[int] = field(default_factory=list)
    """How many steps before it write, repeats among them."""
    _last_before: dict[int, int] = field(default_factory=dict)
    """From a place to the last place before it where the same call was made."""
    _news: dict[int, int] = field(default_factory=dict)
    """From a place to the next place where the same call brings something else."""

    def run(self) -> None:
        self._note_changes()
        changed = 0
        for place in range(len(self.steps)):
            self._changes.append(changed)
            call = self.calls[place]
            seen = self._normal.get(call.normal)
            repeat = self._again(place, seen) if seen is not None else self._alike(place)
            if repeat is not None:
                self.repeats[place] = repeat
            if call.effect in ("changes", "waits") and (repeat is None or not repeat.waste):
                changed += 1
            self._remember(place, seen, repeat)

    # --- the same call ---

    def _note_changes(self) -> None:
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
                continue  # an error, or no record, is no news
            if (after := following.get(call.normal)) is not None:
                self._news[place] = self._news.get(after, -1) if self._state(after) == state else after
            following[call.normal] = place

    def _state(self, place: int) -> bytes | None:
        """What a call found: the key of its result, or that there was nothing; None where that is not recorded."""
        call = self.calls[place]
        if self.steps[place].error is not None or not call.has_result:
            return None
        return b"nothing" if call.is_empty else call.result

    def _again(self, place: int, seen: _Seen) -> Repeat:
        step, call = self.steps[place], self.calls[place]
        level: Level = "exact" if call.exact in self._exact else "normalised"
        state = self._state(place)
        known = state is None or state in seen.results
        of = seen.leader if state is None else seen.results.get(state, seen.leader)
        changed = self._changes[place] > self._changes[seen.last + 1]
        if not seen.succeeded:
            again = step.error is not None and self._same_error(place, seen.failures[-1]) and not changed
            if step.error is None and (level == "exact" or changed or self._passed(seen.failures)):
                self.recovered.update(dict.fromkeys(seen.failures, place))
            return Repeat(place, seen.first, level, again, waste=again, retry=not again)
        ground: Ground | None = "change" if changed else self._ground(place, seen)
        stateless = call.is_search or call.is_write or (step.kind == "llm" and not call.speaks)
        waste = ground is None and (step.error is not None or known or stateless)
        return Repeat(place, of, level, known and step.error is None, waste, ground=ground)

    def _ground(self, place: int, seen: _Seen) -> Ground | None:
        """The task orders it so often, the tool is used by calling it again, or the state is being waited for."""
        call = self.calls[place]
        looks = call.effect == "none" and self.steps[place].kind != "llm"
        most = 1 if call.speaks else self.ordered.reads if looks else self.ordered.acts
        if str(most) in texts_in(self.steps[place].input):
            most = 1  # the call itself says how many
        if seen.times < most:
            return "ordered"
        if call.is_moving and not self._fails_again(place):
            return "moving"
        if call.effect == "waits":
            return "waiting"
        if call.is_paging or self.steps[place].kind == "llm" or (call.is_search and not call.is_watching):
            return None
        news = self._news.get(place, -1)
        comes_by_itself = news > place and self._writes[news] == self._writes[place + 1]
        return "waiting" if comes_by_itself or is_pending(self.steps[seen.last]) else None

    def _fails_again(self, place: int) -> bool:
        """The same short result, by which the thing could not be done."""
        before = self._last_before.get(place)
        told = squeeze(dump(self.steps[place].output))
        same = before is not None and self.calls[before].result == self.calls[place].result
        return same and len(told) < _SHORT_RESULT and any(cue in told for cue in table("cues")["failing"])

    def may_have_changed(self, place: int, earlier: int) -> bool:
        """Whether anything between two steps could have changed what the call brings, as far as can be known."""
        return self._unclear[place] > self._unclear[earlier + 1]

    def certain(self) -> Iterator[int]:
        """Repeats with the same recorded result, where neither the task, the tool nor a step between gives a ground."""
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

    def _passed(self, failures: Sequence[int]) -> bool:
        return all(_passing().search(self.steps[place].error or "") for place in failures)

    def _same_error(self, place: int, earlier: int) -> bool:
        """The same error twice is no passing fault, unless it is of the kind that passes."""
        error, before = self.steps[place].error or "", self.steps[earlier].error or ""
        return squeeze(error) == squeeze(before) and not _passing().search(error)

    # --- another call that comes to the same ---

    def _alike(self, place: int) -> Repeat | None:
        if self.steps[place].error is not None:
            return None
        if self.steps[place].kind == "message":  # a conversation may say alike things; only equal ones are repeats
            return None
        return (
            self._near_call(place)
            or self._same_result(place)
            or self._known_result(place)
            or self._same_reply(place)
            or self._same_words(place)
        )

    def _near_call(self, place: int) -> Repeat | None:
        call, step = self.calls[place], self.steps[place]
        if not call.wording or call.is_moving or call.is_paging or (step.kind == "llm" and not call.speaks):
            return None
        index = self._near.get(call.frame)
        if index is None:
            return None
        wording = read_wording(call.wording)
        alike = []
        for earlier in index.candidates(wording):
            other = self.calls[earlier]
            same = call.result is not None and call.result == other.result
            if self._changes[place] > self._changes[earlier + 1] and not call.is_search:
                continue
            asked = read_wording(other.wording)
            if not call.speaks and ask_another(wording, asked):
                continue
            on_purpose = not same and not call.speaks and differ_in_one_word(wording, asked)
            near = self.nearness(wording, asked)
            if near >= self._limit(call, wording, same, other) and not on_purpose:
                return Repeat(place, earlier, "near", same, waste=True)
            if near >= table("nearness")["query_third"] and call.is_search:
                alike.append(earlier)
        if len(alike) >= _WORDINGS_ENOUGH:
            return Repeat(place, min(alike), "near", False, waste=True)
        return None

    def _limit(self, call: Call, wording: Wording, same: bool, other: Call) -> float:
        limits = table("nearness")
        if same:
            return float(limits["query_same_result"])
        if call.is_empty and other.is_empty:
            return float(limits["query_empty"])
        if _CODE_MARK.search(call.wording) and "\n" in call.wording.strip():
            return 1.0 + 1e-9 if not call.speaks else float(limits["text"]) + 0.05
        if wording.count >= limits["long_query"] or call.speaks:
            return float(limits["text"])
        return float(limits["query"])

    def _same_result(self, place: int) -> Repeat | None:
        step, call = self.steps[place], self.calls[place]
        if call.result is None or call.speaks or step.kind == "llm" or not call.is_read:
            return None
        earlier = self._results.get((self._asks(place), call.result))
        if earlier is None or len(dump(step.output)) < table("nearness")["least_result"]:
            return None
        if ask_another(read_wording(call.wording), read_wording(self.calls[earlier].wording)):
            return None
        return Repeat(place, earlier, "same_result", same_result=True, waste=True)

    def _asks(self, place: int) -> bytes:
        """What two calls with the same result share if they are alike: searches the tool, others all but wordings."""
        return self.steps[place].name.encode() if self.calls[place].is_search else self.calls[place].frame

    def _known_result(self, place: int) -> Repeat | None:
        call = self.calls[place]
        if call.speaks or call.is_watching or call.is_paging or not call.is_read:
            return None
        earlier = self._known.find(self.steps[place]) if self._brings_results(place) else None
        if earlier is None or self._changes[place] > self._changes[earlier + 1] or self._asks_another(place, earlier):
            return None
        return Repeat(place, earlier, "known_result", same_result=False, waste=True)

    def _asks_another(self, place: int, earlier: int) -> bool:
        """The same tool asked about another thing by its name or number: that both say the same is news."""
        one, other = self.calls[place], self.calls[earlier]
        return self.steps[place].name == self.steps[earlier].name and one.frame != other.frame

    def _brings_results(self, place: int) -> bool:
        return self.steps[place].kind in ("tool", "retrieval")

    def _same_reply(self, place: int) -> Repeat | None:
        """A model that was given the same and said the same, whatever the step is called."""
        step, call = self.steps[place], self.calls[place]
        if step.kind != "llm" or call.speaks or call.result is None or self._decides(place):
            return None
        earlier = self._replies.setdefault((squeeze(dump(step.input)), call.result), place)
        return None if earlier == place else Repeat(place, earlier, "same_words", same_result=True, waste=True)

    def _same_words(self, place: int) -> Repeat | None:
        step = self.steps[place]
        if step.kind != "llm" or self.calls[place].speaks or self._decides(place):
            return None
        text = text_of(step.output)
        said = spoken_action(text)
        wording = read_wording(said)
        if wording.count < table("nearness")["least_words_text"]:
            return None
        equal, index = self._said.get(step.name, ({}, NearIndex()))
        earlier = equal.get(squeeze(said))
        if earlier is not None and self._brought_the_same(place, earlier):
            return Repeat(place, earlier, "same_words", same_result=True, waste=True)
        limit = table("nearness")["code_same_result" if said != text else "text"]
        for earlier in index.candidates(wording):
            if said != text and not (step.observed and self._brought_the_same(place, earlier)):
                continue  # code that was changed and brought something new is work on the code
            other = read_wording(spoken_action(text_of(self.steps[earlier].output)))
            if self.nearness(wording, other) >= limit:
                return Repeat(place, earlier, "near", same_result=False, waste=True)
        return None

    def _brought_the_same(self, place: int, earlier: int) -> bool:
        return squeeze(self.steps[place].observed) == squeeze(self.steps[earlier].observed)

    def _decides(self, place: int) -> bool:
        """A model call right before a tool call chose that call: the tool step is what is compared."""
        following = place + 1
        return following < len(self.steps) and self.steps[following].kind in ("tool", "retrieval")

    # --- memory ---

    def _remember(self, place: int, seen: _Seen | None, repeat: Repeat | None) -> None:
        step, call = self.steps[place], self.calls[place]
        ok = step.error is None
        self._exact.setdefault(call.exact, place)
        if seen is None:
            seen = self._normal[call.normal] = _Seen(place, repeat.of if repeat else place, False)
        elif ok and not seen.succeeded:
            seen.leader = place
        seen.last = place
        seen.times += 1
        if ok:
            seen.succeeded = True
            if (state := self._state(place)) is not None:
                seen.results.setdefault(state, repeat.of if repeat and repeat.waste else place)
        elif not seen.succeeded:
            seen.failures.append(place)
        if ok and (repeat is None or repeat.retry):
            self._lead(place)

    def _lead(self, place: int) -> None:
        step, call = self.steps[place], self.calls[place]
        if call.wording:
            self._near.setdefault(call.frame, NearIndex()).add(place, read_wording(call.wording))
        if call.result is not None:
            self._results.setdefault((self._asks(place), call.result), place)
        if call.result is not None and self._brings_results(place):
            self._known.add(place, step)
        if step.kind == "llm" and not call.speaks and not self._decides(place):
            said = spoken_action(text_of(step.output))
            equal, index = self._said.setdefault(step.name, ({}, NearIndex()))
            equal.setdefault(squeeze(said), place)
            index.add(place, read_wording(said))


def errors_of_use(steps: Sequence[Step], calls: Sequence[Call], search: RepeatSearch) -> dict[int, str]:
    """Errors that told something: of a run that was worked on after it, or of the last attempt, which is reported."""
    found: dict[int, str] = {}
    following: int | None = None
    reported = False
    for place in range(len(steps) - 1, -1, -1):
        step = steps[place]
        if step.kind in ("llm", "message"):
            repeat = search.repeats.get(place)
            in_vain = step.error is not None or not step.output or (repeat is not None and repeat.waste)
            reported = reported or not in_vain
            continue
        if step.error is not None and place not in search.recovered:
            runs = calls[place].effect == "unclear" or names(step.name, "runs")
            if following is None and reported:
                found[place] = "the last attempt, and its error is the result"
            elif following is not None and runs and _works_on(step, steps[following], calls[following]):
                found[place] = "its error was worked on"
        repeat = search.repeats.get(place)
        if repeat is None or not repeat.waste:  # the same error again is no further attempt
            following = place
    return found


def _works_on(failed: Step, following: Step, call: Call) -> bool:
    """Right after the error another tool wrote something, with success, or was given what only the error had told."""
    if following.error is not None or following.name == failed.name:
        return False
    known = tokens_of(failed.input)
    told = {word for word in tokens_of(failed.error or "") - known if len(word) >= _TELLING}
    return call.is_write or not told.isdisjoint(tokens_of(following.input))
