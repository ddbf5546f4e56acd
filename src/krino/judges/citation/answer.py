"""What the matcher answered: its matches tied to the candidates, its confidence in percent, its reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from krino.errors import CannotJudge
from krino.judges.citation.candidates import CandidateFacts, study_unlisted
from krino.judges.citation.case import CitationCase, Match
from krino.judges.citation.cited import Cited, key_of

_SAME_POINTS = 1.0
_DECIMALS = 6


class MatchFacts(NamedTuple):
    """One match with the decision it names; `percent` is None where neither number can be used."""

    candidate: CandidateFacts
    percent: float | None
    remarks: tuple[str, ...] = ()


class Answer(NamedTuple):
    """All matches in the matcher's order (none: it returned no match), and the reasoning that is judged."""

    matches: tuple[MatchFacts, ...]
    reasoning: str | None

    @property
    def top(self) -> MatchFacts | None:
        return self.matches[0] if self.matches else None


def read_answer(case: CitationCase, cited: Cited, candidates: tuple[CandidateFacts, ...]) -> Answer:
    known = {candidate.key: candidate for candidate in candidates}
    matches = tuple(_match(match, cited, known) for match in case.matches)
    if matches and matches[0].percent is None:
        raise CannotJudge("matches.0: neither confidence (0 to 1) nor score (0 to 100) is a usable number")
    reasoning = case.matches[0].reasoning if case.matches else case.no_match_reason
    if reasoning is None:
        written = (case.model_extra or {}).get("reasoning")
        reasoning = written if isinstance(written, str) else None
    return Answer(matches, reasoning)


def _match(match: Match, cited: Cited, known: Mapping[tuple[object, ...], CandidateFacts]) -> MatchFacts:
    candidate = known.get(key_of(match.decision_id)) if match.decision_id else None
    percent, remarks = read_percent(match.confidence, match.score)
    return MatchFacts(candidate or study_unlisted(match, cited), percent, remarks)


def read_percent(confidence: float | None, score: float | None) -> tuple[float | None, tuple[str, ...]]:
    """Confidence in percent, taken from `confidence` before `score`, and what is odd about the two."""
    remarks: list[str] = []
    sure = _scaled("confidence", confidence, whole_is_one=True, remarks=remarks)
    points = _scaled("score", score, whole_is_one=False, remarks=remarks)
    if sure is None:
        return points, tuple(remarks)
    if points is not None and abs(sure - points) > _SAME_POINTS:
        remarks.append(f"confidence says {sure:g} % and score says {points:g} %: confidence is taken")
    return sure, tuple(remarks)


def _scaled(name: str, value: float | None, *, whole_is_one: bool, remarks: list[str]) -> float | None:
    """A number on a scale of 0 to 100; one outside its scale cannot be used."""
    if value is None:
        return None
    if not 0 <= value <= 100:
        remarks.append(f"{name} {value:g} lies outside its scale and is left aside")
        return None
    fraction = value <= 1 if whole_is_one else value < 1
    if fraction != whole_is_one and value:
        remarks.append(f"{name} {value:g} is written on the other scale (0 to {'100' if whole_is_one else '1'})")
    # Floating point makes 55.00000000000001 of 0.55, which would break a ceiling of 55.
    return round(value * 100 if fraction else value, _DECIMALS)
