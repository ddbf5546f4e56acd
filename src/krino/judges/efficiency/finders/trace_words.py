"""The words of a trace, read once: of the task, the answer and each step; and which results later steps were given."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cache

from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.effects import acknowledges, is_pending, may_be_left_out
from krino.judges.efficiency.finders.task import read_request
from krino.judges.efficiency.finders.tokens import (
    MAX_TEXT,
    has_name_part,
    inflect,
    keys_in,
    name_parts,
    strip_plural,
    texts_in,
    tokens_in,
    tokens_of,
    words_in,
    words_of,
)
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import from_json, text_of
from krino.judges.efficiency.traces.steps import Step

NEARBY = 20
"""How far apart steps are compared, so that the work on a long trace grows only with its length."""
_DIGITS = frozenset("0123456789")
_BARE = 3
_COPIED = 200
_COMMAND = 80
_IDENTIFIER = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-zA-Z])\w{1,2}(?:-\w{1,2})?(?![\w-])")
"""Too short to count as a word: a letter with a number, as in R2 and m-5."""


class TraceWords:
    """What the task says, and of each step what it was given, what it brought, and what of that the task names."""

    def __init__(self, steps: Sequence[Step], calls: Sequence[Call], task: str, answer: str) -> None:
        self.steps, self.calls = steps, calls
        self.wanted = read_request(task)
        self.task = words_in(task)
        self.task_text = task.lower()
        self.task_tokens = set(tokens_in(task))
        self.task_stems = _strip_plurals(self.task | self.task_tokens)
        self.task_forms = inflect(self.task_tokens)
        self.task_numbers = {word.rstrip("0") for word in self.task_tokens if word.isdigit()}  # 84.2 is 84.20
        self.task_identifiers = identifiers(task)
        self.answer = words_in(answer)
        self.reads = [
            (may_be_left_out(step, call.effect) and not self._is_ordered(step, call)) or self._drafts(place)
            for place, (step, call) in enumerate(zip(steps, calls, strict=True))
        ]
        if not self.wanted.seeks and not any(self.is_act(place) for place in range(len(steps))):
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
        self._taken_up: dict[int, tuple[str, ...]] = {}
        self._vocabulary: dict[str, str] = {}
        self.given = [tokens_of(step.input) if tells else set() for step, tells in zip(steps, self.tells, strict=True)]
        self.named = [set() if step.talks else identifiers(step.input) for step in steps]
        self.brought = [self._brought(place) for place in range(len(steps))]
        self.asked = [self._asked(place) for place in range(len(steps))]
        self.shared = self._shared_arguments()
        self.varied = {
            tool for place, tool in enumerate(self.tools) if self.given[place] - self.shared.get(tool, set())
        }
        """Tools that were called with different arguments."""
        self.named_tools = {
            tool for place, tool in enumerate(self.tools) if tool in self.shared and self.is_named(place)
        }
        """Tools that were asked, among others, about the very thing that the task names."""

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
        things = _strip_plurals(named - verbs) or _strip_plurals(given)
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
        named = set(name_parts(self.steps[place].name)) - plain_verbs()
        return (_strip_plurals(named) | _strip_plurals(self.given[place])) & self.task_stems

    def _shared_arguments(self) -> dict[str, set[str]]:
        """What all calls of a tool have in common, for tools that are called more than once."""
        shared: dict[str, set[str]] = {}
        for place, tool in enumerate(self.tools):
            if self.tells[place] and self.times[tool] > 1:
                given = self.given[place]
                shared[tool] = shared[tool] & given if tool in shared else set(given)
        return shared

    def is_act(self, place: int) -> bool:
        handed_in = place == len(self.steps) - 1 and has_name_part(self.steps[place].name, "answering")
        return not self.reads[place] and self.steps[place].kind in ("tool", "other") and not handed_in

    def is_named(self, place: int) -> bool:
        """Whether the task names what sets this call apart from other calls of its tool."""
        own = self.given[place] - self.shared.get(self.tools[place], set())
        own |= {word.lstrip("0") for word in own if word.isdigit()}  # 03 is the 3 of the task
        return bool(_strip_plurals(own) & self.task_stems)

    def taken_up(self, place: int) -> tuple[str, ...]:
        """The words that a step takes up, read once however often is looked."""
        if place not in self._taken_up:
            share = self._vocabulary.setdefault
            self._taken_up[place] = tuple([share(word, word) for word in _words_taken_up(self.steps[place])])
        return self._taken_up[place]


def identifiers(value: object) -> set[str]:
    text = value if isinstance(value, str) else " ".join(texts_in(value))
    return {found.lower() for found in _IDENTIFIER.findall(text[:MAX_TEXT])}


def _tool(step: Step) -> str:
    """The name of the tool; of one that runs what it is given, with the command."""
    if not has_name_part(step.name, "runs"):
        return step.name
    command = tokens_in(" ".join(texts_in(step.input))[:_COMMAND])
    words_of_command = 2 if command[:1] and command[0] in words("cues", "commands_of_many") else 1
    return " ".join([step.name, *command[:words_of_command]])


def _strip_plurals(found: set[str]) -> set[str]:
    return {strip_plural(word) for word in found}


@cache
def plain_verbs() -> frozenset[str]:
    return words("cues", "read") | words("cues", "search") | words("cues", "write")


def _words_taken_up(step: Step) -> set[str]:
    """What a step shows to have taken from before: its arguments, and for a model its words.

    The message history that a model was given holds everything and so proves nothing.
    """
    if step.talks:
        given = step.input if isinstance(step.input, str) else None
        return words_of(step.output) | words_of(given)
    return words_of(step.input)


# --- where arguments come from -----------------------------------------------------------------------


class ArgumentSources:
    """What the kept steps of a trace were given, followed back to the readings that brought it."""

    def __init__(self, trace: TraceWords, kept: Sequence[int]) -> None:
        self.trace = trace
        self.suppliers: set[int] = set()
        """Readings that brought what an act was given, or a short identifier with which a later call was made."""
        self.supplied: set[int] = set()
        """Those later calls."""
        self.acts = [place for place in kept if trace.is_act(place)]
        self.worked_on: dict[int, set[str]] = {}
        """What acts were given that state more than the task does."""
        self.waits_from = next((place for place in self.acts if is_pending(trace.steps[place])), len(trace.steps))
        """From this place on something that was set going is waited for."""
        self._follow_identifiers(kept)
        self._follow_copies(kept)
        last = self._follow_arguments(kept)
        self.rests_until = len(trace.steps) if self._answer_rests(kept) else last
        """Up to this place results may be what something rests on that is not seen to take them up: the end of the
        trace if the answer rests on results, else the last act that states what stands nowhere."""

    def _follow_identifiers(self, kept: Sequence[int]) -> None:
        """Notes who brought the short identifiers (R2, m-5) that later calls were given, and which calls those are."""
        sources: dict[str, int] = {}
        wanted = set().union(*self.trace.named) - self.trace.task_identifiers
        for place in kept if wanted else ():
            if found := self.trace.named[place] & sources.keys():
                self.suppliers.update(sources[name] for name in found)
                self.supplied.add(place)
            if self.trace.tells[place]:
                for name in identifiers(self.trace.steps[place].output) & wanted:
                    sources.setdefault(name, place)

    def _follow_arguments(self, kept: Sequence[int]) -> int:
        """Notes who brought what acts are given beyond the task; the last act that was given what nobody brought."""
        looked_for = {place: self._open_arguments(place) for place in self.acts}
        self.worked_on = {place: tokens_of(self.trace.steps[place].input) for place in self.acts if looked_for[place]}
        wanted = set().union(*looked_for.values())
        sources: dict[str, int] = {}
        last = 0
        for place in kept if wanted else ():
            for word in looked_for.get(place, ()):
                if word in sources:
                    self.suppliers.add(sources[word])
                else:
                    last = place
            if self.trace.tells[place]:
                for word in wanted & tokens_of(from_json(self.trace.steps[place].output)):
                    sources.setdefault(word, place)
        return last

    def _follow_copies(self, kept: Sequence[int]) -> None:
        """Notes who brought what acts were given to the letter, such as the passage that an edit replaces."""
        for act in self.acts:
            copied = [
                text.lower() for text in texts_in(self.trace.steps[act].input) if len(tokens_in(text[:_COPIED])) > 1
            ]
            copied = [text for text in copied if text not in self.trace.task_text]
            nearby = kept[max(0, bisect_left(kept, act) - NEARBY) : bisect_left(kept, act)] if copied else ()
            for place in nearby:
                if self.trace.tells[place]:
                    shown = " ".join(texts_in(from_json(self.trace.steps[place].output)))[:MAX_TEXT].lower()
                    if any(text in shown for text in copied):
                        self.suppliers.add(place)

    def _open_arguments(self, place: int) -> set[str]:
        """What an act is given that the task does not say."""
        found = tokens_of(self.trace.steps[place].input) - self.trace.task_forms - words("cues", "command_words")
        return {word for word in found if not (word.isdigit() and word.rstrip("0") in self.trace.task_numbers)}

    def _answer_rests(self, kept: Sequence[int]) -> bool:
        """Whether the answer states what no result says word for word, so that it was gathered from one."""
        if not self.trace.wanted.tells and self.acts:
            return False  # it reports what was done
        summed_up = words("cues", "derived").intersection(tokens_in(self.trace.said))
        if summed_up - words("cues", "counted") or not self.trace.stated:
            return True
        every = inflect(self.trace.stated) | summed_up
        brought = set().union(*(every.intersection(self.trace.brought[place]) for place in kept))
        missing = {word for word in self.trace.stated if inflect((word,)).isdisjoint(brought)}
        reckoned = any(word[0].isdigit() for word in missing) or not summed_up <= brought
        return reckoned or len(missing) * 2 > len(self.trace.stated)
