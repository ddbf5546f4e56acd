"""Compares wordings: how similar two are, whether they ask different things, and which earlier ones to compare."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache, lru_cache

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.finders.tokens import CODE_WORD, strip_plural

_MARK = re.compile(r"\b(?:[^\W\d]*\d\w*|(?<=[\w,;:\"'] )[A-Z]\w*[a-z]\w*|(?<=\w )[A-HJ-Z]\b(?![.'’]))")
"""Numbers, and names inside a sentence: questions that differ in one of them ask different things."""
_ROMAN = re.compile(r"\b[IVX]{2,}\b")
_COUNTED = re.compile(r"(\d+)(?:st|nd|rd|th|e|er|ème|ste|de)?")
_LITERAL = re.compile(r"'([^'\n]{1,60})'|\"([^\"\n]{1,60})\"")
_CODE_MARK = re.compile(r"[=;{}\[\]]|\w\(")
_IDENTIFIER = re.compile(r"\b(?:\w++(?:[./-]\w++)++|\w[^\W_]*+_\w++)")
_TURN = re.compile(r"\b(\w++) (?:to|into) (?=(\w+))")
_MAX_TOKENS = 4_000
_LEAST_STEM = 4
_SKETCH = 12
_POSTINGS = 12
_COMPARED = 6
_LEAST_SHARED = 4
"""A wording is compared if it shares a fourth of the sketch; similar ones share half and more."""


@dataclass(frozen=True, slots=True)
class Wording:
    """A text as bags: words without stop words, letter triples for short texts, and the marks that must agree.

    `turns` are the words on both sides of "to" (from Ghent to Rome): reversed they ask another thing. `literals` are
    quoted in code, `identifiers` are files, paths and keys.
    """

    bag: Counter[str]
    triples: Counter[str]
    marks: frozenset[str]
    turns: frozenset[tuple[str, str]]
    literals: frozenset[str]
    identifiers: frozenset[str]
    count: int
    norm: float
    triple_norm: float


def _stem(word: str) -> str:
    return strip_plural(word, shortest=5)


@lru_cache(maxsize=512)
def read_wording(text: str) -> Wording:
    """Returns what a wording is compared by: words, letters, marks and quoted parts."""
    tokens = CODE_WORD.findall(text.lower())[:_MAX_TOKENS]
    counted = Counter(tokens)
    short = len(tokens) < table("limits")["long_query"]
    bag = _bag(counted, short)
    joined = " ".join(sorted(bag)) if short else ""
    triples = Counter([joined[place : place + 3] for place in range(len(joined) - 2)])
    marks = frozenset(mark.lower() for mark in (*_MARK.findall(text), *_ROMAN.findall(text)))
    marks = marks - words("cues", "stop_words") | counted.keys() & _number_words().keys()
    turns = frozenset(_TURN.findall(text.lower())) if short else frozenset()
    quoted = _LITERAL.findall(text) if short and _CODE_MARK.search(text) else ()
    literals = frozenset((one or other).lower() for one, other in quoted)
    identifiers = frozenset(found.lower() for found in _IDENTIFIER.findall(text)) if short else frozenset()
    return Wording(bag, triples, marks, turns, literals, identifiers, len(tokens), _norm(bag), _norm(triples))


def _bag(counted: Counter[str], short: bool) -> Counter[str]:
    """Counts the words without stop words, in short texts also without plural endings."""
    meaningful = counted.keys() - words("cues", "stop_words") or counted.keys()
    if not short:
        return Counter({token: counted[token] for token in meaningful})
    bag: Counter[str] = Counter()
    for token in meaningful:
        bag[_stem(token)] += counted[token]
    return bag


def _norm(bag: Counter[str]) -> float:
    return math.sqrt(sum(count * count for count in bag.values()))


def _cosine(a: Counter[str], b: Counter[str], norms: float) -> float:
    if len(b) < len(a):
        a, b = b, a
    return sum(count * b[word] for word, count in a.items() if word in b) / norms if norms else 0.0


def measure_similarity(a: Wording, b: Wording) -> float:
    """Returns from 0 to 1 the better of word cosine and letter-triple cosine; 0 if numbers or names differ."""
    if name_different_things(a, b):
        return 0.0
    near = _cosine(a.bag, b.bag, a.norm * b.norm)
    if a.triples and b.triples:
        near = max(near, _cosine(a.triples, b.triples, a.triple_norm * b.triple_norm))
    return min(near, 1.0)


def name_different_things(a: Wording, b: Wording, named: Collection[str] | None = None) -> bool:
    """Do two wordings name different things, or the same in reverse (from A to B)? Then similar words say nothing."""
    turned = any((after, before) in b.turns for before, after in a.turns if before != after)
    return turned or not _have_same_marks(a, b, named)


def ask_different_things(a: Wording, b: Wording, named: Collection[str] | None = None) -> bool:
    """Whether two wordings are two questions: they differ in a name, number, literal, file, key or opposite.

    With `named`, a name or number of the first counts only if it is among these words.
    """
    if name_different_things(a, b, named) or a.literals != b.literals or _are_opposed(a, b):
        return True
    return bool(a.identifiers and b.identifiers) and a.identifiers != b.identifiers


@cache
def _opposites() -> dict[str, frozenset[str]]:
    """Returns for each word the words that mean its opposite."""
    found: dict[str, frozenset[str]] = {}
    for group in table("cues")["opposites"]:
        for word in group:
            others = {_stem(other) for other in group} - {_stem(word)}
            found[_stem(word)] = found.get(_stem(word), frozenset()) | others
    return found


def _are_opposed(a: Wording, b: Wording) -> bool:
    """A word of one is the opposite of a word of the other, and neither has both; or only one has a negation."""
    only_a, only_b = a.bag.keys() - b.bag.keys(), b.bag.keys() - a.bag.keys()
    return not words("cues", "negations").isdisjoint(only_a | only_b) or has_opposites(only_a, only_b)


def has_opposites(some: Collection[str], others: Collection[str]) -> bool:
    """Whether a word of the one is the opposite of a word of the other."""
    return any(not _opposites()[word].isdisjoint(others) for word in some if word in _opposites())


def differ_in_one_word(first: Wording, second: Wording) -> bool:
    """Whether one word is replaced by another (today, tomorrow): a deliberate change, unless it is an inflection."""
    only_a, only_b = first.bag.keys() - second.bag.keys(), second.bag.keys() - first.bag.keys()
    if len(only_a) != 1 or len(only_b) != 1:
        return False
    one, other = next(iter(only_a)), next(iter(only_b))
    pairs = zip(one, other, strict=False)
    shared = next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return shared < _LEAST_STEM or shared * 2 < max(len(one), len(other))


def _have_same_marks(a: Wording, b: Wording, named: Collection[str] | None = None) -> bool:
    """Whether every mark of one appears in the other, in any case.

    With `named`, only these words count, and only if they are in the first wording.
    """
    if named is not None:
        return all(mark not in named or _holds(b, mark) for mark in a.marks)
    return all(_holds(b, mark) for mark in a.marks) and all(_holds(a, mark) for mark in b.marks)


def _holds(wording: Wording, mark: str) -> bool:
    """Does a wording hold a mark, as a word or as the same number?"""
    if mark in wording.marks or mark in wording.bag or _stem(mark) in wording.bag:
        return True
    value = _number(mark)
    return value is not None and any(_number(other) == value for other in wording.marks)


def _number(mark: str) -> str | None:
    """The number that a mark means: 2, 2nd, two and second are the same."""
    counted = _COUNTED.fullmatch(mark)
    return counted[1] if counted else _number_words().get(mark)


@cache
def _number_words() -> dict[str, str]:
    return {word: number for number, group in table("cues")["number_words"].items() for word in group}


@dataclass(slots=True)
class NearIndex:
    """Earlier wordings of one frame, found by a sketch of their words, so that the work per step is bounded."""

    postings: dict[int, list[int]] = field(default_factory=dict)

    def candidates(self, wording: Wording) -> list[int]:
        """Returns the earlier places that share most of the sketch, the best and earliest first."""
        marks = _sketch(wording)
        shared: Counter[int] = Counter()
        for mark in marks:
            shared.update(self.postings.get(mark, ()))
        least = max(1, len(marks) // _LEAST_SHARED)
        ranked = sorted((-times, place) for place, times in shared.items() if times >= least)
        return [place for _, place in ranked[:_COMPARED]]

    def add(self, place: int, wording: Wording) -> None:
        """Adds a wording to the index; each word of its sketch keeps `_POSTINGS` places at most."""
        for mark in _sketch(wording):
            held = self.postings.setdefault(mark, [])
            if len(held) < _POSTINGS:
                held.append(place)


def _sketch(wording: Wording) -> list[int]:
    """The smallest hashes of the words (a MinHash sketch): similar texts share most of them."""
    return sorted(zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in wording.bag)[:_SKETCH]
