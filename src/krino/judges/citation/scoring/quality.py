"""Scores the reasoning from 1 to 5: starts at 5, deducts for omissions, then applies the caps of its errors.

Each deduction is a `Lack`: what it is, in the words of the notes, and what to do about it, where that is not said
elsewhere already.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.citation import table
from krino.judges.citation.belgium import table as belgian_table
from krino.judges.citation.belgium.case_numbers import compare
from krino.judges.citation.belgium.dates import find_dates, fold_letters
from krino.judges.citation.belgium.gazetteer import court_names_in, names_a_place
from krino.judges.citation.local import shared_subjects
from krino.judges.citation.reasoning.objections import affirms_mark, pattern
from krino.judges.citation.scoring.outcome import Ceiling, Outcome
from krino.judges.citation.verdict import ErrorType

_LONG = 11
"""Words from which on a reasoning is taken to name something of its case that is not recognised."""
_SPOKEN = re.compile(r"[^\W\d_]{3,}")
"""Words of three letters and more: French writes more of the shorter ones than English and Dutch."""
_SURE = 85
"""From this confidence on, a reasoning that denies its own evidence contradicts itself."""
_WORD = re.compile(r"[^\W\d_]{4,}")
_NUMBER = re.compile(
    r"(?<![\w.])(?=[acdfghmps\d])(?:[acdfghmps]\.\d\d\.\d{3,4}(?:\.[fn])?|(?:19|20)\d\d/[a-z]{1,3}/\d+|\d{1,3}/(?:19[89]\d|20\d\d))(?![\w])"
)
_ECLI = re.compile(r"ecli:[a-z]{2}:[a-z0-9]{1,7}:\d{4}:[a-z0-9.]+[a-z0-9]")
_DIGIT = re.compile("[0-9]")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_PARTIES = re.compile(r"\b([A-ZÀ-Þ][\w'’-]{2,})\s+(?:c\.|c/|contre|v\.|vs\.?|tegen)\s+([A-ZÀ-Þ][\w'’-]{2,})")
_MARKS = {"NATIONAL": "class_national", "SPECIFIC": "class_specific", "GENERIC": "class_generic"}
_CLASS_STEMS = ("nation", "gener", "specif", "unique", "supreme")
"""Every word for a class contains one of these: a cheap test before the expensive one."""
WORST, POOR, ADEQUATE, GOOD = 1, 2, 3, 4


class Lack(NamedTuple):
    """One thing that costs a reasoning points. `advice` is empty where the advice on an error says it."""

    says: str
    advice: str = ""


Caps = Iterator[tuple[int, Lack]]


def _advice(name: str, **values: str) -> str:
    return str(table("suggestions")["reasoning"][name]).format(**values)


def caps_of_sense(outcome: Outcome, ceiling: Ceiling | None) -> Caps:
    """Every reason why a reasoning cannot be worth more than a mark."""
    if not _says_anything(outcome):
        mark = WORST if len(_WORD.findall(outcome.facts.cues.text)) < 2 else POOR
        yield mark, Lack("it says nothing about the case", _advice("says_nothing"))
        return
    if contradiction := _contradiction(outcome):
        yield WORST, Lack(f"it contradicts itself: {contradiction}", _advice("contradiction"))
    if claims_a_false_ecli(outcome):
        yield WORST, Lack("it says that the ECLI agrees, which it does not")
    for invented in _invented(outcome):
        yield ADEQUATE, Lack(f"it names {invented}, which is nowhere in the case", _advice("invented"))
    if wrong := _wrong_class(outcome):
        yield ADEQUATE, Lack(wrong, _advice("wrong_class", right=outcome.facts.cited.classification))
    if _is_bare_list(outcome):
        yield ADEQUATE, Lack("it lists terms and argues nothing", _advice("bare_list"))
    elif not _gives_evidence(outcome):
        yield ADEQUATE, Lack("it names no evidence of the case", _advice("no_evidence"))
    if (
        ceiling is not None
        and outcome.top is not None
        and not pattern("marks", "limit").search(outcome.facts.cues.text)
    ):
        says = f"it does not say why the confidence is limited ({ceiling.text})"
        yield GOOD, Lack(says, _advice("limit", ceiling=ceiling.text))


def _says_anything(outcome: Outcome) -> bool:
    cues = outcome.facts.cues
    return any(sentence.mentions for sentence in cues.sentences) or bool(_shared_words(outcome))


def _shared_words(outcome: Outcome) -> set[str]:
    """Words of the reasoning that also stand in the citation, the snippet or a candidate."""
    said = set(_WORD.findall(outcome.facts.cues.text))
    return said & set(_WORD.findall(_case_text(outcome)))


def _case_text(outcome: Outcome) -> str:
    facts, case = outcome.facts, outcome.facts.case
    cited = (case.cited_court_name, case.cited_date, case.cited_case_number, case.cited_ecli, case.citation_snippet)
    listed = (
        part
        for candidate in facts.candidates
        for part in (candidate.id, candidate.number, str(candidate.date), *candidate.court_names, *candidate.texts)
    )
    return fold_letters("\n".join(part for part in (*cited, *listed) if part)).lower()


def claims_a_false_ecli(outcome: Outcome) -> bool:
    """Whether the reasoning says that the cited ECLI is that of the match, and it is not, or none is cited."""
    top, cited = outcome.top, outcome.facts.cited
    if top is None or (cited.key is not None and top.candidate.key == cited.key):
        return False
    if cited.key is None and "ecli" in (outcome.facts.case.citation_snippet or "").lower():
        return False
    return outcome.facts.cues.claims_ecli_match


def _contradiction(outcome: Outcome) -> str | None:
    """It denies the number of the very match that it is sure of."""
    top, cues = outcome.top, outcome.facts.cues
    if top is None or outcome.percent <= _SURE:
        return None
    if not cues.claims_number_match and outcome.facts.objections.denied_number is not None:
        return "the number is said not to agree, and the match is taken as sure"
    return None


def _invented(outcome: Outcome) -> Iterator[str]:
    """Numbers, ECLIs, dates and parties that neither the citation nor any candidate holds."""
    facts, text = outcome.facts, outcome.facts.cues.text
    numbers = [number for number in (facts.cited.number, *(item.number for item in facts.candidates)) if number]
    # The judgments of some courts are known by a number that only their ECLI holds.
    numbers += [f"{ecli.number}/{ecli.year}" for item in facts.candidates if (ecli := item.ecli) and ecli.number]
    written = " ".join(numbers).lower()
    for number in dict.fromkeys(_NUMBER.findall(text)):
        known = number in written or any(_same_number(number, other) for other in numbers)
        if not known and number not in _case_text(outcome):
            yield f"the number {number.upper()}"
    for ecli in dict.fromkeys(_ECLI.findall(text)) if "ecli:" in text else ():
        if ecli not in _case_text(outcome):
            yield f"the decision {ecli.upper()}"
    if _YEAR.search(text):
        yield from _invented_dates(outcome)
    for one, other in _PARTIES.findall(facts.answer.reasoning or ""):
        if not all(fold_letters(name).lower() in _case_text(outcome) for name in (one, other)):
            yield f"the parties {one} and {other}"


def _invented_dates(outcome: Outcome) -> Iterator[str]:
    facts = outcome.facts
    days = {candidate.date for candidate in facts.candidates} | {facts.cited.date}
    strange = [found.date for found in find_dates(facts.cues.text) if found.date not in days]
    if strange and days != {None}:
        elsewhere = {found.date for found in find_dates(_case_text(outcome))}
        yield from (f"the date {day.isoformat()}" for day in dict.fromkeys(strange) if day not in elsewhere)


def _same_number(number: str, other: str) -> bool:
    return compare(number, other).relation in ("EXACT", "NORMALISED", "FUZZY", "PARTIAL")


def _wrong_class(outcome: Outcome) -> str | None:
    """The class that the reasoning gives the cited court, where it is not its class."""
    text, right = outcome.facts.cues.text, outcome.facts.cited.classification
    stated = _classes(text)
    if not stated or right in stated:
        return None
    return f"it calls the cited court {stated[0]}, which is {right}"


@lru_cache(maxsize=16)
def _classes(text: str) -> tuple[str, ...]:
    """The classes of courts that a text states."""
    if not any(stem in text for stem in _CLASS_STEMS):
        return ()
    return tuple(name for name, words in _MARKS.items() if affirms_mark(words, text))


def _is_bare_list(outcome: Outcome) -> bool:
    """Whether it is a list of terms: several classes at once, or no word that joins others and nothing of this case."""
    text = outcome.facts.cues.text
    if len(_classes(text)) > 2:
        return True
    said = text.split()
    if len(said) <= 5 or _DIGIT.search(text):
        return False
    return not any(word.strip(".,;:") in _joining_words() for word in said)


@cache
def _joining_words() -> frozenset[str]:
    """Articles, prepositions and verbs of being, without which no sentence is made."""
    return frozenset(belgian_table("stopwords")["small"].split())


def _gives_evidence(outcome: Outcome) -> bool:
    """Whether it names anything of this very case: a court or its class, a number, a date, words of the texts."""
    text = outcome.facts.cues.text
    if _DIGIT.search(text) or _classes(text):
        return True
    # A word for "court" alone names none; which language it is in must not matter.
    named = outcome.facts.cues.names_a_national_court or names_a_place(text)
    if named or any(court_names_in(text)):
        return True
    if shared_subjects(outcome.facts) or len(_shared_words(outcome)) > 1:
        return True
    return len(_SPOKEN.findall(text)) > _LONG


_BEST = 5
# A reasoning with one of these errors is worth no more than this.
_MOST_WITH: dict[ErrorType, int] = {
    "FR_NL_CONFUSION": WORST,
    "ABBREVIATION_MISSED": POOR,
    "CASE_NUMBER_FALSE_MATCH": POOR,
    "COURT_TYPE_MISMATCH_IGNORED": POOR,
    "GENERIC_OVERPUNISHED": ADEQUATE,
    "MISSING_CASE_NUMBER_PENALIZED": ADEQUATE,
    "OVERFIT_TO_KEYWORDS": ADEQUATE,
}
_COSTLY: frozenset[ErrorType] = frozenset({"GENERIC_OVERPUNISHED", "CEILING_VIOLATED", "ECLI_MISMATCH_IGNORED"})


def mark_reasoning(
    outcome: Outcome, errors: Collection[ErrorType], ceiling: Ceiling | None
) -> tuple[int, tuple[Lack, ...]]:
    """The mark and what it was lowered for."""
    if not outcome.facts.cues.written:
        return WORST, (Lack("no reasoning is given", _advice("says_nothing")),)
    did = table("suggestions")["did"]
    lacks = _lacks(outcome, errors)
    lacks += [Lack(f"it {did[error]}") for error in errors if error in _COSTLY]
    mark = _BEST - len(lacks)
    caps = [(_MOST_WITH[error], Lack(f"it {did[error]}")) for error in errors if error in _MOST_WITH]
    if "COURT_CHECK_SKIPPED" in errors:
        caps.append((POOR, _court_lack(outcome, skipped=True)))
    for cap, lack in (*caps, *caps_of_sense(outcome, ceiling)):
        if mark > cap:
            lacks.append(lack)
            mark = cap
    return max(mark, WORST), tuple(dict.fromkeys(lacks))


def _lacks(outcome: Outcome, errors: Collection[ErrorType]) -> list[Lack]:
    """Each step that the reasoning leaves out costs one point."""
    facts, answers = outcome.facts, outcome.answers
    lacks = []
    if not answers.court_first and facts.candidates:
        lacks.append(_court_lack(outcome, skipped="COURT_CHECK_SKIPPED" in errors))
    numbered = facts.cited.number is not None
    if numbered and not answers.number_compared and facts.in_play:
        lacks.append(Lack("the cited number is not compared", _advice("number")))
    elif not answers.missing_told_apart and not facts.number_carried:
        missing = "" if "MISSING_CASE_NUMBER_PENALIZED" in errors else _advice("missing")
        lacks.append(Lack("a missing number is taken for a mismatched one", missing))
    if outcome.truth.signal == "context":
        told = answers.context_cited
    else:
        by_number = numbered and answers.number_compared
        told = by_number or answers.context_cited or answers.others_rejected or facts.cues.says_ecli
        told = told or len(facts.in_play) < 2
    if not told:
        lacks.append(Lack("nothing says why this candidate and not another", _advice("why_this_one")))
    return lacks


def _court_lack(outcome: Outcome, *, skipped: bool) -> Lack:
    if outcome.facts.cues.court_at is not None:
        return Lack("the court does not come first", "" if skipped else _advice("court_late"))
    return Lack("the court is not addressed", "" if skipped else _advice("court"))
