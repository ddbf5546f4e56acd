"""For whom and when something holds: "all dogs" where only assistance dogs do, "always" where there is an exception."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.rag.reading.finding_values import find_values
from krino.judges.rag.reading.frequencies import often_words
from krino.judges.rag.reading.grammar import root_of, verb_form, word_list
from krino.judges.rag.tables import table
from krino.text.words import stop_words

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[,;:.()]")
_LONGEST = 600
_MOST_NAMED = 4
"""Words that may name for whom or when something holds only."""


class Limit(NamedTuple):
    """A limit that a sentence sets: the words that set it, and the roots of what holds only there or is taken out."""

    text: str
    roots: frozenset[str]
    head: str
    """The root of the last of these words, where a noun is narrowed by others before it; else nothing."""


class Scope(NamedTuple):
    """What a sentence says of the reach of its statement."""

    all: str
    """The word that says that it holds for each or always."""
    whom: str
    """The word behind it."""
    often: str
    """The same in "every day", which says how often."""
    only: Limit | None
    taken_out: Limit | None
    unless: Limit | None
    condition: str

    @property
    def is_open(self) -> bool:
        """Whether it sets no limit."""
        return not (self.only or self.taken_out or self.unless or self.condition)


def other_scope(claim: str, found: str, language: str | None) -> tuple[str, str] | None:
    """What the claim says holds more widely than the sentence does, and what bounds it there."""
    ours, theirs = read_scope(claim, language), read_scope(found, language)
    if not ours.is_open:
        return None
    said = _roots(claim, language)
    if theirs.only and not theirs.only.roots <= said:
        if ours.all:
            return f"{ours.all} {ours.whom}".strip(), theirs.only.text
        if theirs.only.head in said and _is_bare(claim, theirs.only.head, language):
            return theirs.only.head, theirs.only.text
    if theirs.taken_out and (ours.all or ours.often) and said.isdisjoint(theirs.taken_out.roots):
        return ours.all or ours.often, theirs.taken_out.text
    if theirs.unless and ours.all:
        return ours.all, theirs.unless.text
    return (ours.all, theirs.condition) if theirs.condition and ours.all and not theirs.all else None


def is_taken_out(claim: str, found: str, language: str | None) -> tuple[str, str] | None:
    """What the claim speaks of though the sentence takes it out: "open on Mondays" beside "daily except Monday"."""
    ours, theirs = read_scope(claim, language), read_scope(found, language)
    limit = theirs.taken_out
    if limit is None or not ours.is_open or not limit.roots <= _roots(claim, language):
        return None
    if not _turns().isdisjoint(_TOKEN.findall(claim.lower())):
        return None  # "every day but Monday"
    return " ".join(sorted(limit.roots)), limit.text


def same_scope(claim: str, found: str, language: str | None) -> bool:
    """ "None but X" for "only X", and "X cannot" for "can, except X": the limit is told the other way round."""
    ours, theirs = read_scope(claim, language), read_scope(found, language)
    halves = re.split(rf"[,;]|\b(?:{'|'.join(sorted(_turns()))})\b", claim.lower())
    denying = [half for half in halves if not _denials(language).isdisjoint(_TOKEN.findall(half)) or "n't" in half]
    if len(denying) != 1:
        return False
    if theirs.only and theirs.taken_out is None and ours.taken_out:
        return ours.taken_out.roots == theirs.only.roots
    if theirs.taken_out is None or theirs.only or not ours.is_open:
        return False
    return theirs.taken_out.roots <= _roots(denying[0], language)


def supposed(text: str, language: str | None) -> str:
    """What a text begins by supposing ("If the shoes get wet, ..."), and does not state; else nothing."""
    front, comma, _ = text.partition(",")
    condition = _Known.of(language).condition.match(front.strip().lower())
    return front if comma and condition else ""


def scope_roots(language: str | None) -> frozenset[str]:
    """The roots of the words that say for whom and when something holds."""
    return frozenset(root_of(word, language) for word in _Known.of(language).telling)


def may_be_wider(claim: str, found: str) -> tuple[str, str] | None:
    """A hint only, in English: "everyone" where the sentence speaks of some, "only" where it knows no limit."""
    ours, theirs = read_scope(claim, "en"), read_scope(found, "en")
    form = verb_form(ours.whom)
    named = (
        ours.whom != "" and (form is None or form[1] in ("base", "third")) and root_of(ours.whom) in _roots(found, "en")
    )
    if (ours.all in _people() or named) and not theirs.all and not theirs.often:
        return ours.all, "some only"
    return (ours.only.text, "no such limit") if ours.only and theirs.is_open else None


@cache
def _turns() -> frozenset[str]:
    return frozenset(table("words")["negation_ends"]["clauses"].split())


@cache
def _denials(language: str | None) -> frozenset[str]:
    words = table("words")["negation"]
    return frozenset(words.get(language or "en", words["en"]).split())


@cache
def _people() -> frozenset[str]:
    return frozenset(table("scope")["en"]["people"].split())


@lru_cache(maxsize=8_192)
def read_scope(text: str, language: str | None) -> Scope:
    known = _Known.of(language)
    words = _TOKEN.findall(text[:_LONGEST].lower())
    if known.telling.isdisjoint(words):
        return Scope("", "", "", None, None, None, "")
    joined = " ".join(words)
    every = [(word, _is_often(words, place)) for place, word in enumerate(words) if _says_all(words, place, known)]
    return Scope(
        next((word for word, often in every if not often), ""),
        next((_whom(words, word, language) for word, often in every if not often), ""),
        next((word for word, often in every if often), ""),
        _only(words, joined, known, language),
        _behind(known.taken_out, joined, language),
        _behind(known.unless, joined, language),
        found.group() if (found := known.condition.search(joined)) else "",
    )


class _Known(NamedTuple):
    all: frozenset[str]
    only: frozenset[str]
    kept: re.Pattern[str]
    taken_out: re.Pattern[str]
    unless: re.Pattern[str]
    condition: re.Pattern[str]
    telling: frozenset[str]
    owning: tuple[str, ...]
    not_all_behind: frozenset[str]
    not_all_before: frozenset[str]
    not_only: frozenset[str]

    @classmethod
    def of(cls, language: str | None) -> _Known:
        return _known(language if language in table("scope") else "en")


@cache
def _known(language: str) -> _Known:
    told = table("scope")[language]
    every, only = frozenset(told["all"].split()), frozenset(told["only"].split())
    phrases = {name: sorted(told[name], key=len, reverse=True) for name in ("kept", "except", "unless", "if")}
    patterns = {name: re.compile(rf"\b(?:{'|'.join(map(re.escape, told))})\b") for name, told in phrases.items()}
    first = {word for told in phrases.values() for phrase in told for word in _TOKEN.findall(phrase)[:1]}
    idle = told.get("not_all", {"behind": "", "before": ""})
    beside = (frozenset(words.split()) for words in (idle["behind"], idle["before"], told.get("not_only", "")))
    return _Known(
        every,
        only,
        patterns["kept"],
        patterns["except"],
        patterns["unless"],
        patterns["if"],
        every | only | first,
        tuple(idle.get("owning", "").split()),
        *beside,
    )


def _says_all(words: list[str], place: int, known: _Known) -> bool:
    """ "All dogs" and "always", but not "that is all there is to it" nor "at all", nor "each dog's collar"."""
    if words[place] not in known.all:
        return False
    before, after = words[place - 1 : place], words[place + 1 : place + 2]
    if any(word.endswith(known.owning) for word in after):
        return False
    return known.not_all_behind.isdisjoint(before) and known.not_all_before.isdisjoint(after)


def _whom(words: list[str], every: str, language: str | None) -> str:
    after = words[words.index(every) + 1 :][:3]
    return next((word for word in after if word not in stop_words(language) and word not in ",;:.()"), "")


def _is_often(words: list[str], place: int) -> bool:
    """ "Every two weeks", "each month": how often, and not for whom."""
    after = words[place + 1 : place + 3]
    return bool(after) and (after[0] in often_words() or (len(after) > 1 and after[1] in often_words()))


def _roots(text: str, language: str | None) -> frozenset[str]:
    words = _TOKEN.findall(text[:_LONGEST].lower())
    return frozenset(root_of(word, language) for word in words if word not in stop_words(language))


def _only(words: list[str], joined: str, known: _Known, language: str | None) -> Limit | None:
    if (kept := _behind(known.kept, joined, language)) is not None:
        return kept
    for place, word in enumerate(words):
        if word not in known.only or not known.not_only.isdisjoint(words[max(0, place - 1) : place]):
            continue
        after = words[place + 1 : place + 2]
        if after and after[0] not in ",;:.()":
            return _limit(word, words[place + 1 :], language)
        before = [item for item in words[:place] if item not in stop_words(language)]
        return Limit(word, frozenset(root_of(item, language) for item in before[-1:]), "") if before else None
    return None


def _behind(pattern: re.Pattern[str], joined: str, language: str | None) -> Limit | None:
    found = pattern.search(joined)
    return _limit(found.group(), joined[found.end() :].split(), language) if found else None


def _limit(told: str, after: list[str], language: str | None) -> Limit | None:
    """What a limit is set to: the first words behind it that say something, up to a verb, a joint or a sign."""
    english = language is None or language == "en"
    named: list[str] = []
    for word in after[:8]:
        ends = word in ",;:.()" or (english and (word in word_list("auxiliary") or word in word_list("conjunctions")))
        if ends or (named and word in stop_words(language)) or len(named) == (_MOST_NAMED if english else 1):
            break
        if word not in stop_words(language):
            named.append(word)
    counted = bool(named) and any(value.kind == "number" for value in find_values(named[0]))
    if not named or counted:  # "only eighteen people" limits no people
        return None
    narrowed = english and len(named) > 1 and verb_form(named[-1]) is None and not named[0].isdecimal()
    roots = frozenset(root_of(word, language) for word in named)
    return Limit(f"{told} {' '.join(named)}", roots, root_of(named[-1], language) if narrowed else "")


def _is_bare(claim: str, head: str, language: str | None) -> bool:
    """Whether nothing narrows this noun in the claim: "dogs", not "guide dogs"."""
    words = _TOKEN.findall(claim[:_LONGEST].lower())
    for place, word in enumerate(words):
        if root_of(word, language) == head:
            before = words[place - 1] if place else ""
            return not before or before in stop_words(language)
    return False
