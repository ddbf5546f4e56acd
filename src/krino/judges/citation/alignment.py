"""How the matcher handled the court: every fault it made, and the one label that wins."""

from __future__ import annotations

from krino.judges.citation.candidates import CandidateFacts
from krino.judges.citation.ceilings import ceiling
from krino.judges.citation.claims import blames_open_jurisdiction, court_claims
from krino.judges.citation.courts import Alignment, Court, Unknown
from krino.judges.citation.outcome import Outcome
from krino.judges.citation.verdict import AlignmentHandling, ErrorType

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
    return (outcome.top is None or only_right) and blames_open_jurisdiction(outcome.facts)


def _lost_the_right_one(outcome: Outcome, floor: int) -> bool:
    """The right decision, of the cited court, was not returned, not first, or at less than it deserves."""
    if outcome.top is None:
        return outcome.correctness == "FALSE_NEGATIVE"
    right = outcome.right_candidate
    if outcome.correctness == "CORRECT":
        return outcome.top.candidate.alignment == "SAME" and outcome.percent < floor
    return right is not None and right.alignment == "SAME"


def _overpunished(outcome: Outcome, floor: int) -> bool:
    if outcome.facts.cited.classification != "GENERIC" or not _lost_the_right_one(outcome, floor):
        return False
    return blames_open_jurisdiction(outcome.facts)


def _skipped(outcome: Outcome) -> bool:
    """The argument jumps to the number or the context, or there is none although courts had to be told apart."""
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
    cues, cited = outcome.facts.cues, outcome.facts.cited.court
    claims = court_claims(outcome.facts)
    if claims.by_short_name:
        return "ABBREVIATION_MISSED"
    if claims.by_language:
        return "FR_NL_CONFUSION"
    missed = outcome.right_candidate
    if missed is None:
        missed = next(candidate for candidate in outcome.facts.candidates if candidate.alignment == "SAME")
    if _is_short(cited) == _is_short(missed.named):
        return "FR_NL_CONFUSION"
    # A matcher that writes the short name out in full has read it: then the other language misled it. That is asked of
    # its own words alone, so that the French and the Dutch form of a citation are judged alike.
    spelled_out = cues.writes_a_court_out and not _quoted_short(outcome, missed)
    return "FR_NL_CONFUSION" if spelled_out else "ABBREVIATION_MISSED"


def _quoted_short(outcome: Outcome, candidate: CandidateFacts) -> bool:
    courts = (outcome.facts.cited.court, candidate.named)
    return any(
        isinstance(court, Court) and court.abbreviated and outcome.facts.cues.quotes(court.alias) for court in courts
    )


def _is_short(court: object) -> bool:
    return isinstance(court, Court) and court.abbreviated
