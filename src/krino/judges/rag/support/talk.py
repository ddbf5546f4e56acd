"""Talk among the claims: "Your guests will be impressed!" states nothing that a passage could support.

Words alone tell the common forms (`reading.answer`, `draft_claims`). What is left is found here: the sentence model's
vector tells talk from statements by a fitted rule, where a claim has little in common with the passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from math import exp
from typing import TYPE_CHECKING

from krino.judges.rag.support.draft_claims import Desk, Draft, read_as_one
from krino.judges.rag.support.nearness import reads
from krino.judges.rag.tables import table
from krino.text.language import guess_language

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_FOUND = 0.2
"""Share of a claim's weighted words that the passages may hold where it is talk."""
_FEWEST_FOREIGN = 5
"""Fewest words for which the language of a sentence is detected: "Bon appétit!" is a courtesy anywhere."""
_LONGEST = 200
"""Characters up to which a claim can be talk."""


def without_talk(desks: Sequence[Desk]) -> list[Desk]:
    """What is only talk is no claim, unless the answer has nothing else to say."""
    doubtful = [_doubtful(desk) for desk in desks]
    asked = list(dict.fromkeys(text for texts in doubtful for text in texts.values()))
    talk = {text for text, share in zip(asked, talk_shares(asked), strict=True) if share >= table("talk")["at_least"]}
    if not talk:
        return list(desks)
    return [
        _left(desk, {draft for draft, text in texts.items() if text in talk})
        for desk, texts in zip(desks, doubtful, strict=True)
    ]


def _doubtful(desk: Desk) -> dict[int, str]:
    """The claims, by their place, that may be talk, each with the text that tells: its whole sentence where that is all
    of a kind ("Lace up your boots and have fun!"), else its own."""
    if len(desk.drafts) < 2:
        return {}
    places = {place for place, draft in enumerate(desk.drafts) if _may_be_talk(draft)}
    mixed = {draft.sentence for place, draft in enumerate(desk.drafts) if place not in places}
    texts = desk.facts.sentences
    return {
        place: draft.text if draft.sentence in mixed else texts[draft.sentence - 1].text
        for place, draft in enumerate(desk.drafts)
        if place in places and not _is_foreign(draft.text)
    }


def _is_foreign(text: str) -> bool:
    """A sentence in another language may have no word of the passages and state something all the same."""
    return len(text.split()) >= _FEWEST_FOREIGN and guess_language(text) not in (None, "en")


def _may_be_talk(draft: Draft) -> bool:
    """Nothing in the passages is like it or speaks against it, and no name or value is in it."""
    pair = draft.pair
    if len(draft.text) > _LONGEST or draft.polarity is not None or not reads(pair.language):
        return False
    if any(value.kind != "frequency" for value in pair.claimed.values) or not pair.claimed.names <= _no_names():
        return False
    return not pair.found or (pair.anywhere <= _MOST_FOUND and pair.conflict is None)


def _left(desk: Desk, talk: set[int]) -> Desk:
    drafts = tuple(draft for place, draft in enumerate(desk.drafts) if place not in talk)
    if not drafts or not talk:
        return desk
    sentences = {draft.sentence for draft in drafts}
    empty = {*desk.empty, *(draft.sentence for draft in desk.drafts)} - sentences
    if len(sentences) == 1:  # talk is no company: what is left is the only claim
        drafts = tuple(replace(draft, pair=replace(draft.pair, company=False)) for draft in drafts)
    drafts = read_as_one(desk.facts, desk.index, drafts)  # without the talk
    return replace(desk, drafts=drafts, empty=tuple(sorted(empty)))


def talk_shares(texts: Sequence[str]) -> list[float]:
    """For each text the probability that it is talk."""
    if not texts:
        return []
    from krino.models.embedder import embed

    start, weights = _rule()
    return [1 / (1 + exp(-start - float(vector @ weights))) for vector in embed(texts)]


@cache
def _no_names() -> frozenset[str]:
    return frozenset(table("answers")["no_names"].split())


@cache
def _rule() -> tuple[float, NDArray[np.float32]]:
    import numpy as np

    rule = table("talk")
    return rule["start"], np.array(rule["weights"], np.float32)
