"""Finds questions to a search tool that ask for the same in other words, by sentence embeddings (English)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.finders.nearness import ask_another, differ_in_one_word, read_wording
from krino.judges.efficiency.tables import table, words

if TYPE_CHECKING:
    from krino.models.embedder import Vectors

_WORD = re.compile(r"[^\W\d_]+")
_MOST_QUESTIONS = 256
"""Of one trace: an agent that asked more is known by then, and comparing them all would take seconds."""
_MOST_COMPARED = 64
_ENGLISH_SHARE = 6
"""One word in so many of an English text is one of the little words, at least."""


def rephrased(batch: Sequence[EfficiencyFacts]) -> list[dict[int, int]]:
    """For each trace: the questions that rephrase an earlier one, with the place of that one."""
    pairs = [dict(_pairs(facts)) for facts in batch]
    texts = [
        _wording(facts, place)
        for facts, found in zip(batch, pairs, strict=True)
        for place in sorted({*found, *chain(*found.values())})
    ]
    if not texts:
        return [{} for _ in batch]
    from krino.models.embedder import embed  # the model is loaded when there is something to compare

    vectors = dict(zip(texts, embed(texts), strict=True))
    return [_alike(facts, found, vectors) for facts, found in zip(batch, pairs, strict=True)]


def _wording(facts: EfficiencyFacts, place: int) -> str:
    return facts.calls[place].wording


def _pairs(facts: EfficiencyFacts) -> Iterator[tuple[int, list[int]]]:
    """Each question with the earlier ones it may rephrase: one tool, everything but the wording equal."""
    groups: dict[bytes, list[int]] = {}
    for place in _questions(facts):
        group = groups.setdefault(facts.calls[place].frame, [])
        earlier = [other for other in group[-_MOST_COMPARED:] if _may_rephrase(facts, place, other)]
        group.append(place)
        if earlier:
            yield place, earlier


def _questions(facts: EfficiencyFacts) -> list[int]:
    """Short questions to search tools that repeat nothing by their words."""
    if not is_english(facts.task):
        return []
    found = []
    longest = table("nearness")["long_query"]
    for place, (step, call) in enumerate(zip(facts.steps, facts.calls, strict=True)):
        repeat = facts.repeats.get(place)
        if not call.is_search or call.is_watching or step.kind not in ("tool", "retrieval") or not call.wording:
            continue
        if step.error is not None or (repeat is not None and not repeat.retry):
            continue
        if read_wording(call.wording).count < longest:
            found.append(place)
    return found[:_MOST_QUESTIONS]


def _may_rephrase(facts: EfficiencyFacts, place: int, other: int) -> bool:
    """Near in meaning is not the same: another name, number, direction or single word was changed on purpose."""
    a, b = read_wording(_wording(facts, place)), read_wording(_wording(facts, other))
    return not a.bag.keys().isdisjoint(b.bag) and not ask_another(a, b) and not differ_in_one_word(a, b)


def _alike(facts: EfficiencyFacts, pairs: Mapping[int, list[int]], vectors: Mapping[str, Vectors]) -> dict[int, int]:
    """Each is held against those before it that rephrase nothing themselves."""
    limit = table("nearness")["query_meaning"]
    found: dict[int, int] = {}
    for place, earlier in pairs.items():
        own = vectors[_wording(facts, place)]
        near = {other: float(vectors[_wording(facts, other)] @ own) for other in earlier if other not in found}
        nearest = max(near, key=near.__getitem__, default=None)
        if nearest is not None and near[nearest] >= limit:
            found[place] = nearest
    return found


def is_english(text: str) -> bool:
    """By its little words; the embedding model knows no other language well."""
    found = [word.lower() for word in _WORD.findall(text[:4_000])]
    return sum(word in words("cues", "english") for word in found) * _ENGLISH_SHARE >= len(found) > 0
