"""Finds the matcher's errors: in handling the court, those that follow from facts, and those in its reasoning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from krino.judges.citation.belgium.courts import Alignment, Court, CourtRef, Unknown
from krino.judges.citation.belgium.gazetteer import court_names_in
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.reasoning.objections import Objection
from krino.judges.citation.scoring.ecli_conflicts import (
    citation_contradicts_itself,
    court_code_contradicts,
    court_codes_contradict,
    year_contradicts,
)
from krino.judges.citation.scoring.outcome import Ceiling, Outcome, ceiling
from krino.judges.citation.scoring.quality import claims_false_ecli
from krino.judges.citation.verdict import RIGHT, AlignmentHandling, Calibration, ErrorType

# The first fault in this order is the label of the verdict.
PRIORITY: tuple[AlignmentHandling, ...] = (
    "WRONG_COURT_ACCEPTED",
    "MISSED_COURT_MATCH",
    "WRONG_JURISDICTION_UNDERPUNISHED",
    "WRONG_JURISDICTION_OVERPUNISHED",
    "SKIPPED_COURT_CHECK",
)
RULES: dict[AlignmentHandling, str] = {
    "WRONG_COURT_ACCEPTED": "CIT-A1",
    "MISSED_COURT_MATCH": "CIT-A2",
    "WRONG_JURISDICTION_UNDERPUNISHED": "CIT-A3",
    "WRONG_JURISDICTION_OVERPUNISHED": "CIT-A4",
    "SKIPPED_COURT_CHECK": "CIT-A5",
    "CORRECT_ALIGNMENT": "CIT-A6",
}


def find_alignment_faults(outcome: Outcome, floor: int) -> tuple[AlignmentHandling, ...]:
    """Returns all faults in handling the court, the most important first.

    `floor`: the lowest confidence that was justified.
    """
    made = {
        "WRONG_COURT_ACCEPTED": _exceeds_court_ceiling(outcome, "OTHER_TYPE", "court_type"),
        "MISSED_COURT_MATCH": _misses_court(outcome, floor),
        "WRONG_JURISDICTION_UNDERPUNISHED": _exceeds_court_ceiling(outcome, "OTHER_JURISDICTION", "jurisdiction"),
        "WRONG_JURISDICTION_OVERPUNISHED": _overpunishes_jurisdiction(outcome, floor),
        "SKIPPED_COURT_CHECK": _skips_court_check(outcome),
    }
    return tuple(fault for fault in PRIORITY if made[fault])


def _exceeds_court_ceiling(outcome: Outcome, alignment: Alignment, limit: str) -> bool:
    """Does any match, not only the first, have more confidence than the ceiling for a court so aligned?"""
    most = ceiling(limit).tolerated
    return any(
        match.candidate.alignment == alignment and (match.percent or 0) > most for match in outcome.facts.answer.matches
    )


def is_withheld_for_court(faults: tuple[AlignmentHandling, ...]) -> bool:
    """Was confidence withheld because the court was missed, or punished for a jurisdiction that is not cited?"""
    return "MISSED_COURT_MATCH" in faults or "WRONG_JURISDICTION_OVERPUNISHED" in faults


def _misses_court(outcome: Outcome, floor: int) -> bool:
    """Was the right court mistaken for another, because of its language, a short name or the name of its seat?"""
    if not any(candidate.alignment == "SAME" for candidate in outcome.facts.candidates):
        return False
    blamed = not outcome.answers.languages_as_one
    if outcome.top is None and blamed:
        return True
    if not _loses_right_decision(outcome, floor):
        return False
    if blamed or outcome.facts.cited.classification != "SPECIFIC":
        return blamed
    # With other jurisdictions among the candidates, a remark on jurisdiction may be a right one.
    only_right = all(candidate.alignment in ("SAME", "UNKNOWN") for candidate in outcome.facts.candidates)
    return (outcome.top is None or only_right) and outcome.facts.objections.jurisdiction is not None


def _loses_right_decision(outcome: Outcome, floor: int) -> bool:
    """Was the right decision, of the cited court, not returned, not first, or with too little confidence?"""
    if outcome.top is None:
        return outcome.correctness == "FALSE_NEGATIVE"
    right = outcome.right_candidate
    if outcome.correctness == "CORRECT":
        return outcome.top.candidate.alignment == "SAME" and outcome.percent < floor
    return right is not None and right.alignment == "SAME"


def _overpunishes_jurisdiction(outcome: Outcome, floor: int) -> bool:
    """Was confidence deducted for a jurisdiction that the citation does not name?

    A reasoning that states the deduction commits the error at any confidence; otherwise the confidence must show it.
    """
    if outcome.facts.cited.classification != "GENERIC":
        return False
    objection, top = outcome.facts.objections.jurisdiction, outcome.top
    if objection is not None and objection.is_penalty and top is not None and top.candidate.alignment == "SAME":
        return True
    return objection is not None and _loses_right_decision(outcome, floor)


def _skips_court_check(outcome: Outcome) -> bool:
    """Does the argument start with number or context, or is there none although courts had to be compared?"""
    facts, answers, cues = outcome.facts, outcome.answers, outcome.facts.cues
    if answers.court_first or not facts.candidates or isinstance(facts.cited.court, Unknown):
        return False
    if not cues.written:
        return True
    if (facts.cited.number is not None and answers.number_compared) or answers.context_cited:
        return True
    silent = cues.court_at is None and cues.number_at is None and not cues.mentions_ecli
    return silent and (len(facts.candidates) > 1 or outcome.other_type or outcome.other_jurisdiction)


def classify_name_error(outcome: Outcome) -> ErrorType:
    """Classifies a court name that was not recognised: a short one, or one in the other language.

    Only called if a court was missed, so a candidate of that court is listed.
    """
    cited, objection = outcome.facts.cited.court, outcome.facts.objections.court
    missed = outcome.right_candidate
    if missed is None:
        missed = next(candidate for candidate in outcome.facts.candidates if candidate.alignment == "SAME")
    if objection is not None and objection.by_short_name:
        return "ABBREVIATION_MISSED"
    if (objection is not None and objection.by_language) or _spells_out(outcome, cited, missed.named):
        return "FR_NL_CONFUSION"
    return "FR_NL_CONFUSION" if _is_short(cited) == _is_short(missed.named) else "ABBREVIATION_MISSED"


def _spells_out(outcome: Outcome, cited: CourtRef, listed: CourtRef) -> bool:
    """Does the reasoning write out the court that one side abbreviates, in another language than the other side?"""
    if not (isinstance(cited, Court) and isinstance(listed, Court)) or cited.abbreviated == listed.abbreviated:
        return False
    beside = listed if cited.abbreviated else cited
    names = court_names_in(outcome.facts.cues.text)
    return any(head.target == cited.type and beside.name_language not in head.languages for head in names)


def _is_short(court: CourtRef) -> bool:
    return isinstance(court, Court) and court.abbreviated


ORDER: tuple[ErrorType, ...] = get_args(ErrorType)
_ERROR_OF_FAULT: dict[AlignmentHandling, ErrorType] = {
    "WRONG_COURT_ACCEPTED": "COURT_TYPE_MISMATCH_IGNORED",
    "WRONG_JURISDICTION_UNDERPUNISHED": "JURISDICTION_MISMATCH_IGNORED",
    "WRONG_JURISDICTION_OVERPUNISHED": "GENERIC_OVERPUNISHED",
    "SKIPPED_COURT_CHECK": "COURT_CHECK_SKIPPED",
}
# Errors that do not explain why a wrong decision was chosen.
_NOT_EXPLAINING: frozenset[ErrorType] = frozenset({"COURT_CHECK_SKIPPED", "CEILING_VIOLATED"})


def find_errors(
    outcome: Outcome, faults: tuple[AlignmentHandling, ...], calibration: Calibration, ceiling: Ceiling | None
) -> tuple[ErrorType, ...]:
    """Returns the errors in the rubric's order; never empty: NONE excludes all others."""
    found: set[ErrorType] = {_ERROR_OF_FAULT[fault] for fault in faults if fault in _ERROR_OF_FAULT}
    if "MISSED_COURT_MATCH" in faults:
        found.add(classify_name_error(outcome))
    if ignores_number(outcome, calibration):
        found.add("CASE_NUMBER_IGNORED")
    if claims_false_number(outcome):
        found.add("CASE_NUMBER_FALSE_MATCH")
    if penalises_missing_number(outcome, calibration):
        found.add("MISSING_CASE_NUMBER_PENALIZED")
    if breaks_ceiling(outcome, ceiling):
        found.add("CEILING_VIOLATED")
    if ignores_ecli(outcome):
        found.add("ECLI_MISMATCH_IGNORED")
    if overfits_to_keywords(outcome):
        found.add("OVERFIT_TO_KEYWORDS")
    if _misreads_context(outcome, found):
        found.add("CONTEXT_MISREAD")
    return tuple(error for error in ORDER if error in found) or ("NONE",)


def objections_behind(errors: Sequence[str], facts: CitationFacts) -> list[tuple[str, Objection]]:
    """Returns the errors that show in words of the reasoning, each with those words."""
    claims = facts.objections
    made: dict[str, Callable[[], Objection | None]] = {
        "FR_NL_CONFUSION": lambda: claims.court,
        "ABBREVIATION_MISSED": lambda: claims.court,
        "GENERIC_OVERPUNISHED": lambda: claims.jurisdiction,
        "MISSING_CASE_NUMBER_PENALIZED": lambda: claims.number,
        "OVERFIT_TO_KEYWORDS": lambda: claims.keyword_objection,
    }
    found = ((error, made[error]()) for error in errors if error in made)
    return [(error, claim) for error, claim in found if claim is not None]


def breaks_ceiling(outcome: Outcome, of_case: Ceiling | None) -> bool:
    """Is a match above its ceiling: the first above that of the case, a further one above that of its own court?"""
    if outcome.top is not None and of_case is not None and outcome.percent > of_case.tolerated:
        return True
    limits = {"OTHER_TYPE": ceiling("court_type"), "OTHER_JURISDICTION": ceiling("jurisdiction")}
    return any(
        (limit := limits.get(match.candidate.alignment)) is not None and (match.percent or 0) > limit.tolerated
        for match in outcome.facts.answer.matches[1:]
    )


def rule_of_handling(handling: AlignmentHandling, outcome: Outcome) -> str:
    """Returns the rule of a handling. Without a fault, a match whose name and code disagree still goes to review."""
    top = outcome.top
    if (
        top is not None
        and handling == "CORRECT_ALIGNMENT"
        and court_code_contradicts(top.candidate, outcome.facts.cited)
    ):
        return "CIT-A7"
    return RULES[handling]


def ignores_number(outcome: Outcome, calibration: Calibration) -> bool:
    """Does the right decision carry the cited number, and the matcher ignored or did not compare it?"""
    right = outcome.right_candidate
    if right is None or not right.carries_number:
        return False
    if outcome.correctness == "CORRECT":
        return calibration == "UNDERCONFIDENT" and not outcome.answers.number_compared
    return True


def claims_false_number(outcome: Outcome) -> bool:
    """Does the reasoning claim a matching number that the first match does not have?"""
    top, facts = outcome.top, outcome.facts
    if top is None or top.candidate.carries_number:
        return False
    kept = top.candidate.listed or facts.complete or top.candidate.number is not None
    if facts.cited.number is not None and top.candidate.relation == "INCOMPARABLE" and not kept:
        return False
    return facts.cues.claims_number_match


def penalises_missing_number(outcome: Outcome, calibration: Calibration) -> bool:
    """Is the confidence too low because the citation gives no number?"""
    return (
        outcome.facts.cited.number is None
        and not outcome.answers.missing_told_apart
        and calibration == "UNDERCONFIDENT"
    )


def overfits_to_keywords(outcome: Outcome) -> bool:
    """Are shared words the whole reason for a match that no identifier supports?"""
    top = outcome.top
    if top is None or top.candidate.carries_number or top.candidate.key == outcome.facts.cited.key:
        return False
    return not outcome.facts.cues.claims_number_match and outcome.facts.objections.keyword_objection is not None


def ignores_ecli(outcome: Outcome) -> bool:
    """Does the cited ECLI name another candidate, or an ECLI contradict the citation, and the matcher ignores it?"""
    if outcome.truth.signal == "ecli" and outcome.correctness not in RIGHT:
        return True
    top, cited, cues = outcome.top, outcome.facts.cited, outcome.facts.cues
    if top is None:
        return False
    if top.candidate.ecli is not None and cited.key is not None and claims_false_ecli(outcome):
        return True
    match = top.candidate
    by_code = match.ecli is not None and court_code_contradicts(match, cited)
    court = by_code or court_codes_contradict(match, cited) or citation_contradicts_itself(cited)
    return (year_contradicts(match, cited) and not cues.doubts_ecli) or (court and not cues.doubts_court_of_ecli)


def _misreads_context(outcome: Outcome, found: set[ErrorType]) -> bool:
    """Was the context misread? A wrong answer that no court, number or identifier explains, if there was a context."""
    if outcome.correctness in RIGHT or outcome.other_type or outcome.other_jurisdiction:
        return False
    if outcome.top is not None and outcome.top.candidate in outcome.facts.other_division:
        return False
    if outcome.facts.case.citation_snippet is None or not any(item.texts for item in outcome.facts.eligible):
        return False
    return found <= _NOT_EXPLAINING
