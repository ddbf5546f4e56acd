"""Marks the matcher's reasoning from 1 to 5: five less what it leaves out, and never above what it got wrong."""

from __future__ import annotations

from collections.abc import Collection

from krino.judges.citation.ceilings import Ceiling
from krino.judges.citation.outcome import Outcome
from krino.judges.citation.soundness import caps_of_sense
from krino.judges.citation.verdict import RIGHT, AlignmentHandling, ErrorType

_BEST, _WORST = 5, 1
_MOST_WHEN_WRONG = 3
# A reasoning with one of these errors is worth no more than this.
_MOST_WITH: dict[ErrorType, int] = {
    "FR_NL_CONFUSION": 1,
    "ABBREVIATION_MISSED": 2,
    "CASE_NUMBER_FALSE_MATCH": 2,
    "COURT_TYPE_MISMATCH_IGNORED": 2,
}
_COSTLY: frozenset[ErrorType] = frozenset({"GENERIC_OVERPUNISHED", "CEILING_VIOLATED"})


def mark_reasoning(
    outcome: Outcome, faults: Collection[AlignmentHandling], errors: Collection[ErrorType], ceiling: Ceiling | None
) -> tuple[int, tuple[str, ...]]:
    """The mark and what it was lowered for."""
    if not outcome.facts.cues.written:
        return _WORST, ("no reasoning is given",)
    lacks = _lacks(outcome, faults)
    lacks += [error for error in errors if error in _COSTLY]
    mark = _BEST - len(lacks) - ("SKIPPED_COURT_CHECK" in faults)
    caps: list[tuple[int, str]] = [(_MOST_WITH[error], error) for error in errors if error in _MOST_WITH]
    if outcome.correctness not in RIGHT:
        caps.append((_MOST_WHEN_WRONG, "it leads to a wrong answer"))
    caps += caps_of_sense(outcome, ceiling)
    for cap, reason in caps:
        if mark > cap:
            lacks.append(f"at most {cap}: {reason}")
            mark = cap
    return max(mark, _WORST), tuple(lacks)


def _lacks(outcome: Outcome, faults: Collection[AlignmentHandling]) -> list[str]:
    """Each step that the reasoning leaves out costs one point; a court check that was jumped costs two."""
    facts, answers = outcome.facts, outcome.answers
    lacks = []
    if not answers.court_first and facts.candidates:
        lacks.append("the court check is skipped" if "SKIPPED_COURT_CHECK" in faults else "the court is not addressed")
    numbered = facts.cited.number is not None
    if numbered and not answers.number_compared and facts.in_play:
        lacks.append("the cited number is not compared")
    elif not answers.missing_told_apart and not facts.number_carried:
        lacks.append("a missing number is taken for a mismatched one")
    if outcome.truth.signal == "context":
        told = answers.context_cited
    else:
        by_number = numbered and answers.number_compared
        told = by_number or answers.context_cited or answers.others_rejected or facts.cues.says_ecli
        told = told or len(facts.in_play) < 2
    if not told:
        lacks.append("nothing says why this candidate and not another")
    return lacks
