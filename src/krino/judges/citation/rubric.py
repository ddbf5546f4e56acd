"""Turns facts and labels into the eleven fields of the verdict by the rubric's rules, without side effects."""

from __future__ import annotations

from typing import NamedTuple

from krino.contract import Ruling, Settlement
from krino.judges.citation.belgium.courts import Court, Other
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.findings import collect_findings, find_unread
from krino.judges.citation.labels import CitationLabels
from krino.judges.citation.report.rollup import UNREAD_COURT
from krino.judges.citation.scoring.errors import (
    find_alignment_faults,
    find_errors,
    is_withheld_for_court,
    objections_behind,
    rule_of_handling,
)
from krino.judges.citation.scoring.outcome import (
    Ceiling,
    Expected,
    Outcome,
    calibrate,
    ceiling_of_answer,
    expected_range,
    score_answer,
    withheld_range,
)
from krino.judges.citation.scoring.quality import score_reasoning
from krino.judges.citation.verdict import AlignmentHandling, Calibration, CitationVerdict, is_faultless
from krino.judges.citation.wording import Faults, write_notes, write_suggestions

_CLASS_RULES = {"NATIONAL": "CIT-K1", "SPECIFIC": "CIT-K2", "GENERIC": "CIT-K3"}


def settle(facts: CitationFacts, labels: CitationLabels | None) -> Settlement:
    """Returns one ruling for each of the eleven keys, with findings and unread texts.

    Labels may be None only where the facts leave nothing open.
    """
    if labels is None and facts.truth.open:
        raise ValueError("labels are needed: identifiers do not decide this case")
    outcome = score_answer(facts, labels)
    ceiling = ceiling_of_answer(outcome)
    expected = expected_range(outcome, ceiling)
    withheld = withheld_range(outcome, ceiling, expected)
    faults = find_alignment_faults(outcome, withheld.low)
    if is_withheld_for_court(faults):
        expected = withheld
    scored = _Scored(outcome, faults, expected, ceiling, *calibrate(outcome, expected, ceiling))
    rulings = {
        **_rule_on_truth(outcome),
        **_rule_on_court(scored),
        **_rule_on_confidence(scored),
        **_rule_on_reasoning(scored),
    }
    return Settlement({name: rulings[name] for name in FIELDS}, collect_findings(outcome), unread=find_unread(facts))


class _Scored(NamedTuple):
    """An outcome with the scores that follow from it."""

    outcome: Outcome
    faults: tuple[AlignmentHandling, ...]
    expected: Expected
    ceiling: Ceiling | None
    calibration: Calibration
    calibration_rule: str

    @property
    def handling(self) -> AlignmentHandling:
        """The fault that takes precedence, or CORRECT_ALIGNMENT."""
        return self.faults[0] if self.faults else "CORRECT_ALIGNMENT"


FIELDS = tuple(CitationVerdict.model_fields)


def _rule_on_truth(outcome: Outcome) -> dict[str, Ruling]:
    """Returns the rulings on which decision is right and whether the answer is."""
    by_context = outcome.labelled and outcome.facts.truth.open and outcome.truth.signal not in ("only", "lone")
    evidence = _list_truth_evidence(outcome)
    return {
        "match_correctness": Ruling(outcome.correctness, outcome.rule, evidence, by_context),
        "correct_decision_id": Ruling(outcome.truth.id, outcome.truth.rule, evidence, by_context),
    }


def _list_truth_evidence(outcome: Outcome) -> tuple[str, ...]:
    """Returns the evidence for the right decision."""
    found = [f"decided by: {outcome.truth.signal}"]
    right = outcome.truth.candidate
    if right is not None:
        found.append(f"case number: {right.relation.lower()} ({right.why})")
        found.append(f"court: {right.alignment.lower()}")
    if outcome.truth.signal in ("context", "only", "lone") and outcome.truth.strength != "none":
        found.append(f"context: {outcome.truth.strength}")
    return tuple(found)


def _rule_on_court(scored: _Scored) -> dict[str, Ruling]:
    """Returns the rulings on how the court was handled, and on what the citation says of it."""
    outcome, handling = scored.outcome, scored.handling
    cited, top = outcome.facts.cited, outcome.top
    evidence = (f"top match: {top.candidate.alignment.lower()}",) if top is not None else ("no match",)
    alias: tuple[str, ...] = ()
    if isinstance(cited.court, Court | Other):
        alias = (f"alias: {cited.court.alias}", f"read from: {cited.court_from}")
    rule = _CLASS_RULES[cited.classification]
    if not isinstance(cited.court, Court):
        rule = "CIT-K4" if isinstance(cited.court, Other) else UNREAD_COURT
    from_words = handling in ("MISSED_COURT_MATCH", "SKIPPED_COURT_CHECK", "CORRECT_ALIGNMENT")
    return {
        "court_alignment_handling": Ruling(
            handling,
            rule_of_handling(handling, outcome),
            (*evidence, *scored.faults[1:]),
            outcome.labelled and from_words,
        ),
        "cited_court_classification": Ruling(cited.classification, rule, alias),
    }


def _rule_on_confidence(scored: _Scored) -> dict[str, Ruling]:
    """Returns the rulings on the confidence: its calibration, the expected range and the ceiling."""
    outcome, expected, ceiling = scored.outcome, scored.expected, scored.ceiling
    shown = f"confidence {outcome.percent:g} %" if outcome.top is not None else "no match"
    by_labels = outcome.labelled
    if ceiling is not None:
        limit = Ruling(ceiling.text, ceiling.rule, (f"cap {ceiling.cap} %",))
    else:
        limit = Ruling(None, "CIT-L6" if outcome.top is None else "CIT-L0")
    return {
        "confidence_calibration": Ruling(scored.calibration, scored.calibration_rule, (shown,), by_labels),
        "expected_confidence_range": Ruling((expected.low, expected.high), expected.rule, (expected.says,), by_labels),
        "applicable_ceiling": limit,
    }


def _rule_on_reasoning(scored: _Scored) -> dict[str, Ruling]:
    """Returns the rulings on the reasoning: its quality, errors, notes and suggestions."""
    outcome = scored.outcome
    errors = find_errors(outcome, scored.faults, scored.calibration, scored.ceiling)
    quality, lacks = score_reasoning(outcome, errors, scored.ceiling)
    suggestions = None
    if not is_faultless(outcome.correctness, scored.calibration, scored.handling, quality):
        advised = Faults(errors, scored.calibration, scored.expected, scored.ceiling, quality, lacks)
        suggestions = write_suggestions(outcome, advised)
    notes = write_notes(outcome, scored.expected, scored.ceiling, errors, quality, lacks)
    by_labels = outcome.labelled
    rests_on = (*outcome.answers.words(), *(lack.says for lack in lacks))
    shown_by = tuple(f"{error}: {claim.words}" for error, claim in objections_behind(errors, outcome.facts))
    return {
        "reasoning_quality": Ruling(quality, "CIT-Q1", rests_on, by_labels),
        "errors": Ruling(list(errors), "CIT-E1" if errors != ("NONE",) else "CIT-E2", shown_by, by_labels),
        "evaluation_notes": Ruling(notes, "CIT-W1", (), by_labels),
        "improvement_suggestions": Ruling(suggestions, "CIT-W2" if suggestions else "CIT-W3", (), by_labels),
    }
