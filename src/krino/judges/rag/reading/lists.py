"""Holds what two sentences list against each other: "lace, a fair and a castle" adds to "lace and a fair"."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from krino.judges.rag.reading.grammar import root_of, verb_form, word_list

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_LIST = re.compile(r"(?<![^,;:.()])([^,;:.()]+(?:,\s+[^,;:.()]+)*),?\s+and\s+([^,;:.()]+)", re.I)
"""It begins behind a sign or at the start: where nothing is found from there, nothing is from a letter further on."""
_LONGEST = 400
_LONGEST_ITEM = 5


@lru_cache(maxsize=4_096)
def items_of(sentence: str) -> tuple[tuple[str, ...], ...]:
    """The things that one list of the sentence has, each by its words that say something; nothing where it has none.

    What stands before the first item cannot be told from it, so of that only the last word counts.
    """
    found = list(_LIST.finditer(sentence[:_LONGEST])) if "and" in sentence.lower() else ()
    if len(found) != 1:
        return ()
    parts = [*re.split(r",\s+", found[0].group(1)), found[0].group(2)]
    words = [[word.lower() for word in _WORD.findall(part)] for part in parts]
    items = [tuple(root_of(word) for word in part if word not in _little()) for part in words]
    if not all(items) or any(len(item) > _LONGEST_ITEM for item in items[1:]):
        return ()
    if any(verb_form(word) is not None for part in words[1:] for word in part):
        return ()  # clauses, not things: "Once done, turn the valve back on and test the flush"
    return (items[0][-1:], *items[1:])


@cache
def _little() -> frozenset[str]:
    """Words that say nothing by themselves."""
    names = ("determiners", "prepositions", "beside", "auxiliary", "conjunctions")
    return word_list("possessives", "parts").union(*map(word_list, names))


def added_item(claim: str, found: str) -> tuple[str, ...] | None:
    """What the claim lists beyond all that the sentence lists, if it lists that too; None where it adds nothing."""
    ours, theirs = items_of(claim), items_of(found)
    if len(theirs) < 2 or len(ours) <= len(theirs):
        return None
    if not all(any(item[-1] in other for other in ours) for item in theirs):
        return None
    held = {root for item in theirs for root in item}
    added = [item for item in ours[1:] if held.isdisjoint(item)]  # the first may be what leads up to the list
    return added[0] if len(added) == len(ours) - len(theirs) else None
