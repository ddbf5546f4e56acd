"""What a sentence says of some only, or under a condition, and a claim of all, or without it."""

from __future__ import annotations

import re
from functools import cache

from krino.judges.rag.reading.finding_values import find_values
from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.reading.scope import read_scope
from krino.judges.rag.reading.values import offered
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stop_words

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_LONGEST = 600
_REACH = 4
"""Words behind a narrowing word in which its number stands, and behind "without" what is lacking."""


def told_of_all(claim: str, found: str, language: str | None) -> tuple[str, str] | None:
    """What the claim says of all and the sentence only of some: the words of either."""
    ours, theirs = read_scope(claim, language), read_scope(found, language)
    if not ours.all or not ours.whom or theirs.all or not ours.is_open:
        return None
    code, wanted = _code(language), root_of(ours.whom, language)
    words = _words_of(found)
    for place, word in enumerate(words):
        if root_of(word, language) != wanted:
            continue
        before, behind = words[max(0, place - 1) : place], words[place + 1 : place + 2 + _REACH]
        narrowed = _narrowed(claim, behind, code)
        if narrowed or not _listed(code, "some").isdisjoint(before):
            told = [word, *behind] if narrowed else [*before, word]
            return f"{ours.all} {ours.whom}", " ".join(told)
    return None


def _narrowed(claim: str, behind: list[str], code: str) -> bool:
    """Whether a noun is narrowed by a number or a place in a row that the claim does not have."""
    if not behind or behind[0] not in _listed(code, "behind"):
        return False
    reach = behind[1:]
    rows = _listed(code, "rows").intersection(reach)
    values = offered(find_values(" ".join(reach)))
    return bool(rows - set(_words_of(claim))) or bool(values - offered(find_values(claim)))


def told_of_whole(claim: str, found: str, language: str | None) -> tuple[str, str] | None:
    """What the claim says of the whole of a thing of which the sentence does not speak at all."""
    code, words = _code(language), _words_of(claim)
    told = frozenset(_words_of(found))
    wholes = [place for place, word in enumerate(words[:-1]) if word in _listed(code, "whole")]
    if len(wholes) != 1 or not told.isdisjoint(_listed(code, "whole")) or read_scope(found, language).all:
        return None
    thing = words[wholes[0] + 1]
    known = frozenset(root_of(word, language) for word in told)
    if thing in stop_words(language or "en") or root_of(thing, language) in known:
        return None
    return f"{words[wholes[0]]} {thing}", "a part of it"


def told_without(claim: str, found: str, language: str | None) -> tuple[str, str] | None:
    """What the claim does without though the sentence makes it a condition."""
    code = _code(language)
    lacking = _pattern(code).search(straighten(claim[:_LONGEST]).lower())
    condition = read_scope(found, language).condition
    lowered = straighten(found[:_LONGEST]).lower()
    if lacking is None or not condition or _pattern(code).search(lowered):
        return None
    denials = set(table("words")["negation"][code].split()) - {lacking.group()}
    asked = lowered[lowered.index(condition) + len(condition) :] if condition in lowered else ""
    clause = re.split(r"[,;.]", asked)[0]
    if not denials.isdisjoint(_words_of(clause)) or not denials.isdisjoint(_words_of(claim)):
        return None
    behind = straighten(claim[:_LONGEST]).lower()[lacking.end() :]
    needed = _roots(clause, language)
    missing = next((word for word in _words_of(behind)[:_REACH] if _roots(word, language) & needed), None)
    return None if missing is None else (f"{lacking.group()} {missing}", f"{condition}{clause}")


def _roots(text: str, language: str | None) -> frozenset[str]:
    words = [word for word in _words_of(text) if word not in stop_words(language or "en")]
    return frozenset(root_of(word, language) for word in words)


def _words_of(text: str) -> list[str]:
    return _WORD.findall(straighten(text[:_LONGEST]).lower())


def _code(language: str | None) -> str:
    return language if language is not None and language in table("narrowing") else "en"


@cache
def _listed(code: str, name: str) -> frozenset[str]:
    return frozenset(table("narrowing")[code][name].split())


@cache
def _pattern(code: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{table('narrowing')[code]['without']})(?!\w)")
