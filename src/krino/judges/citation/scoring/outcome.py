"""Scores the answer: is it correct, which ceiling applies, and does its confidence fit the evidence?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from krino.judges.citation import table
from krino.judges.citation.belgium.topics import Strength
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.labels import CitationLabels
from krino.judges.citation.local import Answers, choose_answers
from krino.judges.citation.scoring.candidates import CandidateFacts, MatchFacts
from krino.judges.citation.scoring.truth import USABLE, Truth, decide_with_context
from krino.judges.citation.verdict import Calibration, MatchCorrectness


class Outcome(NamedTuple):
    """The decision meant, the answers about the reasoning, and whether the matcher's answer is correct.

    `percent` is the confidence of the top match, 0 without a match.
    """

    facts: CitationFacts
    truth: Truth
    answers: Answers
    correctness: MatchCorrectness
    rule: str
    labelled: bool
    top: MatchFacts | None
    percent: float

    @property
    def other_type(self) -> bool:
        """Is the first match of another type of court than the cited one?"""
        return self.top is not None and self.top.candidate.alignment == "OTHER_TYPE"

    @property
    def other_jurisdiction(self) -> bool:
        """Is the first match of another court of the same type than the cited one?"""
        return self.top is not None and self.top.candidate.alignment == "OTHER_JURISDICTION"

    @property
    def right_candidate(self) -> CandidateFacts | None:
        """The candidate that the top match should have been."""
        return self.truth.candidate


def score_answer(facts: CitationFacts, labels: CitationLabels | None) -> Outcome:
    """Returns the decision meant, whether the answer is right, and the answers about the reasoning."""
    truth = decide_with_context(facts.truth, *_find_pointed(facts, labels))
    correctness, rule = _judge_correctness(facts, truth)
    top = facts.answer.top
    percent = top.percent if top is not None and top.percent is not None else 0.0
    return Outcome(facts, truth, choose_answers(facts, labels), correctness, rule, labels is not None, top, percent)


def _find_pointed(facts: CitationFacts, labels: CitationLabels | None) -> tuple[CandidateFacts | None, Strength]:
    """Returns the candidate that the labels say the snippet is about, and how strongly; None and "none" without one."""
    if labels is None:
        return None, "none"
    place = labels.subject.candidate
    if place is None or not 1 <= place <= len(facts.shown):
        return None, "none"
    return facts.shown[place - 1], labels.subject.strength


def _judge_correctness(facts: CitationFacts, truth: Truth) -> tuple[MatchCorrectness, str]:
    """Returns whether the answer is right, and the rule that says so."""
    if truth.undecided:
        return _judge_undecided(facts, truth)
    if truth.key is None:
        return _judge_if_none_is_right(facts, truth)
    matched = [match.candidate.key for match in facts.answer.matches]
    if matched and matched[0] == truth.key:
        return "CORRECT", "CIT-M1"
    if truth.key in matched:
        return "PARTIALLY_CORRECT", "CIT-M2"
    reachable = truth.candidate is not None or not facts.complete
    if matched:
        return ("INCORRECT", "CIT-M3") if reachable else ("FALSE_POSITIVE", "CIT-M4")
    return ("FALSE_NEGATIVE", "CIT-M5") if reachable else ("CORRECT_NO_MATCH", "CIT-M6")


def _judge_if_none_is_right(facts: CitationFacts, truth: Truth) -> tuple[MatchCorrectness, str]:
    """Judges an answer when none of the candidates is the decision meant."""
    top = facts.answer.top
    if top is None:
        return "CORRECT_NO_MATCH", "CIT-M6"
    if top.candidate.alignment == "OTHER_JURISDICTION" and truth.signal != "given_none":
        return "INCORRECT", "CIT-M7"
    return "FALSE_POSITIVE", "CIT-M4"


def _judge_undecided(facts: CitationFacts, truth: Truth) -> tuple[MatchCorrectness, str]:
    """Judges an answer when nothing decides which decision is meant.

    A match to a contender, or no match, counts as correct.
    """
    top = facts.answer.top
    if top is None:
        return "CORRECT_NO_MATCH", "CIT-M8"
    contenders = {contender.key for contender in truth.contenders if contender.relation != "DIFFERENT"}
    return ("CORRECT", "CIT-M8") if top.candidate.key in contenders else ("INCORRECT", "CIT-M3")


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A limit in percent; `tolerated` is the highest confidence that does not yet break it."""

    name: str
    cap: int
    tolerated: int
    text: str
    rule: str


@cache
def ceiling(name: str) -> Ceiling:
    """Returns the ceiling of this name in `ceilings.toml`."""
    row = table("ceilings")[name]
    return Ceiling(name, row["cap"], row["tolerated"], row["text"], row["rule"])


def ceiling_of_answer(outcome: Outcome) -> Ceiling | None:
    """Returns the ceiling of the top match, or None; without a match, only if no candidate has the right court."""
    top = outcome.top
    if top is None:
        return _ceiling_without_match(outcome)
    return ceiling_for(top.candidate, outcome.facts)


def ceiling_for(candidate: CandidateFacts, facts: CitationFacts) -> Ceiling | None:
    """Returns the lowest ceiling that applies to a candidate, or None."""
    if candidate.alignment == "OTHER_TYPE":
        return ceiling("court_type")
    if candidate.alignment == "OTHER_JURISDICTION":
        return ceiling("jurisdiction")
    cited = facts.cited
    by_ecli = candidate.key == cited.key
    found = []
    if cited.classification == "GENERIC":
        found.append(ceiling("generic"))
    elif cited.number is None and not by_ecli:
        found.append(ceiling("no_number"))
    if cited.number is not None and not _is_number_confirmed(candidate, facts, by_ecli):
        found.append(ceiling("number_unmatched"))
    return min(found, key=lambda item: item.cap, default=None)


def _is_number_confirmed(candidate: CandidateFacts, facts: CitationFacts, by_ecli: bool) -> bool:
    """Does a decision that can be meant carry the cited number, or does its ECLI replace a missing one?

    Also true if the list is incomplete and has no number to compare with.
    """
    if candidate.carries_number or facts.number_carried:
        return True
    if not facts.complete and candidate.number is None and candidate.relation == "INCOMPARABLE":
        return True  # a fast path kept no number to compare with
    return by_ecli and candidate.relation != "DIFFERENT"


def _ceiling_without_match(outcome: Outcome) -> Ceiling | None:
    """Returns the ceiling of a right "no match", or None: only if all candidates are of other courts."""
    if outcome.correctness != "CORRECT_NO_MATCH" or outcome.truth.undecided or not outcome.facts.candidates:
        return None
    alignments = {candidate.alignment for candidate in outcome.facts.candidates}
    if alignments == {"OTHER_TYPE"}:
        return ceiling("court_type")
    return ceiling("jurisdiction") if alignments <= {"OTHER_TYPE", "OTHER_JURISDICTION"} else None


# A ceiling below the range of the evidence leaves a range of at least this width.
_LEAST_WIDTH = 5
_WITHHOLDABLE = frozenset({"context", "lone"})


@dataclass(frozen=True, slots=True)
class Expected:
    """The confidence that the evidence justifies, in percent, with the rule and its reason."""

    scenario: str
    low: int
    high: int
    rule: str
    says: str


@cache
def _load_range(name: str) -> Expected:
    row = table("ranges")[name]
    low, high = row["range"]
    return Expected(name, low, high, row["rule"], row["says"])


def expected_range(outcome: Outcome, ceiling: Ceiling | None) -> Expected:
    """Returns the confidence that the evidence justifies, cut off at the ceiling."""
    name = _scenario_of_match(outcome) if outcome.top is not None else _scenario_without_match(outcome)
    return _cap_range(_load_range(name), _highest_allowed(outcome, ceiling))


def withheld_range(outcome: Outcome, ceiling: Ceiling | None, expected: Expected) -> Expected:
    """Returns the range for a matcher that withheld confidence because it misjudged the court.

    Only a right match by context, or the only candidate left, has another range then; else it is `expected`.
    """
    if expected.scenario not in _WITHHOLDABLE:
        return expected
    return _cap_range(_load_range("withheld"), _highest_allowed(outcome, ceiling))


def calibrate(outcome: Outcome, expected: Expected, ceiling: Ceiling | None) -> tuple[Calibration, str]:
    """Says whether the confidence fits the evidence, and by which rule."""
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


def _highest_allowed(outcome: Outcome, ceiling: Ceiling | None) -> int:
    """The highest confidence allowed; without a match, only the limit of a generic citation applies."""
    if ceiling is not None:
        return ceiling.cap
    return 95 if outcome.top is None and outcome.facts.cited.classification == "GENERIC" else 100


def _cap_range(expected: Expected, cap: int) -> Expected:
    if expected.high <= cap:
        return expected
    return Expected(expected.scenario, min(expected.low, cap - _LEAST_WIDTH), cap, expected.rule, expected.says)


def _scenario_of_match(outcome: Outcome) -> str:
    """Names the scenario of a match, by which the expected confidence is looked up."""
    top = outcome.top
    assert top is not None
    if outcome.other_type:
        return "court_type"
    if outcome.other_jurisdiction:
        return "jurisdiction"
    if outcome.correctness != "CORRECT":
        return "wrong"
    if outcome.truth.undecided:
        return _scenario_if_undecided(outcome)
    return _scenario_of_evidence(outcome, top.candidate)


def _scenario_without_match(outcome: Outcome) -> str:
    """Names the scenario where the matcher chose none."""
    facts, truth = outcome.facts, outcome.truth
    if outcome.correctness == "FALSE_NEGATIVE":
        return _scenario_if_missed(outcome, truth.candidate)
    if truth.undecided:
        return _scenario_if_undecided(outcome)
    if not facts.candidates:
        return "no_candidates"
    alignments = {candidate.alignment for candidate in facts.candidates}
    if alignments == {"OTHER_TYPE"}:
        return "court_type"
    return "no_match_jurisdiction" if alignments <= {"OTHER_TYPE", "OTHER_JURISDICTION"} else "wrong"


def _scenario_if_missed(outcome: Outcome, candidate: CandidateFacts | None) -> str:
    """Names the scenario of the decision meant, if it had been matched."""
    if candidate is None:
        return "withheld"
    if candidate.alignment == "OTHER_TYPE":
        return "court_type"
    if candidate.alignment == "OTHER_JURISDICTION":
        return "jurisdiction"
    name = _scenario_of_evidence(outcome, candidate)
    return "withheld" if name in _WITHHOLDABLE else name


def _scenario_if_undecided(outcome: Outcome) -> str:
    """Names the scenario where nothing decides which decision is meant."""
    if outcome.facts.cited.number is not None and len(outcome.truth.contenders) == 1:
        return "unconfirmed"
    court_only = outcome.facts.case.snippet_match_type == "COURT_ONLY"
    return "undecided_court_only" if court_only else "undecided"


def _scenario_of_evidence(outcome: Outcome, candidate: CandidateFacts) -> str:
    """Names the scenario of a right match by its strongest evidence."""
    cited, truth = outcome.facts.cited, outcome.truth
    if candidate.key == cited.key:
        return "ecli"
    if candidate.carries_number:
        return "number" if candidate.relation in ("EXACT", "NORMALISED") else "near_number"
    if cited.number is not None:
        return "number_unmatched" if truth.signal != "lone" or truth.strength in USABLE else "unconfirmed"
    if truth.strength in USABLE:
        return "context"
    return "lone" if len(outcome.facts.eligible) < 2 else _scenario_if_undecided(outcome)
