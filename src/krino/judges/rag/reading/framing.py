"""Finds the statement inside a frame, and what an answer says about the truth of its own statements.

"Did you know that T?", "Feel free to note that T" and "T, right?" assert T. "It is a myth that T", "False: T" and
struck text deny it, and "None of this is true" takes back what came before. Without the frame T looks supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from functools import cache
from typing import Literal, NamedTuple

from krino.judges.rag.reading.words import read_sentence
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.language import READ_LANGUAGES

_WORD = re.compile(r"[^\W\d_]+(?:'t\b)?")
_STRUCK = re.compile(r"\s*(?:~~(?P<said>.+?)~~|<(?P<tag>s|del|strike)>(?P<after>.+?)</(?P=tag)>)[\s.!*_]*", re.I | re.S)
_CROSSED = re.compile(
    r"\s*(?:[❌✖✗✘🚫⛔👎]\ufe0f?\s*(?P<said>\w.+)|(?P<after>\w[^❌✖✗✘🚫⛔👎]*)[❌✖✗✘🚫⛔👎]\ufe0f?\s*)", re.S
)
"""A cross beside a statement says that it is false."""
_LABEL = re.compile(r"(?P<label>[^:\n]{1,60}?)\s?:\s+(?=\S)")
_SUFFIX = re.compile(
    r"(?:\s[-–—]|:|;|,\s(?:which|ce qui|wat|was|lo que))\s(?P<suffix>[^:;–—]{2,60}(?::\s[^:;–—]{2,20})?)$"
    r"|\((?P<note>[^()]{2,40})\)\W*$"
)
_LONGEST = 1_000
"""Characters of a sentence that are looked at."""
_LABEL_WORDS = 4
_RETRACTION_WORDS = 16
_SHORTEST_STATEMENT = 3
_TAG_WORDS = 3
_ADVERBIAL_WORDS = 9
_EDGES = " ,;:\"'*_"

Scope = Literal["before", "all_before", "after"]


class Stated(NamedTuple):
    """A statement without its frame; `denied` where the frame says that it is false.

    `rest` is what the sentence goes on to assert: "It is not true that T; rather, R".
    """

    text: str
    denied: bool
    rest: str = ""


def find_stated(text: str, language: str | None, matter: Set[str], *, answered: bool = False) -> Stated | None:
    """Returns the statement that a frame in this sentence asserts or denies, or None where there is no frame.

    `matter` are the stems of the question and the passages: a frame has none of them. `answered` says that the next
    sentence answers this one with yes or no, so that a question is a question.
    """
    if (struck := _STRUCK.fullmatch(text)) or (struck := _CROSSED.fullmatch(text)):
        return Stated(next(filter(None, struck.group("said", "after"))).strip(), denied=True)
    if len(text) > _LONGEST:  # no frame: what is cut off would be read by nobody
        return None
    plain = straighten(text).strip()
    code = language if language in READ_LANGUAGES else "en"
    if plain.endswith("?"):
        return None if answered else _read_question(plain, code, matter)
    readings = (_read_suffix, _read_label, _read_concession, _read_opening, _read_adverbial)
    return next((found for read in readings if (found := read(plain, code, matter))), None)


def find_retraction(text: str, language: str | None, matter: Set[str]) -> Scope | None:
    """Returns which sentences one takes back that only says that something is false ("None of this is true."), or None.

    A sentence may go on behind a colon: "That is wrong: it opens at nine" takes back what came before it.
    """
    code = language if language in READ_LANGUAGES else "en"
    plain = straighten(text[:_LONGEST]).lower().strip()
    said, _, rest = plain.partition(":")
    words = _words(said)
    if not 0 < len(words) <= _RETRACTION_WORDS or not _is_frame(said, code, matter):
        return None
    if not _says_false(words, code) or not _listed("belief", code).isdisjoint(words):
        return None
    if plain.endswith("?"):  # "Which of these is wrong?" is answered by what follows
        return "after" if words[0] in _listed("which", code) else None
    if not _listed("ahead", code).isdisjoint(words):
        return "after"
    points_back = not _listed("back", code).isdisjoint(words)
    if rest and not points_back:  # "False: T" labels T
        return None
    return "before" if _listed("everything", code).isdisjoint(words) else "all_before"


def is_reported_belief(text: str, language: str | None) -> bool:
    """Does a passage give its statement as false or as what others think: "Many people believe that ..."?"""
    code = language if language in READ_LANGUAGES else "en"
    plain = straighten(text[:_LONGEST]).lower()
    opening = next((before for before, _ in _splits(plain, code)), plain)
    words = _words(opening)
    return _says_false(words, code) or not _listed("belief", code).isdisjoint(words)


# --- frames ----------------------------------------------------------------------------------------


def _read_question(text: str, code: str, matter: Set[str]) -> Stated | None:
    """Returns the statement of a question that takes it for a fact, ends in a tag, or has the order of a statement."""
    asked = text.rstrip("? \u00a0\u202f").lstrip("¿ ")
    for before, statement in _splits(asked, code):
        words = _words(before.lower())
        if words and _is_frame(before, code, matter) and (_is_rhetorical(words, code) or _is_factive(words, code)):
            return _make_statement(statement, False, matter, code)
    head, comma, tag = asked.rpartition(",")
    if comma and len(tag.split()) <= _TAG_WORDS and _is_frame(tag, code, matter):
        return _make_statement(head, False, matter, code) if _is_statement(head, code) else None
    return _make_statement(asked, False, matter, code) if _is_statement(asked, code) else None


def _is_factive(words: tuple[str, ...], code: str) -> bool:
    return (_listed("asking", code) | _listed("condition", code) | _listed("belief", code)).isdisjoint(words)


def _is_rhetorical(words: tuple[str, ...], code: str) -> bool:
    """ "Isn't it true that ...?", "Who would have thought that ...?"."""
    return code == "en" and (words[0] == "who" or words[0].endswith("n't"))


def _is_statement(text: str, code: str) -> bool:
    """Is the word order that of a statement: a subject first, no question word, no inverted verb?"""
    closed = table("questions")["closed"][code]
    if re.search(closed["open"], text, re.I) or re.search(closed["lead"], text, re.I):
        return False
    first = next(iter(_words(text.lower())), "")
    if code == "fr" and re.search(r"[^\W\d_]-(?:t-)?(?:il|elle|ils|elles|on|ce|je|tu|nous|vous)\b", text, re.I):
        return False
    if code == "es":  # the order of a Spanish question says nothing
        return False
    if code == "en":
        return first not in closed["verbs"].split() and first != "would"
    return first in closed["before"].split() or first in closed["who"].split()


def _read_label(text: str, code: str, matter: Set[str]) -> Stated | None:
    """Returns the statement behind a label, or None.

    "Myth: T" denies T, "In short: T" asserts it; "That is wrong: T" is about what came before, and asserts T.
    """
    found = _LABEL.match(text)
    if found is None:
        return None
    words = _words(found["label"].lower())
    if len(words) > _LABEL_WORDS * 2 or not _is_frame(found["label"], code, matter):
        return None
    ahead = not _listed("ahead", code).isdisjoint(words)
    points_back = not ahead and not _listed("back", code).isdisjoint(words)
    denied = _says_false(words, code) and not points_back
    if denied or (code == "en" and len(words) <= _LABEL_WORDS):
        return _make_statement(text[found.end() :], denied, matter, code)
    return None


def _read_suffix(text: str, code: str, matter: Set[str]) -> Stated | None:
    """Returns the statement before an ending that denies it, or None.

    For example "T: this is not the case", "T, which is false", "T (wrong)", and of a table row "T; Correct?: No".
    """
    found = _SUFFIX.search(text.rstrip(" .!"))
    if found is None:
        return None
    suffix = found["suffix"] or found["note"]
    if not _is_frame(suffix, code, matter) or not _says_false(_words(suffix.lower()), code):
        return None
    return _make_statement(text[: found.start()], True, matter, code)


def _read_opening(text: str, code: str, matter: Set[str]) -> Stated | None:
    """Returns the statement behind a frame that opens the sentence, or None; the longest frame counts.

    "It is a lie that T" denies T, "Please remember that T" asserts it.
    """
    frames = [(before, statement) for before, statement in _splits(text, code) if _is_frame(before, code, matter)]
    if not frames:
        return None
    before, statement = frames[-1]
    words = _words(before.lower())
    if _says_false(words, code):
        return _make_statement(statement, True, matter, code)
    if not words:
        return None
    if not _granted().isdisjoint(_words(text[len(before) : -len(statement)].lower())):
        return _make_statement(statement, False, matter, code)
    believed = not _listed("belief", code).isdisjoint(words)
    if _negated(words, code):  # "Nobody should think that T" denies T, "the text does not say that T" does not
        return _make_statement(statement, True, matter, code) if believed else None
    if believed or not (_listed("condition", code) | _listed("certainty", code)).isdisjoint(words):
        return None
    return _make_statement(statement, False, matter, code)


def _read_adverbial(text: str, code: str, matter: Set[str]) -> Stated | None:
    """Returns the statement behind an opening that shares no topic with the passages, or None.

    "As far as I can see, T" asserts T.
    """
    opening, comma, statement = text.partition(", ")
    words = _words(opening.lower())
    # One word may carry meaning: "Together, May and June brought 95,000".
    if code != "en" or not comma or not 2 <= len(words) <= _ADVERBIAL_WORDS or not _is_frame(opening, code, matter):
        return None
    loaded = _listed("belief", code) | _listed("certainty", code) | _listed("false", code)
    first = next(iter(_words(statement.lower())), "")
    if _negated(words, code) or not loaded.isdisjoint(words) or first in ("and", "or", "but"):
        return None
    return _make_statement(statement, False, matter, code) if len(statement.split()) > _SHORTEST_STATEMENT else None


def _read_concession(text: str, code: str, matter: Set[str]) -> Stated | None:
    """Returns the statements of "Although T, U" and "Because T, U", which assert both, or None.

    What only others think is left out.
    """
    words = text.split(maxsplit=1)
    if len(words) < 2 or words[0].lower() not in _listed("concession", code):
        return None
    granted, comma, asserted = words[1].partition(", ")
    first = next(iter(_words(asserted.lower())), "")
    if comma and first in table("questions")["closed"][code]["who"].split() and not _is_frame(asserted, code, matter):
        return None  # "they" needs the clause before it
    others = not _listed("belief", code).isdisjoint(_words(granted.lower()))
    reason = None if others else _make_statement(granted, False, matter, code)
    found = _make_statement(asserted, False, matter, code)
    if found is None or reason is None or found.rest:
        return found or reason
    return found._replace(rest=reason.text)


def _splits(text: str, code: str) -> Iterator[tuple[str, str]]:
    """Yields the text before and after each word that can introduce a statement."""
    for found in _complement(code).finditer(text):
        yield text[: found.start()], text[found.end() :]


def _make_statement(text: str, denied: bool, matter: Set[str], code: str) -> Stated | None:
    """Returns the statement as a sentence of its own; None where it is too short or has nothing of the matter."""
    first, rest = cut_at_turn(text)
    if len(first.split()) < _SHORTEST_STATEMENT or read_sentence(first, code).stems.isdisjoint(matter):
        return None
    return Stated(_sentence(first), denied, _sentence(rest) if len(rest.split()) >= _SHORTEST_STATEMENT else "")


def cut_at_turn(text: str) -> tuple[str, str]:
    """Returns the text before a semicolon or a "but", and the text after it."""
    found = _turn().search(text)
    parts = (text, "") if found is None else (text[: found.start()], text[found.end() :])
    return parts[0].strip(_EDGES), parts[1].strip(_EDGES)


def _sentence(text: str) -> str:
    ended = text if text[-1] in ".!" else f"{text}."
    return f"{ended[0].upper()}{ended[1:]}"


# --- words -----------------------------------------------------------------------------------------


def _is_frame(text: str, code: str, matter: Set[str]) -> bool:
    """Does a text only say how true something is, without any topic of the question or the passages?

    Names and values of its own are claims: "NASA confirmed in 1999 that ..." is no frame.
    """
    reading = read_sentence(text, code)
    own = _listed("false", code) | _listed("true", code) | _listed("asking", code)
    about = {stem for stem in reading.stems & matter if reading.surface.get(stem, stem).lower() not in own}
    named = code != "de" and bool(reading.names)  # every German noun has a capital
    return not about and not reading.values and not named


def _says_false(words: tuple[str, ...], code: str) -> bool:
    """Do the words call something false, or deny that it is true?"""
    negated = _negated(words, code)
    if not _listed("false", code).isdisjoint(words):
        return not negated and not _denies_twice(words, code)
    return negated and not _listed("true", code).isdisjoint(words)


def _denies_twice(words: tuple[str, ...], code: str) -> bool:
    """ "It is wrong to deny that ...": what is left of two denials is for the model to say."""
    denying = sum(word in _listed("false", code) for word in words)
    return denying > 1 and not _listed("denying", code).isdisjoint(words)


def _negated(words: tuple[str, ...], code: str) -> bool:
    negations = frozenset(table("words")["negation"][code].split())
    return any(word in negations or word.endswith("n't") for word in words)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text))


@cache
def _listed(name: str, code: str) -> frozenset[str]:
    return frozenset(table("framing")[name][code].split())


@cache
def _granted() -> frozenset[str]:
    return frozenset(table("framing")["taken_for_granted"]["words"].split())


@cache
def _turn() -> re.Pattern[str]:
    words = "|".join(table("words")["negation_ends"]["clauses"].split())
    return re.compile(rf";(?: (?:rather|instead)\b,?)?|,? (?:{words}|rather|instead)\b,?", re.I)


@cache
def _complement(code: str) -> re.Pattern[str]:
    return re.compile(table("framing")["complement"][code], re.I)
