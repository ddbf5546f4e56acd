"""Finds messages that nobody needed: asking back, announcing, telling of the work, and saying the answer again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence

from krino.judges.efficiency.finders.content_words import forms, tokens_in, words_in, words_of
from krino.judges.efficiency.finders.effects import name_parts
from krino.judges.efficiency.finders.extra import Extra
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import text_of
from krino.judges.efficiency.traces.steps import Step

_NEARBY = 20
_FEW_WORDS = 8
_LEAST_STEM = 5


class Talking:
    """The words of a task and of its trace, and a look at one message.

    `opening` is what the agent was told of the task. `handed` are the messages after which a user spoke, or may have
    spoken where the trace does not show users.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        task: str,
        opening: str,
        spoken: Sequence[int],
        handed: Collection[int],
        aside: Collection[int],
    ) -> None:
        self.steps, self.spoken, self.handed, self.aside = steps, spoken, handed, aside
        self.asked = set(tokens_in(task))
        self.asked_forms = forms(self.asked)
        self.told = set(tokens_in(opening))
        self.told_stems = {word[:_LEAST_STEM] for word in self.told if len(word) >= _LEAST_STEM}
        self.first_act = next((place for place, step in enumerate(steps) if not step.talks), len(steps))
        self.tool_words = {part for step in steps if not step.talks for part in name_parts(step.name)}

    def look(self, place: int) -> Iterator[Extra]:
        yield from self._asked_back(place)
        yield from self._announced(place)
        yield from self._told_along(place)
        yield from self._said_again(place)

    def new_words(self, step: Step) -> set[str]:
        """What a step says beyond the task and the words that state nothing."""
        return words_of(step.output) - words("cues", "talk") - self.asked_forms - self.tool_words

    def _asked_back(self, place: int) -> Iterator[Extra]:
        """A question before anything was looked at that only says the task again, or is answered with it."""
        said = text_of(self.steps[place].output).strip()
        if "?" not in said or place == self.spoken[-1] or place > self.first_act:
            return
        if not self.asked.isdisjoint(words("cues", "consulting")):
            return
        meant = words_in(said) - words("cues", "asking_back") - words("cues", "courtesy")
        of_task = {word for word in meant if word in self.told or word[:_LEAST_STEM] in self.told_stems}
        if meant and len(of_task) >= table("nearness")["asked_back"] * len(meant):
            yield Extra("speculative", "asks back what the task says")
        replied = tokens_in(self.steps[place].observed)
        if replied[:1] and replied[0] in words("cues", "agreeing"):
            return  # it agrees, and tells nothing
        told = (
            set(replied)
            - words("cues", "stop_words")
            - words("cues", "asking_back")
            - words("cues", "talk")
            - words("cues", "courtesy")
        )
        if told and told <= self.told:
            yield Extra("speculative", "asks for what the task says, and is told it again")

    def _announced(self, place: int) -> Iterator[Extra]:
        """Words before the last that greet or say what will be done, and nothing else."""
        said = text_of(self.steps[place].output)
        if place == self.spoken[-1] or "?" in said or words("cues", "announcement").isdisjoint(tokens_in(said)):
            return
        beside = [step for step in self.steps[max(0, place - 1) : place + 2] if not step.talks]
        polite = words("cues", "courtesy") if place not in self.handed else frozenset()
        known = set().union(polite, *(words_of(step.input) for step in beside))
        if not self.new_words(self.steps[place]) - known:
            yield Extra("speculative", "says what will be done, and does nothing")

    def _told_along(self, place: int) -> Iterator[Extra]:
        """Words about the work to which nobody replied, unless they hand over something that is not said later."""
        if (
            place in self.handed
            or place == len(self.steps) - 1
            or not self.asked.isdisjoint(words("cues", "informing"))
        ):
            return
        if words("cues", "narrating").isdisjoint(tokens_in(text_of(self.steps[place].output))):
            return
        if place + 1 in self.spoken and (self._adds_nothing(place + 1, place) or self._only_cheers(place + 1)):
            return  # it is the answer, and the next words repeat it or add nothing
        found = set().union(*(words_of(step.output) for step in self._before(place) if not step.talks))
        new = self.new_words(self.steps[place]) - words("cues", "courtesy")
        following = {*range(place + 1, min(place + 1 + _NEARBY, len(self.steps))), self.spoken[-1]}
        later = set().union(*(words_of(self.steps[other].output) for other in following if self.steps[other].talks))
        kept = (new & found) - forms(later)
        if len(kept) > 1 or any(word[0].isdigit() for word in kept):
            return
        composed = not self.asked.isdisjoint(words("cues", "composing"))
        if not composed or len(new - found - later) < _FEW_WORDS:
            yield Extra("speculative", "talks about the work, and nothing takes it up")

    def _said_again(self, place: int) -> Iterator[Extra]:
        """The answer in other words, after nothing but what was in vain."""
        before = bisect_left(self.spoken, place)
        last = self.spoken[before - 1] if before else None
        if (
            last is None
            or self.steps[last].kind != "message"
            or last in self.handed
            or any(between not in self.aside for between in range(last + 1, place))
        ):
            return
        if self._adds_nothing(place, last):
            yield Extra("enrichment", "says again what was said", last)
        elif place == last + 1 and self._only_cheers(place):
            yield Extra("enrichment", "goes on talking after the answer", last)

    def _only_cheers(self, place: int) -> bool:
        """The last words, where no words were asked for: they say nothing that a result brought, and no number."""
        composed = not self.asked.isdisjoint(words("cues", "composing"))
        said = text_of(self.steps[place].output)
        polite = "!" in said or not words("cues", "courtesy").isdisjoint(tokens_in(said))
        if place != len(self.steps) - 1 or composed or not polite or self.first_act == len(self.steps):
            return False
        told = self.new_words(self.steps[place]) - words("cues", "courtesy")
        found = set().union(*(words_of(step.output) for step in self._before(place) if not step.talks))
        return not told & found and not any(word[0].isdigit() for word in told)

    def _adds_nothing(self, place: int, earlier: int) -> bool:
        """Whether it says something, and nothing that the earlier message does not say."""
        empty = words("cues", "talk") | words("cues", "courtesy")
        said, before = words_of(self.steps[place].output) - empty, words_of(self.steps[earlier].output)
        return bool(said) and not said - self.asked_forms - self.tool_words - forms(before)

    def _before(self, place: int) -> Sequence[Step]:
        return self.steps[max(0, place - _NEARBY) : place]
