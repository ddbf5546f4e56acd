"""Finds steps that could have been left out: without them the answer and the acts would still have all they state.

A reading is needed if the answer or a later needed step takes up a word, value or identifier that only it brought.
An answer can also rest on a result without repeating it ("Is the invoice overdue?", "Yes"), and so can an act whose
arguments stand nowhere. Where something rests on results in that way, a reading is needed too if the task names what it
looks at, and no step whose words are taken up has looked at that. Where nothing does, it is not: in doubt unnecessary.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from krino.judges.efficiency.finders.asking import read_task
from krino.judges.efficiency.finders.calls import Call, keys_in, texts_in
from krino.judges.efficiency.finders.content_words import (
    MAX_TEXT,
    forms,
    stems,
    tokens_in,
    tokens_of,
    words_in,
    words_of,
)
from krino.judges.efficiency.finders.effects import is_pending, name_parts, names
from krino.judges.efficiency.finders.nearness import are_opposed, ask_another, read_wording
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import dump, from_json, text_of
from krino.judges.efficiency.traces.steps import Step

_DIGITS = frozenset("0123456789")
_ROUNDS = 4
_BARE = 3
_COMMAND = 80
_COPIED = 200
_NEARBY = 20
_ACKNOWLEDGEMENT = 120
_IDENTIFIER = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-zA-Z])\w{1,2}(?:-\w{1,2})?(?![\w-])")
"""Too short to count as a word: a letter with a number, as in R2 and m-5."""
_PART = re.compile(r"(?<=[.!?;])(?<!\b[A-Z]\.)\s+|\s*[(\n]")


@dataclass(frozen=True, slots=True)
class Spare:
    """A step that could have been left out.

    Its result is `unused`, or `known` from step `of`, or the answer uses it for what goes `beyond` the question.
    `doubt`: it may have been looked at for something that left no trace.
    """

    how: Literal["unused", "known", "beyond"]
    of: int | None = None
    doubt: bool = False


def spare_readings(
    steps: Sequence[Step],
    calls: Sequence[Call],
    task: str,
    answer: str | None,
    set_aside: Collection[int],
    settled: Collection[int],
    handed: Collection[int],
) -> dict[int, Spare]:
    """`set_aside` are repeats, failures and the like: they use nothing, and nothing is known from them.

    `settled` are repeats that had a ground, and what they repeat: of them nothing is said here. `handed` are the
    messages after which a user spoke, or may have spoken.
    """
    search = _Leaving(steps, calls, task, answer or _handed_in(steps), settled, handed)
    aside = set(set_aside)
    found: dict[int, Spare] = {}
    for _ in range(_ROUNDS):  # leaving one out may leave another without use
        fresh = search.look(aside)
        if not fresh:
            break
        found |= fresh
        aside |= fresh.keys()
    return found


class _Leaving:
    """The words of each step, read once, and one look over them."""

    def __init__(
        self,
        steps: Sequence[Step],
        calls: Sequence[Call],
        task: str,
        answer: str,
        settled: Collection[int],
        handed: Collection[int],
    ) -> None:
        self.steps, self.calls, self.settled, self.handed = steps, calls, settled, handed
        self.wanted = read_task(task)
        self.task = words_in(task)
        self.task_text = task.lower()
        self.task_tokens = set(tokens_in(task))
        self.task_stems = stems(self.task | self.task_tokens)
        self.task_forms = forms(self.task_tokens)
        self.task_numbers = {word.rstrip("0") for word in self.task_tokens if word.isdigit()}  # 84.2 is 84.20
        self.task_identifiers = self._identifiers(task)
        self.answer = words_in(answer)
        self.reads = [
            (may_be_left_out(step, call) and not self._is_ordered(step, call)) or self._drafts(place)
            for place, (step, call) in enumerate(zip(steps, calls, strict=True))
        ]
        if not self.wanted.seeks and not any(self._is_act(place) for place in range(len(steps))):
            for place, call in enumerate(calls):  # one of those that do not say whether they read must be the act
                self.reads[place] = self.reads[place] and (call.effect == "none" or steps[place].talks)
        self.tells = [
            (step.kind == "tool" and call.effect != "changes") or reads
            for step, call, reads in zip(steps, calls, self.reads, strict=True)
        ]
        self.tools = [_tool(step) for step in steps]
        self.times = Counter(self.tools)
        spoken = next((step for step in reversed(steps) if step.talks), None)
        self.said = answer or (text_of(spoken.output) if spoken else "")
        self.stated = self._stated(spoken)
        self.denies = any(phrase in self.said.lower() for phrase in table("cues")["denying"])
        """Whether the answer is that nothing was found: then every place that was searched is a ground for it."""
        self.bare = len((self.answer | words_in(self.said)) - self.task) < _BARE
        self._forget()
        self._taken_up: dict[int, tuple[str, ...]] = {}
        self._vocabulary: dict[str, str] = {}
        self.given = [tokens_of(step.input) if tells else set() for step, tells in zip(steps, self.tells, strict=True)]
        self.named = [set() if step.talks else self._identifiers(step.input) for step in steps]
        self.brought = [self._brought(place) for place in range(len(steps))]
        self.asked = [self._asked(place) for place in range(len(steps))]
        self.shared = self._shared_arguments()
        self.varied = {
            tool for place, tool in enumerate(self.tools) if self.given[place] - self.shared.get(tool, set())
        }
        """Tools that were called with different arguments."""
        self.named_tools = {
            tool for place, tool in enumerate(self.tools) if tool in self.shared and self._is_named(place)
        }
        """Tools that were asked, among others, about the very thing that the task names."""

    def _forget(self) -> None:
        """What one look finds out, before the first."""
        self.used: dict[int, set[str]] = {}
        self.covered: set[str] = set()
        """What the task names of what steps looked at whose words are taken up."""
        self.telling: Counter[str] = Counter()
        """How many such steps each tool has that the task does not name."""
        self.resting = False
        self.supplies: set[int] = set()
        """Readings that brought what an act was given, or a short identifier with which a later call was made."""
        self.supplied: set[int] = set()
        """Those later calls."""
        self.acts: list[int] = []
        self.worked_on: dict[int, set[str]] = {}
        """What acts were given that state more than the task does."""
        self.finders: list[int] = []
        self.waits_from = len(self.steps)
        """From this place on something that was set going is waited for."""
        self.rests_until = 0
        """Up to this place results may be what something rests on that is not seen to take them up."""

    # --- what is read once ---

    def _is_ordered(self, step: Step, call: Call) -> bool:
        """A tool that may be a reading by its name, and is the very act that the task orders.

        Verb and thing are the task's ("Open the gate"), or nothing is to be told and its result says in the task's own
        words that the thing is done ("box on shelf 2").
        """
        named = set(name_parts(step.name))
        if not words("cues", "delivering").isdisjoint(self.task_tokens & named):
            return True
        verbs = (named & self.wanted.orders) - words("cues", "search") - words("cues", "asking")
        given = tokens_of(step.input)
        things = stems(named - verbs) or stems(given)
        if verbs and (call.effect == "unclear" or (given <= self.task_forms and things & self.task_stems)):
            return True
        unclear = call.effect == "unclear" and not self.wanted.tells and bool(given)
        return unclear and acknowledges(step, self.task_forms)

    def _drafts(self, place: int) -> bool:
        """Words of a model in between: not the last, and not those that choose the next call."""
        step = self.steps[place]
        following = self.steps[place + 1].kind if place + 1 < len(self.steps) else ""
        return step.kind == "llm" and isinstance(step.input, str) and following in ("llm", "message")

    def _stated(self, spoken: Step | None) -> set[str]:
        """What the answer states beyond the task; of a model that was handed a text, what that text states."""
        handed = isinstance(spoken.input, str) and spoken.kind == "llm" if spoken else False
        found = words_of(spoken.input) if spoken and handed else words_in(self.said)
        return found - self.task_forms - words("cues", "talk")

    def _brought(self, place: int) -> tuple[str, ...]:
        """The words of its own that a reading brought; a tuple of shared words, as a long trace has many."""
        if not self.tells[place]:
            return ()
        step = self.steps[place]
        output = from_json(step.output)
        keys = words_in(" ".join(keys_in(output))) if not isinstance(output, str) else set()
        found = (words_of(output) | keys | words_in(step.observed)) - self.task - self.given[place]
        share = self._vocabulary.setdefault
        return tuple([share(word, word) for word in found - (_DIGITS - self.stated) or found])

    def _asked(self, place: int) -> set[str]:
        """What the task names of what this step looks at: words of its tool's name and of its arguments."""
        if not self.tells[place]:
            return set()
        named = set(name_parts(self.steps[place].name)) - _verbs()
        return (stems(named) | stems(self.given[place])) & self.task_stems

    def _shared_arguments(self) -> dict[str, set[str]]:
        """What all calls of a tool have in common, for tools that are called more than once."""
        shared: dict[str, set[str]] = {}
        for place, tool in enumerate(self.tools):
            if self.tells[place] and self.times[tool] > 1:
                given = self.given[place]
                shared[tool] = shared[tool] & given if tool in shared else set(given)
        return shared

    # --- one look ---

    def look(self, aside: Collection[int]) -> dict[int, Spare]:
        kept = [place for place in range(len(self.steps)) if place not in aside]
        if kept and self.reads[kept[-1]] and not self.answer:
            kept.pop()  # a trace that ends with a reading does not say what it was for
        self.used = self._used(kept)
        self.covered = set().union(*(self.asked[place] for place in self.used))
        self.telling = Counter(
            self.tools[place] for place in self.used if not self._is_named(place) and not self._is_led_to(place)
        )
        self.resting = not self.used and all(self.reads[place] or self.steps[place].talks for place in kept)
        self.finders = self._finders()
        self._follow_identifiers(kept)
        self.rests_until = self._rests_until(kept)
        found: dict[int, Spare] = {}
        known: dict[str, int] = {}
        looked_at: set[str] = set()
        for place in kept:
            if self._is_act(place):  # what it reports need not be looked up
                for word in words_of(from_json(self.steps[place].output)):
                    known.setdefault(word, place)
            if not self.reads[place] or self.calls[place].is_empty:
                continue
            spare = None
            if place not in self.settled and not self.calls[place].is_paging and not self._checks_silence(place):
                spare = self._spare(place, known, looked_at)
            if spare is not None:
                found[place] = spare
                continue
            looked_at |= self.asked[place]
            for word in self.brought[place]:
                known.setdefault(word, place)
        if self.resting and not any(self.asked[place] for place in kept):
            return {}  # an answer that rests on readings, of which the task names none: any may be the one
        return found or self._beyond(kept)

    def _checks_silence(self, place: int) -> bool:
        """A look right after an act that told nothing of what came of it, at the same thing: only this shows it.

        A command that says nothing has done its work.
        """
        before = self.steps[place - 1] if place else None
        if before is None or not self._is_act(place - 1) or before.output not in (None, "", {}, []):
            return False
        if names(before.name, "runs"):
            return False
        step, alike = self.steps[place], set(name_parts(self.steps[place].name)) - _verbs()
        looks_at = tokens_of(step.input) | forms(alike)
        return not looks_at.isdisjoint(tokens_of(before.input) | forms(set(name_parts(before.name))))

    def _finders(self) -> list[int]:
        """The first calls that brought all that the answer states, where one thing is asked for, not a comparison."""
        if not self.wanted.single or not self.stated or self.task_tokens & words("cues", "comparing"):
            return []
        return [place for place in sorted(self.used) if self.stated.issubset(self.brought[place])][:_NEARBY]

    def _is_named(self, place: int) -> bool:
        """Whether the task names what sets this call apart from other calls of its tool."""
        own = self.given[place] - self.shared.get(self.tools[place], set())
        own |= {word.lstrip("0") for word in own if word.isdigit()}  # 03 is the 3 of the task
        return bool(stems(own) & self.task_stems)

    def _is_led_to(self, place: int) -> bool:
        """Whether all that sets this call apart stood in an earlier result that is used: it was no search for it."""
        own = self.given[place] - self.shared.get(self.tools[place], set())
        return bool(own) and any(own.issubset(self.brought[other]) for other in self.used if other < place)

    def _used(self, kept: Sequence[int]) -> dict[int, set[str]]:
        """For each kept reading the words it brought that a later kept step or the answer takes up."""
        taken_up = set(self.answer)
        used: dict[int, set[str]] = {}
        for place in reversed(kept):
            if found := taken_up.intersection(self.brought[place]):
                used[place] = found
            taken_up.update(self._taken(place))
        return used

    def _taken(self, place: int) -> tuple[str, ...]:
        """The words that a step takes up, read once however often is looked."""
        if place not in self._taken_up:
            share = self._vocabulary.setdefault
            self._taken_up[place] = tuple([share(word, word) for word in _words_taken_up(self.steps[place])])
        return self._taken_up[place]

    def _rests_until(self, kept: Sequence[int]) -> int:
        """The end of the trace if the answer rests on results, else the last act that states what stands nowhere."""
        self.acts = acts = [place for place in kept if self._is_act(place)]
        last = self._follow_arguments(kept, acts)
        self.waits_from = next((place for place in acts if is_pending(self.steps[place])), len(self.steps))
        return len(self.steps) if self._answer_rests(kept, acts) else last

    def _follow_arguments(self, kept: Sequence[int], acts: Sequence[int]) -> int:
        """Notes who brought what acts are given beyond the task; the last act that was given what nobody brought."""
        self._follow_copies(kept, acts)
        looked_for = {place: self._open_arguments(place) for place in acts}
        self.worked_on = {place: tokens_of(self.steps[place].input) for place in acts if looked_for[place]}
        wanted = set().union(*looked_for.values())
        sources: dict[str, int] = {}
        last = 0
        for place in kept if wanted else ():
            for word in looked_for.get(place, ()):
                if word in sources:
                    self.supplies.add(sources[word])
                else:
                    last = place
            if self.tells[place]:
                for word in wanted & tokens_of(from_json(self.steps[place].output)):
                    sources.setdefault(word, place)
        return last

    def _follow_copies(self, kept: Sequence[int], acts: Sequence[int]) -> None:
        """Notes who brought what acts were given to the letter, such as the passage that an edit replaces."""
        for act in acts:
            copied = [text.lower() for text in texts_in(self.steps[act].input) if len(tokens_in(text[:_COPIED])) > 1]
            copied = [text for text in copied if text not in self.task_text]
            nearby = kept[max(0, bisect_left(kept, act) - _NEARBY) : bisect_left(kept, act)] if copied else ()
            for place in nearby:
                if self.tells[place]:
                    shown = " ".join(texts_in(from_json(self.steps[place].output)))[:MAX_TEXT].lower()
                    if any(text in shown for text in copied):
                        self.supplies.add(place)

    def _follow_identifiers(self, kept: Sequence[int]) -> None:
        """Notes who brought the short identifiers (R2, m-5) that later calls were given, and which calls those are."""
        sources: dict[str, int] = {}
        self.supplies, self.supplied = set(), set()
        wanted = set().union(*self.named) - self.task_identifiers
        for place in kept if wanted else ():
            if found := self.named[place] & sources.keys():
                self.supplies.update(sources[name] for name in found)
                self.supplied.add(place)
            if self.tells[place]:
                for name in self._identifiers(self.steps[place].output) & wanted:
                    sources.setdefault(name, place)

    def _identifiers(self, value: object) -> set[str]:
        text = value if isinstance(value, str) else " ".join(texts_in(value))
        return {found.lower() for found in _IDENTIFIER.findall(text[:MAX_TEXT])}

    def _is_act(self, place: int) -> bool:
        handed_in = place == len(self.steps) - 1 and names(self.steps[place].name, "answering")
        return not self.reads[place] and self.steps[place].kind in ("tool", "other") and not handed_in

    def _open_arguments(self, place: int) -> set[str]:
        """What an act is given that the task does not say."""
        found = tokens_of(self.steps[place].input) - self.task_forms - words("cues", "command_words")
        return {word for word in found if not (word.isdigit() and word.rstrip("0") in self.task_numbers)}

    def _answer_rests(self, kept: Sequence[int], acts: Sequence[int]) -> bool:
        """Whether the answer states what no result says word for word, so that it was gathered from one."""
        if not self.wanted.tells and acts:
            return False  # it reports what was done
        summed_up = words("cues", "derived").intersection(tokens_in(self.said))
        if summed_up - words("cues", "counted") or not self.stated:
            return True
        every = forms(self.stated) | summed_up
        brought = set().union(*(every.intersection(self.brought[place]) for place in kept))
        missing = {word for word in self.stated if forms((word,)).isdisjoint(brought)}
        reckoned = any(word[0].isdigit() for word in missing) or not summed_up <= brought
        return reckoned or len(missing) * 2 > len(self.stated)

    # --- one step ---

    def _spare(self, place: int, known: Mapping[str, int], looked_at: set[str]) -> Spare | None:
        brought, asked, used = self.brought[place], self.asked[place], self.used.get(place, set())
        if place in self.supplies or self._prepares(place) or self._is_told_on(place) or self._is_chosen_from(place):
            return None
        if used - known.keys():
            return Spare("beyond") if self._comes_after_all(place) else None
        if self._pages_on(place):
            return Spare("unused")
        few = len(brought) < table("nearness")["least_distinctive"]
        if self.rests_until <= place < self.waits_from and not self.steps[place].talks:
            return self._stays_supported(place, known, few)
        if not brought or self._follows(place, known):
            return None
        if not used:
            open_ = few or asked - self.covered or self.denies or self._is_gone_through(place)
            return None if open_ else Spare("unused")
        first = min(known[word] for word in used)
        new = any(word not in known for word in brought)
        again = bool(asked) and (asked <= looked_at or (not new and len(asked & looked_at) * 2 >= len(asked)))
        return Spare("known", first) if again and not self._asks_another(place, first) else None

    def _stays_supported(self, place: int, known: Mapping[str, int], few: bool) -> Spare | None:
        """What is stated is supported without this step: all that is used of it was known, or nothing is used."""
        used = self.used.get(place)
        if used:
            first = min(known[word] for word in used)
            return None if self._is_another_thing(place, first, known) else Spare("known", first)
        asked = bool(self.asked[place] - self.covered)
        told = words_of(self.steps[place].output)
        if told and told <= self.task and not self.steps[place].observed:
            return Spare("unused")  # it says what the task says
        several = self.wanted.tells and not self.wanted.single and asked
        if several or self._is_gone_through(place) or self._is_moved_on_from(place) or self._is_of_a_list(place, known):
            return None
        return Spare("unused", doubt=few or asked)

    def _is_chosen_from(self, place: int) -> bool:
        """One of several things of the task that were looked at alike, and a later act works on some of them only."""
        tool = self.tools[place]
        if not self._is_named(place):
            return False
        nearby = range(max(0, place - _NEARBY), min(place + _NEARBY, len(self.steps)))
        alike = [other for other in nearby if self.tools[other] == tool and self.tells[other]]
        every = set().union(*(self.given[other] - self.shared.get(tool, set()) for other in alike))
        acts = self.acts[bisect_left(self.acts, place) :][:_NEARBY]
        taken = [every & tokens_of(self.steps[act].input) for act in acts]
        return len(alike) > 1 and any(0 < len(some) < len(every) for some in taken)

    def _comes_after_all(self, place: int) -> bool:
        """All that the task orders was done before, nothing is waited for, and only the report speaks of it."""
        if self.wanted.tells or not self.acts or self.acts[-1] > place or min(self.handed, default=place) < place:
            return False
        done = any(not self.task_forms.isdisjoint(name_parts(self.steps[act].name)) for act in self.acts)
        waits = self.waits_from < len(self.steps) or is_pending(self.steps[place])
        return done and not waits and self.steps[place].kind != "llm"

    def _prepares(self, place: int) -> bool:
        """It looks at the thing that a later act works on, and that act does more than the task says word for word."""
        given = self.given[place]
        return any(not given.isdisjoint(worked_on) for act, worked_on in self.worked_on.items() if act > place)

    def _is_told_on(self, place: int) -> bool:
        """The next words are no answer yet, and state something: to the user, who is then asked or decides."""
        spoken = next((later for later in range(place + 1, len(self.steps)) if self.steps[later].talks), None)
        if spoken is None or spoken not in self.handed or self.wanted.tells:
            return False
        said = words_of(self.steps[spoken].output) - self.task_forms - words("cues", "talk")
        return bool(said) and any(self._is_act(later) for later in range(spoken + 1, len(self.steps)))

    def _pages_on(self, place: int) -> bool:
        """One thing is asked for, an earlier page held all that the answer states, and this page brought none of it."""
        found = () if self.used.get(place) else self._found_by(place)
        return any(self._is_page_of(other, place) for other in found)

    def _found_by(self, place: int) -> Iterator[int]:
        """Earlier calls of the tool that brought all that the answer states, where one thing is asked for."""
        for other in self.finders:
            if other < place and self.tools[other] == self.tools[place]:
                yield other

    def _is_page_of(self, one: int, other: int) -> bool:
        """The same call but for the number of the page."""
        first, second = self.steps[one].input, self.steps[other].input
        if (
            self.steps[one].name != self.steps[other].name
            or not isinstance(first, dict)
            or not isinstance(second, dict)
        ):
            return False
        differ = {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}
        return bool(differ) and differ <= words("cues", "page_fields")

    def _is_another_thing(self, place: int, first: int, known: Mapping[str, int]) -> bool:
        """The same tool asked about another thing of the task or of a list, or about the opposite."""
        one, other = self.calls[place], self.calls[first]
        if self.steps[place].name == self.steps[first].name and one.frame != other.frame:
            own, others = self.given[place] - self.given[first], self.given[first] - self.given[place]
            if are_opposed(own, others):
                return True
            if not others and set(self.brought[place]) <= {*self.brought[first], *self.given[first]}:
                return False  # the same thing, asked for in part
            return not own.isdisjoint(self.task_tokens) or any(word in known for word in own)
        if not one.wording or not other.wording:
            return False
        return ask_another(read_wording(one.wording), read_wording(other.wording), self.task_tokens)

    def _is_gone_through(self, place: int) -> bool:
        """Another call of the tool brought what is used, and the task does not name which: all had to be looked at."""
        tool = self.tools[place]
        if self.steps[place].talks or next(self._found_by(place), None) is not None:
            return False
        return tool in self.varied and self.telling[tool] > 0 and not self._is_beside(place)

    def _is_of_a_list(self, place: int, known: Mapping[str, int]) -> bool:
        """One of several things by its id, and the ids come from an earlier result: the answer may be a choice."""
        tool = self.tools[place]
        if not self.wanted.tells or self.times[tool] < 2 or tool in self.named_tools or self.calls[place].wording:
            return False
        if next(self._found_by(place), None) is not None:
            return False
        own = self.given[place] - self.shared[tool]
        return place in self.supplied or (bool(own) and (all(word in known for word in own) or self._is_listed(place)))

    def _is_listed(self, place: int) -> bool:
        """Whether one earlier result holds all that it was given, short words and numbers too."""
        nearby = (other for other in range(max(0, place - _NEARBY), place) if self.tells[other])
        return any(self.given[place] <= tokens_of(from_json(self.steps[other].output)) for other in nearby)

    def _is_moved_on_from(self, place: int) -> bool:
        """What is scrolled or paged through, clicked or photographed must have been opened."""
        if place + 1 >= len(self.calls):
            return False
        shows = names(self.steps[place].name, "opening") and names(self.steps[place + 1].name, "on_screen")
        return shows or self.calls[place + 1].is_paging

    def _is_beside(self, place: int) -> bool:
        """A search among several whose question has nothing of the task's own words."""
        return self.calls[place].is_search and not self.asked[place]

    def _asks_another(self, place: int, first: int) -> bool:
        """Another thing by its id, or another question: that both bring the same is news."""
        one, other = self.calls[place], self.calls[first]
        if self.steps[place].name == self.steps[first].name and one.frame != other.frame:
            return True
        both = one.wording and other.wording
        return bool(both) and ask_another(read_wording(one.wording), read_wording(other.wording))

    def _follows(self, place: int, known: Mapping[str, int]) -> bool:
        """Its id or name comes from an earlier result, and it is one of several, or the answer is too bare to tell."""
        if not any(word in known for word in self.given[place]):
            return False
        return self.bare or self.times[self.tools[place]] > 1

    # --- what the answer adds ---

    def _beyond(self, kept: Sequence[int]) -> dict[int, Spare]:
        """Readings that only the later parts of an answer use, where its first part answers the one question."""
        parts = [words_in(part) for part in _PART.split(self.said) if part.strip()]
        if not self.wanted.single or len(parts) < 2:
            return {}
        first, rest = parts[0] - self.task_forms, set().union(*parts[1:])
        sources = []
        for place in kept:
            if self.tells[place] and not first.isdisjoint(self.brought[place]):
                sources.append(place)
                first = first.difference(self.brought[place])
        if not sources:  # it sums up a result that the rest does not speak of
            looked = (place for place in kept if self.reads[place] and self.asked[place] and self.brought[place])
            sources = [place for place in looked if rest.isdisjoint(self.brought[place])]
            first = set().union(*(self.brought[place] for place in sources))
            if any(not self.given[place].isdisjoint(first) for place in kept):
                return {}  # one step led to the other
        if not sources:
            return {}
        return {
            place: Spare("beyond")
            for place in kept
            if place not in sources and self.reads[place] and self._only_adds(place, rest, sources)
        }

    def _only_adds(self, place: int, rest: set[str], sources: Sequence[int]) -> bool:
        """Its words stand in the rest of the answer alone, and it looks at what the task does not speak of."""
        used = self.used.get(place, set()).difference(*(self.brought[source] for source in sources))
        if not used or not used <= rest or place in self.settled:
            return False
        later = (step for step in self.steps[place + 1 :] if step.kind in ("tool", "retrieval", "other"))
        if any(not used.isdisjoint(words_of(step.input)) for step in later):
            return False
        named = {part for part in name_parts(self.steps[place].name) if part not in _verbs()}
        for source in sources:
            named.difference_update(name_parts(self.steps[source].name))
        looks_at = {word for word in named | self.given[place] if len(word) > 2 and word.isalpha()}
        return not looks_at <= self.task_forms


def _handed_in(steps: Sequence[Step]) -> str:
    """What the last call hands in as the answer ("final_answer"), where it is such a call."""
    last = steps[-1] if steps else None
    if last is None or last.kind != "tool" or not names(last.name, "answering"):
        return ""
    return " ".join(texts_in(last.input))


def looks_for_good_measure(
    steps: Sequence[Step], calls: Sequence[Call], task: str, handed: Collection[int]
) -> set[int]:
    """Readings that only serve to see a change, if they are made again after it: the task orders the change alone.

    Nothing is being waited for, and no message stands before them after which a user may have asked for them.
    """
    if read_task(task).tells:
        return set()
    found: dict[str, list[int]] = {}
    waited_for: set[str] = set()
    for place, (step, call) in enumerate(zip(steps, calls, strict=True)):
        if place in handed:
            break
        if only_reads(step, call) and call.is_read:
            found.setdefault(step.name, []).append(place)
            if is_pending(step):
                waited_for.add(step.name)
    return {place for name, places in found.items() if name not in waited_for for place in places}


def _tool(step: Step) -> str:
    """The name of the tool; of one that runs what it is given, with the command."""
    if not names(step.name, "runs"):
        return step.name
    command = tokens_in(" ".join(texts_in(step.input))[:_COMMAND])
    words_of_command = 2 if command[:1] and command[0] in words("cues", "commands_of_many") else 1
    return " ".join([step.name, *command[:words_of_command]])


@cache
def _verbs() -> frozenset[str]:
    return words("cues", "read") | words("cues", "search") | words("cues", "write")


def only_reads(step: Step, call: Call) -> bool:
    return step.kind in ("tool", "retrieval") and call.effect == "none"


def may_be_left_out(step: Step, call: Call) -> bool:
    """A reading, or a tool that says neither that it reads nor that it acts and told something ("weather")."""
    if step.kind != "tool" or call.effect not in ("none", "unclear"):
        return step.kind == "retrieval"
    if call.effect == "unclear" and (any(names(step.name, family) for family in _ACTING) or is_pending(step)):
        return False
    opens = call.effect == "unclear" or name_parts(step.name)[:1] == ("open",)
    return not (opens and acknowledges(step))


def acknowledges(step: Step, of_task: Collection[str] = ()) -> bool:
    """Whether a result only says that a thing was done: then it was an act ("open_door", "door open").

    It does so in words of acknowledgement, of the call itself, and of the task where that is given.
    """
    if len(dump(step.output)) >= _ACKNOWLEDGEMENT or step.observed:
        return False
    said = tokens_of(from_json(step.output))
    more = said - words("cues", "acknowledging")
    own = {*forms(name_parts(step.name)), *tokens_of(step.input), *of_task}
    return not more or ((bool(of_task) or more < said) and more <= own)


_ACTING = (
    "write",
    "acting",
    "moving",
    "answering",
    "runs",
    "musing",
    "bookkeeping",
    "charting",
    "announcing",
    "keeping",
)


def _words_taken_up(step: Step) -> set[str]:
    """What a step shows to have taken from before: its arguments, and for a model its words.

    The message history that a model was given holds everything and so proves nothing.
    """
    if step.talks:
        given = step.input if isinstance(step.input, str) else None
        return words_of(step.output) | words_of(given)
    return words_of(step.input)
