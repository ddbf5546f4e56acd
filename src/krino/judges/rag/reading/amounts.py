"""Tells amounts apart to the letter where the number is the same or none is given: how many, from where on, by what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cache, lru_cache

from krino.judges.rag.reading.finding_values import find_values
from krino.judges.rag.reading.grammar import in_one_word, root_of, word_list
from krino.judges.rag.reading.same_length import lower
from krino.judges.rag.reading.value_words import number_words
from krino.judges.rag.reading.values import Value
from krino.judges.rag.tables import table

_WORD = re.compile(r"[^\W\d_]+")
_DIGIT = re.compile(r"\d")
_LOOK_BACK = 30
LONGEST_SENTENCE = 4_000
"""Characters of one sentence that are compared; no real sentence is longer, hostile text is."""
_RATE = re.compile(r"[ \u00a0]?(?:per |an? |each |every |/ ?)?([^\W\d_]+)")
_OF_NONE = frozenset({"longer", "one", "doubt", "matter", "more", "less", "fewer"})
_CLASSES = ("all", "most", "many", "half", "third", "quarter", "some", "few", "none")


def other_amount(claim: str, found: str) -> tuple[str, str] | None:
    """What the claim says of how many, and what the text says otherwise; English only."""
    claim, found = claim[:LONGEST_SENTENCE], found[:LONGEST_SENTENCE]
    return _other_share(claim, found) or _other_bound(claim, found)


def may_tell_shares(words: Set[str]) -> bool:
    """A first, cheap look at the words of a text: whether one of them says how many."""
    return not words.isdisjoint(_class_of())


# --- shares: all, some, none -----------------------------------------------------------------------


@cache
def _class_of() -> dict[str, str]:
    return {word: name for name in _CLASSES for word in word_list(name, "quantifiers")}


@cache
def share_roots() -> frozenset[str]:
    """The roots of the words that say how many."""
    return frozenset(map(root_of, _class_of()))


@lru_cache(maxsize=8_192)
def _shares(text: str) -> dict[str, tuple[str, str]]:
    """By what is counted, or done so often: the class and the word; what is told twice is left out."""
    lowered = _pattern("not_all").sub("notall", _pattern("a_few").sub("several", in_one_word(text).lower()))
    words = _WORD.findall(lowered)
    if _class_of().keys().isdisjoint(words) and "notall" not in words:
        return {}
    found: dict[str, list[tuple[str, str]]] = {}
    for place, word in enumerate(words):
        name = "notall" if word == "notall" else _class_of().get(word)
        before = words[place - 1] if place else ""
        if name is None or before in ("at", "the", "of", "above", "than") or (word == "no" and _follows(words, place)):
            continue
        name = "most" if before in word_list("nearly", "quantifiers") and name == "all" else name
        head = _deed(words, place) if word in word_list("adverbs", "quantifiers") else _head(words, place)
        found.setdefault(head, []).append((name, "not all" if word == "notall" else word))
    return {head: told[0] for head, told in found.items() if len(told) == 1}


def _follows(words: list[str], place: int) -> bool:
    return words[place + 1 : place + 2] == [] or words[place + 1] in _OF_NONE


def _head(words: list[str], place: int) -> str:
    """The noun that is counted: the last word before a verb or preposition would need a parser, so the next one."""
    skipped = word_list("determiners") | {"of", "other", "such"}
    return next((root_of(word) for word in words[place + 1 : place + 5] if word not in skipped), "?")


def _deed(words: list[str], place: int) -> str:
    """What is done always or never: the word behind, or the one before where nothing follows."""
    beside = [*words[place + 1 : place + 2], *words[max(0, place - 1) : place], ""]
    return f"~{root_of(beside[0])}"


def _other_share(claim: str, found: str) -> tuple[str, str] | None:
    ours, theirs = _shares(claim), _shares(found)
    for head in ours.keys() & theirs.keys():
        allowed = table("english")["quantifiers"]["allows"][theirs[head][0]].split()
        if ours[head][0] not in allowed:
            return ours[head][1], theirs[head][1]
    return None


# --- bounds and rates: at least, at most, per month ------------------------------------------------


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(table("english")["quantifiers"][name])


@cache
def _bound(name: str) -> re.Pattern[str]:
    behind = name.startswith("behind")
    told = table("english")["bounds"][name]
    return re.compile(rf"\s*(?:{told})\b" if behind else rf"\b(?:{told})\s*(?:\w+\s+)?[€$£]?\s*$")


@cache
def _before_number() -> re.Pattern[str]:
    bounds = table("english")["bounds"]
    told = f"{bounds['from_below']}|{bounds['from_above']}"
    return re.compile(rf"\b(?:{told})(?=\s+(?:\w+\s+)?(?:[€$£]?\d|(?:{'|'.join(number_words())})\b))")


def without_bounds(text: str) -> str:
    """The text less what bounds its numbers, so that the "no" of "no more than 300" denies nothing; same length."""
    if "than" not in text and _DIGIT.search(text) is None:
        return text
    for found in _before_number().finditer(lower(text)):
        text = text[: found.start()] + " " * len(found.group()) + text[found.end() :]
    return text


@lru_cache(maxsize=8_192)
def _bounds(text: str) -> tuple[tuple[Value, int, str, str], ...]:
    """Each number with 1 where it is the least, -1 where it is the most, else 0, in what words, and its rate."""
    lowered = text.lower()
    return tuple(_bounded(lowered, value) for value in find_values(text))


def _bounded(lowered: str, value: Value) -> tuple[Value, int, str, str]:
    before = lowered[max(0, value.start - _LOOK_BACK) : value.start]
    rate = _RATE.match(lowered, value.end)
    told = rate.group(1) if rate else ""
    below, above = ("from_below", "from_above") if value.kind == "number" else ("after", "until")
    found = [
        (place.start(), sign, place)
        for sign, name in ((-1, above), (1, below))
        if (place := _bound(name).search(before))
    ]
    if not found and value.kind == "number":
        behind = ((-1, "behind_from_above"), (1, "behind_from_below"))
        found = [(0, sign, place) for sign, name in behind if (place := _bound(name).match(lowered, value.end))]
    if not found:
        return value, 0, "", _rates().get(told, "")
    _, sign, place = min(found, key=lambda item: item[0])  # "no fewer than" holds "fewer than"
    return value, sign, " ".join(place.group().split()), _rates().get(told, "")


@cache
def _rates() -> dict[str, str]:
    return {word: name for name, words in table("english")["bounds"]["rates"].items() for word in words.split()}


def _pairs(claim: str, found: str) -> Iterator[tuple[tuple[Value, int, str, str], tuple[Value, int, str, str]]]:
    for ours in _bounds(claim):
        for theirs in _bounds(found):
            if ours[0].keys == theirs[0].keys:
                yield ours, theirs


def _other_bound(claim: str, found: str) -> tuple[str, str] | None:
    """The same number, once from below and once from above, or by another stretch; no sentence has it both ways."""
    alike = list(_pairs(claim, found))
    for (value, sign, told, rate), (_, other_sign, other_told, other_rate) in alike:
        if sign * other_sign < 0 and all(theirs[1] != sign for ours, theirs in alike if ours[0] is value):
            return told, other_told
        if rate and other_rate and rate != other_rate and all(t[3] != rate for o, t in alike if o[0] is value):
            return f"{value.text} per {rate}", f"per {other_rate}"
    return None
