"""Explains how a court name, case number or ECLI of Belgian case law is read, for `krino explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krino.judges.citation.belgium.case_numbers import compare, parse_case_numbers
from krino.judges.citation.belgium.courts import Court, Other, Unknown, court_of_ecli_code, resolve_court
from krino.judges.citation.belgium.ecli import parse_ecli
from krino.judges.citation.options import find_alias


def explain_court(text: str, aliases: Mapping[str, str]) -> dict[str, Any]:
    """Explains which court a text names, its division, and the alias that was recognised."""
    own = find_alias(aliases, text)
    found = resolve_court(own or text)
    court = found if isinstance(found, Court) else None
    known = found if isinstance(found, Court | Other) else None
    return {
        "input": text,
        "kind": "unknown" if known is None else "court" if court else "other",
        "classification": known.classification if known else None,
        "type": court.type if court else found.body if isinstance(found, Other) else None,
        "place": court.place if court else None,
        "division": court.division if court else None,
        "language": known.language if known else None,
        "ecli_codes": list(known.ecli_codes) if known else [],
        "alias": known.alias if known else None,
        "own_alias": own,
        "mended": list(known.mended) if known else [],
    }


def explain_case_numbers(texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Explains the parts of each case number, and how it compares with the first."""
    return (_explain_case_number(text, texts[0] if place else None) for place, text in enumerate(texts))


def _explain_case_number(text: str, first: str | None) -> dict[str, Any]:
    """Explains how a case number is read, and how it compares with the first one."""
    parts = ("family", "text", "year", "sequence", "matter", "register", "language")
    numbers = [{name: getattr(number, name) for name in parts} for number in parse_case_numbers(text)]
    found = None if first is None else compare(first, text)
    return {
        "input": text,
        "numbers": numbers,
        "relation": found.relation if found else None,
        "why": found.why if found else None,
    }


def explain_ecli(text: str) -> dict[str, Any]:
    """Explains the parts of an ECLI, with warnings."""
    found = parse_ecli(text)
    if found is None:
        nothing = {"court": None, "year": None, "document_type": None, "date": None}
        return {"input": text, "valid": False, **nothing, "warnings": ["This is not an ECLI."]}
    warnings = list(found.warnings)
    named = court_of_ecli_code(found.court_code) if found.country == "BE" else None
    if isinstance(named, Unknown):
        warnings.append(f"The court code {found.court_code} is not known in Belgium.")
    return {
        "input": text,
        "valid": True,
        "court": _real_code(found.court_code, named, warnings),
        "year": found.year,
        "document_type": found.document_type,
        "date": found.date.isoformat() if found.date else None,
        "warnings": warnings,
    }


def _real_code(code: str, court: object, warnings: list[str]) -> str:
    """Returns the code itself, or the one in use that it is mistaken for, and then adds a warning."""
    if not isinstance(court, Court) or not court.ecli_codes or code in court.ecli_codes:
        return code
    warnings.append(f"The court code {code} is not in use; {court.ecli_codes[0]} is meant.")
    return court.ecli_codes[0]
