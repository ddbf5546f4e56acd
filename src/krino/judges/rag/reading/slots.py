"""One thing in the place of another: "left for Rangers in 2012" where the passage has "left for Celtic in 2012".

Only places that both sentences frame with the same words are looked at, so that nothing need be parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from krino.judges.rag.reading.claims import split_claims
from krino.judges.rag.reading.frames import Word, are_others, read_words
from krino.judges.rag.reading.grammar import word_list
from krino.text.words import stop_words

_LONGEST = 4
"""Words that a thing may have."""
_FEWEST = 2
"""Words that say something and must frame the place."""
_MOST_WORDS = 60

_NEXT = frozenset({"then", "finally"})

Words = tuple[Word, ...]


class Slot(NamedTuple):
    """What the claim has in a place, what the clause has there, and where that stands in the clause."""

    ours: Words
    theirs: Words
    start: int
    end: int


def in_place_of(claim: str, found: str) -> tuple[str, str] | None:
    """A name that the sentence lacks in the place of one of its own, or a thing that the sentence has, but says of
    something else; what the claim says and what stands there instead."""
    said = read_words(claim)
    clauses = [read_words(text)[:_MOST_WORDS] for text in split_claims(found)]
    roots = {word.root for word in said if word.said}
    if len(said) > _MOST_WORDS or (len(clauses) > 1 and any(roots <= _roots(clause) for clause in clauses)):
        return None
    for clause in clauses:
        others = frozenset[str]().union(*(_roots(other) for other in clauses if other is not clause))
        for slot in _slots(said, clause):
            if _is_exchanged(slot, clause, others):
                return _told(slot.ours), _told(slot.theirs)
    return None


def _roots(words: Words) -> frozenset[str]:
    return frozenset(word.root for word in words if word.said)


def _told(words: Words) -> str:
    return " ".join(word.text for word in words)


def _slots(claim: Words, clause: Words) -> Iterator[Slot]:
    """The claim is read as before, thing, behind; the clause must have what is before and behind as it stands."""
    ours, theirs = ([word.root for word in words] for words in (claim, clause))
    starts = (at for at, root in enumerate(theirs) if ours[:1] == [root])
    stops = (at for at, root in enumerate(theirs, 1) if ours[-1:] == [root])
    heads = {at + size: size for at in starts if (size := _alike(ours, theirs[at:]))}
    ends = {at - size: size for at in stops if (size := _alike(ours[::-1], theirs[at - 1 :: -1]))}
    for first, before in heads.items():
        for last in range(first + 1, min(first + _LONGEST, len(theirs)) + 1):
            if last in ends:
                yield from _slot(claim, clause, before, ends[last], first, last)
            if last == len(theirs) or not clause[last].said:
                yield from _slot(claim, clause, before, 0, first, last)
    for last, behind in ends.items():
        for first in range(max(0, last - _LONGEST), last):
            if first == 0 or clause[first - 1].text in word_list("parting"):
                yield from _slot(claim, clause, 0, behind, first, last)


def _alike(ours: list[str], theirs: list[str]) -> int:
    """How many words both begin with."""
    return next(
        (place for place, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs))
    )


def _slot(claim: Words, clause: Words, before: int, behind: int, first: int, last: int) -> Iterator[Slot]:
    end = len(claim) - behind
    thing, frame = claim[before:end], (*claim[:before], *claim[end:])
    if not 0 < len(thing) <= _LONGEST or sum(word.said for word in frame) < _FEWEST:
        return
    if _is_thing(thing) and _is_thing(clause[first:last]):
        yield Slot(thing, clause[first:last], first, last)


def _is_thing(words: Words) -> bool:
    """A few words that name or count something: no verb, and nothing that joins."""
    named = [word.said and not word.verb and word.text not in stop_words("en") for word in words]
    return all(told or word.text == "of" for told, word in zip(named, words, strict=True)) and named[0] and named[-1]


def _is_exchanged(slot: Slot, clause: Words, others: frozenset[str]) -> bool:
    ours, theirs = _roots(slot.ours), _roots(slot.theirs)
    if ours & theirs:
        return False
    places = [place for place, word in enumerate(clause) if word.root in ours]
    if places:
        return all(_is_said_elsewhere(clause, place, slot) for place in places)
    if ours <= others:
        return True
    named = all(word.name for word in (*slot.ours, *slot.theirs) if word.said)
    opens = slot.start == 0 and min(len(slot.ours), len(slot.theirs)) == 1  # any word has a capital there
    return named and not opens and ours.isdisjoint(others) and are_others(ours, theirs)


def _is_said_elsewhere(clause: Words, place: int, slot: Slot) -> bool:
    """Whether another statement lies between: for names and numbers a verb, for others what sets statements apart."""
    between = clause[slot.end : place] if place >= slot.end else clause[place + 1 : slot.start]
    if any(word.text in word_list("parting") or word.text in _NEXT for word in between):
        return True
    told = all(word.name for word in (*slot.ours, *slot.theirs) if word.said) or _are_numbers(slot)
    return told and any(word.verb or word.text in word_list("auxiliary") for word in between)


def _are_numbers(slot: Slot) -> bool:
    return len(slot.ours) == len(slot.theirs) == 1 and slot.ours[0].text.isdecimal() and slot.theirs[0].text.isdecimal()
