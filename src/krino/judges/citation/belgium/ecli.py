"""Parses European Case Law Identifiers as authors write them, and compares them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from krino.judges.citation.belgium import table
from krino.text.forms import INVISIBLE

_MAX_FIELD = 600
_FIRST_PUBLISHED_YEAR = 1950

DOCUMENT_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "ARR": "judgment of a court",
        "JUG": "judgment of a tribunal",
        "ORD": "order",
        "DEC": "decision",
        "AVIS": "advice",
        "CONC": "opinion of the advocate general",
        "RECO": "recommendation",
    }
)
# A document type that does not exist, and the one that is meant.
_TYPE_MEANT = {"JUD": "JUG"}
_RENAMED_INSTANCES = {"TC": "TE", "KH": "OR"}

_SEP = r"\s{0,3}(?:[:;_]|%3A)\s{0,3}"
_SEP_OR_DASH = r"\s{0,3}(?:[:;_\s-]|%3A)\s{0,3}"
_DOT = r"\s{0,2}\.\s{0,2}"
_CHAMBER = r"[123][FN]|VAC|VAK|REUN|BSAV|ORPS|PPEV|[A-Z][A-Z0-9]{1,4}"
_ORDINAL = rf"""
    (?P<type>[A-Z]{{2,5}})(?:{_DOT}|\s?)(?P<day>[0-9]{{8}}){_DOT}(?:(?P<chamber>{_CHAMBER}){_DOT})?(?P<seq>[0-9]{{1,4}})
  | (?P<type2>[A-Z]{{2,5}}){_DOT}(?P<thousands>[0-9]{{1,3}})\.(?P<units>[0-9]{{3}})
  | (?P<type3>[A-Z]{{2,5}}){_DOT}(?P<number>[0-9]{{1,6}})
  | (?P<bare>[0-9]{{1,3}}\.?[0-9]{{3}}|[0-9]{{1,4}})
  | (?P<other>[A-Z0-9]+(?:\.[A-Z0-9]+){{0,8}})
"""
_ECLI = re.compile(
    rf"""(?<![A-Z0-9])
    (?: ECLI{_SEP_OR_DASH}(?P<country>[A-Z]{{2}}){_SEP_OR_DASH}(?P<court>[A-Z][A-Z0-9]{{0,9}}){_SEP_OR_DASH}
        (?P<year>[0-9]{{4}}){_SEP_OR_DASH}
      | (?:BE{_SEP})?(?P<court2>[A-Z]{{2,7}}){_SEP}(?P<year2>[0-9]{{4}}){_SEP}(?=[A-Z]{{2,5}}\s{{0,2}}\.)
      | BE{_SEP}(?P<court3>[A-Z]{{2,7}}){_SEP}(?P<year3>[0-9]{{4}}){_SEP}
    )
    (?:{_ORDINAL})(?![A-Z0-9])""",
    re.VERBOSE,
)
ECLI_IN_TEXT = re.compile(r"ECLI:[A-Z]{2}:[A-Z0-9]{1,7}:\d{4}:[A-Z0-9.]+[A-Z0-9]", re.IGNORECASE)
"""An identifier in running text, where only the usual spelling is certain enough."""
_OLD_ID = re.compile(r"\s*[FN]\s?-\s?([0-9]{8})\s?-\s?([0-9]{1,4})\s*", re.IGNORECASE)
_LETTER_O = re.compile("(?<=[0-9])O|O(?=[0-9])")
# The most common form in its correct spelling, which needs no normalisation.
_PLAIN = re.compile(r"ECLI:BE:([A-Z]{2,7}):([0-9]{4}):(ARR|JUG)\.([0-9]{8})\.([0-9]{1,4})")


@cache
def code_aliases() -> Mapping[str, str]:
    """Returns the former, foreign-list and mistaken court codes, each with the code of that court in use today."""
    data = table("ecli_codes")
    known = {row["code"] for row in data["code"]}
    meant = {row["code"]: row["means"] for row in data["alias"]}
    for code in known:
        renamed = _RENAMED_INSTANCES.get(code[:2], "") + code[2:]
        if renamed in known:
            meant[code] = renamed
    return MappingProxyType(meant | {"RSCE": "RVSCE"})


class Ecli(NamedTuple):
    """One identifier, split into its parts; `number` is the judgment number if the ordinal holds one."""

    text: str
    country: str
    court_code: str
    year: int
    ordinal: str
    document_type: str | None = None
    date: date | None = None
    sequence: int | None = None
    chamber: str | None = None
    number: int | None = None
    warnings: tuple[str, ...] = ()


def _parse_day(digits: str) -> date | None:
    """Returns the date that eight digits spell, or None."""
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return None


def _type_warnings(document_type: str) -> list[str]:
    """Returns warnings about a document type that is no judgment or does not exist."""
    if document_type == "CONC":
        return ["CONC is an advocate general's opinion, not the judgment."]
    if document_type not in DOCUMENT_TYPES:
        return [f"The document type {document_type} does not exist in Belgian identifiers."]
    return []


@cache
def _next_year() -> int:
    return date.today().year + 1


def _year_warnings(year: int, digits: str | None, day: date | None) -> list[str]:
    """Returns warnings about an impossible year, or a date that does not fit it."""
    warnings = []
    if not _FIRST_PUBLISHED_YEAR <= year <= _next_year():
        warnings.append(f"The year {year} is impossible for a published decision.")
    if digits and day is None:
        warnings.append(f"The ordinal's date {digits} does not exist.")
    elif day and day.year != year:
        warnings.append(f"The ordinal's date {day.isoformat()} disagrees with the year {year}.")
    return warnings


def _parse_ordinal(match: re.Match[str]) -> tuple[str, str | None, int | None]:
    """Returns usual spelling, document type and judgment number of an ordinal without a date."""
    if match["units"]:
        number = f"{match['thousands']}.{match['units']}"
        return f"{match['type2']}.{number}", match["type2"], int(match["thousands"] + match["units"])
    if match["number"]:
        return f"{match['type3']}.{match['number']}", match["type3"], int(match["number"])
    if match["bare"]:
        return match["bare"], None, int(match["bare"].replace(".", ""))
    return match["other"], None, None


def _build(match: re.Match[str]) -> Ecli:
    """Builds the identifier from a match of the pattern, whichever of its spellings it has."""
    country, court, year_text = match.group("country", "court", "year")
    if country is None:
        country, court = "BE", match["court2"] or match["court3"]
        year_text = match["year2"] or match["year3"]
    document_type, digits, chamber, sequence = match.group("type", "day", "chamber", "seq")
    year, number = int(year_text), None
    if digits:
        ordinal = (
            f"{document_type}.{digits}.{chamber}.{sequence}" if chamber else f"{document_type}.{digits}.{sequence}"
        )
    else:
        ordinal, document_type, number = _parse_ordinal(match)
    day = _parse_day(digits) if digits else None
    warnings: list[str] = []
    if country == "BE":
        warnings += _type_warnings(document_type) if document_type else []
        warnings += _year_warnings(year, digits, day)
    return Ecli(
        text=f"ECLI:{country}:{court}:{year:04d}:{ordinal}",
        country=country,
        court_code=court,
        year=year,
        ordinal=ordinal,
        document_type=document_type,
        date=day,
        sequence=int(sequence) if sequence else None,
        chamber=chamber,
        number=number,
        warnings=tuple(warnings),
    )


def _normalise(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(INVISIBLE)
    return text.upper()


@lru_cache(maxsize=1_024)
def _parse(text: str) -> Ecli | None:
    """Parses the first identifier in a text, or returns None; the common spelling takes a short way."""
    plain = _PLAIN.fullmatch(text)
    if plain:
        court, year, document_type, digits, sequence = plain.groups()
        day = _parse_day(digits)
        if day is not None and not _year_warnings(int(year), digits, day):
            return Ecli(text, "BE", court, day.year, text[plain.start(3) :], document_type, day, int(sequence))
    canonical = _normalise(text)
    match = _ECLI.search(canonical)
    if match is None or (match["country"] == "BE" and match["other"]):
        # Scanners and authors write the letter O for a zero: 2O18 is 2018.
        match = _ECLI.search(_LETTER_O.sub("0", canonical)) if "ECLI" in canonical else match
    return _build(match) if match else None


def parse_ecli(text: str | None) -> Ecli | None:
    """Parses the first identifier in a field, in any case, spacing, prefix or trailing punctuation."""
    return _parse(text[:_MAX_FIELD]) if text else None


def is_old_id(text: str | None) -> bool:
    """Does a field hold an identifier from before the ECLI, as N-20130108-12?"""
    return text is not None and _OLD_ID.fullmatch(text[:_MAX_FIELD]) is not None


def ecli_of_old_id(text: str, court_code: str) -> Ecli | None:
    """Returns the ECLI for a decision's old identifier, whose day and number it keeps; None for any other text."""
    match = _OLD_ID.fullmatch(text[:_MAX_FIELD])
    return parse_ecli(f"ECLI:BE:{court_code}:{match[1][:4]}:ARR.{match[1]}.{match[2]}") if match else None


def cut_ecli(text: str) -> tuple[Ecli | None, str]:
    """Cuts an identifier out of a field of another kind; returns the identifier and the rest.

    Without one: None and the field unchanged.
    """
    canonical = _normalise(text[:_MAX_FIELD])
    match = _ECLI.search(canonical) if "ECLI" in canonical else None
    return (_build(match), f"{canonical[: match.start()]} {canonical[match.end() :]}") if match else (None, text)


def _normalise_court(ecli: Ecli, aliases: Mapping[str, str] | None) -> tuple[str, str]:
    aliases = code_aliases() if aliases is None else aliases
    return ecli.country, aliases.get(ecli.court_code, ecli.court_code)


def _make_ordinal_key(ecli: Ecli) -> tuple[object, ...]:
    """Returns a key that is equal for two spellings of the same ordinal."""
    if ecli.sequence is not None:
        day = ecli.date or ecli.ordinal.split(".")[1]
        document_type = _TYPE_MEANT.get(ecli.document_type or "", ecli.document_type)
        return document_type, day, ecli.chamber, ecli.sequence
    if ecli.number is not None:
        # An ordinal that is a bare number is an old spelling of a judgment.
        return ecli.document_type or "ARR", ecli.number
    return (ecli.ordinal,)


def decision_key(ecli: Ecli, aliases: Mapping[str, str] | None = None) -> tuple[object, ...]:
    """Returns a key that is the same for all identifiers of a decision.

    Of the Council of State the number alone decides.
    """
    court, tail = _normalise_court(ecli, aliases), _make_ordinal_key(ecli)
    by_number = court == ("BE", "RVSCE") and ecli.number is not None
    return (court, tail) if by_number else (court, ecli.year, tail)


@lru_cache(maxsize=1_024)
def key_of(decision_id: str) -> tuple[object, ...]:
    """Returns a key that is the same for all spellings of an identifier, ECLI or not."""
    ecli = parse_ecli(decision_id)
    return decision_key(ecli) if ecli else ("written", "".join(decision_id.casefold().split()))
