"""Finds steps that could have been left out: nothing uses what they brought, or it was known and asked already.

A reading, or a model's words in between, is needed if the answer or a later needed step takes up a word, value or
identifier that only it brought. An answer can also rest on a result without repeating it ("Is the invoice overdue?",
"Yes"): so a step is needed too if the task names what it looks at, and no step whose words are taken up has looked
at that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from krino.judges.efficiency.finders.calls import Call, keys_in, texts_in
from krino.judges.efficiency.finders.effects import name_parts, names
from krino.judges.efficiency.finders.nearness import ask_another, read_wording
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import dump, from_json, text_of
from krino.judges.efficiency.traces.steps import Step

_WORD = re.compile(r"[^\W_]+")
_MAX_TEXT = 20_000
_LONG_WORD = re.compile(r"[^\W_]{3,}|(?<![^\W_])\d{1,2}(?![^\W_])")
"""Words of three letters and more, and all numbers."""
_DIGITS = frozenset("0123456789")
_ROUNDS = 4
_BARE = 3


@dataclass(frozen=True, slots=True)
class Spare:
    """A step that could have been left out: its result is `unused`, or `known` from step `of`."""

    how: Literal["unused", "known"]
    of: int | None = None


def spare_readings(
    steps: Sequence[Step],
    calls: Sequence[Call],
    task: str,
    answer: str | None,
    set_aside: Collection[int],
    settled: Collection[int],
) -> dict[int, Spare]:
    """`set_aside` are repeats, failures and the like: they use nothing, and nothing is known from them.

    `settled` are repeats that had a ground, and what they repeat: of them nothing is said here.
    """
    search = _Leaving(steps, calls, task, answer or "", settled)
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
        self, steps: Sequence[Step], calls: Sequence[Call], task: str, answer: str, settled: Collection[int]
    ) -> None:
        self.steps, self.calls, self.settled = steps, calls, settled
        self.task = words_in(task)
        self.task_stems = _stems(self.task | set(_WORD.findall(task[:_MAX_TEXT].lower())))
        self.answer = words_in(answer)
        self.reads = [
            only_reads(step, call) or self._drafts(place)
            for place, (step, call) in enumerate(zip(steps, calls, strict=True))
        ]
        self.tells = [
            (step.kind == "tool" and call.effect != "changes") or reads
            for step, call, reads in zip(steps, calls, self.reads, strict=True)
        ]
        self.times = Counter(step.name for step in steps)
        said = next((text_of(step.output) for step in reversed(steps) if step.kind in ("llm", "message")), "")
        self.bare = len((self.answer | words_in(said)) - self.task) < _BARE
        self.used: dict[int, set[str]] = {}
        self.covered: set[str] = set()
        """What the task names of what steps looked at whose words are taken up."""
        self.telling: Counter[str] = Counter()
        """How many such steps each tool has that the task does not name."""
        self.resting = False
        self._taken_up: dict[int, tuple[str, ...]] = {}
        self._vocabulary: dict[str, str] = {}
        self.given = [_tokens(step.input) if tells else set() for step, tells in zip(steps, self.tells, strict=True)]
        self.brought = [self._brought(place) for place in range(len(steps))]
        self.asked = [self._asked(place) for place in range(len(steps))]

    def _drafts(self, place: int) -> bool:
        """Words of a model in between: not the last, and not those that choose the next call."""
        step = self.steps[place]
        following = self.steps[place + 1].kind if place + 1 < len(self.steps) else ""
        return step.kind == "llm" and isinstance(step.input, str) and following in ("llm", "message")

    def _brought(self, place: int) -> tuple[str, ...]:
        """The words of its own that a reading brought; a tuple of shared words, as a long trace has many."""
        if not self.tells[place]:
            return ()
        step = self.steps[place]
        output = from_json(step.output)
        keys = words_in(" ".join(keys_in(output))) if not isinstance(output, str) else set()
        found = (words_of(output) | keys | words_in(step.observed)) - self.task - self.given[place]
        share = self._vocabulary.setdefault
        return tuple([share(word, word) for word in found - _DIGITS or found])

    def _asked(self, place: int) -> set[str]:
        """What the task names of what this step looks at: words of its tool's name and of its arguments."""
        if not self.tells[place]:
            return set()
        named = set(name_parts(self.steps[place].name)) - _verbs()
        return (_stems(named) | _stems(self.given[place])) & self.task_stems

    def look(self, aside: Collection[int]) -> dict[int, Spare]:
        kept = [place for place in range(len(self.steps)) if place not in aside]
        if kept and self.reads[kept[-1]] and not self.answer:
            kept.pop()  # a trace that ends with a reading does not say what it was for
        self.used = self._used(kept)
        self.covered = set().union(*(self.asked[place] for place in self.used))
        self.telling = Counter(self.steps[place].name for place in self.used if not self._is_named(place))
        self.resting = not self.used and all(self.reads[place] or _talks(self.steps[place]) for place in kept)
        found: dict[int, Spare] = {}
        known: dict[str, int] = {}
        looked_at: set[str] = set()
        for place in kept:
            if not self.reads[place] or self.calls[place].is_empty:
                continue
            spare = None
            if place not in self.settled and not self.calls[place].is_paging:
                spare = self._spare(place, known, looked_at)
            if spare is not None:
                found[place] = spare
                continue
            looked_at |= self.asked[place]
            for word in self.brought[place]:
                known.setdefault(word, place)
        if self.resting and not any(self.asked[place] for place in kept):
            return {}  # an answer that rests on readings, of which the task names none: any may be the one
        return found

    def _is_named(self, place: int) -> bool:
        """Whether the task names what sets this call apart from other calls of its tool."""
        return bool(_stems(self.given[place]) & self.task_stems)

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

    def _spare(self, place: int, known: Mapping[str, int], looked_at: set[str]) -> Spare | None:
        brought, asked, used = self.brought[place], self.asked[place], self.used.get(place, set())
        if used - known.keys() or not brought or self._follows(place, known):
            return None
        if not used:
            few = len(brought) < table("nearness")["least_distinctive"]
            return None if few or asked - self.covered or self._is_gone_through(place) else Spare("unused")
        first = min(known[word] for word in used)
        new = any(word not in known for word in brought)
        again = bool(asked) and (asked <= looked_at or (not new and len(asked & looked_at) * 2 >= len(asked)))
        return Spare("known", first) if again and not self._asks_another(place, first) else None

    def _is_gone_through(self, place: int) -> bool:
        """Another call of the tool brought what is used, and the task does not name which: all had to be looked at."""
        return self.telling[self.steps[place].name] > 0

    def _asks_another(self, place: int, first: int) -> bool:
        """Another thing by its id, or another question: that both bring the same is news."""
        one, other = self.calls[place], self.calls[first]
        if self.steps[place].name == self.steps[first].name and one.frame != other.frame:
            return True
        wordings = (read_wording(call.wording) for call in (one, other))
        return bool(one.wording and other.wording) and ask_another(*wordings)

    def _follows(self, place: int, known: Mapping[str, int]) -> bool:
        """Its id or name comes from an earlier result, and it is one of several, or the answer is too bare to tell."""
        if not any(word in known for word in self.given[place]):
            return False
        return self.bare or self.times[self.steps[place].name] > 1


def _talks(step: Step) -> bool:
    return step.kind in ("llm", "message")


@cache
def _verbs() -> frozenset[str]:
    return words("cues", "read") | words("cues", "search") | words("cues", "write")


def only_reads(step: Step, call: Call) -> bool:
    return step.kind in ("tool", "retrieval") and call.effect == "none"


def _words_taken_up(step: Step) -> set[str]:
    """What a step shows to have taken from before: its arguments, and for a model its words.

    The message history that a model was given holds everything and so proves nothing.
    """
    if step.kind in ("llm", "message"):
        given = step.input if isinstance(step.input, str) else None
        return words_of(step.output) | words_of(given)
    return words_of(step.input)


def words_of(value: object) -> set[str]:
    if isinstance(value, str):
        return words_in(value)
    found: set[str] = set()
    for text in texts_in(value):
        found |= words_in(text)
    return found


def _tokens(value: object) -> set[str]:
    """All words of arguments, short ones too: an id may be a letter."""
    return set(_WORD.findall(" ".join(texts_in(value))[:_MAX_TEXT].lower())) - words("cues", "stop_words")


def words_in(text: str) -> set[str]:
    """The words and numbers of a text, without little words."""
    return set(_LONG_WORD.findall(text[:_MAX_TEXT].lower())) - words("cues", "stop_words")


def _stems(found: Collection[str]) -> set[str]:
    return {word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found}


# --- after the answer, and gone in vain ------------------------------------------------------------


def after_completion(steps: Sequence[Step], calls: Sequence[Call], set_aside: Collection[int]) -> list[int]:
    """Reading steps behind the last words of a model that did not call for them.

    A message hands the turn to the user, so that what follows it answers the user and is not late.
    """
    spoken = [place for place, step in enumerate(steps) if step.kind in ("llm", "message") and place not in set_aside]
    if not spoken:
        return []
    last = spoken[-1]
    said = text_of(steps[last].output)
    if not said.strip() or steps[last].kind == "message":
        return []
    return [
        place
        for place in range(last + 1, len(steps))
        if place not in set_aside
        and only_reads(steps[place], calls[place])
        and not calls[place].is_watching
        and not _called_for(steps[place], said)
    ]


def _called_for(step: Step, said: str) -> bool:
    """Whether the words before a call name the tool, or announce it and hold most of what it was asked."""
    lowered = said[:_MAX_TEXT].lower()
    if step.name.lower() in lowered or "tool_calls" in lowered or '"name"' in lowered:
        return True
    if words("cues", "intention").isdisjoint(_WORD.findall(lowered)):
        return False
    asked = words_of(step.input)
    return bool(asked) and len(asked & words_in(said)) * 2 > len(asked) + len(asked) // 2


def echoes(steps: Sequence[Step], set_aside: Collection[int]) -> list[int]:
    """Model calls that gave back their input unchanged."""
    return [
        place
        for place, step in enumerate(steps)
        if step.kind == "llm"
        and place not in set_aside
        and step.input not in (None, "")
        and dump(step.output).strip() == dump(step.input).strip()
    ]


def is_bookkeeping(step: Step) -> bool:
    return step.kind == "tool" and names(step.name, "bookkeeping")
