"""Finds the decision that is meant, by the rubric's order of signals, and records which signal decided."""

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
    """The decision meant (`id` and `key`; None: none of the candidates, or not known) and why.

    `open`: only the context of the citation can say more, and `contenders` are the decisions it may point to.
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
        return self.signal == "nothing"

    @property
    def rule(self) -> str:
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


class Field(NamedTuple):
    """The candidates, those in play, and those of them that carry the cited number.

    `listed`: whether all that the matcher saw are here, only one was seen, or some are missing. `claims_ecli`: the
    matcher says that it went by the cited ECLI.
    """

    candidates: tuple[CandidateFacts, ...]
    in_play: tuple[CandidateFacts, ...]
    carriers: tuple[CandidateFacts, ...]
    listed: Listed
    claims_ecli: bool = False


def truth_by_code(case: CitationCase, cited: Cited, field: Field) -> Truth:
    """The truth as far as identifiers and courts decide it."""
    if case.ground_truth_known:
        return _given(case.ground_truth, field.candidates)
    if cited.key is not None and cited.ecli is not None:
        carrying = [candidate for candidate in field.candidates if cited.key in candidate.keys]
        if carrying:
            return _found("ecli", carrying[0])
        if field.listed != "all" and field.claims_ecli:
            return Truth("ecli", id=cited.ecli.text, key=cited.key)
    if len(field.carriers) == 1:
        return _found("number", field.carriers[0])
    if field.carriers:
        return Truth("nothing", contenders=field.carriers, open=True)
    pool = field.in_play
    if not pool and (field.listed == "all" or (field.listed == "one" and field.candidates)):
        return Truth(_why_none(field.candidates))
    if cited.number and field.listed == "all" and all(candidate.relation == "DIFFERENT" for candidate in pool):
        return Truth("numbers_differ", contenders=pool, open=True)
    if len(pool) == 1 and field.listed != "some":
        if cited.number is None:
            return _found("only", pool[0], is_open=True)
        # A null number is neutral (rule 8 of the rubric), so the order of signals (rule 6) goes on to the only aligned
        # candidate. One with a number of another form stays for review, although rule 8 calls it neutral too: on 1,228
        # real citations whose decision was absent, taking it as meant doubled the wrong ones, from 6 to 12.
        if pool[0].number is None:
            return _found("lone", pool[0], is_open=True)
    return Truth("nothing", contenders=pool, open=True)


def truth_with_context(truth: Truth, pointed: CandidateFacts | None, strength: Strength) -> Truth:
    """The truth after the labels: the contender that the context points to, if strongly enough."""
    if pointed is None or pointed.key not in {contender.key for contender in truth.contenders}:
        return truth
    if truth.signal in ("only", "lone"):
        return _found(truth.signal, pointed, strength=strength)
    # A candidate that carries another number than the one cited must be supported strongly.
    enough = strength == "strong" if pointed.relation == "DIFFERENT" else strength in USABLE
    return _found("context", pointed, strength=strength) if enough else truth


def best_carriers(pool: Sequence[CandidateFacts]) -> tuple[CandidateFacts, ...]:
    """The candidates that carry the cited number, those of the closest spelling only."""
    carrying = [candidate for candidate in pool if candidate.carries_number]
    if not carrying:
        return ()
    closest = min(RELATIONS.index(candidate.relation) for candidate in carrying)
    return tuple(candidate for candidate in carrying if RELATIONS.index(candidate.relation) == closest)


def keep_cited_division(cited: CourtRef, pool: tuple[CandidateFacts, ...]) -> tuple[CandidateFacts, ...]:
    """The candidates without those of another division than the cited one; all of them where none would be left.

    Divisions are parts of one court, so that a lone decision of another division is still of the cited court (the
    rubric warns and no more). Between several decisions of that court the division tells them apart.
    """
    division = division_of(cited)
    if division is None:
        return pool
    return tuple(item for item in pool if division_of(item.court) in (None, division)) or pool


def division_of(court: CourtRef) -> str | None:
    return court.division if isinstance(court, Court) else None


def _given(decision: str | None, candidates: Sequence[CandidateFacts]) -> Truth:
    if decision is None:
        return Truth("given_none")
    for candidate in candidates:
        if is_decision(candidate, decision):
            return _found("given", candidate)
    if parse_ecli(decision) is None:
        raise CannotJudge(
            f"ground_truth: {decision[:80]!r} is neither an ECLI nor the id of a candidate; give one of these, null "
            "with ground_truth_known for none of them, or leave it out"
        )
    return Truth("given", id=decision, key=key_of(decision))


def _found(signal: Signal, candidate: CandidateFacts, *, is_open: bool = False, strength: Strength = "none") -> Truth:
    contenders = (candidate,) if is_open else ()
    return Truth(signal, candidate.id, candidate.key, candidate, contenders, is_open, strength)


def _why_none(candidates: Sequence[CandidateFacts]) -> Signal:
    if not candidates:
        return "no_candidates"
    aligned = any(candidate.alignment in ("SAME", "UNKNOWN") for candidate in candidates)
    return "date" if aligned else "court"
