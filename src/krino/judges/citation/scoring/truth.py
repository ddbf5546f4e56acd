"""Finds the decision that the citation means, by the rubric's order of signals, and records which signal decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from krino.errors import CannotJudge
from krino.judges.citation.belgium.courts import Court, CourtRef
from krino.judges.citation.belgium.ecli import key_of, parse_ecli
from krino.judges.citation.belgium.topics import Strength
from krino.judges.citation.case import CitationCase
from krino.judges.citation.scoring.candidates import RELATIONS, CandidateFacts, Cited, is_decision

Signal = Literal[
    "given",
    "given_none",
    "ecli",
    "number",
    "no_candidates",
    "court",
    "date",
    "only",
    "lone",
    "context",
    "numbers_differ",
    "nothing",
]
Listed = Literal["all", "one", "some"]
USABLE = frozenset({"strong", "moderate"})


class Truth(NamedTuple):
    """The decision meant and the signal that decided; without `id` and `key`, none of the candidates or not known.

    `open`: only the context of the citation can decide further, between the `contenders`.
    """

    signal: Signal
    id: str | None = None
    key: tuple[object, ...] | None = None
    candidate: CandidateFacts | None = None
    contenders: tuple[CandidateFacts, ...] = ()
    open: bool = False
    strength: Strength = "none"

    @property
    def undecided(self) -> bool:
        """Does no signal decide which decision is meant?"""
        return self.signal == "nothing"

    @property
    def rule(self) -> str:
        """The id of the rule of the signal that decided."""
        return RULES[self.signal]


RULES: dict[Signal, str] = {
    "given": "CIT-T1",
    "given_none": "CIT-T2",
    "ecli": "CIT-T3",
    "number": "CIT-T4",
    "only": "CIT-T5",
    "lone": "CIT-T12",
    "context": "CIT-T6",
    "numbers_differ": "CIT-T7",
    "court": "CIT-T8",
    "date": "CIT-T9",
    "no_candidates": "CIT-T10",
    "nothing": "CIT-T11",
}


class CandidatePool(NamedTuple):
    """The candidates, those that can be meant, and those of them that carry the cited number.

    `listed`: are all that the matcher saw here, was it only one, or are some missing? `claims_ecli`: the matcher says
    that it decided by the cited ECLI.
    """

    candidates: tuple[CandidateFacts, ...]
    eligible: tuple[CandidateFacts, ...]
    carriers: tuple[CandidateFacts, ...]
    listed: Listed
    claims_ecli: bool = False


def decide_by_code(case: CitationCase, cited: Cited, given: CandidatePool) -> Truth:
    """Returns the decision meant by ground truth, identifiers and courts.

    If they do not decide, or only by being alone, it is open and names the contenders.
    """
    if case.ground_truth_known:
        return _decide_by_ground_truth(case.ground_truth, given.candidates)
    if cited.key is not None and cited.ecli is not None:
        carrying = [candidate for candidate in given.candidates if cited.key in candidate.keys]
        if carrying:
            return _make_truth("ecli", carrying[0])
        if given.listed != "all" and given.claims_ecli:
            return Truth("ecli", id=cited.ecli.text, key=cited.key)
    if len(given.carriers) == 1:
        return _make_truth("number", given.carriers[0])
    if given.carriers:
        return Truth("nothing", contenders=given.carriers, open=True)
    pool = given.eligible
    if not pool and (given.listed == "all" or (given.listed == "one" and given.candidates)):
        return Truth(_signal_for_none(given.candidates))
    if cited.number and given.listed == "all" and all(candidate.relation == "DIFFERENT" for candidate in pool):
        return Truth("numbers_differ", contenders=pool, open=True)
    if len(pool) == 1 and given.listed != "some":
        if cited.number is None:
            return _make_truth("only", pool[0], is_open=True)
        # A null number is neutral (rule 8 of the rubric), so the order of signals (rule 6) goes on to the only aligned
        # candidate. One with a number of another form stays for review, although rule 8 calls it neutral too: on 1,228
        # real citations whose decision was absent, taking it as meant doubled the wrong ones, from 6 to 12.
        if pool[0].number is None:
            return _make_truth("lone", pool[0], is_open=True)
    return Truth("nothing", contenders=pool, open=True)


def decide_with_context(truth: Truth, pointed: CandidateFacts | None, strength: Strength) -> Truth:
    """Decides with the labels: for the contender that the context points to, if strongly enough.

    Otherwise `truth` stays as it is.
    """
    if pointed is None or pointed.key not in {contender.key for contender in truth.contenders}:
        return truth
    if truth.signal in ("only", "lone"):
        return _make_truth(truth.signal, pointed, strength=strength)
    # A candidate that carries another number than the one cited must be supported strongly.
    enough = strength == "strong" if pointed.relation == "DIFFERENT" else strength in USABLE
    return _make_truth("context", pointed, strength=strength) if enough else truth


def find_closest_carriers(pool: Sequence[CandidateFacts]) -> tuple[CandidateFacts, ...]:
    """Returns the candidates that carry the cited number, those of the closest spelling only."""
    carrying = [candidate for candidate in pool if candidate.carries_number]
    if not carrying:
        return ()
    closest = min(RELATIONS.index(candidate.relation) for candidate in carrying)
    return tuple(candidate for candidate in carrying if RELATIONS.index(candidate.relation) == closest)


def keep_cited_division(cited: CourtRef, pool: tuple[CandidateFacts, ...]) -> tuple[CandidateFacts, ...]:
    """Drops the candidates of another division than the cited one, unless none would be left.

    Divisions are parts of one court, so that a lone decision of another division is still of the cited court (the
    rubric warns and no more). Between several decisions of that court the division tells them apart.
    """
    division = division_of(cited)
    if division is None:
        return pool
    return tuple(item for item in pool if division_of(item.court) in (None, division)) or pool


def division_of(court: CourtRef) -> str | None:
    """Returns the division of a court, or None."""
    return court.division if isinstance(court, Court) else None


def _decide_by_ground_truth(decision: str | None, candidates: Sequence[CandidateFacts]) -> Truth:
    """Returns the decision that the record gives as right; None means none of the candidates.

    Refuses an id that is neither an ECLI nor that of a candidate.
    """
    if decision is None:
        return Truth("given_none")
    for candidate in candidates:
        if is_decision(candidate, decision):
            return _make_truth("given", candidate)
    if parse_ecli(decision) is None:
        raise CannotJudge(
            f"ground_truth: {decision[:80]!r} is neither an ECLI nor the id of a candidate; give one of these, null "
            "with ground_truth_known for none of them, or leave it out"
        )
    return Truth("given", id=decision, key=key_of(decision))


def _make_truth(
    signal: Signal, candidate: CandidateFacts, *, is_open: bool = False, strength: Strength = "none"
) -> Truth:
    """Returns the truth that a signal points to; an open one waits for a labeller."""
    contenders = (candidate,) if is_open else ()
    return Truth(signal, candidate.id, candidate.key, candidate, contenders, is_open, strength)


def _signal_for_none(candidates: Sequence[CandidateFacts]) -> Signal:
    """Returns why no candidate can be meant."""
    if not candidates:
        return "no_candidates"
    aligned = any(candidate.alignment in ("SAME", "UNKNOWN") for candidate in candidates)
    return "date" if aligned else "court"
