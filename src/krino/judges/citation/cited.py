"""What the citation itself says: its court, its class, its number, its ECLI and its date."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import Literal, NamedTuple

from krino.judges.citation.case import CitationCase
from krino.judges.citation.case_numbers import parse_case_numbers
from krino.judges.citation.courts import (
    Classification,
    Court,
    CourtRef,
    Other,
    Unknown,
    court_of_ecli_code,
    resolve_court,
    resolve_court_in_citation,
)
from krino.judges.citation.dates import parse_date
from krino.judges.citation.ecli import Ecli, decision_key, parse_ecli

CourtSource = Literal["name", "ecli", "number", "nothing"]


class Cited(NamedTuple):
    """The cited decision as far as its citation tells; `court_from` says what named the court."""

    court: CourtRef
    court_from: CourtSource
    classification: Classification
    number: str | None
    ecli: Ecli | None
    key: tuple[object, ...] | None
    date: date | None
    years: frozenset[int]


def read_cited(case: CitationCase) -> Cited:
    number = case.cited_case_number if parse_case_numbers(case.cited_case_number) else None
    ecli = parse_ecli(case.cited_ecli)
    day = parse_date(case.cited_date)
    year = day.year if day else None
    court, source = _court(case.cited_court_name, case.cited_case_number, year, ecli)
    years = [day.year] if day else []
    if ecli:
        years.append(ecli.year)
    return Cited(
        court=court,
        court_from=source,
        classification=classify(court),
        number=number,
        ecli=ecli,
        key=key_of(ecli.text) if ecli else None,
        date=day,
        years=frozenset(years),
    )


def classify(court: CourtRef) -> Classification:
    """A court that cannot be read names no jurisdiction."""
    return court.classification if isinstance(court, Court | Other) else "GENERIC"


def _court(name: str | None, number: str | None, year: int | None, ecli: Ecli | None) -> tuple[CourtRef, CourtSource]:
    """The name decides; without a readable one the ECLI does, then a number that only one court uses."""
    named = resolve_court_in_citation(name, number, year)
    if not isinstance(named, Unknown):
        return named, "name"
    if ecli is not None and ecli.country == "BE":
        court = court_of_ecli_code(ecli.court_code)
        if not isinstance(court, Unknown):
            return court, "ecli"
    if any(parsed.family == "cassation" and parsed.matter for parsed in parse_case_numbers(number)):
        return resolve_court("Cour de cassation"), "number"
    return named, "nothing"


@lru_cache(maxsize=1_024)
def key_of(decision_id: str) -> tuple[object, ...]:
    """What two spellings of one decision's identifier have in common."""
    ecli = parse_ecli(decision_id)
    return decision_key(ecli) if ecli else ("written", "".join(decision_id.casefold().split()))
