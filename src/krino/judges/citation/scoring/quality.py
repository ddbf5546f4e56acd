"""Scores the reasoning from 1 to 5: starts at 5, deducts for omissions, then applies the caps of its errors."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.citation import table
from krino.judges.citation.belgium import table as belgian_table
from krino.judges.citation.belgium.case_numbers import compare
from krino.judges.citation.belgium.dates import find_dates, fold_letters
from krino.judges.citation.belgium.ecli import ECLI_IN_TEXT
from krino.judges.citation.belgium.gazetteer import court_names_in, names_a_place
from krino.judges.citation.reasoning.cues import find_words
from krino.judges.citation.reasoning.patterns import affirms, phrase_pattern
from krino.judges.citation.scoring.outcome import Ceiling, Outcome
from krino.judges.citation.verdict import ErrorType

_MANY_WORDS = 11
"""A reasoning with more words than this is assumed to name something of its case that is not recognised."""
_SURE = 85
"""Above this confidence, a reasoning that denies its own evidence contradicts itself."""
_NUMBER = re.compile(
    r"(?<![\w.])(?=[acdfghmps\d])(?:[acdfghmps]\.\d\d\.\d{3,4}(?:\.[fn])?|(?:19|20)\d\d/[a-z]{1,3}/\d+|\d{1,3}/(?:19[89]\d|20\d\d))(?![\w])"
)
_DIGIT = re.compile("[0-9]")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_PARTIES = re.compile(r"\b([A-ZÀ-Þ][\w'’-]{2,})\s+(?:c\.|c/|contre|v\.|vs\.?|tegen)\s+([A-ZÀ-Þ][\w'’-]{2,})")
_CLASS_PHRASES = {"NATIONAL": "class_national", "SPECIFIC": "class_specific", "GENERIC": "class_generic"}
_CLASS_STEMS = ("nation", "gener", "specif", "unique", "supreme")
"""Every word for a class contains one of these: a cheap test before the expensive one."""
WORST, POOR, ADEQUATE, GOOD = 1, 2, 3, 4


class Deduction(NamedTuple):
    """Why a reasoning loses points, and what to do about it. `advice` is empty if the advice on an error says it."""

    says: str
    advice: str = ""


Caps = Iterator[tuple[int, Deduction]]


def _advise(name: str, **values: str) -> str:
    return str(table("suggestions")["reasoning"][name]).format(**values)


def find_caps(outcome: Outcome, ceiling: Ceiling | None) -> Caps:
    """Yields for each weakness of the reasoning the highest score that it allows, and why.

    Of a reasoning that is not about the case only that is said.
    """
    if not _is_about_case(outcome):
        mark = WORST if sum(len(word) > 3 for word in outcome.facts.cues.words) < 2 else POOR
        yield mark, Deduction("it says nothing about the case", _advise("says_nothing"))
        return
    if contradiction := _find_contradiction(outcome):
        yield WORST, Deduction(f"it contradicts itself: {contradiction}", _advise("contradiction"))
    if claims_false_ecli(outcome):
        yield WORST, Deduction("it says that the ECLI agrees, which it does not")
    for invented in _find_invented(outcome):
        yield ADEQUATE, Deduction(f"it names {invented}, which is nowhere in the case", _advise("invented"))
    if wrong := _find_wrong_class(outcome):
        yield ADEQUATE, Deduction(wrong, _advise("wrong_class", right=outcome.facts.cited.classification))
    if _is_bare_list(outcome):
        yield ADEQUATE, Deduction("it lists terms and argues nothing", _advise("bare_list"))
    elif not _gives_evidence(outcome):
        yield ADEQUATE, Deduction("it names no evidence of the case", _advise("no_evidence"))
    if (
        ceiling is not None
        and outcome.top is not None
        and not phrase_pattern("marks", "limit").search(outcome.facts.cues.text)
    ):
        says = f"it does not say why the confidence is limited ({ceiling.text})"
        yield GOOD, Deduction(says, _advise("limit", ceiling=ceiling.text))


def _is_about_case(outcome: Outcome) -> bool:
    cues = outcome.facts.cues
    return any(sentence.mentions for sentence in cues.sentences) or bool(_find_shared_words(outcome))


def _find_shared_words(outcome: Outcome) -> set[str]:
    """Words of the reasoning that also occur in the citation, the snippet or a candidate."""
    written = {word for word in outcome.facts.cues.words if len(word) > 3}
    return written.intersection(find_words(_join_case_text(outcome)))


def _join_case_text(outcome: Outcome) -> str:
    """Joins all texts of the case, in which a name that the reasoning uses may occur."""
    facts, case = outcome.facts, outcome.facts.case
    cited = (case.cited_court_name, case.cited_date, case.cited_case_number, case.cited_ecli, case.citation_snippet)
    listed = (
        part
        for candidate in facts.candidates
        for part in (candidate.id, candidate.number, str(candidate.date), *candidate.court_names, *candidate.texts)
    )
    return fold_letters("\n".join(part for part in (*cited, *listed) if part)).lower()


def claims_false_ecli(outcome: Outcome) -> bool:
    """Does the reasoning say that the match has the cited ECLI, although it has not, or none is cited?"""
    top, cited = outcome.top, outcome.facts.cited
    if top is None or (cited.key is not None and top.candidate.key == cited.key):
        return False
    if cited.key is None and "ecli" in (outcome.facts.case.citation_snippet or "").lower():
        return False
    return outcome.facts.cues.claims_ecli_match


def _find_contradiction(outcome: Outcome) -> str | None:
    """Returns what contradicts itself, or None: the reasoning denies the number of a match that it is sure of."""
    top, cues = outcome.top, outcome.facts.cues
    if top is None or outcome.percent <= _SURE:
        return None
    if not cues.claims_number_match and outcome.facts.objections.denied_number is not None:
        return "the number is said not to agree, and the match is taken as sure"
    return None


def _find_invented(outcome: Outcome) -> Iterator[str]:
    """Yields numbers, ECLIs, dates and parties that occur neither in the citation nor in a candidate, in words."""
    facts, text = outcome.facts, outcome.facts.cues.text
    numbers = [number for number in (facts.cited.number, *(item.number for item in facts.candidates)) if number]
    # Judgments of some courts are known by a number that only their ECLI contains.
    numbers += [f"{ecli.number}/{ecli.year}" for item in facts.candidates if (ecli := item.ecli) and ecli.number]
    written = " ".join(numbers).lower()
    for number in dict.fromkeys(_NUMBER.findall(text)):
        known = number in written or any(_same_number(number, other) for other in numbers)
        if not known and number not in _join_case_text(outcome):
            yield f"the number {number.upper()}"
    for ecli in dict.fromkeys(ECLI_IN_TEXT.findall(text)) if "ecli:" in text else ():
        if ecli not in _join_case_text(outcome):
            yield f"the decision {ecli.upper()}"
    if _YEAR.search(text):
        yield from _find_invented_dates(outcome)
    for one, other in _PARTIES.findall(facts.answer.reasoning or ""):
        if not all(fold_letters(name).lower() in _join_case_text(outcome) for name in (one, other)):
            yield f"the parties {one} and {other}"


def _find_invented_dates(outcome: Outcome) -> Iterator[str]:
    """Yields the dates of the reasoning that are nowhere in the case; none if no date of the case is known."""
    facts = outcome.facts
    days = {candidate.date for candidate in facts.candidates} | {facts.cited.date}
    strange = [found.date for found in find_dates(facts.cues.text) if found.date not in days]
    if strange and days != {None}:
        elsewhere = {found.date for found in find_dates(_join_case_text(outcome))}
        yield from (f"the date {day.isoformat()}" for day in dict.fromkeys(strange) if day not in elsewhere)


def _same_number(number: str, other: str) -> bool:
    return compare(number, other).relation in ("EXACT", "NORMALISED", "FUZZY", "PARTIAL")


def _find_wrong_class(outcome: Outcome) -> str | None:
    """Returns what is wrong if the reasoning gives the cited court a class that it has not, else None."""
    text, right = outcome.facts.cues.text, outcome.facts.cited.classification
    stated = _find_stated_classes(text)
    if not stated or right in stated:
        return None
    return f"it calls the cited court {stated[0]}, which is {right}"


@lru_cache(maxsize=16)
def _find_stated_classes(text: str) -> tuple[str, ...]:
    """The classes of courts that a text states."""
    if not any(stem in text for stem in _CLASS_STEMS):
        return ()
    return tuple(name for name, words in _CLASS_PHRASES.items() if affirms("marks", words, text))


def _is_bare_list(outcome: Outcome) -> bool:
    """Is it a mere list of terms: all classes at once, or no function words and no figures of this case?"""
    text = outcome.facts.cues.text
    if len(_find_stated_classes(text)) > 2:
        return True
    said = text.split()
    if len(said) <= 5 or _DIGIT.search(text):
        return False
    return not any(word.strip(".,;:") in _function_words() for word in said)


@cache
def _function_words() -> frozenset[str]:
    """Articles, prepositions and forms of "to be", without which there is no sentence."""
    return frozenset(belgian_table("stopwords")["small"].split())


def _gives_evidence(outcome: Outcome) -> bool:
    """Does it name anything of this case: a court or its class, a number, a date, words of the texts?"""
    text = outcome.facts.cues.text
    if _DIGIT.search(text) or _find_stated_classes(text):
        return True
    # A word for "court" alone names no court, in any language.
    named = outcome.facts.cues.names_a_national_court or names_a_place(text)
    if named or any(court_names_in(text)):
        return True
    if len(_find_shared_words(outcome)) > 1:
        return True
    return len(outcome.facts.cues.words) > _MANY_WORDS


_FULL_MARKS = 5
# A reasoning with one of these errors is worth no more than this.
_CAP_OF_ERROR: dict[ErrorType, int] = {
    "FR_NL_CONFUSION": WORST,
    "ABBREVIATION_MISSED": POOR,
    "CASE_NUMBER_FALSE_MATCH": POOR,
    "COURT_TYPE_MISMATCH_IGNORED": POOR,
    "GENERIC_OVERPUNISHED": ADEQUATE,
    "MISSING_CASE_NUMBER_PENALIZED": ADEQUATE,
    "OVERFIT_TO_KEYWORDS": ADEQUATE,
}
_DEDUCTED_ERRORS: frozenset[ErrorType] = frozenset(
    {"GENERIC_OVERPUNISHED", "CEILING_VIOLATED", "ECLI_MISMATCH_IGNORED"}
)


def score_reasoning(
    outcome: Outcome, errors: Collection[ErrorType], ceiling: Ceiling | None
) -> tuple[int, tuple[Deduction, ...]]:
    """Returns the score, 1 to 5, and what it was lowered for."""
    if not outcome.facts.cues.written:
        return WORST, (Deduction("no reasoning is given", _advise("says_nothing")),)
    did = table("suggestions")["did"]
    lacks = _find_omissions(outcome, errors)
    lacks += [Deduction(f"it {did[error]}") for error in errors if error in _DEDUCTED_ERRORS]
    mark = _FULL_MARKS - len(lacks)
    caps = [(_CAP_OF_ERROR[error], Deduction(f"it {did[error]}")) for error in errors if error in _CAP_OF_ERROR]
    if "COURT_CHECK_SKIPPED" in errors:
        caps.append((POOR, _deduct_for_court(outcome, skipped=True)))
    for cap, lack in (*caps, *find_caps(outcome, ceiling)):
        if mark > cap:
            lacks.append(lack)
            mark = cap
    return max(mark, WORST), tuple(dict.fromkeys(lacks))


def _find_omissions(outcome: Outcome, errors: Collection[ErrorType]) -> list[Deduction]:
    """Returns the steps that the reasoning leaves out; each costs one point."""
    facts, answers = outcome.facts, outcome.answers
    lacks = []
    if not answers.court_first and facts.candidates:
        lacks.append(_deduct_for_court(outcome, skipped="COURT_CHECK_SKIPPED" in errors))
    numbered = facts.cited.number is not None
    if numbered and not answers.number_compared and facts.eligible:
        lacks.append(Deduction("the cited number is not compared", _advise("number")))
    elif not answers.missing_told_apart and not facts.number_carried:
        missing = "" if "MISSING_CASE_NUMBER_PENALIZED" in errors else _advise("missing")
        lacks.append(Deduction("a missing number is taken for a mismatched one", missing))
    if outcome.truth.signal == "context":
        justified = answers.context_cited
    else:
        by_number = numbered and answers.number_compared
        justified = by_number or answers.context_cited or answers.others_rejected or facts.cues.mentions_ecli
        justified = justified or len(facts.eligible) < 2
    if not justified:
        lacks.append(Deduction("nothing says why this candidate and not another", _advise("why_this_one")))
    return lacks


def _deduct_for_court(outcome: Outcome, *, skipped: bool) -> Deduction:
    if outcome.facts.cues.court_at is not None:
        return Deduction("the court does not come first", "" if skipped else _advise("court_late"))
    return Deduction("the court is not addressed", "" if skipped else _advise("court"))
