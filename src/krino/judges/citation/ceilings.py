"""The ceiling that binds the confidence of a case: of all that apply, the lowest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from krino.judges.citation.candidates import CandidateFacts
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.outcome import Outcome
from krino.judges.citation.tables import table


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
    row = table("ceilings")[name]
    return Ceiling(name, row["cap"], row["tolerated"], row["text"], row["rule"])


def ceiling_of(outcome: Outcome) -> Ceiling | None:
    """The ceiling of what was matched; without a match only a court that fits nowhere is worth telling."""
    top = outcome.top
    if top is None:
        return _of_no_match(outcome)
    return ceiling_for(top.candidate, outcome.facts)


def ceiling_for(candidate: CandidateFacts, facts: CitationFacts) -> Ceiling | None:
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
    if cited.number is not None and not _number_confirmed(candidate, facts, by_ecli):
        found.append(ceiling("number_unmatched"))
    return min(found, key=lambda item: item.cap, default=None)


def _number_confirmed(candidate: CandidateFacts, facts: CitationFacts, by_ecli: bool) -> bool:
    """Whether the cited number is found among the decisions in play, or the ECLI makes up for a missing one."""
    if candidate.carries_number or facts.number_carried:
        return True
    if not facts.complete and candidate.number is None and candidate.relation == "INCOMPARABLE":
        return True  # a fast path kept no number to compare with
    return by_ecli and candidate.relation != "DIFFERENT"


def _of_no_match(outcome: Outcome) -> Ceiling | None:
    if outcome.correctness != "CORRECT_NO_MATCH" or outcome.truth.undecided or not outcome.facts.candidates:
        return None
    alignments = {candidate.alignment for candidate in outcome.facts.candidates}
    if alignments == {"OTHER_TYPE"}:
        return ceiling("court_type")
    return ceiling("jurisdiction") if alignments <= {"OTHER_TYPE", "OTHER_JURISDICTION"} else None
