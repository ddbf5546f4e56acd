"""Builds the patterns of the reasoning's two word lists, and detects whether a match of one is negated.

`data/cues.toml` holds regular expressions ("cues"); `data/claims.toml` holds phrases with placeholders ("phrases").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from krino.judges.citation.reasoning import table

CITED, FOUND, OTHER, PLACE = "\ue000", "\ue001", "\ue002", "\ue003"
"""Replace, letter by letter, the names of: the cited court, a candidate of that court, another court, a place."""
_NEGATION_REACH = {"wide": 8, "narrow": 3}
"""How many words a negation may stand before a cue: "not" negates a phrase, "without" only what is next to it."""
_FARTHEST = 200  # characters: without a limit, a text without commas takes quadratic time
# Dutch negates behind the verb: "ik herken de afkorting niet".
_NIET_BEHIND = re.compile(r"(?:\s[^\s,]+){0,6}?\s(?:niet|niets)(?:\s[^\s,]+){0,1}[\s,]*$|\s?(?:niet|niets)(?![a-z])")


@cache
def cue_pattern(section: str, name: str) -> re.Pattern[str]:
    """Returns the pattern that matches any cue of a list in `cues.toml`."""
    return re.compile(f"(?<![a-z0-9])(?:{_join(table('cues')[section][name])})")


def has_cue(name: str, text: str) -> bool:
    """Does a text hold a cue of this list of words?"""
    return cue_pattern("words", name).search(text) is not None


@cache
def phrase_pattern(section: str, name: str) -> re.Pattern[str]:
    """Returns the pattern that matches any phrase of a list in `claims.toml`."""
    ends = "|(?<=[a-z])n't(?![a-z])" if section == "negation" else ""
    return re.compile(rf"(?<![a-z0-9])(?:{_join(map(phrase_to_regex, table('claims')[section][name]))}){ends}")


@cache
def objecting_pattern() -> re.Pattern[str]:
    """Returns the pattern of every word that can object: one search saves splitting most reasonings into clauses."""
    lists = table("claims")
    stances = [phrase for name in ("differ", "unknown", "costs", "lack") for phrase in lists["stances"][name]]
    phrases = dict.fromkeys([*lists["negation"]["wide"], *lists["negation"]["narrow"], *stances])
    return re.compile(rf"(?<![a-z0-9])(?:{_join(map(phrase_to_regex, phrases))})|n't")


@cache
def join_pattern() -> re.Pattern[str]:
    """Returns the pattern of clause ends: a punctuation mark or a joining word."""
    words, after_comma = (table("claims")["joins"][name] for name in ("words", "after_comma"))
    forms = _join(map(phrase_to_regex, sorted(words, key=len, reverse=True)))
    return re.compile(
        rf"(?P<mark>[:;()]|\s[-\u2013\u2014]\s)|(?<![a-z'])(?:{forms})|,\s*(?:{'|'.join(after_comma)})(?![a-z])"
    )


def _join(forms: Iterable[str]) -> str:
    """Joins forms into one alternation, grouped by first letter, so that most words fail at the first comparison."""
    by_letter: dict[str, list[str]] = {}
    others = []
    for form in forms:
        if form[:1].isalpha() and form[1:2] not in ("?", "*", "+", "{"):
            by_letter.setdefault(form[0], []).append(form[1:])
        else:
            others.append(form)
    grouped = [f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items()]
    return "|".join((*grouped, *(f"(?:{form})" for form in others)))


def phrase_to_regex(phrase: str) -> str:
    """Returns a phrase of the table as a regular expression; `claims.toml` explains its signs."""
    joined = ""
    for word in phrase.split():
        if word == "...":
            joined += r"(?:\s\S+){0,3}?"
        else:
            form = word.replace(".", r"\.").replace("*", "[a-z-]*").replace("§", f"[{CITED}{FOUND}]+")
            joined += rf"\s+{form}" if joined else form
    return joined if joined.endswith("'") else rf"{joined}(?![a-z])"


def is_negated(text: str, start: int, end: int, topics: Iterable[int] = ()) -> bool:
    """Does a negation reach the cue at `start`? "without" and the like reach no further than the topic behind them.

    `topics`: offsets at which the topics of the text begin.
    """
    low = max(text.rfind(",", 0, start) + 1, start - _FARTHEST)
    for reach, most in _NEGATION_REACH.items():
        for match in phrase_pattern("negation", reach).finditer(text, low, start):
            stopped = reach == "narrow" and any(match.end() <= topic < start for topic in topics)
            if not stopped and len(text[match.end() : start].split()) <= most:
                return True
    return _NIET_BEHIND.match(text, end) is not None


def denies(section: str, name: str, text: str) -> bool:
    """Does a text hold a phrase of this list that is negated?"""
    return any(is_negated(text, *match.span()) for match in phrase_pattern(section, name).finditer(text))


def affirms(section: str, name: str, text: str) -> bool:
    """Does a text hold a phrase of this list that is not negated?"""
    return any(not is_negated(text, *match.span()) for match in phrase_pattern(section, name).finditer(text))
