"""Finds tool calls that bring the work no further: texts worked over, questions whether a result is so, wrong tools."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from krino.judges.efficiency.finders.calls import Call, texts_in
from krino.judges.efficiency.finders.content_words import MAX_TEXT, forms, tokens_in, tokens_of, words_of
from krino.judges.efficiency.finders.effects import name_parts, names
from krino.judges.efficiency.finders.extra import Extra
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import text_of
from krino.judges.efficiency.traces.steps import Step

_LOOKED_AT = 300
_SIGN = re.compile(r"\d\s*(?:[+*/×÷^%]|[-−]\s)\s*(?:of\s+)?\(?\d|\d\s*%|√\s*\d")
"""A sum in figures; a hyphen alone may join two numbers ("2022-23")."""
_NEARBY = 20
_FEW = 5
_LONGEST_REPLY = 40


class Detours:
    """The words of a task and of its trace, and a look at one call; `asked` are the words of the task."""

    def __init__(
        self,
        steps: Sequence[Step],
        calls: Sequence[Call],
        task: str,
        asked: Collection[str],
        spoken: Sequence[int],
    ) -> None:
        self.steps, self.calls = steps, calls
        self.asked, self.asked_forms = frozenset(asked), forms(asked)
        said = words_of(steps[spoken[-1]].output) - words("cues", "talk") if spoken else set()
        brings_a_text = any(phrase in task.lower() for phrase in table("cues")["in_the_task"])
        self.answer_stands_there = brings_a_text and bool(said) and said <= self.asked_forms

    def look(self, place: int) -> Iterator[Extra]:
        yield from self._stands_in_the_task(place)
        if self.steps[place].kind == "tool":
            yield from self._works_over_a_text(place)
            yield from self._asks_whether_it_is_so(place)
            yield from self._asks_the_wrong_tool(place)
            yield from self._searches_for_a_sum(place)

    def _free(self, family: str) -> bool:
        """Whether the task says nothing of this kind of work."""
        return self.asked_forms.isdisjoint(words("cues", family))

    def _stands_in_the_task(self, place: int) -> Iterator[Extra]:
        """The task brings the text with it, and the answer says nothing that does not stand there."""
        if self.answer_stands_there and self.calls[place].effect == "none":
            yield Extra("speculative", "looks up what the task itself says")

    def _works_over_a_text(self, place: int) -> Iterator[Extra]:
        """A tool that gives an earlier result another form, or none at all, where the task asks for no other form."""
        step = self.steps[place]
        asked = names(step.name, "asking_models") and not words("cues", "restyling").isdisjoint(
            tokens_in(" ".join(texts_in(step.input))[:_LOOKED_AT].partition(":")[0])
        )
        reworded = words("cues", "rewording_tasks") - words("cues", "translating")
        free = self._free("restyling") and self.asked_forms.isdisjoint(reworded)
        if free and (names(step.name, "restyling_tools") or asked):
            for earlier in range(place - 1, max(-1, place - _NEARBY), -1):
                if self._was_given(place, text_of(self.steps[earlier].output)):
                    yield Extra("enrichment", "rewords an earlier output", earlier)
        changes_form = names(step.name, "translating") or names(step.name, "restyling_tools")
        same = text_of(step.output).strip()
        held = [text.strip() for text in texts_in(step.input)] if changes_form and same else []
        if same in held and self._free("translating"):
            yield Extra("indirect", "gives back its input unchanged")

    def _was_given(self, place: int, text: str) -> bool:
        held = text.strip()[:MAX_TEXT]
        return len(tokens_in(held)) > 1 and any(held in given for given in texts_in(self.steps[place].input))

    def _asks_whether_it_is_so(self, place: int) -> Iterator[Extra]:
        """A question to a model or another tool whether an earlier result is right, answered with yes or no."""
        asks = " ".join(texts_in(self.steps[place].input))[:_LOOKED_AT]
        said = tokens_in(text_of(self.steps[place].output)[:_LOOKED_AT])
        if "?" not in asks or not self._free("checking") or not self._free("plausible"):
            return
        if not said[:1] or said[0] not in words("cues", "affirming") or len(said) > _LONGEST_REPLY:
            return
        query = set(tokens_in(asks))
        if query.isdisjoint(words("cues", "plausible")):
            return
        for earlier in range(max(0, place - _NEARBY), place):
            told = tokens_of(self.steps[earlier].output) - self.asked
            if told and len(told) <= _FEW and told <= query:
                yield Extra("speculative", "asks to confirm what was found", earlier)

    def _asks_the_wrong_tool(self, place: int) -> Iterator[Extra]:
        """A search that found nothing, where a tool for just that, or the one the task names, then gave the answer."""
        step, call = self.steps[place], self.calls[place]
        if not (call.is_search and call.is_empty):
            return
        query = {*tokens_of(step.input), "0"}  # 0.15 is the 15 of a percentage
        for later in range(place + 1, min(place + 1 + _NEARBY, len(self.steps))):
            other, made = self.steps[later], self.calls[later]
            every = tokens_of(other.input)
            given = {word for word in every if word.isdigit()} or every  # the sum, not how it is written (sqrt)
            brings = other.kind == "tool" and other.error is None and made.result is not None
            fits = names(step.name, "everywhere") and not made.is_search
            if brings and made.effect != "changes" and given and given <= query and (fits or self._names(later, place)):
                yield Extra("indirect", "asks where the answer cannot stand", later)

    def _searches_for_a_sum(self, place: int) -> Iterator[Extra]:
        """A search for nothing but a sum, which a later step then works out, whatever the search has brought."""
        query = self._sum_asked(place)
        if not query or not self._free("search"):
            return
        for later in range(place + 1, min(place + 1 + _NEARBY, len(self.steps))):
            other, made = self.steps[later], self.calls[later]
            given = {word for word in tokens_of(other.input) if word.isdigit()}
            works = other.kind == "tool" and other.error is None and made.result is not None and not made.is_search
            if works and made.effect != "changes" and given and given <= query:
                yield Extra("indirect", "asks a search for a sum that is then worked out", later)

    def _sum_asked(self, place: int) -> set[str]:
        """The numbers of a question to a search that has nothing but them, signs and words of reckoning."""
        if not self.calls[place].is_search:
            return set()
        wording = " ".join(texts_in(self.steps[place].input))[:_LOOKED_AT]
        told = set(tokens_in(wording))
        numbers = {word for word in told if word.isdigit()}
        reckons = _SIGN.search(wording) is not None or not told.isdisjoint(words("cues", "reckoning"))
        known = words("cues", "reckoning") | words("cues", "stop_words") | words("cues", "asking")
        return {*numbers, "0"} if numbers and reckons and told - numbers <= known else set()

    def _names(self, one: int, other: int) -> bool:
        """Whether the task names what sets this tool apart from the other, and nothing of the other."""
        parts, others = ({*name_parts(self.steps[place].name)} - words("cues", "search") for place in (one, other))
        return not self.asked.isdisjoint(parts - others) and self.asked.isdisjoint(others)
