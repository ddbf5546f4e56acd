"""The words of a text, their stems (by English endings in every language), and the function words of each language."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from krino.text.package_data import PackageData

table = PackageData(__name__.rpartition(".")[0]).table
_VOWEL = re.compile(r"[aeiouyàâäéèêëïîôöùûü]")
_SIGNS = ".,;:!?()[]{}\"'’‘“”«»-–—/\n\t"
_NO_SIGNS = str.maketrans(dict.fromkeys(_SIGNS, " "))
_NO_ASCII_SIGNS = bytes.maketrans(signs := "".join(filter(str.isascii, _SIGNS)).encode(), b" " * len(signs))


@cache
def stop_words(language: str | None) -> frozenset[str]:
    """The function words of a language; those of English if it is unknown."""
    stops = table("words")["stop"]
    return frozenset(stops.get(language or "en", stops["en"]).split())


@cache
def _irregular() -> dict[str, str]:
    return dict(table("words")["irregular"])


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A light stem by English endings: plural, past and gerund meet, different words are not merged."""
    if word in _irregular():
        return _irregular()[word]
    if len(word) <= 3:
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    for suffix, shortest in (("ing", 6), ("ed", 5), ("ion", 7), ("ions", 8), ("ly", 6)):
        if word.endswith(suffix) and len(word) >= shortest and _VOWEL.search(word[: -len(suffix)]):
            return _trim(word[: -len(suffix)])
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if word.endswith("en") and len(word) > 5:
        word = word[:-2]
    return _trim(word)


def _trim(root: str) -> str:
    """A root without the second of two equal consonants at its end (`stopp`), and without a final `e`."""
    if len(root) > 3 and root[-1] == root[-2] and root[-1] not in "aeiousl":
        root = root[:-1]
    return root[:-1] if root.endswith("e") and len(root) > 3 else root


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, cut at spaces and signs: for cheap looks."""
    if text.isascii():  # bytes are looked up in a table, other letters one by one
        return text.lower().encode().translate(_NO_ASCII_SIGNS).decode().split()
    return text.lower().translate(_NO_SIGNS).split()


@lru_cache(maxsize=8)
def word_set(text: str) -> frozenset[str]:
    """The words of a text in lower case, without repeats. The last few are remembered: several look at one text in a
    row."""
    return frozenset(plain_words(text))
