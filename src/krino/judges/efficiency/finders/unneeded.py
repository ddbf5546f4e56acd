"""Finds readings that could have been left out: without them the answer and the acts would still have what they state.

A reading is needed if the answer or a later needed step uses a word, value or id that only this reading returned. An
answer can also rest on a result without repeating it ("Is the invoice overdue?", "Yes"), and so can an act whose
arguments appear in no result. Where something rests on results in that way, a reading is also needed if the task names
what it looks at, and no step whose words are used has looked at that. Otherwise it is unneeded: the rubric says that in
doubt a step is unnecessary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.similarity import ask_different_things, has_opposites, read_wording
from krino.judges.efficiency.finders.tokens import (
    MAX_TEXT,
    collect_words,
    has_name_part,
    inflect,
    name_parts,
    normalise_text,
    texts_in,
    tokens_of,
    words_in,
)
from krino.judges.efficiency.finders.trace_words import NEARBY, ArgumentSources, TraceWords, list_plain_verbs
from krino.judges.efficiency.traces.content import from_json, to_text
from krino.judges.efficiency.traces.steps import Step

_PART = re.compile(r"(?<=[.!?;])(?<!\b[A-Z]\.)\s+|[(\n]")
_ROUNDS = 4
_TEXT = 8
"""Words of a result that is a text: two things can share a shorter one."""
_ID_WORDS = 4
"""Words of arguments that name a thing; more of them are a text to work on."""
_CHAIN = 3
"""Look-ups in a row, each with the id that the one before returned, that make a chain."""


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
    """Returns the readings that could have been left out. `set_aside` are useless steps (repeats, failures): they use
    nothing, and nothing is known from them.

    `settled` are repeats that had a ground, and what they repeat: they are needed. `user_turns` are the messages after
    which a user spoke, or may have spoken.
    """
    trace = TraceWords(steps, calls, task, answer or _find_submitted_answer(steps))
    aside = set(set_aside)
    found: dict[int, Unneeded] = {}
    for _ in range(_ROUNDS):  # without one reading another may be without use
        fresh = _Pass(trace, aside, settled, user_turns).find()
        if not fresh:
            break
        found |= fresh
        aside |= fresh.keys()
    return found


class _Pass:
    """One pass over a trace, without the steps that are set aside."""

    def __init__(
        self, trace: TraceWords, aside: Collection[int], settled: Collection[int], user_turns: Collection[int]
    ) -> None:
        """Finds which steps are kept, which of their results are used, and where arguments came from."""
        self.trace, self.settled, self.user_turns = trace, settled, user_turns
        self.kept = [place for place in range(len(trace.steps)) if place not in aside]
        if self.kept and trace.reads[self.kept[-1]] and not trace.answer:
            self.kept.pop()  # a trace that ends with a reading does not say what it was for
        self.kept_set = frozenset(self.kept)
        self.used_elsewhere: set[int] = set()
        self.used = self._find_used()
        self.covered: set[str] = set().union(*(trace.task_words[place] for place in self.used))
        """Words of the task that the readings looked at whose results are used."""
        self.unnamed = Counter(
            trace.tools[place]
            for place in self.used.keys() & self.used_elsewhere
            if not trace.is_named(place) and not self._was_pointed_to(place)
        )
        """For each tool, how many used readings look at something that the task does not name."""
        stated = {place for place, found in self.used.items() if not found.isdisjoint(trace.stated)}
        self.stated_by_named = stated if all(map(trace.is_named, stated)) else set()
        """The readings that the answer was taken from, if the task names what each looks at: there was no choice."""
        self.resting = not self.used and all(trace.reads[place] or trace.steps[place].talks for place in self.kept)
        self.arguments = ArgumentSources(trace, self.kept)
        self.unused_chains = self._find_unused_chains()

    def find(self) -> dict[int, Unneeded]:
        """Returns the unneeded readings, found step by step in the order of the trace.

        Without any, those that add more than was asked.
        """
        found: dict[int, Unneeded] = {}
        known: dict[str, int] = {}
        looked_at: set[str] = set()
        for place in self.kept:
            if self.trace.is_act(place):  # what an act reports need not be looked up
                for word in collect_words(from_json(self.trace.steps[place].output)):
                    known.setdefault(word, place)
            if not self.trace.reads[place] or self.trace.calls[place].is_empty:
                continue
            unneeded = None
            if place in self.unused_chains and place not in self.settled:
                unneeded = Unneeded("unused")
            elif not self._is_excused(place):
                unneeded = self._judge(place, known, looked_at)
            if unneeded is not None:
                found[place] = unneeded
                continue
            looked_at |= self.trace.task_words[place]
            for word in self.trace.returned[place]:
                known.setdefault(word, place)
        if self.resting and not any(self.trace.task_words[place] for place in self.kept):
            return {}  # the answer rests on readings and the task names none of them: any may be the one it needs
        return found or self._find_additions()

    def _find_additions(self) -> dict[int, Unneeded]:
        added = _find_additions(self.trace, self.kept, self.used)
        return {place: Unneeded("beyond") for place in added if place not in self.settled}

    def _find_used(self) -> dict[int, set[str]]:
        """Returns for each kept reading the words of its result that a later kept step or the answer uses.

        Also notes in `used_elsewhere` the readings that anything but the next calls of the same tool uses:
        listing folder after folder keeps no listing.
        """
        later: dict[str, str] = dict.fromkeys(self.trace.answer, "")
        used: dict[int, set[str]] = {}
        for place in reversed(self.kept):
            if found := later.keys() & self.trace.returned[place]:
                used[place] = found
                if any(later[word] != self.trace.tools[place] for word in found):
                    self.used_elsewhere.add(place)
            for word in self.trace.words_used(place):
                tool = self.trace.tools[place]
                later[word] = tool if later.get(word, tool) == tool else ""
        return used

    def _find_unused_chains(self) -> set[int]:
        """Returns the look-ups of chains in which each uses the id that the one before returned, and nothing else does.

        An agent can hide waste in them: each result is used, by the next look-up. Only where the answer uses
        other steps, and the task names nothing that the chain looked at.
        """
        if self.trace.denies:
            return set()
        chains: dict[str, list[list[int]]] = {}
        for place in self.kept:
            if not self.trace.reads[place] or self.trace.steps[place].talks:
                continue
            of_tool = chains.setdefault(self.trace.tools[place], [])
            if of_tool and self._passes_id_on(of_tool[-1][-1], place):
                of_tool[-1].append(place)
            else:
                of_tool.append([place])
        long_ones = (chain for of_tool in chains.values() for chain in of_tool if len(chain) >= _CHAIN)
        found = {place for chain in long_ones if self._is_unused(chain) for place in chain}
        return found if self.used.keys() - found else set()

    def _passes_id_on(self, place: int, following: int) -> bool:
        own = self.trace.given[following] - self.trace.shared.get(self.trace.tools[following], set())
        return bool(own) and own.issubset(self.trace.returned[place])

    def _is_unused(self, chain: Sequence[int]) -> bool:
        """Are results in a chain used for nothing but the next step's id, and is none about the task's words?"""
        given = [self.trace.given[place] for place in chain[1:]]
        return not any(
            self.used.get(place, set()) - passed_on or self.trace.task_words[place]
            for place, passed_on in zip(chain, [*given, set()], strict=True)
        )

    # --- the decision about one reading ---

    def _judge(self, place: int, known: Mapping[str, int], looked_at: set[str]) -> Unneeded | None:
        """Returns why one reading was unneeded (its result was known, or never used), or None if it was needed."""
        returned, task_words, used = (
            self.trace.returned[place],
            self.trace.task_words[place],
            self.used.get(place, set()),
        )
        if (held := self._find_holder(place)) is not None:
            return Unneeded("known", held)
        if place in self.arguments.suppliers or self._prepares_act(place) or self._is_reported_to_user(place):
            return None
        if used - known.keys():
            return None
        few = len(returned) < table("limits")["least_distinctive"]
        if self.arguments.rests_until <= place < self.arguments.waits_from and not self.trace.steps[place].talks:
            return self._judge_supported(place, known, few)
        if not returned or self._follows(place, known):
            return None
        if not used:
            undecided = few or task_words - self.covered or self.trace.denies or self._is_searched_one_by_one(place)
            return None if undecided else Unneeded("unused")
        first = min(known[word] for word in used)
        new = any(word not in known for word in returned)
        again = bool(task_words) and (
            task_words <= looked_at
            or (not new and (self.trace.request.single or len(task_words & looked_at) * 2 >= len(task_words)))
        )
        return Unneeded("known", first) if again and not self._asks_another(place, first) else None

    def _find_holder(self, place: int) -> int | None:
        """Returns an earlier reading whose result holds all of this one, with nothing done in between; or None.

        It also holds the arguments (a list with the details of each thing), or one thing is asked and the
        result is a text, word for word.
        """
        trace, step = self.trace, self.trace.steps[place]
        result, text = tokens_of(from_json(step.output)), normalise_text(to_text(step.output))
        if not result or step.talks or len(text) > MAX_TEXT or trace.calls[place].is_watching:
            return None
        for other in range(place - 1, max(-1, place - NEARBY - 1), -1):
            if trace.is_act(other):
                return None
            if other not in self.kept_set or not trace.reads[other] or trace.steps[other].talks:
                continue
            held = tokens_of(from_json(trace.steps[other].output))
            if not result <= held:
                continue
            said = trace.request.single and len(result) >= _TEXT
            if said and text in normalise_text(to_text(trace.steps[other].output)):
                return other
            if 0 < len(trace.given[place]) <= _ID_WORDS and trace.given[place] <= held:
                return other
        return None

    def _judge_supported(self, place: int, known: Mapping[str, int], few: bool) -> Unneeded | None:
        """Judges one reading where nothing rests on results without using their words: then only used words count.

        Returns why it was unneeded, or None.
        """
        used = self.used.get(place)
        if used:
            first = min(known[word] for word in used)
            return None if self._is_another_thing(place, first, known) else Unneeded("known", first)
        task_words = bool(self.trace.task_words[place] - self.covered)
        result = collect_words(self.trace.steps[place].output)
        if result and result <= self.trace.task and not self.trace.steps[place].observed:
            return Unneeded("unused")  # it only returns what the task says
        several = self.trace.request.wants_answer and not self.trace.request.single and task_words
        if (
            several
            or self._prepares_next_step(place)
            or self._is_searched_one_by_one(place)
            or self._is_of_a_list(place, known)
        ):
            return None
        return Unneeded("unused", doubt=few or task_words)

    # --- what keeps a reading: these only prevent false alarms ---

    def _is_excused(self, place: int) -> bool:
        return place in self.settled or self.trace.calls[place].is_paging or self._checks_silent_act(place)

    def _checks_silent_act(self, place: int) -> bool:
        """Does a step look, right after an act with an empty result, at the same thing?

        Only this shows what came of it. A command without output has done its work.
        """
        before = self.trace.steps[place - 1] if place else None
        if before is None or not self.trace.is_act(place - 1) or before.output not in (None, "", {}, []):
            return False
        if has_name_part(before.name, "runs"):
            return False
        step, alike = self.trace.steps[place], set(name_parts(self.trace.steps[place].name)) - list_plain_verbs()
        looks_at = tokens_of(step.input) | inflect(alike)
        return not looks_at.isdisjoint(tokens_of(before.input) | inflect(set(name_parts(before.name))))

    def _was_pointed_to(self, place: int) -> bool:
        """Whether an earlier used result holds all that sets this call apart, so that it was no search for it."""
        own = self.trace.given[place] - self.trace.shared.get(self.trace.tools[place], set())
        return bool(own) and any(own.issubset(self.trace.returned[other]) for other in self.used if other < place)

    def _prepares_act(self, place: int) -> bool:
        """Does a reading look at what a later act works on, and is that act given more than the task says?"""
        given = self.trace.given[place]
        return any(
            not given.isdisjoint(worked_on) for act, worked_on in self.arguments.worked_on.items() if act > place
        )

    def _is_reported_to_user(self, place: int) -> bool:
        """Do the next words state something to a user, who then decides, and do acts follow?"""
        steps = self.trace.steps
        spoken = next((later for later in range(place + 1, len(steps)) if steps[later].talks), None)
        if spoken is None or spoken not in self.user_turns or self.trace.request.wants_answer:
            return False
        said = collect_words(steps[spoken].output) - self.trace.task_forms - words("cues", "talk")
        return bool(said) and any(self.trace.is_act(later) for later in range(spoken + 1, len(steps)))

    def _is_another_thing(self, place: int, first: int, known: Mapping[str, int]) -> bool:
        """Was the same tool asked about another thing of the task or of a list, or about the opposite?"""
        trace = self.trace
        one, other = trace.calls[place], trace.calls[first]
        if trace.steps[place].name == trace.steps[first].name and one.frame != other.frame:
            own, others = trace.given[place] - trace.given[first], trace.given[first] - trace.given[place]
            if has_opposites(own, others):
                return True
            if not others and set(trace.returned[place]) <= {*trace.returned[first], *trace.given[first]}:
                return False  # a part of the same thing
            return not own.isdisjoint(trace.task_tokens) or any(word in known for word in own)
        if not one.wording or not other.wording:
            return False
        return ask_different_things(read_wording(one.wording), read_wording(other.wording), trace.task_tokens)

    def _asks_another(self, place: int, first: int) -> bool:
        """Are two readings of another thing by its id, or another question? That both return the same is news then."""
        one, other = self.trace.calls[place], self.trace.calls[first]
        if self.trace.steps[place].name == self.trace.steps[first].name and one.frame != other.frame:
            return True
        both = one.wording and other.wording
        return bool(both) and ask_different_things(read_wording(one.wording), read_wording(other.wording))

    def _is_searched_one_by_one(self, place: int) -> bool:
        """Another call of the tool returned what is used, and the task does not name which: any could have been it."""
        trace, tool = self.trace, self.trace.tools[place]
        off_task_search = trace.calls[place].is_search and not trace.task_words[place]
        return tool in trace.varied and self.unnamed[tool] > 0 and not off_task_search and not trace.steps[place].talks

    def _prepares_next_step(self, place: int) -> bool:
        """Does the step open a page for the next step, which clicks or takes a screenshot?

        Also true if the next call pages or scrolls, whatever this one does.
        """
        if place + 1 >= len(self.trace.calls):
            return False
        opens, following = has_name_part(self.trace.steps[place].name, "opening"), self.trace.steps[place + 1].name
        return (opens and has_name_part(following, "on_screen")) or self.trace.calls[place + 1].is_paging

    def _is_of_a_list(self, place: int, known: Mapping[str, int]) -> bool:
        """Is it one of several things looked up by its id, the ids from an earlier result?

        The answer may be a choice.
        """
        trace, tool = self.trace, self.trace.tools[place]
        if not trace.request.wants_answer or trace.call_counts[tool] < 2 or tool in trace.named_tools:
            return False
        if self.stated_by_named and not any(self._is_listed_by(other, place) for other in self.stated_by_named):
            return False
        if trace.calls[place].wording:
            return False
        if place in self.arguments.supplied:
            return True
        own = trace.given[place] - trace.shared[tool]
        return bool(own) and (all(word in known for word in own) or self._is_listed(place))

    def _is_listed(self, place: int) -> bool:
        """Whether one earlier result holds all its arguments, short words and numbers too."""
        nearby = (other for other in range(max(0, place - NEARBY), place) if self.trace.informs[other])
        return any(self._is_listed_by(other, place) for other in nearby)

    def _is_listed_by(self, other: int, place: int) -> bool:
        return self.trace.given[place] <= tokens_of(from_json(self.trace.steps[other].output))

    def _follows(self, place: int, known: Mapping[str, int]) -> bool:
        """Its id comes from an earlier result, and it is one of several calls, or the answer is too short to tell."""
        if not any(word in known for word in self.trace.given[place]):
            return False
        return self.trace.answer_is_bare or self.trace.call_counts[self.trace.tools[place]] > 1


def _find_submitted_answer(steps: Sequence[Step]) -> str:
    """Returns the arguments of the last call if it submits the answer ("final_answer"), else an empty text."""
    last = steps[-1] if steps else None
    if last is None or last.kind != "tool" or not has_name_part(last.name, "answering"):
        return ""
    return " ".join(texts_in(last.input))


# --- additions to the answer -------------------------------------------------------------------------


def _find_additions(trace: TraceWords, kept: Sequence[int], used: Mapping[int, set[str]]) -> list[int]:
    """Returns readings that only the later parts of an answer use, if its first part answers the one question."""
    parts = [words_in(part) for part in _PART.split(trace.said) if part.strip()]
    if not trace.request.single or len(parts) < 2:
        return []
    first, rest = parts[0] - trace.task_forms, set().union(*parts[1:])
    sources = []
    for place in kept:
        if trace.informs[place] and not first.isdisjoint(trace.returned[place]):
            sources.append(place)
            first = first.difference(trace.returned[place])
    if not sources:  # the first part sums up a result that the rest does not mention
        looked = (place for place in kept if trace.reads[place] and trace.task_words[place] and trace.returned[place])
        sources = [place for place in looked if rest.isdisjoint(trace.returned[place])]
        first = set().union(*(trace.returned[place] for place in sources))
        if any(not trace.given[place].isdisjoint(first) for place in kept):
            return []  # one step gave the other its arguments
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
    """Does only the rest of the answer use its words, and does it look at something that the task does not mention?"""
    used = used.difference(*(trace.returned[source] for source in sources))
    if not used or not used <= rest:
        return False
    later = (step for step in trace.steps[place + 1 :] if step.kind in ("tool", "retrieval", "other"))
    if any(not used.isdisjoint(collect_words(step.input)) for step in later):
        return False
    named = {part for part in name_parts(trace.steps[place].name) if part not in list_plain_verbs()}
    for source in sources:
        named.difference_update(name_parts(trace.steps[source].name))
    looks_at = {word for word in named | trace.given[place] if len(word) > 2 and word.isalpha()}
    return not looks_at <= trace.task_forms
