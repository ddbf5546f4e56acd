"""Finds readings that could have been left out: without them the answer and the acts would still have what they state.

A reading is needed if the answer or a later needed step uses a word, value or id that only this reading returned. An
answer can also rest on a result without repeating it ("Is the invoice overdue?", "Yes"), and so can an act whose
arguments appear in no result. Where something rests on results in that way, a reading is also needed if the task names
what it looks at, and no step whose words are used has looked at that. Otherwise it is unneeded: the rubric says that in
doubt a step is unnecessary.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.effects import is_pending, only_reads
from krino.judges.efficiency.finders.similarity import ask_different_things, has_opposites, read_wording
from krino.judges.efficiency.finders.task import read_request
from krino.judges.efficiency.finders.tokens import (
    has_name_part,
    inflect,
    name_parts,
    texts_in,
    tokens_of,
    words_in,
    words_of,
)
from krino.judges.efficiency.finders.trace_words import NEARBY, ArgumentSources, TraceWords, plain_verbs
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import from_json
from krino.judges.efficiency.traces.steps import Step

_PART = re.compile(r"(?<=[.!?;])(?<!\b[A-Z]\.)\s+|[(\n]")
_ROUNDS = 4
_CHAIN = 3
"""Look-ups in a row, each by an id that the one before it brought, that make a chain."""


@dataclass(frozen=True, slots=True)
class Unneeded:
    """A step that could have been left out.

    Its result is `unused`, or `known` from step `of`, or the answer uses it for what goes `beyond` the question.
    `doubt`: it may have been looked at for something that left no trace.
    """

    how: Literal["unused", "known", "beyond"]
    of: int | None = None
    doubt: bool = False


def find_unneeded_readings(
    steps: Sequence[Step],
    calls: Sequence[Call],
    task: str,
    answer: str | None,
    set_aside: Collection[int],
    settled: Collection[int],
    user_turns: Collection[int],
) -> dict[int, Unneeded]:
    """`set_aside` are repeats, failures and the like: they use nothing, and nothing is known from them.

    `settled` are repeats that had a ground, and what they repeat: of them nothing is said here. `user_turns` are the
    messages after which a user spoke, or may have spoken.
    """
    trace = TraceWords(steps, calls, task, answer or _handed_in(steps))
    aside = set(set_aside)
    found: dict[int, Unneeded] = {}
    for _ in range(_ROUNDS):  # leaving one out may leave another without use
        fresh = _Pass(trace, aside, settled, user_turns).unneeded()
        if not fresh:
            break
        found |= fresh
        aside |= fresh.keys()
    return found


class _Pass:
    """One look over a trace, without the steps that are set aside."""

    def __init__(
        self, trace: TraceWords, aside: Collection[int], settled: Collection[int], user_turns: Collection[int]
    ) -> None:
        self.trace, self.settled, self.user_turns = trace, settled, user_turns
        self.kept = [place for place in range(len(trace.steps)) if place not in aside]
        if self.kept and trace.reads[self.kept[-1]] and not trace.answer:
            self.kept.pop()  # a trace that ends with a reading does not say what it was for
        self.used = self._used()
        self.covered: set[str] = set().union(*(trace.asked[place] for place in self.used))
        """What the task names of what steps looked at whose words are taken up."""
        self.telling = Counter(
            trace.tools[place] for place in self.used if not trace.is_named(place) and not self._is_led_to(place)
        )
        """How many such steps each tool has that the task does not name."""
        self.resting = not self.used and all(trace.reads[place] or trace.steps[place].talks for place in self.kept)
        self.finders = self._finders()
        self.arguments = ArgumentSources(trace, self.kept)
        self.led_nowhere = self._led_nowhere()

    def unneeded(self) -> dict[int, Unneeded]:
        found: dict[int, Unneeded] = {}
        known: dict[str, int] = {}
        looked_at: set[str] = set()
        for place in self.kept:
            if self.trace.is_act(place):  # what it reports need not be looked up
                for word in words_of(from_json(self.trace.steps[place].output)):
                    known.setdefault(word, place)
            if not self.trace.reads[place] or self.trace.calls[place].is_empty:
                continue
            unneeded = Unneeded("unused") if place in self.led_nowhere and place not in self.settled else None
            if (
                unneeded is None
                and place not in self.settled
                and not self.trace.calls[place].is_paging
                and not self._checks_silence(place)
            ):
                unneeded = self._judge(place, known, looked_at)
            if unneeded is not None:
                found[place] = unneeded
                continue
            looked_at |= self.trace.asked[place]
            for word in self.trace.brought[place]:
                known.setdefault(word, place)
        if self.resting and not any(self.trace.asked[place] for place in self.kept):
            return {}  # an answer that rests on readings, of which the task names none: any may be the one
        return found or self._beyond()

    def _led_nowhere(self) -> set[int]:
        """Chains of look-ups, each given the id that the one before it brought, of which nothing else is used.

        Only where the answer rests on other steps, and the task names nothing that the chain looked at.
        """
        if self.trace.denies:
            return set()
        chains: dict[str, list[list[int]]] = {}
        for place in self.kept:
            if not self.trace.reads[place] or self.trace.steps[place].talks:
                continue
            of_tool = chains.setdefault(self.trace.tools[place], [])
            if of_tool and self._passes_on(of_tool[-1][-1], place):
                of_tool[-1].append(place)
            else:
                of_tool.append([place])
        long_ones = (chain for of_tool in chains.values() for chain in of_tool if len(chain) >= _CHAIN)
        found = {place for chain in long_ones if self._is_unused(chain) for place in chain}
        return found if self.used.keys() - found else set()

    def _passes_on(self, place: int, following: int) -> bool:
        own = self.trace.given[following] - self.trace.shared.get(self.trace.tools[following], set())
        return bool(own) and own.issubset(self.trace.brought[place])

    def _is_unused(self, chain: Sequence[int]) -> bool:
        """Whether no step of it brought a word that is used for more than the next step's id."""
        given = [self.trace.given[place] for place in chain[1:]]
        return not any(
            self.used.get(place, set()) - user_turns or self.trace.asked[place]
            for place, user_turns in zip(chain, [*given, set()], strict=True)
        )

    def _beyond(self) -> dict[int, Unneeded]:
        added = _find_additions(self.trace, self.kept, self.used)
        return {place: Unneeded("beyond") for place in added if place not in self.settled}

    def _checks_silence(self, place: int) -> bool:
        """A look right after an act that told nothing of what came of it, at the same thing: only this shows it.

        A command that says nothing has done its work.
        """
        before = self.trace.steps[place - 1] if place else None
        if before is None or not self.trace.is_act(place - 1) or before.output not in (None, "", {}, []):
            return False
        if has_name_part(before.name, "runs"):
            return False
        step, alike = self.trace.steps[place], set(name_parts(self.trace.steps[place].name)) - plain_verbs()
        looks_at = tokens_of(step.input) | inflect(alike)
        return not looks_at.isdisjoint(tokens_of(before.input) | inflect(set(name_parts(before.name))))

    def _finders(self) -> list[int]:
        """The first calls that brought all that the answer states, where one thing is asked for, not a comparison."""
        if not self.trace.wanted.single or not self.trace.stated or self.trace.task_tokens & words("cues", "comparing"):
            return []
        return [place for place in sorted(self.used) if self.trace.stated.issubset(self.trace.brought[place])][:NEARBY]

    def _is_led_to(self, place: int) -> bool:
        """Whether all that sets this call apart stood in an earlier result that is used: it was no search for it."""
        own = self.trace.given[place] - self.trace.shared.get(self.trace.tools[place], set())
        return bool(own) and any(own.issubset(self.trace.brought[other]) for other in self.used if other < place)

    def _used(self) -> dict[int, set[str]]:
        """For each kept reading the words it brought that a later kept step or the answer takes up."""
        taken_up = set(self.trace.answer)
        used: dict[int, set[str]] = {}
        for place in reversed(self.kept):
            if found := taken_up.intersection(self.trace.brought[place]):
                used[place] = found
            taken_up.update(self.trace.taken_up(place))
        return used

    def _judge(self, place: int, known: Mapping[str, int], looked_at: set[str]) -> Unneeded | None:
        brought, asked, used = self.trace.brought[place], self.trace.asked[place], self.used.get(place, set())
        if place in self.arguments.suppliers or self._prepares(place):
            return None
        if self._is_told_on(place) or self._is_chosen_from(place):
            return None
        if used - known.keys():
            return Unneeded("beyond") if self._comes_after_all(place) else None
        if self._pages_on(place):
            return Unneeded("unused")
        few = len(brought) < table("limits")["least_distinctive"]
        if self.arguments.rests_until <= place < self.arguments.waits_from and not self.trace.steps[place].talks:
            return self._stays_supported(place, known, few)
        if not brought or self._follows(place, known):
            return None
        if not used:
            open_ = few or asked - self.covered or self.trace.denies or self._is_gone_through(place)
            return None if open_ else Unneeded("unused")
        first = min(known[word] for word in used)
        new = any(word not in known for word in brought)
        again = bool(asked) and (asked <= looked_at or (not new and len(asked & looked_at) * 2 >= len(asked)))
        return Unneeded("known", first) if again and not self._asks_another(place, first) else None

    def _stays_supported(self, place: int, known: Mapping[str, int], few: bool) -> Unneeded | None:
        """What is stated is supported without this step: all that is used of it was known, or nothing is used."""
        used = self.used.get(place)
        if used:
            first = min(known[word] for word in used)
            return None if self._is_another_thing(place, first, known) else Unneeded("known", first)
        asked = bool(self.trace.asked[place] - self.covered)
        told = words_of(self.trace.steps[place].output)
        if told and told <= self.trace.task and not self.trace.steps[place].observed:
            return Unneeded("unused")  # it says what the task says
        several = self.trace.wanted.tells and not self.trace.wanted.single and asked
        if several or self._is_gone_through(place) or self._is_moved_on_from(place) or self._is_of_a_list(place, known):
            return None
        return Unneeded("unused", doubt=few or asked)

    def _is_chosen_from(self, place: int) -> bool:
        """One of several things of the task that were looked at alike, and a later act works on some of them only."""
        tool = self.trace.tools[place]
        if not self.trace.is_named(place):
            return False
        nearby = range(max(0, place - NEARBY), min(place + NEARBY, len(self.trace.steps)))
        alike = [other for other in nearby if self.trace.tools[other] == tool and self.trace.tells[other]]
        every = set().union(*(self.trace.given[other] - self.trace.shared.get(tool, set()) for other in alike))
        acts = self.arguments.acts[bisect_left(self.arguments.acts, place) :][:NEARBY]
        taken = [every & tokens_of(self.trace.steps[act].input) for act in acts]
        return len(alike) > 1 and any(0 < len(some) < len(every) for some in taken)

    def _comes_after_all(self, place: int) -> bool:
        """All that the task orders was done before, nothing is waited for, and only the report speaks of it."""
        steps, acts = self.trace.steps, self.arguments.acts
        if self.trace.wanted.tells or not acts or acts[-1] > place or min(self.user_turns, default=place) < place:
            return False
        done = any(not self.trace.task_forms.isdisjoint(name_parts(steps[act].name)) for act in acts)
        waits = self.arguments.waits_from < len(steps) or is_pending(steps[place])
        return done and not waits and steps[place].kind != "llm"

    def _prepares(self, place: int) -> bool:
        """It looks at the thing that a later act works on, and that act does more than the task says word for word."""
        given = self.trace.given[place]
        return any(
            not given.isdisjoint(worked_on) for act, worked_on in self.arguments.worked_on.items() if act > place
        )

    def _is_told_on(self, place: int) -> bool:
        """The next words are no answer yet, and state something: to the user, who is then asked or decides."""
        steps = self.trace.steps
        spoken = next((later for later in range(place + 1, len(steps)) if steps[later].talks), None)
        if spoken is None or spoken not in self.user_turns or self.trace.wanted.tells:
            return False
        said = words_of(steps[spoken].output) - self.trace.task_forms - words("cues", "talk")
        return bool(said) and any(self.trace.is_act(later) for later in range(spoken + 1, len(steps)))

    def _pages_on(self, place: int) -> bool:
        """One thing is asked for, an earlier page held all that the answer states, and this page brought none of it."""
        found = () if self.used.get(place) else self._found_by(place)
        return any(self._is_page_of(other, place) for other in found)

    def _found_by(self, place: int) -> Iterator[int]:
        """Earlier calls of the tool that brought all that the answer states, where one thing is asked for."""
        for other in self.finders:
            if other < place and self.trace.tools[other] == self.trace.tools[place]:
                yield other

    def _is_page_of(self, one: int, other: int) -> bool:
        """The same call but for the number of the page."""
        steps = self.trace.steps
        first, second = steps[one].input, steps[other].input
        if steps[one].name != steps[other].name or not isinstance(first, dict) or not isinstance(second, dict):
            return False
        differ = {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}
        return bool(differ) and differ <= words("cues", "page_fields")

    def _is_another_thing(self, place: int, first: int, known: Mapping[str, int]) -> bool:
        """The same tool asked about another thing of the task or of a list, or about the opposite."""
        trace = self.trace
        one, other = trace.calls[place], trace.calls[first]
        if trace.steps[place].name == trace.steps[first].name and one.frame != other.frame:
            own, others = trace.given[place] - trace.given[first], trace.given[first] - trace.given[place]
            if has_opposites(own, others):
                return True
            if not others and set(trace.brought[place]) <= {*trace.brought[first], *trace.given[first]}:
                return False  # the same thing, asked for in part
            return not own.isdisjoint(trace.task_tokens) or any(word in known for word in own)
        if not one.wording or not other.wording:
            return False
        return ask_different_things(read_wording(one.wording), read_wording(other.wording), trace.task_tokens)

    def _is_gone_through(self, place: int) -> bool:
        """Another call of the tool brought what is used, and the task does not name which: all had to be looked at."""
        tool = self.trace.tools[place]
        if self.trace.steps[place].talks or next(self._found_by(place), None) is not None:
            return False
        return tool in self.trace.varied and self.telling[tool] > 0 and not self._is_beside(place)

    def _is_of_a_list(self, place: int, known: Mapping[str, int]) -> bool:
        """One of several things by its id, and the ids come from an earlier result: the answer may be a choice."""
        trace, tool = self.trace, self.trace.tools[place]
        if not trace.wanted.tells or trace.times[tool] < 2 or tool in trace.named_tools or trace.calls[place].wording:
            return False
        if next(self._found_by(place), None) is not None:
            return False
        if place in self.arguments.supplied:
            return True
        own = trace.given[place] - trace.shared[tool]
        return bool(own) and (all(word in known for word in own) or self._is_listed(place))

    def _is_listed(self, place: int) -> bool:
        """Whether one earlier result holds all that it was given, short words and numbers too."""
        nearby = (other for other in range(max(0, place - NEARBY), place) if self.trace.tells[other])
        return any(self.trace.given[place] <= tokens_of(from_json(self.trace.steps[other].output)) for other in nearby)

    def _is_moved_on_from(self, place: int) -> bool:
        """What is scrolled or paged through, clicked or photographed must have been opened."""
        if place + 1 >= len(self.trace.calls):
            return False
        shows = has_name_part(self.trace.steps[place].name, "opening") and has_name_part(
            self.trace.steps[place + 1].name, "on_screen"
        )
        return shows or self.trace.calls[place + 1].is_paging

    def _is_beside(self, place: int) -> bool:
        """A search among several whose question has nothing of the task's own words."""
        return self.trace.calls[place].is_search and not self.trace.asked[place]

    def _asks_another(self, place: int, first: int) -> bool:
        """Another thing by its id, or another question: that both bring the same is news."""
        one, other = self.trace.calls[place], self.trace.calls[first]
        if self.trace.steps[place].name == self.trace.steps[first].name and one.frame != other.frame:
            return True
        both = one.wording and other.wording
        return bool(both) and ask_different_things(read_wording(one.wording), read_wording(other.wording))

    def _follows(self, place: int, known: Mapping[str, int]) -> bool:
        """Its id or name comes from an earlier result, and it is one of several, or the answer is too bare to tell."""
        if not any(word in known for word in self.trace.given[place]):
            return False
        return self.trace.bare or self.trace.times[self.trace.tools[place]] > 1


def _handed_in(steps: Sequence[Step]) -> str:
    """What the last call hands in as the answer ("final_answer"), where it is such a call."""
    last = steps[-1] if steps else None
    if last is None or last.kind != "tool" or not has_name_part(last.name, "answering"):
        return ""
    return " ".join(texts_in(last.input))


# --- additions to the answer -------------------------------------------------------------------------


def _find_additions(trace: TraceWords, kept: Sequence[int], used: Mapping[int, set[str]]) -> list[int]:
    """Readings that only the later parts of an answer use, where its first part answers the one question."""
    parts = [words_in(part) for part in _PART.split(trace.said) if part.strip()]
    if not trace.wanted.single or len(parts) < 2:
        return []
    first, rest = parts[0] - trace.task_forms, set().union(*parts[1:])
    sources = []
    for place in kept:
        if trace.tells[place] and not first.isdisjoint(trace.brought[place]):
            sources.append(place)
            first = first.difference(trace.brought[place])
    if not sources:  # it sums up a result that the rest does not speak of
        looked = (place for place in kept if trace.reads[place] and trace.asked[place] and trace.brought[place])
        sources = [place for place in looked if rest.isdisjoint(trace.brought[place])]
        first = set().union(*(trace.brought[place] for place in sources))
        if any(not trace.given[place].isdisjoint(first) for place in kept):
            return []  # one step led to the other
    if not sources:
        return []
    return [
        place
        for place in kept
        if place not in sources
        and trace.reads[place]
        and _only_adds(trace, place, used.get(place, set()), rest, sources)
    ]


def _only_adds(trace: TraceWords, place: int, used: set[str], rest: set[str], sources: Sequence[int]) -> bool:
    """Its words stand in the rest of the answer alone, and it looks at what the task does not speak of."""
    used = used.difference(*(trace.brought[source] for source in sources))
    if not used or not used <= rest:
        return False
    later = (step for step in trace.steps[place + 1 :] if step.kind in ("tool", "retrieval", "other"))
    if any(not used.isdisjoint(words_of(step.input)) for step in later):
        return False
    named = {part for part in name_parts(trace.steps[place].name) if part not in plain_verbs()}
    for source in sources:
        named.difference_update(name_parts(trace.steps[source].name))
    looks_at = {word for word in named | trace.given[place] if len(word) > 2 and word.isalpha()}
    return not looks_at <= trace.task_forms


# --- rechecks ----------------------------------------------------------------------------------------


def find_rechecks(steps: Sequence[Step], calls: Sequence[Call], task: str, user_turns: Collection[int]) -> set[int]:
    """Readings that only serve to see a change, if they are made again after it: the task orders the change alone.

    Nothing is being waited for, and no message stands before them after which a user may have asked for them.
    """
    if read_request(task).tells:
        return set()
    found: dict[str, list[int]] = {}
    waited_for: set[str] = set()
    for place, (step, call) in enumerate(zip(steps, calls, strict=True)):
        if place in user_turns:
            break
        if only_reads(step, call.effect) and call.is_read:
            found.setdefault(step.name, []).append(place)
            if is_pending(step):
                waited_for.add(step.name)
    return {place for name, places in found.items() if name not in waited_for for place in places}
