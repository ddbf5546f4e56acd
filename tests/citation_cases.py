"""Builds small citation cases and judges them with the embedded labeller, for the tests of the citation judge."""

from __future__ import annotations

from typing import Any

from krino import Settlement
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.judge import CitationJudge
from krino.judges.citation.labels import CitationLabels, Reasoning
from krino.judges.citation.verdict import CitationVerdict

JUDGE = CitationJudge()
CASSATION = "ECLI:BE:CASS:2018:ARR.20180315.{}"
GOOD_REASON = "Court: aligned for all candidates. Case number {}: exact match to candidate 1, the others differ."


def candidate(decision_id: str, court: str | None, number: str | None = None, *summaries: str) -> dict[str, Any]:
    return {"decision_id": decision_id, "court_name": court, "rol_number": number, "summaries": list(summaries)}


def match(
    decision_id: str, confidence: float | None = 0.9, reasoning: str | None = None, **more: Any
) -> dict[str, Any]:
    return {"decision_id": decision_id, "confidence": confidence, "reasoning": reasoning, **more}


def citation(court: str | None, number: str | None = None, **more: Any) -> dict[str, Any]:
    base = {"cited_court_name": court, "cited_date": "2018-03-15", "cited_case_number": number}
    return base | {"candidates": [], "matches": []} | more


def study(record: dict[str, Any]) -> CitationFacts:
    return JUDGE.study(JUDGE.read(record))


def label(facts: CitationFacts) -> CitationLabels | None:
    """What the embedded labeller says, or None where nothing is asked."""
    if JUDGE.ask(facts.case, facts) is None:
        return None
    labels = JUDGE.label_locally([(facts.case, facts)])[0]
    assert JUDGE.check(facts.case, facts, labels) == []
    return labels


def by_hand(place: int | None = None, strength: str = "none", *, no: tuple[str, ...] = ()) -> CitationLabels:
    """Labels as a model gives them: where the snippet points, and yes to all of the six questions but those named."""
    answers = {name: {"yes": name not in no, "why": ""} for name in Reasoning.model_fields}
    subject = {"candidate": place, "strength": strength, "quote": None}
    return CitationLabels.model_validate({"subject": subject, "reasoning": answers})


def settle_with(record: dict[str, Any], labels: CitationLabels | None) -> Settlement:
    facts = study(record)
    return JUDGE.settle(facts.case, facts, labels)


def settle(record: dict[str, Any]) -> Settlement:
    facts = study(record)
    return JUDGE.settle(facts.case, facts, label(facts))


def verdict(record: dict[str, Any]) -> CitationVerdict:
    return verdict_of(settle(record))


def verdict_of(settlement: Settlement) -> CitationVerdict:
    assert {ruling.rule for ruling in settlement.rulings.values()} <= JUDGE.rules.keys()
    assert {finding.rule for finding in settlement.findings} <= JUDGE.rules.keys()
    return CitationVerdict.model_validate({name: ruling.value for name, ruling in settlement.rulings.items()})


def findings(record: dict[str, Any]) -> set[str]:
    return {finding.rule for finding in settle(record).findings}
