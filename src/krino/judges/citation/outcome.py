"""Says whether the matcher's answer was right, given the truth as far as it is known."""

from __future__ import annotations

from typing import NamedTuple

from krino.judges.citation.answer import MatchFacts
from krino.judges.citation.candidates import CandidateFacts
from krino.judges.citation.checklist import Answers, answers_of
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.labels import CitationLabels
from krino.judges.citation.topics import Strength
from krino.judges.citation.truth import Truth, truth_with_context
from krino.judges.citation.verdict import MatchCorrectness


class Outcome(NamedTuple):
    """The final truth, the answers about the reasoning, and how the answer stands against the truth.

    `percent` is the confidence of the top match; 0 where nothing was matched.
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
        return self.top is not None and self.top.candidate.alignment == "OTHER_TYPE"

    @property
    def other_jurisdiction(self) -> bool:
        return self.top is not None and self.top.candidate.alignment == "OTHER_JURISDICTION"

    @property
    def right_candidate(self) -> CandidateFacts | None:
        """The decision that the top match should have been, as it stands among the candidates."""
        return self.truth.candidate


def weigh_answer(facts: CitationFacts, labels: CitationLabels | None) -> Outcome:
    truth = truth_with_context(facts.truth, *_pointed(facts, labels))
    correctness, rule = _correctness(facts, truth)
    top = facts.answer.top
    percent = top.percent if top is not None and top.percent is not None else 0.0
    return Outcome(facts, truth, answers_of(facts, labels), correctness, rule, labels is not None, top, percent)


def _pointed(facts: CitationFacts, labels: CitationLabels | None) -> tuple[CandidateFacts | None, Strength]:
    if labels is None:
        return None, "none"
    place = labels.subject.candidate
    if place is None or not 1 <= place <= len(facts.shown):
        return None, "none"
    return facts.shown[place - 1], labels.subject.strength


def _correctness(facts: CitationFacts, truth: Truth) -> tuple[MatchCorrectness, str]:
    if truth.undecided:
        return _most_reasonable(facts, truth)
    if truth.key is None:
        return _against_none(facts, truth)
    matched = [match.candidate.key for match in facts.answer.matches]
    if matched and matched[0] == truth.key:
        return "CORRECT", "CIT-M1"
    if truth.key in matched:
        return "PARTIALLY_CORRECT", "CIT-M2"
    reachable = truth.candidate is not None or not facts.complete
    if matched:
        return ("INCORRECT", "CIT-M3") if reachable else ("FALSE_POSITIVE", "CIT-M4")
    return ("FALSE_NEGATIVE", "CIT-M5") if reachable else ("CORRECT_NO_MATCH", "CIT-M6")


def _against_none(facts: CitationFacts, truth: Truth) -> tuple[MatchCorrectness, str]:
    top = facts.answer.top
    if top is None:
        return "CORRECT_NO_MATCH", "CIT-M6"
    if top.candidate.alignment == "OTHER_JURISDICTION" and truth.signal != "given_none":
        return "INCORRECT", "CIT-M7"
    return "FALSE_POSITIVE", "CIT-M4"


def _most_reasonable(facts: CitationFacts, truth: Truth) -> tuple[MatchCorrectness, str]:
    """Nothing decides: a match to a contender, or none, is as good as can be said."""
    top = facts.answer.top
    if top is None:
        return "CORRECT_NO_MATCH", "CIT-M8"
    contenders = {contender.key for contender in truth.contenders if contender.relation != "DIFFERENT"}
    return ("CORRECT", "CIT-M8") if top.candidate.key in contenders else ("INCORRECT", "CIT-M3")
