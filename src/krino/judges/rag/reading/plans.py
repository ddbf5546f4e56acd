"""Tells what was only planned or expected from what was done: "is expected to open" is no "opened"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from krino.judges.rag.reading.grammar import Form, verb_form, word_list

_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 600
_NEAR = 3
"""Words before a verb among which stands what makes a plan of it."""
_DENIALS = frozenset({"not", "no", "never", "cannot", "t"})
_DONE: tuple[Form, ...] = ("past", "participle", "both")


def told_as_done(claim: str, found: Sequence[str]) -> str | None:
    """A deed that the claim tells as done, the first sentence only as planned, and no sentence otherwise."""
    planned = _planned(found[0])
    if not planned:
        return None
    stated = {base for text in found for base in _done(text)}
    return next((told for base, told in _done(claim).items() if base in planned and base not in stated), None)


def told_as_certain(claim: str, found: str) -> str | None:
    """A word of the claim that makes sure of what the sentence only holds possible."""
    ours, theirs = (frozenset(_WORD.findall(text[:_LONGEST].lower())) for text in (claim, found))
    if word_list("possible", "plans").isdisjoint(theirs) or not ours.isdisjoint(_DENIALS):
        return None
    return next(iter(sorted((ours & word_list("certain", "plans")) - theirs)), None)


@cache
def _planning() -> frozenset[str]:
    return word_list("words", "plans")


def _planned(text: str) -> frozenset[str]:
    """The bases of verbs that stand behind "expected to"; what "will" be done may be done by now."""
    words = _WORD.findall(text[:_LONGEST].lower())
    if _planning().isdisjoint(words):
        return frozenset()
    return frozenset(
        form[0] for place, word in enumerate(words) if (form := verb_form(word)) and _is_planned(words, place)
    )


def _is_planned(words: list[str], place: int) -> bool:
    """Whether "expected to" or the like stands before a verb; "we expect them to" is no plan of theirs."""
    start = max(0, place - _NEAR - 1)
    return any(words[at] in _planning() and words[at + 1] == "to" for at in range(start, place - 1))


def _done(text: str) -> dict[str, str]:
    """The verbs that are told as past, by their bases."""
    written = _WORD.findall(text[:_LONGEST])
    words = [word.lower() for word in written]
    found: dict[str, str] = {}
    for place, word in enumerate(words):
        form = verb_form(word)
        if form is None or form[1] not in _DONE or word in _planning() or word in word_list("auxiliary"):
            continue
        before = written[max(0, place - _NEAR) : place]  # "May" is a month
        if not _is_planned(words, place) and word_list("open", "plans").isdisjoint(before):
            found.setdefault(form[0], word)
    return found
