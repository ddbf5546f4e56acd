"""Names the mistakes of the matcher: those that follow from facts, and those that its reasoning shows."""

from __future__ import annotations

from typing import get_args

from krino.judges.citation.alignment import RULES, name_error
from krino.judges.citation.candidates import CandidateFacts
from krino.judges.citation.ceilings import Ceiling
from krino.judges.citation.ceilings import ceiling as court_ceiling
from krino.judges.citation.cited import Cited
from krino.judges.citation.claims import affirms
from krino.judges.citation.courts import alignment, court_of_ecli_code
from krino.judges.citation.outcome import Outcome
from krino.judges.citation.verdict import RIGHT, AlignmentHandling, Calibration, ErrorType

ORDER: tuple[ErrorType, ...] = get_args(ErrorType)
_OF_FAULT: dict[AlignmentHandling, ErrorType] = {
    "WRONG_COURT_ACCEPTED": "COURT_TYPE_MISMATCH_IGNORED",
    "WRONG_JURISDICTION_UNDERPUNISHED": "JURISDICTION_MISMATCH_IGNORED",
    "WRONG_JURISDICTION_OVERPUNISHED": "GENERIC_OVERPUNISHED",
    "SKIPPED_COURT_CHECK": "COURT_CHECK_SKIPPED",
}
# Errors that do not say why a wrong decision was chosen.
_EXPLAIN_NOTHING: frozenset[ErrorType] = frozenset({"COURT_CHECK_SKIPPED", "CEILING_VIOLATED"})


def find_errors(
    outcome: Outcome, faults: tuple[AlignmentHandling, ...], calibration: Calibration, ceiling: Ceiling | None
) -> tuple[ErrorType, ...]:
    """The errors in the rubric's order; never empty: NONE stands alone."""
    found: set[ErrorType] = {_OF_FAULT[fault] for fault in faults if fault in _OF_FAULT}
    if "MISSED_COURT_MATCH" in faults:
        found.add(name_error(outcome))
    if ignores_number(outcome, calibration):
        found.add("CASE_NUMBER_IGNORED")
    if claims_false_number(outcome):
        found.add("CASE_NUMBER_FALSE_MATCH")
    if penalises_missing_number(outcome, calibration):
        found.add("MISSING_CASE_NUMBER_PENALIZED")
    if breaks_a_ceiling(outcome, ceiling):
        found.add("CEILING_VIOLATED")
    if ignores_ecli(outcome):
        found.add("ECLI_MISMATCH_IGNORED")
    if _context_is_left(outcome, found):
        by_words = outcome.top is not None and affirms("shared_words", outcome.facts.cues.text)
        found.add("OVERFIT_TO_KEYWORDS" if by_words else "CONTEXT_MISREAD")
    return tuple(error for error in ORDER if error in found) or ("NONE",)


def breaks_a_ceiling(outcome: Outcome, ceiling: Ceiling | None) -> bool:
    """The first match by the ceiling of the case, each further one by that of its own court."""
    if outcome.top is not None and ceiling is not None and outcome.percent > ceiling.tolerated:
        return True
    limits = {"OTHER_TYPE": court_ceiling("court_type"), "OTHER_JURISDICTION": court_ceiling("jurisdiction")}
    return any(
        (limit := limits.get(match.candidate.alignment)) is not None and (match.percent or 0) > limit.tolerated
        for match in outcome.facts.answer.matches[1:]
    )


def rule_of(handling: AlignmentHandling, outcome: Outcome) -> str:
    """The rule of a handling; one without a fault is still for review where name and code of the match disagree."""
    top = outcome.top
    if (
        top is not None
        and handling == "CORRECT_ALIGNMENT"
        and court_code_contradicts(top.candidate, outcome.facts.cited)
    ):
        return "CIT-A7"
    return RULES[handling]


def ignores_number(outcome: Outcome, calibration: Calibration) -> bool:
    """The right decision carries the cited number, and the matcher passed it over or did not look."""
    right = outcome.right_candidate
    if right is None or not right.carries_number:
        return False
    if outcome.correctness == "CORRECT":
        return calibration == "UNDERCONFIDENT" and not outcome.answers.number_compared
    return True


def claims_false_number(outcome: Outcome) -> bool:
    top, facts = outcome.top, outcome.facts
    if top is None or top.candidate.carries_number:
        return False
    kept = top.candidate.listed or facts.complete or top.candidate.number is not None
    if facts.cited.number is not None and top.candidate.relation == "INCOMPARABLE" and not kept:
        return False
    return facts.cues.claims_number_match


def penalises_missing_number(outcome: Outcome, calibration: Calibration) -> bool:
    return (
        outcome.facts.cited.number is None
        and not outcome.answers.missing_told_apart
        and calibration == "UNDERCONFIDENT"
    )


def ignores_ecli(outcome: Outcome) -> bool:
    """The cited ECLI names another candidate, or the match's own ECLI contradicts the cited year or court."""
    if outcome.truth.signal == "ecli" and outcome.correctness not in RIGHT:
        return True
    top = outcome.top
    if top is None or top.candidate.ecli is None:
        return False
    if _claims_a_false_ecli(outcome):
        return True
    match, cited = top.candidate, outcome.facts.cited
    contradicts = (
        year_contradicts(match, cited) or court_code_contradicts(match, cited) or _codes_contradict(match, cited)
    )
    return contradicts and not outcome.facts.cues.remarks_ecli


def year_contradicts(match: CandidateFacts, cited: Cited) -> bool:
    if match.ecli is None or match.key == cited.key:
        return False
    # The Council of State numbers its judgments on and on: its ECLIs are known to carry wrong years.
    by_number = match.ecli.number is not None and match.carries_number
    return bool(cited.years) and match.ecli.year not in cited.years and not by_number


def court_code_contradicts(match: CandidateFacts, cited: Cited) -> bool:
    """A court that fits by name while the code in its ECLI does not."""
    if match.alignment not in ("SAME", "UNKNOWN"):
        return False
    return alignment(cited.court, match.coded) in ("OTHER_TYPE", "OTHER_JURISDICTION")


def _claims_a_false_ecli(outcome: Outcome) -> bool:
    """The reasoning says that the ECLI agrees, and it does not."""
    top, facts = outcome.top, outcome.facts
    if top is None or facts.cited.key is None or top.candidate.key == facts.cited.key:
        return False
    return facts.cues.claims_ecli_match


def _codes_contradict(match: CandidateFacts, cited: Cited) -> bool:
    """The court codes in the cited ECLI and in that of the match stand for different courts."""
    if cited.ecli is None or cited.ecli.country != "BE":
        return False
    return alignment(court_of_ecli_code(cited.ecli.court_code), match.coded) in ("OTHER_TYPE", "OTHER_JURISDICTION")


def _context_is_left(outcome: Outcome, found: set[ErrorType]) -> bool:
    """A wrong answer that neither court, number nor identifier explains was a misreading, if there was what to read."""
    if outcome.correctness in RIGHT or outcome.other_type or outcome.other_jurisdiction:
        return False
    if outcome.facts.case.citation_snippet is None or not any(item.texts for item in outcome.facts.in_play):
        return False
    return found <= _EXPLAIN_NOTHING
