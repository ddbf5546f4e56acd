"""What the reader knows of English grammar: forms of verbs, function words, and words that are told for each other."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache, lru_cache
from typing import Literal

from krino.judges.rag.tables import table
from krino.text.words import stem

Form = Literal["base", "third", "past", "participle", "both", "gerund"]
"""`both`: past and participle in one, as in "closed"."""
_DOUBLED = re.compile(r"[^aeiou][aeiou][bdgklmnprt]$")
_WORD = re.compile(r"[^\W_]+")


@cache
def word_list(name: str, section: str = "verbs") -> frozenset[str]:
    return frozenset(table("english")[section][name].split())


@cache
def _irregular() -> dict[str, tuple[str, str]]:
    """Past and participle of each verb that has its own."""
    entries = (entry.split() for entry in table("english")["verbs"]["irregular"].split(","))
    return {base: (past, participle) for base, past, participle in entries}


def all_forms(base: str) -> list[str]:
    """Every form of a verb, in a list or not: of "shrink" also "shrinks", "shrinking", "shrank", "shrunk"."""
    past = _irregular().get(base) or (_with_ending(base, "ed"), _with_ending(base, "ed", doubled=False))
    return [base, _third(base), _with_ending(base, "ing"), _with_ending(base, "ing", doubled=False), *past]


@cache
def _forms() -> dict[str, tuple[str, Form]]:
    """For each form of a verb its base and what form it is; the first of several stands."""
    found: dict[str, tuple[str, Form]] = {}
    for base, (past, participle) in _irregular().items():
        alike = past == participle
        found.setdefault(past, (base, "both" if alike else "past"))
        found.setdefault(participle, (base, "participle"))
        found.setdefault(base, (base, "base"))
        found.setdefault(_third(base), (base, "third"))
        found.setdefault(_with_ending(base, "ing"), (base, "gerund"))
    for base in table("english")["verbs"]["regular"].split():
        found.setdefault(base, (base, "base"))
        found.setdefault(_third(base), (base, "third"))
        for past in {_with_ending(base, "ed"), _with_ending(base, "ed", doubled=False)}:
            found.setdefault(past, (base, "both"))
        found.setdefault(_with_ending(base, "ing"), (base, "gerund"))
    return found


def plural(noun: str) -> str:
    """A noun takes the ending that a verb has with "he"; for what is no noun the word that comes out does no harm."""
    return _third(noun)


def _third(base: str) -> str:
    if base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


def _with_ending(base: str, ending: str, doubled: bool = True) -> str:
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        return base[:-1] + ending
    if ending == "ed" and base.endswith("y") and base[-2] not in "aeiou":
        return f"{base[:-1]}ied"
    return base + (base[-1] if doubled and _DOUBLED.search(base) else "") + ending


@lru_cache(maxsize=16_384)
def verb_form(word: str) -> tuple[str, Form] | None:
    """The base of a verb's form in lower case, and which form it is; a word in -ed that no list has is one too."""
    known = _forms().get(word)
    if known is None and word.endswith("ed") and len(word) > 5:
        return stem(word), "both"
    return known


@cache
def _same() -> dict[str, str]:
    return {stem(word): stem(group.split()[0]) for group in table("synonyms")["groups"] for word in group.split()}


@cache
def _same_in(language: str) -> dict[str, str]:
    """The same for a language that no model reads; the groups hold every form that is meant."""
    groups = table("synonyms")["others"].get(language, ())
    return {stem(word): stem(group.split()[0]) for group in groups for word in group.split()}


@lru_cache(maxsize=65_536)
def root_of(word: str, language: str | None = None) -> str:
    """The stem of a word in lower case, or that of the word which stands for all that mean the same."""
    root = stem(word)
    known = _same() if language is None or language == "en" else _same_in(language)
    return known.get(root, root)


@cache
def _phrases() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, table('synonyms')['phrases']))})\b", re.I)


@cache
def _words_of_phrases() -> dict[str, tuple[frozenset[str], ...]]:
    """For a first, cheap look: all words of each phrase, by its longest."""
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for phrase in table("synonyms")["phrases"]:
        words = _WORD.findall(phrase)
        longest = max(words, key=len)
        found[longest] = (*found.get(longest, ()), frozenset(words))
    return found


def has_phrases(words: Set[str]) -> bool:
    """A first, cheap look at the words of a text: whether `in_one_word` could change it."""
    known = _words_of_phrases()
    return any(phrase <= words for word in known.keys() & words for phrase in known[word])


def in_one_word(text: str) -> str:
    """Several words for one thing as one word: "laid off" is "dismissed"."""
    if not has_phrases(frozenset(_WORD.findall(text.lower()))):
        return text
    one: dict[str, str] = table("synonyms")["phrases"]
    return _phrases().sub(lambda found: one.get(found.group().lower(), found.group()), text)  # "laıd off" is found too


# --- degrees of adjectives -------------------------------------------------------------------------


def _adverb(word: str) -> str:
    if word.endswith("le") and word[-3] not in "aeiou":
        return f"{word[:-1]}y"
    return f"{word[:-1]}ily" if word.endswith("y") else f"{word}ly"


def _more(word: str) -> str:
    return f"{word[:-1]}ier" if word.endswith("y") else _with_ending(word, "er")


def _most(word: str) -> str:
    return f"{word[:-1]}iest" if word.endswith("y") else _with_ending(word, "est")


DEGREES = (_adverb, _more, _most)
"""What makes an adverb, a comparative and a superlative of an adjective; words that do not exist do no harm."""
