"""Reads a sentence for comparison: its content words as stems, its values and names, and what it negates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.rag.reading.amounts import LONGEST_SENTENCE, without_bounds
from krino.judges.rag.reading.finding_values import find_values
from krino.judges.rag.reading.grammar import DEGREES, all_forms, in_one_word, plural, root_of
from krino.judges.rag.reading.names import find_names
from krino.judges.rag.reading.same_length import without_citations
from krino.judges.rag.reading.values import Value, offered
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stop_words

_TOKEN = re.compile(r"[^\W_]+(?:'t\b)?|[,;:()]")
_NO_KIND = re.compile(r"\b(?:no|non)-(?=\w)", re.I)
"""The beginning of a word such as "no-frills", which denies nothing in the sentence."""
_NEGATION_SEEN = re.compile(r"n't|\b(?:no|not|never|pas|niet|geen|nicht|kein|sans|sin)\b", re.I)
"""A cheap first look: without one of these there is no turn of phrase that has a negation and denies nothing."""
_NO_SPACE_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NEGATION_REACH = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """A sentence as a set of things to match."""

    content: tuple[str, ...]
    stems: frozenset[str]
    prefixes: frozenset[str]
    values: tuple[Value, ...]
    names: frozenset[str]
    negated: frozenset[str]
    denials: int
    """How many words of it deny something; with one that does so softly ("hardly") it is below 0: it cannot be told."""
    surface: Mapping[str, str]
    """For each content word its form in the text, to be shown."""
    poles: tuple[str, ...]
    """Words that have an opposite, as they stand in the text, function words ("before") included."""

    @property
    def value_keys(self) -> frozenset[str]:
        return frozenset(key for value in self.values for key in value.keys)

    @property
    def offered(self) -> frozenset[str]:
        return offered(self.values)


@cache
def _negations(language: str | None) -> frozenset[str]:
    words = table("words")["negation"]
    return frozenset(words.get(language or "en", words["en"]).split())


def may_deny(text: str, words: Set[str]) -> bool:
    """A first, cheap look: whether anything in a text could deny, in whatever language it is."""
    return "n't" in text or "n’t" in text or not words.isdisjoint(_denying())


@cache
def _denying() -> frozenset[str]:
    return frozenset(word for words in table("words")["negation"].values() for word in words.split()) | _denied_deeds()


def may_be_opposed(first: Set[str], second: Set[str]) -> bool:
    """A first, cheap look: whether the words of one text hold an opposite of a word of the other."""
    known = _opposites()
    if any(not second.isdisjoint(known[word]) for word in first & _poles()):
        return True
    apart = first ^ second
    return not apart.isdisjoint(filter(None, map(_without_prefix, apart)))


@cache
def _poles() -> frozenset[str]:
    return frozenset(_opposites())


@cache
def _soft_negations() -> frozenset[str]:
    return frozenset(table("words")["soft_negation"]["words"].split())


def _blank(found: re.Match[str]) -> str:
    return " " * len(found.group())


@cache
def _no_denial() -> re.Pattern[str]:
    """Turns of phrase that have a negation and deny nothing: "don't forget that"."""
    return re.compile("|".join(table("words")["no_denial"]["phrases"]), re.I)


@cache
def _opening_no() -> re.Pattern[str]:
    return re.compile(table("words")["opening"]["no"], re.I)


@cache
def _limits() -> frozenset[str]:
    return frozenset(table("words")["negation_ends"]["limits"].split())


@cache
def _clause_ends() -> frozenset[str]:
    return frozenset([",", ";", ":", "(", ")", *table("words")["negation_ends"]["clauses"].split()])


@lru_cache(maxsize=8_192)
def read_sentence(text: str, language: str | None) -> Reading:
    """The reading of one sentence, kept because the same passages come back in case after case."""
    plain = straighten(without_citations(text[:LONGEST_SENTENCE]))
    if "o-" in plain or "n-" in plain:
        plain = _NO_KIND.sub(_blank, plain)
    if language is None or language == "en":
        plain = without_bounds(in_one_word(plain))
    plain = _opening_no().sub(_blank, plain)
    if _NEGATION_SEEN.search(plain):
        plain = _no_denial().sub(_blank, plain)
    values = find_values(plain)
    content: list[str] = []
    negated: set[str] = set()
    stated: set[str] = set()
    surface: dict[str, str] = {}
    poles: list[str] = []
    reach = denials = 0
    soft = False
    tokens = _tokens(plain, values)
    for place, (token, value) in enumerate(tokens):
        roots, denies, deed, ends, limits, softly, pole = _known(token, language)
        if value is not None:
            roots = value.keys
            soft = soft or value.keys[0].rpartition(" ")[2] == "0"  # "$0" denies as "no fee" does
        elif denies or (deed and _denies_deed(tokens, place)):
            reach = _NEGATION_REACH
            denials += 1
            continue
        elif ends:
            reach = 0
            continue
        else:
            soft = soft or softly
            if pole:
                poles.append(token)
        reach = 0 if limits and reach == _NEGATION_REACH else reach - 1
        for root in roots:
            content.append(root)
            surface.setdefault(root, token)
            (negated if reach > 0 else stated).add(root)
    return Reading(
        content=tuple(dict.fromkeys(content)),
        stems=frozenset(content) | offered(values) if values else frozenset(content),
        prefixes=frozenset([root[:5] for root in content if len(root) >= 6 and root[0].isalpha()]),
        values=values,
        names=frozenset() if language == "de" else frozenset([root_of(n.lower(), language) for n in find_names(plain)]),
        negated=frozenset(negated - stated),
        denials=-1 - denials if soft else denials,
        surface=surface,
        poles=tuple(dict.fromkeys(poles)),
    )


class _Known(NamedTuple):
    """What is known of a word wherever it stands."""

    roots: tuple[str, ...]
    """None for a function word."""
    denies: bool
    deed: bool
    """It may deny what follows, as "refused" does."""
    ends: bool
    """It ends what a negation reaches."""
    limits: bool
    soft: bool
    pole: bool


@lru_cache(maxsize=65_536)
def _known(token: str, language: str | None) -> _Known:
    return _Known(
        roots=() if token in stop_words(language) else (root_of(token, language),),
        denies=token in _negations(language) or token.endswith("n't"),
        deed=token in _denied_deeds(),
        ends=token in _clause_ends(),
        limits=token in _limits(),
        soft=token in _soft_negations(),
        pole=token in _opposites() or _without_prefix(token) is not None,
    )


_KEPT_FROM = 3
"""Words between "prevented" and its "from"."""


@cache
def _denied_deeds() -> frozenset[str]:
    return frozenset(f"{table('words')['denied_deed']['words']} {table('words')['denied_deed']['kept']}".split())


@cache
def _held() -> frozenset[str]:
    return frozenset(table("words")["denied_deed"]["held"].split())


@cache
def _kept() -> frozenset[str]:
    return frozenset(table("words")["denied_deed"]["kept"].split())


def _denies_deed(tokens: list[tuple[str, Value | None]], place: int) -> bool:
    """ "refused to sign", "prevented her from signing": what follows was not done."""
    word = tokens[place][0]
    following = [told for told, _ in tokens[place + 1 : place + 3 + _KEPT_FROM]]
    if word not in _kept():
        return following[:1] == ["to"]
    at = following.index("from") if "from" in following[:-1] else -1
    if word not in _held():
        return at >= 0
    return at >= 0 and following[at + 1].endswith("ing")  # "kept on a lead from April" denies nothing


@lru_cache(maxsize=16_384)
def _without_prefix(word: str) -> str | None:
    """The word of which this one is the opposite: "ineffective" of "effective", "painless" of "painful"."""
    known = table("words")["prefixes"]
    if word in known["never"].split():
        return None
    for prefix in known["opposite"].split():
        bare = word.removeprefix(prefix)
        if bare != word and len(bare) > 3:
            return bare
    return f"{word[:-4]}ful" if word.endswith("less") else None


def opposed_words(first: Reading, second: Reading) -> tuple[str, ...]:
    """Content words that both have and only one denies, where the other denies nothing at all or nothing else.

    What one denies and the other says by its opposite ("not allowed", "forbidden") is no difference.
    """
    if min(first.denials, second.denials) < 0 or first.denials == second.denials:
        return ()
    denying, plain = (first, second) if first.denials > second.denials else (second, first)
    if not plain.negated < denying.negated:
        return ()
    for word in denying.poles:
        if root_of(word) in denying.negated and not _opposites().get(word, frozenset()).isdisjoint(plain.poles):
            return ()
    return tuple(
        root for root in first.content if root in second.stems and (root in first.negated) != (root in second.negated)
    )


@cache
def _opposites() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    data = table("words")["opposites"]
    listed, nouns, plain, deeds = (
        [tuple(side.split() for side in pair.split("/")) for pair in data[name]]
        for name in ("pairs", "sides", "adjectives", "verbs")
    )
    several = [tuple(list(map(plural, side)) for side in pair) for pair in nouns]
    done = [tuple([form for verb in side for form in all_forms(verb)] for side in pair) for pair in deeds]
    graded = [tuple([degree(word) for word in side] for side in pair) for pair in plain for degree in DEGREES]
    for first, second in [*listed, *nouns, *several, *plain, *graded, *done]:
        for ours, theirs in ((first, second), (second, first)):
            for word in ours:
                found.setdefault(word, set()).update(theirs)
    return {word: frozenset(others) for word, others in found.items()}


def opposite_words(first: Reading, second: Reading) -> tuple[str, str] | None:
    """A word of the first that the second replaces by its opposite, where neither text denies anything."""
    if not {first.denials, second.denials} <= {0, -1}:
        return None
    for word in first.poles:
        others = _opposites().get(word, frozenset())
        if word not in second.poles and others.isdisjoint(first.poles):
            for other in second.poles:
                if other in others:
                    return word, other
    return _by_prefix(first, second) or _turn(_by_prefix(second, first))


def opposed_poles(first: Reading, second: Reading) -> list[str]:
    """The words of the first of which the second has an opposite."""
    return [word for word in first.poles if not _opposites().get(word, frozenset()).isdisjoint(second.poles)]


def _by_prefix(first: Reading, second: Reading) -> tuple[str, str] | None:
    """A word that the second has with a prefix that makes it the opposite."""
    said = frozenset(first.surface.values())
    for other in second.poles:
        bare = _without_prefix(other)
        if bare is not None and bare in said and other not in said:
            return bare, other
    return None


def _turn(pair: tuple[str, str] | None) -> tuple[str, str] | None:
    return None if pair is None else (pair[1], pair[0])


def _tokens(text: str, values: tuple[Value, ...]) -> list[tuple[str, Value | None]]:
    """Words in lower case, and each value as one; scripts written without spaces are cut into pairs of characters."""
    spaced = text.isascii() or not _NO_SPACE_SCRIPT.search(text)
    if spaced and not values:  # as most sentences are
        return [(token, None) for token in _TOKEN.findall(text.lower())]
    return list(_tokens_between(text, values, spaced))


def _tokens_between(text: str, values: tuple[Value, ...], spaced: bool) -> Iterator[tuple[str, Value | None]]:
    waiting = iter(values)
    value = next(waiting, None)
    for found in _TOKEN.finditer(text.lower()):
        while value is not None and found.start() >= value.end:
            yield value.text.lower(), value
            value = next(waiting, None)
        if value is not None and found.end() > value.start:
            continue
        token = found.group()
        if spaced or len(token) <= 2 or not _NO_SPACE_SCRIPT.search(token):
            yield token, None
        else:
            yield from ((token[place : place + 2], None) for place in range(len(token) - 1))
    for left in (value, *waiting):
        if left is not None:
            yield left.text.lower(), left
