"""Tells the language of a text: by its function words where they are plain, else by a trained detector."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from krino.text.words import table

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

READ_LANGUAGES = ("en", "fr", "nl", "de", "es")
"""The languages for which there are function words, and so everything that rests on words."""
NO_LANGUAGE = "zxx"
"""What the detector calls text in no language at all: keys hit at random."""

_WORD = re.compile(r"[^\W\d_]+")
_MEASURE = re.compile(r"\d\s?[^\W\d_]\b")
"""A letter after a number is a unit: "5 m" is not French."""
_SAMPLE = 400
_PLAINLY_ENGLISH = " the "
_LATIN_END = "ɏ"
_SHARED = 0.5
_PLAIN_WORDS = 3
_PLAIN_SHARE = 0.25
_LIKELY = 0.6
"""The detector's probability from which it is followed; it is calibrated for the length of the text."""
_POSSIBLE = 0.2
_DOUBTFUL = 0.4
_SURE = 0.8
_SURE_WORDS = 4


def language_name(code: str) -> str:
    """The name of a language by its code; "the language `xx`" if it is not known."""
    named: str = table("languages")["names"].get(code, f"the language `{code}`")
    return named


@lru_cache(maxsize=2_048)
def guess_language(text: str) -> str | None:
    """Returns the language code; None if the text is too short to tell, `und` for another script without a known
    language.

    A short text is assumed to be in one of `READ_LANGUAGES`.
    """
    sample = text[:_SAMPLE]
    words = _WORD.findall(_MEASURE.sub(" ", sample.lower()))
    if not words:
        return None
    if _is_other_script(words):
        code = _detect(sample)[0]
        return "und" if code in READ_LANGUAGES else code
    if (plain := _by_function_words(words)) is not None:
        return plain
    code, share = _detect(sample)
    if code != NO_LANGUAGE and share >= _LIKELY and (code in READ_LANGUAGES or len(words) >= _SURE_WORDS):
        return code
    return _likeliest(sample, words, doubtful=share < _DOUBTFUL or code in READ_LANGUAGES)


@lru_cache(maxsize=2_048)
def foreign_language(text: str) -> str | None:
    """The code of a language that is surely none of the read ones; None where it is one of them, or in doubt."""
    sample = text[:_SAMPLE]
    words = _WORD.findall(sample.lower())
    if not words:
        return None
    if _is_other_script(words):
        return guess_language(text)
    if len(words) < _SURE_WORDS or _by_function_words(words) is not None:
        return None
    code, share = _detect(sample)
    return code if share >= _SURE and code not in (*READ_LANGUAGES, NO_LANGUAGE) else None


@lru_cache(maxsize=2_048)
def plain_language(text: str) -> str | None:
    """The code of the read language in which a text is surely written; None where there is any doubt."""
    words = _WORD.findall(text[:_SAMPLE].lower())
    plain = _by_function_words(words)
    if plain is not None:
        return plain
    if len(words) < _SURE_WORDS or _is_other_script(words):
        return None
    code, share = _detect(text[:_SAMPLE])
    return code if share >= _SURE and code in READ_LANGUAGES else None


@lru_cache(maxsize=2_048)
def is_gibberish(text: str) -> bool:
    """Whether a text is letters at random; short ones, and all with a function word in them, are given the benefit."""
    sample = text[:_SAMPLE]
    if _PLAINLY_ENGLISH in sample:  # a function word that no other language has: most texts need no further look
        return False
    words = _WORD.findall(sample.lower())
    if sum(len(word) > 2 for word in words) < _PLAIN_WORDS or _is_other_script(words) or _own_words(words):
        return False
    code, share = _detect(sample)
    return code == NO_LANGUAGE and share >= _SURE


@cache
def _function_words() -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Returns for each language its function words: those that no other language has, and those it shares."""
    own = {language: set(words.split()) for language, words in table("words")["stop"].items()}
    found = []
    for language, words in own.items():
        others = set().union(*(theirs for name, theirs in own.items() if name != language))
        found.append((language, frozenset(words - others), frozenset(words & others)))
    return tuple(found)


def _own_words(words: list[str]) -> dict[str, int]:
    """How many words each language has that no other one has; those without any are left out."""
    seen = {word for word in words if len(word) > 1}
    return {name: count for name, own, _ in _function_words() if (count := len(seen & own))}


def _by_function_words(words: list[str]) -> str | None:
    """The language whose own function words are many and nearly alone, else None: most texts need no detector."""
    own = sorted(_own_words(words).items(), key=lambda item: -item[1])
    if not own or own[0][1] < _PLAIN_WORDS or own[0][1] < _PLAIN_SHARE * len(set(words)):
        return None
    return own[0][0] if len(own) == 1 or own[1][1] * 3 <= own[0][1] else None


def _likeliest(sample: str, words: list[str], doubtful: bool) -> str | None:
    """Returns the read language that the detector thinks possible, or if it has no idea (`doubtful`), the one of the
    function words; else None."""
    shares = dict(_identifier().rank(sample))
    best = max(READ_LANGUAGES, key=lambda code: shares.get(code, 0.0))
    if shares.get(best, 0.0) >= _POSSIBLE:
        return best
    if not doubtful:
        return None
    seen = set(words)
    scores = {name: len(seen & own) + _SHARED * len(seen & shared) for name, own, shared in _function_words()}
    first, second = sorted(scores.values(), reverse=True)[:2]
    return max(scores, key=scores.__getitem__) if first >= 1 and first > second else None


def _is_other_script(words: list[str]) -> bool:
    return sum(len(word) for word in words if word[0] > _LATIN_END) * 2 > sum(map(len, words))


def _detect(sample: str) -> tuple[str, float]:
    """The detector's language code (a close relative's, where the table names one) and its probability."""
    code, share = _identifier().classify(sample)
    return table("languages")["close_to"].get(code, str(code)), float(share)


@cache
def _identifier() -> LanguageIdentifier:
    """Loaded when a text first needs it: that takes about a second."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
