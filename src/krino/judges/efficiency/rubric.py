"""Scores a trace: overrules labels that facts refute, then looks the score up in the published table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from krino.contract import Finding, Ruling, Settlement
from krino.errors import CannotJudge
from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.findings import gather_findings
from krino.judges.efficiency.labels import BY_FACTS, EfficiencyLabels, StepLabel, copies_finding, merge_copies
from krino.judges.efficiency.wording import write_reason

Mode = Literal["strict", "scaled"]


@dataclass(frozen=True, slots=True)
class Tally:
    """The input of the table. `counted` excludes failed attempts whose retry succeeded."""

    counted: int
    wasted: int
    only_small: bool
    enrichment: bool


def settle(facts: EfficiencyFacts, labels: EfficiencyLabels | None, mode: Mode) -> Settlement:
    """Returns score, reason and findings, after labels that facts refute are overruled.

    Steps of which nothing was recorded do not count.
    """
    if labels is None:
        raise CannotJudge("there are no labels: the steps must be labelled first")
    steps, again = merge_copies(labels)
    by_place = sorted(steps, key=lambda item: facts.places[item.step])
    given = [item for item in by_place if facts.places[item.step] not in facts.unknown]
    settled, overruled = _overrule(facts, given)
    wasted = [item for item in settled if _is_wasted(facts, item)]
    score, rule = look_up_score(_count_steps(facts, settled, wasted), mode)
    evidence = tuple(_describe_evidence(facts, item) for item in wasted)
    rulings = {
        "score": Ruling(score, rule, (f"mode: {mode}", *evidence), from_labels=True),
        "reason": Ruling(write_reason(facts, wasted, score), "EFF-R1", evidence, from_labels=True),
    }
    by_facts = labels.shortest == BY_FACTS and score == 1.0
    remarks = [*overruled, *gather_findings(facts, settled, wasted, by_facts)]
    if again:
        remarks.append(copies_finding(again))
    return Settlement(rulings, tuple(remarks))


def look_up_score(tally: Tally, mode: Mode) -> tuple[float, str]:
    """Returns score and rule of the first row of the table that applies."""
    for row in table("score")[mode]:
        if _row_applies(row, tally):
            return row["score"], row["rule"]
    raise AssertionError("the last row of the table holds always")


def _row_applies(row: Mapping[str, Any], tally: Tally) -> bool:
    """Does a row of the score table apply?"""
    if "most_wasted" in row and tally.wasted > row["most_wasted"]:
        return False
    if "most_share" in row and tally.wasted > Fraction(row["most_share"]) * tally.counted:
        return False
    if row.get("only_small") and not tally.only_small:
        return False
    return not (row.get("no_enrichment") and tally.enrichment)


def _count_steps(facts: EfficiencyFacts, settled: list[StepLabel], wasted: list[StepLabel]) -> Tally:
    """Counts the steps that the score depends on."""
    excused = sum(1 for item in settled if item.label == "failed" and not _is_wasted(facts, item))
    return Tally(
        counted=len(settled) - excused,
        wasted=len(wasted),
        only_small=all(_is_small(facts, item) for item in wasted),
        enrichment=any(item.label == "enrichment" for item in wasted),
    )


def _is_wasted(facts: EfficiencyFacts, item: StepLabel) -> bool:
    if item.label == "failed":
        return facts.places[item.step] not in facts.recovered
    return item.label != "necessary"


def _is_small(facts: EfficiencyFacts, item: StepLabel) -> bool:
    """Is a step an exact duplicate, or a model's restyling that brings nothing new?"""
    place = facts.places[item.step]
    if item.label == "redundant":
        return facts.is_duplicate(place)
    return item.label == "enrichment" and facts.is_restyling(place)


def _overrule(facts: EfficiencyFacts, given: list[StepLabel]) -> tuple[list[StepLabel], list[Finding]]:
    """Returns the labels with those corrected that facts refute, and a finding on each.

    Two things are facts: a retry that succeeded after an error was necessary, an identical repeat was not.
    """
    settled, findings = [], []
    for item in given:
        place, called = facts.places[item.step], facts.display_id(item.step)
        repeat = facts.repeats.get(place)
        if repeat is not None and repeat.retry and item.label == "redundant" and facts.steps[place].error is None:
            settled.append(item.model_copy(update={"label": "necessary", "because_of": None}))
            findings.append(Finding("EFF-F1", f"step {called} was labelled {item.label}", item.step))
        elif facts.is_certain(place) and item.label == "necessary" and repeat is not None:
            of = facts.steps[repeat.of].id
            settled.append(
                item.model_copy(update={"label": "redundant", "because_of": of, "why": "the same call and result"})
            )
            findings.append(Finding("EFF-F2", f"step {called} was labelled {item.label}", item.step))
        else:
            settled.append(item)
    return settled, findings


def _describe_evidence(facts: EfficiencyFacts, item: StepLabel) -> str:
    """Returns a wasted step with its label and reason in one line.

    Adds the trace's own id where steps are numbered, so that the step can be found in the trace.
    """
    own = f" ({item.step})" if facts.display_id(item.step) != item.step else ""
    because = f" because of step {facts.display_id(item.because_of)}" if item.because_of else ""
    why = f": {item.why}" if item.why else ""
    return f"step {facts.display_id(item.step)}{own} {item.label}{because}{why}"
