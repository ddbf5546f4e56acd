"""Who does it and to whom, where a pronoun is one of the two, and in languages that `frames` does not read.

No verb need be known: the same words are told with the two sides exchanged. What could be a passive, a list, a deed
that two do to each other, or another order of the same (German cases, Dutch adverbs in front) is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from krino.judges.rag.reading.finding_values import find_values
from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stop_words

_TOKEN = re.compile(r"[^\W_]+|[,;:()]")
_SIGNS = frozenset(",;:()")
_LONGEST = 400
_FEWEST = 2
"""Words that both must have in common for their order to tell anything."""
_LONGEST_NAME = 4


class Side(NamedTuple):
    """A word that says something: its root, the function word and the article before it, whether it has a capital."""

    text: str
    root: str
    place: int
    before: str
    article: str
    capital: bool


class Told(NamedTuple):
    """A sentence as its sides: what it says in order, all its tokens, and the pronouns on either side of the deed."""

    said: tuple[Side, ...]
    tokens: tuple[str, ...]
    who: frozenset[int]
    whom: frozenset[int]

    @property
    def roots(self) -> list[str]:
        return [side.root for side in self.said]


def are_exchanged(claim: str, found: str, language: str | None) -> bool:
    """Whether a sentence has what the claim has, with who and whom exchanged."""
    code = language if language is not None and language in table("sides") else "en"
    ours, theirs = _read(claim, code), _read(found, code)
    if not _words(code, "both").isdisjoint(side.text for side in (*ours.said, *theirs.said)):
        return False
    if _is_by(ours, code) != _is_by(theirs, code):
        return False
    if _by_pronouns(ours, theirs):
        return True
    return code != "en" and _by_places(ours, theirs, code)


def _by_pronouns(ours: Told, theirs: Told) -> bool:
    """ "He paid Anna" for "Anna paid him", "she sued them" for "they sued her", "Tom paid Anna" for "Anna paid him"."""
    if ours.who and ours.whom and theirs.who and theirs.whom:
        return ours.who == theirs.whom and ours.whom == theirs.who != ours.who and set(ours.roots) == set(theirs.roots)
    sides: tuple[Literal["who", "whom"], ...] = ("who", "whom")
    for mine, yours in (sides, sides[::-1]):
        if getattr(ours, mine) and getattr(theirs, yours) and not getattr(ours, yours) and not getattr(theirs, mine):
            return _begins_alike(ours.roots, theirs.roots)
    for pronoun, other in ((ours, theirs), (theirs, ours)):
        if pronoun.whom and not pronoun.who and not other.who and not other.whom:
            return _is_behind(pronoun.roots, other.roots)
    return False


def _begins_alike(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether the shorter of the two has the words with which the longer begins."""
    short, long = sorted((ours, theirs), key=len)
    return len(short) >= _FEWEST and set(short) == set(long[: len(short)])


def _is_behind(doing: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the doer of the one ("Anna paid him") stands behind the deed in the other, which has its own doer."""
    shared = [root for root in other if root in doing]
    if len(doing) < _FEWEST or not other or other[0] in doing or set(shared) != set(doing[: len(shared)]):
        return False
    return len(shared) >= _FEWEST and shared[0] == doing[1] and shared[1] == doing[0] and other[1] == doing[1]


# --- the sides have changed places -------------------------------------------------------------------


def _by_places(ours: Told, theirs: Told, code: str) -> bool:
    told_sides = [(told, [side for side in told.said if _is_once(side, ours, theirs)]) for told in (ours, theirs)]
    first, second = (sides for _, sides in told_sides)
    fewer = min(len(ours.said), len(theirs.said))
    if len(first) < _FEWEST or len(first) < fewer:
        return False
    stretch = find_exchange([side.root for side in first], [side.root for side in second])
    if stretch is None:
        return False
    start, head, tail, end = stretch
    slots = (slice(start, start + head), slice(end - tail, end))
    if any(first[slot][0].before != second[slot][0].before for slot in slots):
        return False  # "in May" has moved with its preposition
    between = [_between(told, sides[slots[0]][-1], sides[slots[1]][0], code) for told, sides in told_sides]
    return between[0] == between[1] and _relates(between[0], code) and _are_things(first, second, slots, code)


def _are_things(first: Sequence[Side], second: Sequence[Side], slots: Sequence[slice], code: str) -> bool:
    """Whether what has changed places are things or names, each where its place tells what it does.

    "Today" is neither; in "den Mann biss der Hund" the article tells, and not the place.
    """
    behind = (first[slots[1]], second[slots[1]])
    if not all(sides[0].article or all(side.capital for side in sides) for sides in behind):
        return False
    if any(sides[slots[0]][0].article in _words(code, "object") for sides in (first, second)):
        return False
    if not table("sides")[code]["free"]:
        return True
    articles = [[sides[slot][0].article for slot in slots] for sides in (first, second)]
    return all(not any(told) or not _words(code, "marked").isdisjoint(told) for told in articles)


def _is_once(side: Side, ours: Told, theirs: Told) -> bool:
    return ours.roots.count(side.root) == theirs.roots.count(side.root) == 1


def find_exchange(first: Sequence[str], second: Sequence[str]) -> tuple[int, int, int, int] | None:
    """Where two stretches have changed places: the start of the first, how long each is, the end of the second."""
    if len(first) != len(second) or first == second or sorted(first) != sorted(second):
        return None
    start = next(place for place in range(len(first)) if first[place] != second[place])
    end = len(first) - next(back for back in range(len(first)) if first[-1 - back] != second[-1 - back])
    for head in range(1, min(_LONGEST_NAME, end - start - 1) + 1):
        for tail in range(1, min(_LONGEST_NAME, end - start - head) + 1):
            between = list(first[start + head : end - tail])
            turned = [*first[end - tail : end], *between, *first[start : start + head]]
            if turned == list(second[start:end]):
                return start, head, tail, end
    return None


def _between(told: Told, left: Side, right: Side, code: str) -> list[str]:
    """The words between two sides, less articles."""
    return [word for word in told.tokens[left.place + 1 : right.place] if word not in _words(code, "articles")]


def _relates(between: Sequence[str], code: str) -> bool:
    """Whether it relates two things one way: no list, and no mere "is"."""
    joined = not (_SIGNS | _words(code, "joints")).isdisjoint(between)
    return not joined and any(word not in _words(code, "be") for word in between)


# --- reading -----------------------------------------------------------------------------------------


@lru_cache(maxsize=8_192)
def _read(text: str, code: str) -> Told:
    plain = straighten(text[:_LONGEST])
    lowered = plain.lower()
    found = list(_TOKEN.finditer(plain))
    spans = [(value.start, value.end) for value in find_values(plain)]
    tokens = tuple(match.group().lower() for match in found)
    said: list[Side] = []
    for place, match in enumerate(found):
        token = tokens[place]
        if token in stop_words(code) or token in _SIGNS or any(start <= match.start() < end for start, end in spans):
            continue
        back = place - 1
        article = tokens[back] if back >= 0 and tokens[back] in _words(code, "articles") else ""
        back -= bool(article)
        before = tokens[back] if back >= 0 and tokens[back] in stop_words(code) else ""
        said.append(
            Side(token, root_of(token, code), place, _leading(before, code), article, match.group()[0].isupper())
        )
    return Told(tuple(said), tokens, _persons(lowered, code, "who"), _persons(lowered, code, "whom"))


def _leading(before: str, code: str) -> str:
    """The function word before a side, less those that only help the verb."""
    return "" if before in _words(code, "be") or before in _words(code, "joints") else before


def _persons(lowered: str, code: str, name: str) -> frozenset[int]:
    """Which pronouns a text has; one behind "before" or "than" is no side of the deed."""
    plain = _aside(code).sub(" ", lowered)
    return frozenset(number for number, pattern in enumerate(_patterns(code, name)) if pattern.search(plain))


@cache
def _aside(code: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(table('sides')[code]['aside'].split())}) \w+")


@cache
def _patterns(code: str, name: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"(?<!\w)(?:{told})(?!\w)") for told in table("sides")[code][name])


@cache
def _words(code: str, name: str) -> frozenset[str]:
    return frozenset(table("sides")[code][name].split())


def _is_by(told: Told, code: str) -> bool:
    return not _words(code, "by").isdisjoint(told.tokens)
