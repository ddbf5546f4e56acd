"""Guesses the language of a text from its function words: cheap, and silent when unsure."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from krino.text.words import table

_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 240
_LATIN_END = "ɏ"
_SURE_WORDS = 12
_SURE_SHARE = 0.12
_SHARED = 0.5

LANGUAGE_NAMES = {"en": "English", "fr": "French", "nl": "Dutch", "de": "German", "other": "another language"}


@cache
def _function_words() -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """For each language its function words: those that no other language has, and those it shares."""
    own = {language: set(words.split()) for language, words in table("words")["stop"].items()}
    found = []
    for language, words in own.items():
        others = set().union(*(theirs for name, theirs in own.items() if name != language))
        found.append((language, frozenset(words - others), frozenset(words & others)))
    return tuple(found)


@lru_cache(maxsize=512)
def guess_language(text: str) -> str | None:
    """`en`, `fr`, `nl`, `de`, `other` for what is none of them, or None when there is too little to tell."""
    sample = text[:_SAMPLE].lower()
    # Function words stand alone: splitting at spaces and apostrophes finds them, and costs a tenth of a pattern.
    words = sample.replace("'", " ").replace("’", " ").split()
    if not sample.isascii():
        words = _WORD.findall(sample)
        if sum(word[0] > _LATIN_END for word in words) * 2 > len(words):
            return "other"
    if not any(map(str.isalpha, sample)):
        return None
    seen = set(words)
    scores = {name: len(seen & own) + _SHARED * len(seen & shared) for name, own, shared in _function_words()}
    first, second = sorted(scores.values(), reverse=True)[:2]
    if first >= max(1.0, _SURE_SHARE * len(seen)) and first > second:
        return max(scores, key=scores.__getitem__)
    return "other" if len(seen) >= _SURE_WORDS and first < _SURE_SHARE * len(seen) else None
