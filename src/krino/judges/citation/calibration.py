"""The confidence that the evidence earns, and whether the matcher's was too high, too low or right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from krino.judges.citation.candidates import CandidateFacts
from krino.judges.citation.ceilings import Ceiling
from krino.judges.citation.outcome import Outcome
from krino.judges.citation.tables import table
from krino.judges.citation.verdict import Calibration

# A ceiling that falls below the range of the evidence leaves at least this much room under itself.
_ROOM = 5
_WITHHOLDABLE = frozenset({"context", "lone"})


@dataclass(frozen=True, slots=True)
class Expected:
    """A range in percent, the rule that gave it and what the rule saw."""

    scenario: str
    low: int
    high: int
    rule: str
    says: str


@cache
def _scenario(name: str) -> Expected:
    row = table("ranges")[name]
    low, high = row["range"]
    return Expected(name, low, high, row["rule"], row["says"])


def expected_range(outcome: Outcome, ceiling: Ceiling | None) -> Expected:
    name = _of_match(outcome) if outcome.top is not None else _of_no_match(outcome)
    return _cut(_scenario(name), _cap(outcome, ceiling))


def withheld_range(outcome: Outcome, ceiling: Ceiling | None, expected: Expected) -> Expected:
    """The range to hold against a matcher that withheld confidence for a wrong reason about the court."""
    if expected.scenario not in _WITHHOLDABLE:
        return expected
    return _cut(_scenario("withheld"), _cap(outcome, ceiling))


def calibrate(outcome: Outcome, expected: Expected, ceiling: Ceiling | None) -> tuple[Calibration, str]:
    if outcome.correctness == "FALSE_NEGATIVE":
        return "UNDERCONFIDENT", "CIT-B4"
    if outcome.top is None:
        return "WELL_CALIBRATED", "CIT-B5"
    allowed = max(expected.high, ceiling.tolerated) if ceiling and ceiling.cap == expected.high else expected.high
    if outcome.percent > allowed:
        return "OVERCONFIDENT", "CIT-B2"
    if outcome.percent < expected.low and outcome.correctness == "CORRECT":
        return "UNDERCONFIDENT", "CIT-B3"
    return "WELL_CALIBRATED", "CIT-B1"


def _cap(outcome: Outcome, ceiling: Ceiling | None) -> int:
    """What nobody may exceed; where nothing was scored, only the limit of a generic citation is left."""
    if ceiling is not None:
        return ceiling.cap
    return 95 if outcome.top is None and outcome.facts.cited.classification == "GENERIC" else 100


def _cut(expected: Expected, cap: int) -> Expected:
    if expected.high <= cap:
        return expected
    return Expected(expected.scenario, min(expected.low, cap - _ROOM), cap, expected.rule, expected.says)


def _of_match(outcome: Outcome) -> str:
    top = outcome.top
    assert top is not None
    if outcome.other_type:
        return "court_type"
    if outcome.other_jurisdiction:
        return "jurisdiction"
    if outcome.correctness != "CORRECT":
        return "wrong"
    if outcome.truth.undecided:
        return _undecided(outcome)
    return _evidence(outcome, top.candidate)


def _of_no_match(outcome: Outcome) -> str:
    facts, truth = outcome.facts, outcome.truth
    if outcome.correctness == "FALSE_NEGATIVE":
        return _missed(outcome, truth.candidate)
    if truth.undecided:
        return _undecided(outcome)
    if not facts.candidates:
        return "no_candidates"
    alignments = {candidate.alignment for candidate in facts.candidates}
    if alignments == {"OTHER_TYPE"}:
        return "court_type"
    return "no_match_jurisdiction" if alignments <= {"OTHER_TYPE", "OTHER_JURISDICTION"} else "wrong"


def _missed(outcome: Outcome, candidate: CandidateFacts | None) -> str:
    """What would have been right, had the decision been matched."""
    if candidate is None:
        return "withheld"
    if candidate.alignment == "OTHER_TYPE":
        return "court_type"
    if candidate.alignment == "OTHER_JURISDICTION":
        return "jurisdiction"
    name = _evidence(outcome, candidate)
    return "withheld" if name in _WITHHOLDABLE else name


def _undecided(outcome: Outcome) -> str:
    if outcome.facts.cited.number is not None and len(outcome.truth.contenders) == 1:
        return "unconfirmed"
    court_only = outcome.facts.case.snippet_match_type == "COURT_ONLY"
    return "undecided_court_only" if court_only else "undecided"


def _evidence(outcome: Outcome, candidate: CandidateFacts) -> str:
    cited, truth = outcome.facts.cited, outcome.truth
    if candidate.key == cited.key:
        return "ecli"
    if candidate.carries_number:
        return "number" if candidate.relation in ("EXACT", "NORMALISED") else "near_number"
    if cited.number is not None:
        return "number_unmatched"
    if truth.strength in ("strong", "moderate"):
        return "context"
    return "lone" if len(outcome.facts.in_play) < 2 else _undecided(outcome)
