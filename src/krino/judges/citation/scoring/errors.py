"""Finds the matcher's errors: in handling the court, those that follow from facts, and those in its reasoning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from krino.judges.citation.belgium.courts import Alignment, Court, CourtRef, Unknown, alignment, court_of_ecli_code
from krino.judges.citation.belgium.gazetteer import court_names_in
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.reasoning.objections import Objection
from krino.judges.citation.scoring.candidates import CandidateFacts, Cited
from krino.judges.citation.scoring.outcome import Ceiling, Outcome, ceiling
from krino.judges.citation.scoring.outcome import ceiling as court_ceiling
from krino.judges.citation.scoring.quality import claims_a_false_ecli
from krino.judges.citation.verdict import RIGHT, AlignmentHandling, Calibration, ErrorType

# The order in which one label wins over the others.
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


def alignment_faults(outcome: Outcome, floor: int) -> tuple[AlignmentHandling, ...]:
    """All faults, the winning one first; `floor` is the lowest confidence that was still fair."""
    made = {
        "WRONG_COURT_ACCEPTED": _over(outcome, "OTHER_TYPE", "court_type"),
        "MISSED_COURT_MATCH": _missed_court(outcome, floor),
        "WRONG_JURISDICTION_UNDERPUNISHED": _over(outcome, "OTHER_JURISDICTION", "jurisdiction"),
        "WRONG_JURISDICTION_OVERPUNISHED": _overpunished(outcome, floor),
        "SKIPPED_COURT_CHECK": _skipped(outcome),
    }
    return tuple(fault for fault in PRIORITY if made[fault])


def _over(outcome: Outcome, alignment: Alignment, limit: str) -> bool:
    """Whether any match, not only the first, has more confidence than a court so aligned may have."""
    most = ceiling(limit).tolerated
    return any(
        match.candidate.alignment == alignment and (match.percent or 0) > most for match in outcome.facts.answer.matches
    )


def withholds_for_court(faults: tuple[AlignmentHandling, ...]) -> bool:
    return "MISSED_COURT_MATCH" in faults or "WRONG_JURISDICTION_OVERPUNISHED" in faults


def _missed_court(outcome: Outcome, floor: int) -> bool:
    """The right court was taken for another: in another language, shortened, or under another seat's name."""
    if not any(candidate.alignment == "SAME" for candidate in outcome.facts.candidates):
        return False
    blamed = not outcome.answers.languages_as_one
    if outcome.top is None and blamed:
        return True
    if not _lost_the_right_one(outcome, floor):
        return False
    if blamed or outcome.facts.cited.classification != "SPECIFIC":
        return blamed
    # With other jurisdictions among the candidates, a remark on jurisdiction may be a right one.
    only_right = all(candidate.alignment in ("SAME", "UNKNOWN") for candidate in outcome.facts.candidates)
    return (outcome.top is None or only_right) and outcome.facts.objections.jurisdiction is not None


def _lost_the_right_one(outcome: Outcome, floor: int) -> bool:
    """The right decision, of the cited court, was not returned, not first, or at less than it deserves."""
    if outcome.top is None:
        return outcome.correctness == "FALSE_NEGATIVE"
    right = outcome.right_candidate
    if outcome.correctness == "CORRECT":
        return outcome.top.candidate.alignment == "SAME" and outcome.percent < floor
    return right is not None and right.alignment == "SAME"


def _overpunished(outcome: Outcome, floor: int) -> bool:
    """Confidence was taken off for a jurisdiction that the citation does not name.

    A reasoning that says so commits the error at any confidence; otherwise the confidence must show it.
    """
    if outcome.facts.cited.classification != "GENERIC":
        return False
    objection, top = outcome.facts.objections.jurisdiction, outcome.top
    if objection is not None and objection.is_penalty and top is not None and top.candidate.alignment == "SAME":
        return True
    return objection is not None and _lost_the_right_one(outcome, floor)


def _skipped(outcome: Outcome) -> bool:
    """Does the argument start with number or context, or is there none although the courts differ?"""
    facts, answers, cues = outcome.facts, outcome.answers, outcome.facts.cues
    if answers.court_first or not facts.candidates or isinstance(facts.cited.court, Unknown):
        return False
    if not cues.written:
        return True
    if (facts.cited.number is not None and answers.number_compared) or answers.context_cited:
        return True
    silent = cues.court_at is None and cues.number_at is None and not cues.says_ecli
    return silent and (len(facts.candidates) > 1 or outcome.other_type or outcome.other_jurisdiction)


def name_error(outcome: Outcome) -> ErrorType:
    """What kind of court name was not recognised: a short one, or one in the other language.

    Asked where a court was missed, and so where a candidate of that court is listed.
    """
    cited, objection = outcome.facts.cited.court, outcome.facts.objections.court
    missed = outcome.right_candidate
    if missed is None:
        missed = next(candidate for candidate in outcome.facts.candidates if candidate.alignment == "SAME")
    if objection is not None and objection.by_short_name:
        return "ABBREVIATION_MISSED"
    if (objection is not None and objection.by_language) or _spells_out(outcome, cited, missed.named):
        return "FR_NL_CONFUSION"
    if _is_short(cited) == _is_short(missed.named):
        return "FR_NL_CONFUSION"
    # A matcher that writes the short name out in full has read it: then the other language misled it. That is asked of
    # its own words alone, so that the French and the Dutch form of a citation are judged alike.
    spelled_out = outcome.facts.cues.writes_a_court_out and not _quoted_short(outcome, missed)
    return "FR_NL_CONFUSION" if spelled_out else "ABBREVIATION_MISSED"


def _spells_out(outcome: Outcome, cited: CourtRef, listed: CourtRef) -> bool:
    """Whether the reasoning writes out a court that is named in short, in another language than the name beside it."""
    if not (isinstance(cited, Court) and isinstance(listed, Court)) or cited.abbreviated == listed.abbreviated:
        return False
    beside = listed if cited.abbreviated else cited
    names = court_names_in(outcome.facts.cues.text)
    return any(head.target == cited.type and beside.name_language not in head.languages for head in names)


def _is_short(court: CourtRef) -> bool:
    return isinstance(court, Court) and court.abbreviated


def _quoted_short(outcome: Outcome, candidate: CandidateFacts) -> bool:
    courts = (outcome.facts.cited.court, candidate.named)
    return any(
        isinstance(court, Court) and court.abbreviated and outcome.facts.cues.quotes(court.alias) for court in courts
    )


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
    if goes_by_words(outcome):
        found.add("OVERFIT_TO_KEYWORDS")
    if _context_is_left(outcome, found):
        found.add("CONTEXT_MISREAD")
    return tuple(error for error in ORDER if error in found) or ("NONE",)


def objections_behind(errors: Sequence[str], facts: CitationFacts) -> list[tuple[str, Objection]]:
    """The errors that words of the reasoning show, each with those words."""
    claims = facts.objections
    made: dict[str, Callable[[], Objection | None]] = {
        "FR_NL_CONFUSION": lambda: claims.court,
        "ABBREVIATION_MISSED": lambda: claims.court,
        "GENERIC_OVERPUNISHED": lambda: claims.jurisdiction,
        "MISSING_CASE_NUMBER_PENALIZED": lambda: claims.number,
        "OVERFIT_TO_KEYWORDS": lambda: claims.words,
    }
    found = ((error, made[error]()) for error in errors if error in made)
    return [(error, claim) for error, claim in found if claim is not None]


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


def goes_by_words(outcome: Outcome) -> bool:
    """Shared words are the whole reason for a match that no identifier supports."""
    top = outcome.top
    if top is None or top.candidate.carries_number or top.candidate.key == outcome.facts.cited.key:
        return False
    return not outcome.facts.cues.claims_number_match and outcome.facts.objections.words is not None


def ignores_ecli(outcome: Outcome) -> bool:
    """The cited ECLI names another candidate, or an ECLI contradicts the citation and the matcher ignores it."""
    if outcome.truth.signal == "ecli" and outcome.correctness not in RIGHT:
        return True
    top, cited, cues = outcome.top, outcome.facts.cited, outcome.facts.cues
    if top is None:
        return False
    if top.candidate.ecli is not None and cited.key is not None and claims_a_false_ecli(outcome):
        return True
    match = top.candidate
    by_code = match.ecli is not None and court_code_contradicts(match, cited)
    court = by_code or _codes_contradict(match, cited) or citation_contradicts_itself(cited)
    return (year_contradicts(match, cited) and not cues.remarks_ecli) or (court and not cues.remarks_ecli_court)


def citation_contradicts_itself(cited: Cited) -> bool:
    """The cited ECLI is that of another court than the one that the citation names."""
    if cited.ecli is None or cited.ecli.country != "BE" or cited.court_from != "name":
        return False
    return alignment(cited.court, court_of_ecli_code(cited.ecli.court_code)) in ("OTHER_TYPE", "OTHER_JURISDICTION")


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


def _codes_contradict(match: CandidateFacts, cited: Cited) -> bool:
    """The court codes in the cited ECLI and in that of the match stand for different courts."""
    if match.ecli is None or cited.ecli is None or cited.ecli.country != "BE":
        return False
    return alignment(court_of_ecli_code(cited.ecli.court_code), match.coded) in ("OTHER_TYPE", "OTHER_JURISDICTION")


def _context_is_left(outcome: Outcome, found: set[ErrorType]) -> bool:
    """A wrong answer that neither court, number nor identifier explains was a misreading, if there was what to read."""
    if outcome.correctness in RIGHT or outcome.other_type or outcome.other_jurisdiction:
        return False
    if outcome.top is not None and outcome.top.candidate in outcome.facts.other_division:
        return False
    if outcome.facts.case.citation_snippet is None or not any(item.texts for item in outcome.facts.in_play):
        return False
    return found <= _EXPLAIN_NOTHING
