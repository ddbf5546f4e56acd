"""Marks units of an answer that perhaps make no claim, and finds those of them that hold a statement all the same.

A hint removes nothing. It is shown to a model as a hint, and the embedded labeller sets a marked unit aside only where
no statement is found in it: "## Side effects" is a title, "**You can take it during pregnancy.**" is not.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Literal

from krino.judges.rag.reading.grammar import verb_form, word_list
from krino.judges.rag.reading.value_words import has_digit
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stop_words

Hint = Literal["heading", "lead-in", "courtesy", "source"]
Statement = Literal["yes", "perhaps", "no"]
"""`perhaps`: a statement only if it speaks of what the passages are about."""

_LONGEST = 1_000
"""Characters of a unit that can be looked at; a longer one is never marked."""
_LONGEST_TITLE = 10
"""Words up to which a line without a verb is a title."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CLAUSE = re.compile(r"\s*[,;:–—(]+\s+|\s+-\s+")
_LABELLED = re.compile(r"([^:=–—\n]*\w[^:=–—\n]*?)(?:\s*:|\s+[=–—-])\s+(\S.*)", re.S)
_COUNTED = re.compile(r"^(?:\d+|\w+ (?:\d+|\w|[ivx]+))\W*$", re.I)
"""A label that counts: "Step 1", "Option B", "Part II"."""
_INSIDE = re.compile(r"[,;:–—]\s+(?=\S)")


def find_hint(text: str, *, is_heading: bool) -> Hint | None:
    """What a unit looks like if it makes no claim; None where nothing suggests that."""
    if len(text) > _LONGEST:
        return None
    if is_heading:
        return "heading"
    if text.rstrip("*_ ").endswith(":"):
        return "lead-in"
    plain = straighten(text).lower().strip(" *_¡¿")
    if has_digit(plain):
        return "source" if _whole("sources").fullmatch(plain) else None
    return "courtesy" if _whole("says_nothing").fullmatch(plain) else None


def find_statement(text: str, hint: Hint, language: str | None) -> Statement:
    """Whether a marked unit states something, as far as its wording shows."""
    told = straighten(text).strip(" *_:")
    if hint == "courtesy":
        return _in_courtesy(told, language)
    if told.endswith("?"):
        return "yes"  # a question is read as one, wherever it stands
    words = _words(told)
    if not words or _opens_title(words, told, language):
        return "no"
    if hint == "lead-in":
        return "perhaps" if _has_verb(words, language) else "no"
    if answers_yes_or_no(told) or not _finite(language).isdisjoint(words):
        return "yes"
    if (given := _find_given_value(told, language)) != "no":
        return given
    if _has_verb(words, language):
        return "perhaps"
    closed = told.endswith((".", "!"))
    return "perhaps" if len(words) > (_LONGEST_TITLE // 2 if closed else _LONGEST_TITLE) else "no"


def _find_given_value(text: str, language: str | None) -> Statement:
    """Whether a line without a verb gives something a value: "Deposit: none"; "Maximum dose: 8 g" perhaps does.

    "Step 1: Preparation" counts and "Aspirin: side effects" names a part. A name behind the colon is not looked at:
    "Winner: Bob Stone" looks like the title "Overview: Side Effects".
    """
    found = _LABELLED.fullmatch(text[:_LONGEST])
    if found is None or _COUNTED.search(found[1]) is not None:
        return "no"
    words = _words(found[2])
    if words and words[0] in _predicates(language):
        return "yes"
    return "perhaps" if has_digit(found[2]) else "no"


def answers_yes_or_no(text: str) -> bool:
    """Whether a text opens with a yes or a no, and so says something whatever follows."""
    words = _words(text[:_LONGEST])
    return bool(words) and words[0] in _answers_by_itself()


def _in_courtesy(text: str, language: str | None) -> Statement:
    """ "Let me know if that is a problem, since the tower is shut": the clause behind the formula states something.

    A clause counts if it has a verb and a word that is not of the courtesy itself.
    """
    for place, clause in enumerate(_clauses(text, language)):
        words = _words(clause)
        said = [word for word in words if word not in _polite(language)]
        if not said or words[0] in ("if", "whether", "when"):
            continue
        if _states_of(words, language) or (place > 0 and _has_verb(words, language)):
            return "yes"
    return "no"


def _clauses(text: str, language: str | None) -> list[str]:
    joining = table("answers")["statement"]["joining"].get(language or "en", "")
    pattern = rf"{_CLAUSE.pattern}|\s+(?:{'|'.join(joining.split())})\s+" if joining else _CLAUSE.pattern
    return re.split(pattern, text.lower())


def _states_of(words: list[str], language: str | None) -> bool:
    """Whether a word of the matter stands right before a finite verb: "the medicine is safe", not "this is clear"."""
    finite, polite = _finite(language), _polite(language)
    return any(after in finite and word not in polite for word, after in pairwise(words))


def _has_verb(words: list[str], language: str | None) -> bool:
    return find_verb(words, language) is not None


def find_verb(words: list[str], language: str | None) -> int | None:
    """The place of a verb among words in lower case: a finite one of the closed class; in English also one in the past,
    with "he", or at the head of an order."""
    finite = _finite(language)
    for place, word in enumerate(words):
        if word in finite:
            return place
    if language not in (None, "en") or len(words) < 3:
        return None
    form = verb_form(words[0])
    if form is not None and form[1] == "base" and words[0] not in _polite(language):
        return 0
    for place, (before, word) in enumerate(pairwise(words[:-1]), 1):
        if _is_told(word) and before not in word_list("determiners"):
            return place
    return None


def _is_told(word: str) -> bool:
    form = verb_form(word)
    return form is not None and form[1] in ("past", "both", "third")


def _opens_title(words: list[str], text: str, language: str | None) -> bool:
    """ "What you need to do", "Here is how it works": it names or announces, and no other clause follows."""
    data = table("answers")["statement"]["titles"]
    opens = frozenset(data.get(language or "en", "").split())
    return words[0] in opens and _INSIDE.search(text) is None


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@cache
def _finite(language: str | None) -> frozenset[str]:
    return frozenset(table("answers")["statement"]["finite"].get(language or "en", "").split())


@cache
def _predicates(language: str | None) -> frozenset[str]:
    return frozenset(table("answers")["statement"]["predicates"].get(language or "en", "").split())


@cache
def _answers_by_itself() -> frozenset[str]:
    polarity = table("local")["polarity"]
    return frozenset([*polarity["yes"], *polarity["no"]])


@cache
def _polite(language: str | None) -> frozenset[str]:
    """Words of courtesies and function words."""
    data = table("answers")
    words = data["talk"]["about"], data["talk"]["words"], data["statement"]["courtesy"]["words"]
    return frozenset(" ".join(words).split()) | stop_words(language)


@cache
def _whole(name: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in table("answers")[name]))
