"""What takes the place of what, and which of two is to be had: "A was replaced by B", "either A or B"."""

from __future__ import annotations

import re
from functools import cache

from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stop_words

_LONGEST = 400
_WORD = re.compile(r"[^\W_]+")
_THING = r"(?P<{name}>[^.,;:]{{2,50}}?)"

Things = tuple[frozenset[str], frozenset[str]]


def is_change_turned(claim: str, found: str, language: str | None) -> bool:
    """Whether a text has the old and the new of a claim the other way round, and nowhere as the claim has them."""
    code = _code(language)
    ours = _changes(claim, code)
    theirs = _changes(found, code) if ours else []
    turned = any(_is_of(old, after) and _is_of(new, before) for old, new in ours for before, after in theirs)
    return turned and not any(
        _is_of(old, before) and _is_of(new, after) for old, new in ours for before, after in theirs
    )


def both_for_either(claim: str, found: str, language: str | None) -> tuple[str, str] | None:
    """A claim that gives two things together of which the text lets one choose: how the one and the other say it."""
    code = _code(language)
    given, offered = _pair_pattern(code, "both", "and"), _pair_pattern(code, "either", "or")
    ours = given.search(_plain(claim))
    theirs = offered.search(_plain(found)) if ours and _is_of_one(found, code) else None
    if ours is None or theirs is None or offered.search(_plain(claim)) or given.search(_plain(found)):
        return None
    first, second = (_roots(ours[name], code) for name in ("first", "second"))
    told = _roots(f"{theirs['first']} {theirs['rest']}", code)
    if not first or not second & told or not first <= told:
        return None
    return ours["word"], theirs["word"]


def _is_of_one(text: str, code: str) -> bool:
    return any(map(_plain(text).__contains__, table("exchanges")[code]["one"].split("|")))


def _is_of(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Whether one of the two has all of the other: a name may be told in full or in part."""
    return bool(ours and theirs) and (ours <= theirs or theirs <= ours)


def _changes(text: str, code: str) -> list[Things]:
    """The old and the new of every change that is told, without the words that both share."""
    plain = _plain(text)
    if not any(map(plain.__contains__, table("exchanges")[code]["words"].split())):
        return []
    found = (match for pattern in _change_patterns(code) for match in pattern.finditer(plain))
    pairs = ((_roots(match["old"], code), _roots(match["new"], code)) for match in found)
    return [(old - new, new - old) for old, new in pairs if old - new and new - old]


def _roots(text: str, code: str) -> frozenset[str]:
    return frozenset(root_of(word, code) for word in _WORD.findall(text) if word not in stop_words(code))


def _plain(text: str) -> str:
    return straighten(text[:_LONGEST]).lower()


def _code(language: str | None) -> str:
    return language if language is not None and language in table("exchanges") else "en"


@cache
def _change_patterns(code: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, table("exchanges")[code]["change"]))


@cache
def _pair_pattern(code: str, before: str, between: str) -> re.Pattern[str]:
    words = table("exchanges")[code]
    first, rest = _THING.format(name="first"), r"(?P<rest>(?P<second>[^\W_]+(?: [^\W_]+)?)[^.,;:]{0,50})"
    return re.compile(rf"\b(?P<word>{words[before]}) {first} (?:{words[between]}) {rest}")
