"""Reads numbers that are written in words: "two hundred and ten", "quatre-vingt-dix-sept", "drieduizend"."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from krino.judges.rag.values.vocabulary import LETTERS, scale_words, small_number_words, words_for

_COMPOUND_PARTS = (("duizend", 1000), ("tausend", 1000), ("honderd", 100), ("hundert", 100))
_COMPOUND = re.compile(r"duizend|tausend|honderd|hundert|[tzß]ig\b")
_COMPOUND_PIECES = ("duizend", "tausend", "honderd", "hundert", "tig", "zig", "ßig")


def has_compound(lowered: str) -> bool:
    """Has a text in lower case a word such as "zweitausend"?

    Looking for pieces is far cheaper than the pattern, and most texts have none.
    """
    return any(map(lowered.__contains__, _COMPOUND_PIECES)) and _COMPOUND.search(lowered) is not None


def read_run(lowered: str, start: int) -> tuple[Decimal, int] | None:
    """Returns the number that words from here on name, and where they end; or None.

    By the grammar of counting: "two three" is two.
    """
    total = current = room = Decimal(0)
    place = end = start
    began = False
    while found := LETTERS.match(lowered, place):
        word = found.group()
        small = small_number_words().get(word)
        small = read_compound(word) if small is None else small
        if began and room >= 10 and _is_joined_one(lowered, found.start(), word):
            small = Decimal(1)
        scale = scale_words().get(word) if len(word) > 2 or (word == "k" and began) or word == "mil" else None
        if small is not None and (not began or (current == 4 and word.startswith("vingt")) or small < room):
            current = Decimal(80) if began and current == 4 and word.startswith("vingt") else current + small
            room = _limit_next(current, word)
        elif scale is not None and (
            not began or (scale <= 100 and current < 100) or (scale >= 1000 and total % scale == 0)
        ):
            current = max(current, Decimal(1)) * scale
            room = scale
            if scale >= 1000:
                total, current = total + current, Decimal(0)
        elif not (began and word in words_for("numbers", "joiners") and room >= 10):
            break
        else:
            following = LETTERS.match(lowered, found.end() + 1)
            joined = following and (
                following.group() in small_number_words() or following.group() in words_for("numbers", "one")
            )
            if not joined or lowered[found.end() : found.end() + 1] not in " -":
                break
            place = found.end() + 1
            continue
        began, end = True, found.end()
        if lowered[end : end + 1] not in (" ", "-", "\u00a0"):
            break
        place = end + 1
    return (total + current, end) if began else None


def _is_joined_one(lowered: str, start: int, word: str) -> bool:
    """ "Forty-one", "vingt et un", "treinta y uno": elsewhere "one" is a pronoun or an article."""
    if word not in words_for("numbers", "one"):
        return False
    return lowered[start - 1 : start] == "-" or lowered[max(0, start - 4) : start].endswith((" et ", "-et-", " y "))


def _limit_next(current: Decimal, word: str) -> Decimal:
    """Returns below what a following word must stay to belong to the same number ("soixante-dix")."""
    rest = current % 100
    if not rest:
        return Decimal(100)
    if rest in (60, 80):
        return Decimal(20)
    return Decimal(10) if rest % 10 == 0 and (rest > 10 or word == "dix") else Decimal(0)


@lru_cache(maxsize=4_096)
def read_compound(word: str) -> Decimal | None:
    """Returns a Dutch or German number in one word ("drieduizend", "zweihundertfünfzig", "vijfentwintig"), or None."""
    if not word:
        return None
    for name, size in _COMPOUND_PARTS:
        before, found, after = word.partition(name)
        if found:
            many = Decimal(1) if before in ("", "ein", "een") else _plain(before)
            rest = Decimal(0) if not after else _plain(after.removeprefix("en").removeprefix("und"))
            return None if many is None or rest is None else many * size + rest
    for joiner in ("en", "ën", "und"):
        before, found, after = word.partition(joiner)
        while found:
            unit = Decimal(1) if before in ("ein", "een", "één") else small_number_words().get(before)
            tens = small_number_words().get(after)
            if unit is not None and tens is not None and unit < 10 <= tens and tens % 10 == 0:
                return unit + tens
            more, found, after = after.partition(joiner)
            before = f"{before}{joiner}{more}"
    return None


def _plain(word: str) -> Decimal | None:
    small = small_number_words().get(word)
    return read_compound(word) if small is None else small
