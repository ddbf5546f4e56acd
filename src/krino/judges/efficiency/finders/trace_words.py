"""The words of a trace, read once: those of the task and the answer, and those that each step was given and brought."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

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
from krino.judges.efficiency.finders.effects import name_parts, names
from krino.judges.efficiency.finders.readings import acknowledges, may_be_left_out
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import from_json, text_of
from krino.judges.efficiency.traces.steps import Step

NEARBY = 20
"""How far apart steps are compared, so that the work on a long trace grows only with its length."""
_DIGITS = frozenset("0123456789")
_BARE = 3
_COMMAND = 80
_IDENTIFIER = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-zA-Z])\w{1,2}(?:-\w{1,2})?(?![\w-])")
"""Too short to count as a word: a letter with a number, as in R2 and m-5."""


class TraceWords:
    """What the task says, and of each step what it was given, what it brought, and what of that the task names."""

    def __init__(self, steps: Sequence[Step], calls: Sequence[Call], task: str, answer: str) -> None:
        self.steps, self.calls = steps, calls
        self.wanted = read_task(task)
        self.task = words_in(task)
        self.task_text = task.lower()
        self.task_tokens = set(tokens_in(task))
        self.task_stems = stems(self.task | self.task_tokens)
        self.task_forms = forms(self.task_tokens)
        self.task_numbers = {word.rstrip("0") for word in self.task_tokens if word.isdigit()}  # 84.2 is 84.20
        self.task_identifiers = identifiers(task)
        self.answer = words_in(answer)
        self.reads = [
            (may_be_left_out(step, call) and not self._is_ordered(step, call)) or self._drafts(place)
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
        named = set(name_parts(self.steps[place].name)) - plain_verbs()
        return (stems(named) | stems(self.given[place])) & self.task_stems

    def _shared_arguments(self) -> dict[str, set[str]]:
        """What all calls of a tool have in common, for tools that are called more than once."""
        shared: dict[str, set[str]] = {}
        for place, tool in enumerate(self.tools):
            if self.tells[place] and self.times[tool] > 1:
                given = self.given[place]
                shared[tool] = shared[tool] & given if tool in shared else set(given)
        return shared

    def is_act(self, place: int) -> bool:
        handed_in = place == len(self.steps) - 1 and names(self.steps[place].name, "answering")
        return not self.reads[place] and self.steps[place].kind in ("tool", "other") and not handed_in

    def is_named(self, place: int) -> bool:
        """Whether the task names what sets this call apart from other calls of its tool."""
        own = self.given[place] - self.shared.get(self.tools[place], set())
        own |= {word.lstrip("0") for word in own if word.isdigit()}  # 03 is the 3 of the task
        return bool(stems(own) & self.task_stems)

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
    if not names(step.name, "runs"):
        return step.name
    command = tokens_in(" ".join(texts_in(step.input))[:_COMMAND])
    words_of_command = 2 if command[:1] and command[0] in words("cues", "commands_of_many") else 1
    return " ".join([step.name, *command[:words_of_command]])


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
