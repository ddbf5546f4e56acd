"""The words of a trace, read once: of the task, the answer and each step; and which results later steps were given."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cache

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.effects import acknowledges, is_pending, may_be_left_out
from krino.judges.efficiency.finders.task import read_request
from krino.judges.efficiency.finders.tokens import (
    MAX_TEXT,
    collect_words,
    has_name_part,
    inflect,
    keys_in,
    name_parts,
    strip_plural,
    texts_in,
    tokens_in,
    tokens_of,
    words_in,
)
from krino.judges.efficiency.traces.content import extract_text, from_json
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
    """The words of the task, and of each step: its arguments, its result, and which of the task's words it looks at."""

    def __init__(self, steps: Sequence[Step], calls: Sequence[Call], task: str, answer: str) -> None:
        """Reads the words of task, answer and steps, and which steps are readings, inform, or are of a named tool."""
        self.steps, self.calls = steps, calls
        self.request = read_request(task)
        self.task = words_in(task)
        self.task_text = task.lower()
        self.task_tokens = set(tokens_in(task))
        self.task_stems = _strip_plurals(self.task | self.task_tokens)
        self.task_forms = inflect(self.task_tokens)
        self.task_numbers = {word.rstrip("0") for word in self.task_tokens if word.isdigit()}  # 84.2 is 84.20
        self.task_identifiers = find_short_ids(task)
        self.answer = words_in(answer)
        self.reads = [
            (may_be_left_out(step, call.effect) and not self._is_ordered(step, call)) or self._is_draft(place)
            for place, (step, call) in enumerate(zip(steps, calls, strict=True))
        ]
        if not self.request.seeks and not any(self.is_act(place) for place in range(len(steps))):
            for place, call in enumerate(calls):  # then one of the tools that do not say whether they read is the act
                self.reads[place] = self.reads[place] and (call.effect == "none" or steps[place].talks)
        self.informs = [
            (step.kind == "tool" and call.effect != "changes") or reads
            for step, call, reads in zip(steps, calls, self.reads, strict=True)
        ]
        self.tools = [_name_tool(step) for step in steps]
        self.call_counts = Counter(self.tools)
        spoken = next((step for step in reversed(steps) if step.talks), None)
        self.said = answer or (extract_text(spoken.output) if spoken else "")
        self.stated = self._find_stated(spoken)
        self.denies = any(phrase in self.said.lower() for phrase in table("cues")["denying"])
        """Whether the answer is that nothing was found: then it rests on every search."""
        self.answer_is_bare = len((self.answer | words_in(self.said)) - self.task) < _BARE
        self._words_used: dict[int, tuple[str, ...]] = {}
        self._vocabulary: dict[str, str] = {}
        self.given = [
            tokens_of(step.input) if informs else set() for step, informs in zip(steps, self.informs, strict=True)
        ]
        self.short_ids = [set() if step.talks else find_short_ids(step.input) for step in steps]
        self.returned = [self._find_returned(place) for place in range(len(steps))]
        self.task_words = [self._find_task_words(place) for place in range(len(steps))]
        self.shared = self._find_shared_arguments()
        self.varied = {
            tool for place, tool in enumerate(self.tools) if self.given[place] - self.shared.get(tool, set())
        }
        """Tools that were called with different arguments."""
        self.named_tools = {
            tool for place, tool in enumerate(self.tools) if tool in self.shared and self.is_named(place)
        }
        """Tools with at least one call about the very thing that the task names."""

    def _is_ordered(self, step: Step, call: Call) -> bool:
        """Whether a tool that could be a reading by its name is the very act that the task orders.

        Its verb and object are the task's ("Open the gate"), or the task asks for no answer, and the result confirms
        the act in the task's own words ("box on shelf 2").
        """
        named = set(name_parts(step.name))
        if not words("cues", "delivering").isdisjoint(self.task_tokens & named):
            return True
        verbs = (named & self.request.orders) - words("cues", "search") - words("cues", "asking")
        given = tokens_of(step.input)
        things = _strip_plurals(named - verbs) or _strip_plurals(given)
        if verbs and (call.effect == "unclear" or (given <= self.task_forms and things & self.task_stems)):
            return True
        unclear = call.effect == "unclear" and not self.request.wants_answer and bool(given)
        return unclear and acknowledges(step, self.task_forms)

    def _is_draft(self, place: int) -> bool:
        """A model's text between others: neither the last nor one that chooses the next call."""
        step = self.steps[place]
        following = self.steps[place + 1].kind if place + 1 < len(self.steps) else ""
        return step.kind == "llm" and isinstance(step.input, str) and following in ("llm", "message")

    def _find_stated(self, spoken: Step | None) -> set[str]:
        """What the answer states beyond the task; if the last model was given a text, what that text states."""
        was_given_text = isinstance(spoken.input, str) and spoken.kind == "llm" if spoken else False
        found = collect_words(spoken.input) if spoken and was_given_text else words_in(self.said)
        return found - self.task_forms - words("cues", "talk")

    def _find_returned(self, place: int) -> tuple[str, ...]:
        """Returns the new words in the result of a step that informs; interned, because a long trace has many."""
        if not self.informs[place]:
            return ()
        step = self.steps[place]
        output = from_json(step.output)
        keys = words_in(" ".join(keys_in(output))) if not isinstance(output, str) else set()
        found = (collect_words(output) | keys | words_in(step.observed)) - self.task - self.given[place]
        share = self._vocabulary.setdefault
        return tuple([share(word, word) for word in found - (_DIGITS - self.stated) or found])

    def _find_task_words(self, place: int) -> set[str]:
        """Returns the task's words in the tool's name and the arguments: what of the task this step looks at."""
        if not self.informs[place]:
            return set()
        named = set(name_parts(self.steps[place].name)) - list_plain_verbs()
        return (_strip_plurals(named) | _strip_plurals(self.given[place])) & self.task_stems

    def _find_shared_arguments(self) -> dict[str, set[str]]:
        """Returns for each tool that is called more than once the arguments that all its calls share."""
        shared: dict[str, set[str]] = {}
        for place, tool in enumerate(self.tools):
            if self.informs[place] and self.call_counts[tool] > 1:
                given = self.given[place]
                shared[tool] = shared[tool] & given if tool in shared else set(given)
        return shared

    def is_act(self, place: int) -> bool:
        """Is the step an act, not a reading, a text, or the last call that hands in the answer?"""
        handed_in = place == len(self.steps) - 1 and has_name_part(self.steps[place].name, "answering")
        return not self.reads[place] and self.steps[place].kind in ("tool", "other") and not handed_in

    def is_named(self, place: int) -> bool:
        """Whether the task names what sets this call apart from other calls of its tool."""
        own = self.given[place] - self.shared.get(self.tools[place], set())
        own |= {word.lstrip("0") for word in own if word.isdigit()}  # 03 is the 3 of the task
        return bool(_strip_plurals(own) & self.task_stems)

    def words_used(self, place: int) -> tuple[str, ...]:
        """Returns the words that a step can have taken from earlier results; cached."""
        if place not in self._words_used:
            share = self._vocabulary.setdefault
            self._words_used[place] = tuple([share(word, word) for word in _find_words_used(self.steps[place])])
        return self._words_used[place]


def find_short_ids(value: object) -> set[str]:
    """Returns the short ids (R2, m-5) in a text or inside a value, in lower case."""
    text = value if isinstance(value, str) else " ".join(texts_in(value))
    return {found.lower() for found in _IDENTIFIER.findall(text[:MAX_TEXT])}


def _name_tool(step: Step) -> str:
    """Returns the tool's name; for a tool that runs commands, with the command."""
    if not has_name_part(step.name, "runs"):
        return step.name
    command = tokens_in(" ".join(texts_in(step.input))[:_COMMAND])
    words_of_command = 2 if command[:1] and command[0] in words("cues", "commands_of_many") else 1
    return " ".join([step.name, *command[:words_of_command]])


def _strip_plurals(found: set[str]) -> set[str]:
    return {strip_plural(word) for word in found}


@cache
def list_plain_verbs() -> frozenset[str]:
    """Returns the verbs that only say that a tool reads, searches or writes."""
    return words("cues", "read") | words("cues", "search") | words("cues", "write")


def _find_words_used(step: Step) -> set[str]:
    """Returns the words that a step can have taken from earlier results: its arguments, or a model's text.

    A model's message history holds everything and so proves nothing.
    """
    if step.talks:
        given = step.input if isinstance(step.input, str) else None
        return collect_words(step.output) | collect_words(given)
    return collect_words(step.input)


# --- where arguments come from -----------------------------------------------------------------------


class ArgumentSources:
    """Traces the arguments of acts and later calls back to the readings that returned them."""

    def __init__(self, trace: TraceWords, kept: Sequence[int]) -> None:
        """Finds the readings that later arguments came from, and up to where something may rest on results unseen."""
        self.trace = trace
        self.suppliers: set[int] = set()
        """Readings that returned an argument of an act, or a short id with which a later call was made."""
        self.supplied: set[int] = set()
        """The calls made with such a short id."""
        self.acts = [place for place in kept if trace.is_act(place)]
        self.worked_on: dict[int, set[str]] = {}
        """The arguments of acts that were given more than the task states."""
        self.waits_from = next((place for place in self.acts if is_pending(trace.steps[place])), len(trace.steps))
        """From this place on a started process is waited for."""
        self._follow_identifiers(kept)
        self._follow_copies(kept)
        last = self._follow_arguments(kept)
        self.rests_until = len(trace.steps) if self._answer_rests_on_results(kept) else last
        """Up to this place something may rest on results without using their words: to the end of the trace if the
        answer sums results up, else to the last act with an argument that appears in no result."""

    def _follow_identifiers(self, kept: Sequence[int]) -> None:
        """Finds the readings that returned the short ids (R2, m-5) of later calls, and those calls."""
        sources: dict[str, int] = {}
        wanted = set().union(*self.trace.short_ids) - self.trace.task_identifiers
        for place in kept if wanted else ():
            if found := self.trace.short_ids[place] & sources.keys():
                self.suppliers.update(sources[name] for name in found)
                self.supplied.add(place)
            if self.trace.informs[place]:
                for name in find_short_ids(self.trace.steps[place].output) & wanted:
                    sources.setdefault(name, place)

    def _follow_arguments(self, kept: Sequence[int]) -> int:
        """Notes what acts worked on and which readings returned it.

        Returns the last act with an argument of no source; 0 if there is none.
        """
        looked_for = {place: self._find_open_arguments(place) for place in self.acts}
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
            if self.trace.informs[place]:
                for word in wanted & tokens_of(from_json(self.trace.steps[place].output)):
                    sources.setdefault(word, place)
        return last

    def _follow_copies(self, kept: Sequence[int]) -> None:
        """Finds the readings that returned texts which acts were given verbatim: the passage that an edit replaces."""
        for act in self.acts:
            copied = [
                text.lower() for text in texts_in(self.trace.steps[act].input) if len(tokens_in(text[:_COPIED])) > 1
            ]
            copied = [text for text in copied if text not in self.trace.task_text]
            nearby = kept[max(0, bisect_left(kept, act) - NEARBY) : bisect_left(kept, act)] if copied else ()
            for place in nearby:
                if self.trace.informs[place]:
                    shown = " ".join(texts_in(from_json(self.trace.steps[place].output)))[:MAX_TEXT].lower()
                    if any(text in shown for text in copied):
                        self.suppliers.add(place)

    def _find_open_arguments(self, place: int) -> set[str]:
        """The arguments of an act that the task does not state."""
        found = tokens_of(self.trace.steps[place].input) - self.trace.task_forms - words("cues", "command_words")
        return {word for word in found if not (word.isdigit() and word.rstrip("0") in self.trace.task_numbers)}

    def _answer_rests_on_results(self, kept: Sequence[int]) -> bool:
        """Whether the answer states what no result says word for word: a sum, a choice, a yes or no."""
        if not self.trace.request.wants_answer and self.acts:
            return False  # it reports what was done
        summed_up = words("cues", "derived").intersection(tokens_in(self.trace.said))
        if summed_up - words("cues", "counted") or not self.trace.stated:
            return True
        every = inflect(self.trace.stated) | summed_up
        returned = set().union(*(every.intersection(self.trace.returned[place]) for place in kept))
        missing = {word for word in self.trace.stated if inflect((word,)).isdisjoint(returned)}
        computed = any(word[0].isdigit() for word in missing) or not summed_up <= returned
        return computed or len(missing) * 2 > len(self.trace.stated)
