"""Finds readings that only add to an answer: its first part answers the one question without them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from krino.judges.efficiency.finders.content_words import words_in, words_of
from krino.judges.efficiency.finders.effects import name_parts
from krino.judges.efficiency.finders.trace_words import TraceWords, plain_verbs

_PART = re.compile(r"(?<=[.!?;])(?<!\b[A-Z]\.)\s+|[(\n]")


def beyond_the_question(trace: TraceWords, kept: Sequence[int], used: Mapping[int, set[str]]) -> list[int]:
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
