"""Small edits of true sentences that make them false, or say more than was said: numbers, names, denial, degree.

Each edit takes a sentence and a random source and returns the edited sentence, or None where it finds nothing to edit.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

Edit = Callable[[str, Random], str | None]

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"\b[A-Z][\w'’-]+(?:\s+(?:of|de|van|von|the)?\s*[A-Z][\w'’-]+)*")
_TRAILING = re.compile(
    r",\s+((?:which|who|where|whose|and|but|with|making|including|leading|according|while)\b[^,]{8,80})\.$"
)
_LEADING = re.compile(r"^((?:In|On|At|During|After|Before|According to|Since|By|As of)\b[^,]{2,50}),\s+")
_LAST_PHRASE = re.compile(r"\s(?:in|on|at|by|with|from|during|near|through|under|for)\s[^,.;()]{3,40}(?=\.$)")
_PARENTHESES = re.compile(r"\s*[(\[][^()\[\]]{1,120}[)\]]")


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "edits.toml").read_text("utf-8"))


@cache
def _stronger() -> dict[str, str]:
    pairs = (pair.split() for pair in _table()["stronger"]["pairs"].replace("\n", " ").split(","))
    return {first.replace("_", " "): second.replace("_", " ") for first, second in pairs}


@cache
def _series() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_table()["names"][name].split()) for name in ("months", "days", "numbers", "ordinals"))


@cache
def _phrases(name: str) -> dict[str, tuple[str, ...]]:
    """A table of pairs, read both ways; `_` stands for a space."""
    found: dict[str, list[str]] = {}
    for pair in _table()[name]["pairs"].replace("\n", " ").split(","):
        first, second = (word.replace("_", " ") for word in pair.split())
        found.setdefault(first.lower(), []).append(second)
        found.setdefault(second.lower(), []).append(first)
    return {word: tuple(others) for word, others in found.items()}


@cache
def _word_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(r"\b(" + "|".join(map(re.escape, longest_first)) + r")\b", re.IGNORECASE)


def put(text: str, match: re.Match[str], new: str) -> str:
    """The text with something new in the place of the match, with a capital where that had one."""
    if match.group()[0].isupper():
        new = new[0].upper() + new[1:]
    return text[: match.start()] + new + text[match.end() :]


def _pick(pattern: re.Pattern[str], text: str, random: Random) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return random.choice(found) if found else None


# --- what contradicts -------------------------------------------------------------------------------


def change_number(text: str, random: Random) -> str | None:
    """Another number or year of about the same size."""
    match = _pick(_NUMBER, text, random)
    if match is None:
        return _change_spelled(text, random)
    digits = match.group()
    if len(digits) == 4 and digits.isdecimal() and digits[0] in "12":
        return put(text, match, str(int(digits) + random.choice((-1, 1)) * random.choice((1, 2, 3, 5, 10, 20, 100))))
    places = [place for place, sign in enumerate(digits) if sign.isdecimal()]
    place = random.choice(places[:2])
    new = str(random.choice([value for value in range(1, 10) if str(value) != digits[place]]))
    return put(text, match, digits[:place] + new + digits[place + 1 :])


def _change_spelled(text: str, random: Random) -> str | None:
    """Another month, day, number or rank in words."""
    for series in random.sample(_series(), len(_series())):
        match = _pick(_word_pattern(series), text, random)
        if match is not None and (match.group()[0].isupper() or series[0].islower()):
            others = [word for word in series if word.lower() != match.group().lower()]
            return put(text, match, random.choice(others))
    return None


def deny(text: str, random: Random) -> str | None:
    """Puts a `not` in, or takes it out."""
    if match := re.search(r"\b(not|n't|never|cannot)\b ?", text):
        return put(text, match, "can " if match.group().startswith("cannot") else "")
    match = _pick(_word_pattern(tuple(_table()["denial"]["auxiliaries"].split())), text, random)
    return None if match is None or match.group() == "May" else text[: match.end()] + " not" + text[match.end() :]


def turn_round(text: str, random: Random) -> str | None:
    """A word becomes its opposite."""
    match = _pick(_word_pattern(tuple(_phrases("opposites"))), text, random)
    return None if match is None else put(text, match, random.choice(_phrases("opposites")[match.group().lower()]))


def plain_words() -> set[str]:
    """Words that begin with a capital and name nothing."""
    return set(_table()["names"]["plain"].split())


def names_of(text: str) -> list[re.Match[str]]:
    """What looks like a name: capitals that are not just the beginning of the sentence."""
    plain = plain_words()
    return [match for match in _NAME.finditer(text) if match.group().split()[0] not in plain and match.start() > 0]


def change_name(others: Sequence[str]) -> Edit:
    """Puts one of `others` in the place of a name."""

    def edit(text: str, random: Random) -> str | None:
        names = names_of(text)
        if not names or not others:
            return None
        match, new = random.choice(names), random.choice(others)
        return None if new in text or match.group() in new else text[: match.start()] + new + text[match.end() :]

    return edit


# --- what says more than was said -------------------------------------------------------------------


def make_stronger(text: str, random: Random) -> str | None:
    match = _pick(_word_pattern(tuple(_stronger())), text, random)
    return None if match is None else put(text, match, _stronger()[match.group().lower()])


def add_detail(details: Sequence[str]) -> Edit:
    """Hangs a detail of another text on the sentence."""

    def edit(text: str, random: Random) -> str | None:
        detail = random.choice(details) if details else ""
        if not detail or not text.endswith("."):
            return None
        if detail[0].isupper():
            return f"{detail}, {lower_first(text)}"
        return f"{text[:-1]}, {detail}."

    return edit


def add_phrase(phrases: Sequence[str]) -> Edit:
    """Ends the sentence with a phrase of place, time or manner that ended another one."""

    def edit(text: str, random: Random) -> str | None:
        phrase = random.choice(phrases) if phrases else ""
        return f"{text[:-1]}{phrase}." if phrase and phrase not in text and text.endswith(".") else None

    return edit


def phrases_of(text: str) -> list[str]:
    return [match.group() for match in [_LAST_PHRASE.search(text)] if match]


def details_of(text: str) -> list[str]:
    """The details that hang on a sentence: what stands before its first or behind its last comma."""
    found = [match.group(1) for pattern in (_TRAILING, _LEADING) for match in [pattern.search(text)] if match]
    return [detail for detail in found if not detail.startswith(("and", "but", "On the other", "In other", "In add"))]


# --- what says less, and stays true -----------------------------------------------------------------


def shorten(text: str, random: Random) -> str | None:
    """Leaves out a bracket, what leads the sentence in, what trails behind it, or its last phrase."""
    ways = [
        _LAST_PHRASE.sub("", text),
        _PARENTHESES.sub("", text, count=1),
        _TRAILING.sub(".", text),
        _LEADING.sub("", text),
    ]
    shorter = [way for way in ways if way != text and len(way.split()) >= 5]
    if not shorter:
        return None
    chosen = random.choice(shorter)
    return chosen[0].upper() + chosen[1:]


def rephrase(text: str, random: Random) -> str | None:
    """Says the same in slightly other words: one or two synonyms, a phrase moved, an opening that adds nothing."""
    changed = text
    for _ in range(random.randint(1, 3)):
        match = _pick(_word_pattern(tuple(_phrases("rephrasing"))), changed, random)
        if match is not None:
            changed = put(changed, match, random.choice(_phrases("rephrasing")[match.group().lower()]))
    if (leading := _LEADING.match(changed)) and changed.endswith(".") and random.random() < 0.7:
        rest, phrase = changed[leading.end() : -1], leading.group(1)
        changed = f"{rest[0].upper()}{rest[1:]} {phrase[0].lower()}{phrase[1:]}."
    elif random.random() < 0.15:
        changed = f"{random.choice(_table()['rephrasing']['openings'])}, {lower_first(changed)}"
    return changed if changed != text else None


def lower_first(text: str) -> str:
    """Lower case for a first word that names nothing."""
    plain = plain_words() - {"I"}
    return text[0].lower() + text[1:] if text.split()[0] in plain else text
