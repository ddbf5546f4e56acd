"""Finds work beside the task: planning and checking, announcing and restating, restyling and adding, unasked acts.

It goes by the words of names, questions, instructions and announcements, and leaves a kind of work alone where the task
asks for it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence

from krino.judges.efficiency.finders.asking import read_task
from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.content_words import forms, tokens_in, tokens_of, words_in, words_of
from krino.judges.efficiency.finders.detours import Detours
from krino.judges.efficiency.finders.effects import name_parts, names, ordered_by
from krino.judges.efficiency.finders.extra import Extra
from krino.judges.efficiency.finders.readings import acknowledges
from krino.judges.efficiency.finders.restyling import brings_nothing_new, instruction_of, works_over
from krino.judges.efficiency.finders.talking import Talking
from krino.judges.efficiency.finders.undoing import (
    installs_for_nobody,
    overwritten,
    taken_back,
    turned_back,
    turned_round,
    went_astray,
)
from krino.judges.efficiency.tables import words
from krino.judges.efficiency.traces.content import dump, text_of
from krino.judges.efficiency.traces.steps import Step

_LOOKED_AT = 300
_QUERY = 40
_FIRST = 5
_LEAST_NUMBERS = 2
_NEARBY = 20
_LONG_NUMBER = 3
_LEAST_TEXT = 12
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DATA_FILE = re.compile(r"(?<![\w/-])[\w/-]++\.(?:csv|tsv|xlsx?|json|jsonl|parquet|db|sqlite|txt|log)\b")
_HYPHENED = re.compile(r"(?<!\w)\w++-\w+")
_PUSH = re.compile(r"\bgit push\b|\b(?:npm|cargo|twine) (?:publish|upload)\b")
_NOTES = re.compile(r"(?:[\w./-]*/)?(?:readme|changelog|summary|notes|report|changes|todo)[\w-]*\.(?:md|txt|rst)", re.I)
_UNASKED = {
    "charting": "draws what",
    "announcing": "tells others what",
    "keeping": "keeps a copy of what",
    "rewarding": "gives or sends what",
    "formatting": "formats what",
}
"""Families of acts that are done for good measure, and what they do that nobody asked for."""


class Extras:
    """The search for steps that are beside the task: what is known of trace and task, and one look at each step.

    `opening` is what the agent was told of the task; `handed` are the messages after which a user spoke, or may have.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        calls: Sequence[Call],
        task: str,
        opening: str,
        restyled: Mapping[int, int],
        set_aside: Collection[int],
        handed: Collection[int],
    ) -> None:
        self.steps, self.calls, self.restyled, self.set_aside = steps, calls, restyled, set_aside
        self.wanted = read_task(task)
        self.asked = {*tokens_in(task), *(found.replace("-", "") for found in _HYPHENED.findall(task.lower()))}
        self.asked_forms = forms(self.asked)
        self.orders_more = ordered_by(task).perhaps_acts
        self.spoken = [place for place, step in enumerate(steps) if step.talks and place not in set_aside]
        self.searches = [place for place, call in enumerate(calls) if call.is_search]
        self.first_message = min(handed, default=len(steps))
        self.talking = Talking(steps, task, opening, self.spoken, handed, set_aside)
        self.detours = Detours(steps, calls, task, self.asked, self.spoken)

    def found(self) -> dict[int, Extra]:
        """By place. What is the only step, or the only words of a model, is never called so."""
        found: dict[int, Extra] = {}
        looked_at = [place for place in range(len(self.steps)) if place not in self.set_aside]
        for place in looked_at if len(looked_at) > 1 else ():
            extra = None if place in found else next(self._look(place), None)
            if extra is None:
                continue
            found[place] = extra
            if extra.undoes and extra.of is not None:
                again = self.done_again(extra.of, place)
                if again is None:
                    found.setdefault(extra.of, Extra("indirect", "is taken back later, and nothing used it", place))
                elif again not in self.set_aside:
                    found.setdefault(again, Extra("redundant", "does again what was taken back", extra.of))
        return found

    def _look(self, place: int) -> Iterator[Extra]:
        step, call = self.steps[place], self.calls[place]
        if step.kind == "llm" and len(self.spoken) > 1:
            yield from self._of_a_model(place)
            yield from self._in_between(place)
        if step.kind == "message":
            yield from self.talking.look(place)
        if step.kind in ("tool", "other") and not call.is_read:
            yield from self._of_a_tool(place)
        if step.kind in ("tool", "retrieval") and call.is_search:
            yield from self._asks_for_the_found(place)
            yield from self._beside_the_point(place)
        if step.kind in ("tool", "retrieval"):
            yield from self.detours.look(place)
        if step.kind == "tool":
            yield from self._worked_out_again(place)
            yield from self._read_again(place)
            yield from self._through_a_third(place)
            yield from self._comes_to_nothing(place)

    def _free(self, family: str) -> bool:
        """Whether the task says nothing of this kind of work."""
        return self.asked_forms.isdisjoint(words("cues", family))

    def _is(self, place: int, family: str) -> bool:
        """Whether the step names itself so, and the task does not speak of it."""
        return names(self.steps[place].name, family) and self._free(family)

    # --- models ---

    def _of_a_model(self, place: int) -> Iterator[Extra]:
        step = self.steps[place]
        if self._is(place, "musing"):
            yield Extra("speculative", "thinks about the work instead of doing it")
        if self._is(place, "checking"):
            yield Extra("speculative", "checks what was there")
        earlier = self.spoken[: bisect_left(self.spoken, place)]
        for other in earlier[-_NEARBY:] if self._free("checking") else ():
            if self._answers_the_same(place, other):
                yield Extra("speculative", "works out again what was known", other)
        if not earlier:
            return
        last = earlier[-1]
        told = {*name_parts(step.name), *tokens_in(instruction_of(step).split(":")[0])}
        over = works_over(step, self.steps[last])
        adds = not told.isdisjoint(words("cues", "adding")) and (over or names(step.name, "adding"))
        if adds and self._free("adding"):
            yield Extra("enrichment", "adds to an earlier output", last)
        if not self._free("rewording_tasks") or not self._free("restyling"):
            return
        if place in self.restyled:
            yield Extra("enrichment", "rewords an earlier output", self.restyled[place])
        if names(step.name, "restyling") or (over and not told.isdisjoint(words("cues", "restyling"))):
            same = brings_nothing_new(self.steps, place)
            if over or same:
                why = "rewords an earlier output" if same else "goes beyond an earlier output"
                yield Extra("enrichment", why, last)

    def _answers_the_same(self, place: int, earlier: int) -> bool:
        """A model that was asked about the same text as another, in other words or not, and said the same."""
        step, other = self.steps[place], self.steps[earlier]
        if other.kind != "llm" or not isinstance(step.input, str) or not isinstance(other.input, str):
            return False
        same = self.calls[place].result is not None and self.calls[place].result == self.calls[earlier].result
        return same and len(other.input) >= _LEAST_TEXT and (other.input in step.input or step.input in other.input)

    def _in_between(self, place: int) -> Iterator[Extra]:
        """Words of a model before the last: held against what was known, and against what is taken up of them."""
        if place == self.spoken[-1]:
            return
        step = self.steps[place]
        if self._is(place, "restating") and self._is_known(place):
            yield Extra("speculative", "says again what was found")
        if self._is(place, "reasoning") and self.talking.new_words(step).isdisjoint(self._later_words(place)):
            yield Extra("speculative", "talks about the work, and nothing takes it up")
        if names(step.name, "intermediate") and self._is_handed_on_to_nobody(place):
            yield Extra("speculative", "brings what no later step is given")
        if self._is(place, "translating") and self._translates_the_task(place):
            yield Extra("indirect", "translates what nobody asked to be translated")

    def _is_known(self, place: int) -> bool:
        before = self.steps[max(0, place - _NEARBY) : place]
        return not self.talking.new_words(self.steps[place]).difference(
            *(words_of(earlier.output) for earlier in before)
        )

    def _later_words(self, place: int) -> set[str]:
        """What the next steps were given, and what models said in them."""
        found: set[str] = set()
        for step in self.steps[place + 1 : place + 1 + _NEARBY]:
            found |= words_of(step.input)
            if step.talks:
                found |= words_of(step.output)
        return found

    def _is_handed_on_to_nobody(self, place: int) -> bool:
        """All later steps are models whose whole input is recorded, and none was given its output."""
        later = self.steps[place + 1 :][:_NEARBY]
        said = set(tokens_in(text_of(self.steps[place].output)))
        return all(step.kind == "llm" and isinstance(step.input, str) for step in later) and not any(
            said & set(tokens_in(str(step.input))) for step in later
        )

    def _translates_the_task(self, place: int) -> bool:
        """What it was given are the task's own words, a number, or what a translated question brought."""
        given = words_of(self.steps[place].input)
        earlier = any(names(step.name, "translating") for step in self.steps[max(0, place - _NEARBY) : place])
        return earlier or not {word for word in given - self.asked_forms if word.isalpha()}

    # --- tools ---

    def _of_a_tool(self, place: int) -> Iterator[Extra]:
        if self._is(place, "musing") and not self._is_reported(place):
            yield Extra("speculative", "thinks about the work instead of doing it")
        if self._is(place, "bookkeeping"):
            yield Extra("speculative", "keeps a note that nobody asked for")
        if place < self.first_message:  # behind a message stands a user, who may have asked for it
            yield from self._unasked(place)

    def _is_reported(self, place: int) -> bool:
        """Whether the last words state a number that only this step brought: a plan of a trip is a result."""
        known = self.asked.union(*(tokens_of(step.output) for step in self.steps[max(0, place - _NEARBY) : place]))
        said = tokens_of(self.steps[self.spoken[-1]].output) if self.spoken else set()
        new = tokens_of(self.steps[place].output) - known - tokens_of(self.steps[place].input)
        return any(word[0].isdigit() and word in said for word in new)

    def _unasked(self, place: int) -> Iterator[Extra]:
        """An act for good measure, any change where the task only asks, or tests where nothing is said of code."""
        for family, does in _UNASKED.items():
            asked_for = family == "formatting" and not self._free("restyling")
            leads = name_parts(self.steps[place].name)[0] if self._is(place, family) and not asked_for else ""
            tells = family != "announcing" or leads in words("cues", "announcing") | words("cues", "sending")
            if leads and tells and not self._feeds(place) and not self.calls[place].is_empty:
                yield Extra("enrichment", f"{does} nobody asked for")
        changes = self.calls[place].is_write and acknowledges(self.steps[place])
        changes = changes and not names(self.steps[place].name, "answering")
        if self.wanted.only_asks and changes and not self._feeds(place):
            yield Extra("enrichment", "changes something where the task only asks")
        bare = len(name_parts(self.steps[place].name)) == 1 and not tokens_of(self.steps[place].input)
        goes_on = (self._is(place, "going_on") and not bare) or self._pushes(place)
        if goes_on and self._has_done_what_is_asked(place) and not self._feeds(place):
            yield Extra("enrichment", "goes on to what nobody asked for")
        if self.wanted.one_order and self._adorns(place):
            yield Extra("enrichment", "goes on to what nobody asked for")
        if self._writes_about(place):
            yield Extra("enrichment", "writes about the work where nobody asked for it")
        if not self.wanted.tells and self._tests(place) and self._free("coding"):
            yield Extra("speculative", "tests what nobody asked to be tested")

    def _pushes(self, place: int) -> bool:
        """Whether a command sends on what was done."""
        runs = names(self.steps[place].name, "runs")
        return runs and self._free("going_on") and bool(_PUSH.search(dump(self.steps[place].input)[:_LOOKED_AT]))

    def _has_done_what_is_asked(self, place: int) -> bool:
        """Whether a step before is an act that the task names."""
        return any(self._is_asked_for(before) for before in range(max(0, place - _FIRST), place))

    def _adorns(self, place: int) -> bool:
        """A change after the ordered act, to what it made or to something else, with values the task does not name."""
        step = self.steps[place]
        if self.calls[place].effect == "none" or names(step.name, "moving") or names(step.name, "on_screen"):
            return False
        if not acknowledges(step) or self._feeds(place):
            return False
        given, named = tokens_of(step.input), set(name_parts(step.name))
        for earlier in range(max(0, place - _FIRST), place):
            other = self.steps[earlier]
            parts = set(name_parts(other.name))
            if other.talks or not self._is_asked_for(earlier) or parts.isdisjoint(self.asked_forms):
                continue
            made = tokens_of(other.output) - tokens_of(other.input) - self.asked_forms - words("cues", "acknowledging")
            new = given - made - self.asked_forms - tokens_of(other.input)
            beside = named - parts - self.asked_forms - words("cues", "write")
            if new and beside and (given & made or named.isdisjoint(self.asked_forms)):
                return True
        return False

    def _is_asked_for(self, place: int) -> bool:
        step = self.steps[place]
        if step.talks or self.calls[place].effect == "none":
            return False
        verbs = words("cues", "write") | words("cues", "acting") | words("cues", "going_on")
        does = {*name_parts(step.name), *tokens_in(dump(step.input)[:_LOOKED_AT])} & self.asked_forms
        return bool(does & verbs) or len(does & set(name_parts(step.name))) > 1

    def _writes_about(self, place: int) -> bool:
        """A change to a file of notes (README, CHANGELOG, SUMMARY) where the task speaks of code and of no notes."""
        if self.calls[place].effect not in ("changes", "unclear") or self._free("coding") or not self._free("notes"):
            return False
        given = self.steps[place].input
        values = given.values() if isinstance(given, dict) else ()
        return any(isinstance(value, str) and _NOTES.fullmatch(value) for value in values)

    def _feeds(self, place: int) -> bool:
        """Whether a later call is given something that this one made or brought."""
        step = self.steps[place]
        made = (tokens_of(step.output) | tokens_of(step.input)) - self.asked_forms - words("cues", "acknowledging")
        made.difference_update(*(tokens_of(other.output) for other in self.steps[max(0, place - _NEARBY) : place]))
        later = (other for other in self.steps[place + 1 :][:_NEARBY] if not other.talks)
        return any(not made.isdisjoint(tokens_of(other.input)) for other in later)

    def _tests(self, place: int) -> bool:
        """Whether it tests what an earlier step changed."""
        step = self.steps[place]
        does = {*name_parts(step.name), *tokens_in(dump(step.input)[:_LOOKED_AT])}
        before = range(max(0, place - _NEARBY), place)
        changed = any(self.calls[other].effect != "none" and not self.steps[other].talks for other in before)
        return changed and self.calls[place].effect == "unclear" and not does.isdisjoint(words("cues", "testing"))

    def _beside_the_point(self, place: int) -> Iterator[Extra]:
        """A question to a search tool that is not the only one, with words of confirming or embellishing."""
        query = tokens_in(self.calls[place].wording) or [*words_of(self.steps[place].input)]
        if len(self.searches) < 2 or len(query) > _QUERY:
            return
        confirms = query[:1] and query[0] in words("cues", "checking") and self._free("checking")
        if confirms and place > self.searches[0]:
            yield Extra("speculative", "asks to confirm what was found")
        beside = set(query) & words("cues", "embellishing")
        if beside and self._free("embellishing"):
            before = [other for other in self.searches[:_FIRST] if other < place]
            topic = self.asked.union(*(words_of(self.steps[other].output) for other in before))
            if not topic.isdisjoint(words_in(" ".join(query))):
                yield Extra("enrichment", f"looks up what was not asked for ({sorted(beside)[0]})")

    def _asks_for_the_found(self, place: int) -> Iterator[Extra]:
        """A question that holds both what an earlier call was asked and all that it brought."""
        query = tokens_of(self.steps[place].input)
        for earlier in range(max(0, place - _NEARBY), place) if self._free("checking") else ():
            step = self.steps[earlier]
            if (
                step.talks
                or step.error is not None
                or len(dump(step.output)) > _LOOKED_AT
                or self.calls[earlier].is_empty
            ):
                continue
            told, given = tokens_of(step.output) - self.asked, tokens_of(step.input)
            if told and given and len(told) <= _FIRST and told | given <= query and not told <= given:
                yield Extra("speculative", "asks to confirm what was found", earlier)

    def _worked_out_again(self, place: int) -> Iterator[Extra]:
        """The same numbers were given in another way, or to another tool, and gave the same number."""
        result = self.calls[place].result
        nearby = range(max(0, place - _NEARBY), place)
        alike = [earlier for earlier in nearby if self.calls[earlier].result == result] if result is not None else []
        numbers = _numbers(dump(self.steps[place].input)) if self._free("checking") else frozenset()
        told = tokens_of(self.steps[place].output)
        if len(numbers) < _LEAST_NUMBERS or told <= words("cues", "acknowledging") | words("cues", "derived"):
            return
        yield from self._stood_there(place, numbers)
        yield from self._reckoned_back(place, numbers)
        for earlier in alike:
            other, given = self.steps[earlier], _numbers(dump(self.steps[earlier].input))
            another_way = other.name != self.steps[place].name or self.calls[place].effect == "unclear"
            sums = other.name == self.steps[place].name and _NUMBER.fullmatch(dump(other.output).strip('"'))
            same = given == numbers or (
                sums and len(dump(other.output)) >= _LONG_NUMBER and given & numbers & self.asked
            )
            if other.kind == "tool" and another_way and same:
                yield Extra("speculative", "works out again what was known", earlier)

    def _reckoned_back(self, place: int, numbers: frozenset[str]) -> Iterator[Extra]:
        """A sum done backwards: from an earlier result to a number that it was made from."""
        result = dump(self.steps[place].output).strip('"')
        if not _NUMBER.fullmatch(result):
            return
        for earlier in range(max(0, place - _NEARBY), place):
            made, given = dump(self.steps[earlier].output).strip('"'), _numbers(dump(self.steps[earlier].input))
            if (
                len(made) > 1
                and made in numbers
                and result in given
                and numbers <= {*given, made}
                and made not in given
            ):
                yield Extra("speculative", "works out again what was known", earlier)

    def _read_again(self, place: int) -> Iterator[Extra]:
        """Other code over the same files that came to the same number, with no change in between."""
        result = dump(self.steps[place].output).strip('"')
        files = set(_DATA_FILE.findall(dump(self.steps[place].input)[:_LOOKED_AT]))
        runs = names(self.steps[place].name, "runs") and self._free("checking")
        if not runs or not files or len(result) < _LONG_NUMBER or not _NUMBER.fullmatch(result):
            return
        for earlier in range(place - 1, max(-1, place - _NEARBY), -1):
            if self.calls[earlier].effect == "changes":
                return
            same = _numbers(dump(self.steps[earlier].output)) == {result}
            same = same or self.calls[earlier].result == self.calls[place].result
            if same and set(_DATA_FILE.findall(dump(self.steps[earlier].input)[:_LOOKED_AT])) == files:
                yield Extra("speculative", "works out again what was known", earlier)

    def _stood_there(self, place: int, numbers: frozenset[str]) -> Iterator[Extra]:
        """A number worked out from numbers of one earlier result that holds it as well."""
        result = dump(self.steps[place].output).strip('"')
        if not _NUMBER.fullmatch(result) or len(result) < _LONG_NUMBER:
            return
        for earlier in range(max(0, place - _NEARBY), place):
            if not self.steps[earlier].talks and {*numbers, result} <= _numbers(dump(self.steps[earlier].output)):
                yield Extra("speculative", "works out again what was known", earlier)

    def done_again(self, first: int, undone: int) -> int | None:
        """The step that makes the same call as the first, after it was undone."""
        nearby = range(undone + 1, min(undone + 1 + _NEARBY, len(self.steps)))
        return next((later for later in nearby if self.calls[later].normal == self.calls[first].normal), None)

    def _comes_to_nothing(self, place: int) -> Iterator[Extra]:
        if overwritten(self.steps, place, self.asked):
            yield Extra("indirect", "is written over by the next step", place + 1)
        if self._free("to_and_fro"):
            yield from self._to_and_fro(place)
        if self._free("checking") and "back" not in self.asked:
            for earlier in turned_back(self.steps, place):
                yield Extra("speculative", "turns a result back into what it was made from", earlier)
        if went_astray(self.steps, place, self.asked):
            yield Extra("indirect", "goes where nothing is done", place + 1)
        if installs_for_nobody(self.steps, place, self.asked_forms):
            yield Extra("speculative", "installs what no later step uses")

    def _to_and_fro(self, place: int) -> Iterator[Extra]:
        """An act that is taken back, or done, turned round and done again."""
        for earlier in taken_back(self.steps, place, self.asked_forms):
            yield Extra("indirect", "takes back an act that nothing used", earlier, undoes=True)
        opposite = [*taken_back(self.steps, place, self.asked_forms, turned=True)]
        if not self.orders_more and turned_round(self.steps, place, self.asked):
            opposite.append(place - 1)
        for earlier in opposite:
            if self.done_again(earlier, place) is not None:
                yield Extra("indirect", "does the opposite of what is done before and after", earlier, undoes=True)

    def _through_a_third(self, place: int) -> Iterator[Extra]:
        """Its result goes straight into the same tool again, from what the task does not name (km, miles, m)."""
        following = self.steps[place + 1] if place + 1 < len(self.steps) else None
        step = self.steps[place]
        if following is None or following.name != step.name or not isinstance(step.input, dict):
            return
        given = following.input if isinstance(following.input, dict) else {}
        result = text_of(step.output).strip()
        if not result or result not in map(dump, given.values()) or step.input.keys() != given.keys():
            return
        shared = [key for key in given if dump(given[key]) != result and given[key] != step.input[key]]
        middle = {dump(value) for value in step.input.values()} & {dump(value) for value in given.values()}
        middle |= {dump(step.input[key]) for key in shared if not self.asked.isdisjoint(tokens_of(given[key]))}
        if middle and self.asked.isdisjoint(tokens_of(sorted(middle))):
            yield Extra("indirect", "goes through a third thing, where one call would have done")


def _numbers(text: str) -> frozenset[str]:
    """The numbers of a text, however many noughts stand before them (03 is 3)."""
    return frozenset(found.lstrip("0") or "0" for found in _NUMBER.findall(text[:_LOOKED_AT]))
