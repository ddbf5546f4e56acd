"""Resolves a court name or an ECLI court code to a court, and compares courts."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from krino.judges.citation.belgium.court_name_parts import Reading, parse_court_name, suggest_spellings
from krino.judges.citation.belgium.gazetteer import (
    CodeMeaning,
    Cue,
    Gazetteer,
    Head,
    Seat,
    gazetteer,
    is_constitutional_number,
    latest_year,
    name_words,
    names_constitutional_number,
)

Classification: TypeAlias = Literal["NATIONAL", "SPECIFIC", "GENERIC"]
Alignment: TypeAlias = Literal["SAME", "OTHER_JURISDICTION", "OTHER_TYPE", "UNKNOWN"]

# The Cour d'arbitrage took its present name in May 2007.
_LAST_YEAR_OF_ARBITRATION_COURT: Final = 2007
_CANTON_TYPE: Final = "justice_of_peace"
_BARE_SEAT_TYPE: Final = "appeal"


@dataclass(frozen=True, slots=True)
class Court:
    """A Belgian court, or a type of court when nothing says which one (GENERIC)."""

    type: str
    place: str | None
    division: str | None
    language: str | None
    classification: Classification
    ecli_codes: tuple[str, ...]
    alias: str
    name_language: str | None
    abbreviated: bool
    other_types: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    """Typing errors that were corrected to read the name, as `written → read`."""


@dataclass(frozen=True, slots=True)
class Other:
    """A body outside the Belgian judiciary, Belgian or not."""

    body: str
    alias: str
    language: str | None = None
    classification: Classification = "NATIONAL"
    ecli_codes: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """Text that names no known court."""

    text: str


CourtRef: TypeAlias = Court | Other | Unknown


def resolve_court(text: str | None) -> CourtRef:
    """Resolves the court that a text names; a case number inside the text counts."""
    return _resolve(text or "", numbered=False, year=None)


def resolve_court_in_citation(text: str | None, case_number: str | None, year: int | None = None) -> CourtRef:
    """Resolves the cited court; number and year decide between the two courts of an ambiguous alias."""
    numbered = bool(case_number) and is_constitutional_number(case_number or "")
    return _resolve(text or "", numbered=numbered, year=year)


@lru_cache(maxsize=4096)
def court_of_ecli_code(code: str) -> CourtRef:
    """Resolves the court code of a Belgian ECLI; codes written by mistake are known too."""
    gaz = gazetteer()
    key = code.strip().upper()
    meaning = gaz.codes.get(key)
    return Unknown(code) if meaning is None else _make_court_of_code(key, meaning, gaz)


def alignment(cited: CourtRef, candidate: CourtRef) -> Alignment:
    """Compares the candidate's court with the cited one: the same, another of its type, of another type, or unknown."""
    if isinstance(cited, Unknown) or isinstance(candidate, Unknown):
        return "UNKNOWN"
    if isinstance(cited, Other) or isinstance(candidate, Other):
        return _align_bodies(cited, candidate)
    if cited.type != candidate.type and not _share_a_type(cited, candidate):
        return "OTHER_TYPE"
    if cited.classification != "SPECIFIC":
        return "SAME"
    if cited.place is None or candidate.place is None:
        return "UNKNOWN"
    if cited.place == candidate.place:
        two_courts = cited.language and candidate.language and cited.language != candidate.language
        return "OTHER_JURISDICTION" if two_courts else "SAME"
    return "UNKNOWN" if _is_canton_and_district(cited, candidate) else "OTHER_JURISDICTION"


def _align_bodies(cited: Court | Other, candidate: Court | Other) -> Alignment:
    """Compares two courts of which at least one is a body outside the Belgian courts."""
    if not (isinstance(cited, Other) and isinstance(candidate, Other) and cited.body == candidate.body):
        return "OTHER_TYPE"
    two_bodies = cited.language and candidate.language and cited.language != candidate.language
    return "OTHER_JURISDICTION" if two_bodies and cited.classification == "SPECIFIC" else "SAME"


def _share_a_type(one: Court, other: Court) -> bool:
    return bool({one.type, *one.other_types} & {other.type, *other.other_types})


def _is_canton_and_district(one: Court, other: Court) -> bool:
    """Is one place a canton and the other its district? Such courts are not listed, so this stays undecided."""
    gaz = gazetteer()
    if one.type == _CANTON_TYPE and not {one.alias, other.alias} & gaz.codes.keys():
        return False  # only a code means a district; a name is that of a canton
    if one.place is None or other.place is None or (one.type, one.place) in gaz.seats:
        return False
    return gaz.places[one.place].district == other.place or gaz.places[other.place].district == one.place


@lru_cache(maxsize=16_384)
def _resolve(text: str, *, numbered: bool, year: int | None) -> CourtRef:
    """Resolves a name as written; if that gives no court or no place, with typing errors corrected."""
    found = _resolve_written(text, numbered=numbered, year=year)
    if isinstance(found, Other) or (isinstance(found, Court) and found.classification != "GENERIC"):
        return found
    mended = [
        (spelling, _resolve_written(spelling.text, numbered=numbered, year=year))
        for spelling in suggest_spellings(text, places_only=isinstance(found, Court))
    ]
    readings = [(spelling, court) for spelling, court in mended if _improves_on(court, found)]
    if not readings or len({identity(court) for _, court in readings}) > 1:
        return found
    spelling, court = readings[0]
    return court if isinstance(court, Unknown) else replace(court, mended=spelling.changes)


def _improves_on(mended: CourtRef, written: CourtRef) -> bool:
    """Does the corrected reading find a court, or add the place that the court lacked?"""
    if isinstance(written, Court):
        return isinstance(mended, Court) and mended.type == written.type and mended.place is not None
    return not isinstance(mended, Unknown)


def identity(court: CourtRef) -> tuple[object, ...]:
    """Returns a key that is the same for all names of a court; empty for text that names none."""
    if isinstance(court, Court):
        return court.type, court.place, court.language
    return (court.body, court.language) if isinstance(court, Other) else ()


def _resolve_written(text: str, *, numbered: bool, year: int | None) -> CourtRef:
    """Resolves the written name of a court; number and year help where a name has several meanings."""
    gaz = gazetteer()
    reading = parse_court_name(text, gaz)
    if reading is None:
        return _resolve_embedded_code(text, gaz) or Unknown(text)
    if reading.head is None:
        return _resolve_bare_seat(reading, gaz) or Unknown(text)
    head = reading.head
    if head.kind == "not_court":
        return Unknown(text)
    if head.kind == "other":
        return _make_other(head.target, head.text, reading.language, gaz)
    if reading.abroad:
        return _make_other(reading.abroad, head.text, None, gaz)
    numbered = numbered or names_constitutional_number(text)
    year = latest_year(text) or year
    placed = bool(reading.place or reading.division or head.fixed_place)
    if head.need == "place" and not placed:
        return Unknown(text)
    if head.need == "context" and not (placed or numbered or year):
        return Unknown(text)
    return _make_court(_choose_type(head, placed, numbered, year), head, reading, gaz)


def _make_other(body: str, alias: str, language: str | None, gaz: Gazetteer) -> Other:
    """Returns a body outside the courts; one that exists in each language is GENERIC if the language is open."""
    row = gaz.bodies[body]
    if not row.by_language:
        return Other(body, alias, ecli_codes=row.ecli_codes)
    return Other(body, alias, language, "SPECIFIC" if language else "GENERIC", row.ecli_codes)


def _choose_type(head: Head, placed: bool, numbered: bool, year: int | None) -> str:
    """Chooses among the courts that an ambiguous abbreviation may mean."""
    if head.ambiguity is None:
        return head.target
    if placed:
        return head.ambiguity.place
    if numbered:
        return head.ambiguity.number
    if year is not None and year > _LAST_YEAR_OF_ARBITRATION_COURT:
        return head.ambiguity.later
    return head.ambiguity.otherwise


def _make_court(court_type: str, head: Head, reading: Reading, gaz: Gazetteer) -> Court | Other:
    """Makes the court from the parts of its name: type, place, division and language.

    A place that means a foreign court (Luxembourg) gives a body outside the Belgian courts.
    """
    kind = gaz.types[court_type]
    named = reading.place or reading.division
    place = head.fixed_place or (_choose_place(named, court_type, gaz) if named else None)
    if place in kind.foreign_at and not reading.says_province:
        return _make_other(kind.foreign_at[place or ""], head.text, None, gaz)
    name_language = _single(head.languages) or (_single(named.languages) if named else None)
    if kind.national or place is None:
        codes = gaz.codes_of_type.get(court_type, ())
        level: Classification = "NATIONAL" if kind.national else "GENERIC"
        return Court(court_type, None, None, None, level, codes, head.text, name_language, head.abbreviated)
    seats = _find_seats(court_type, place, gaz)
    jurisdiction = seats[0].place if seats else place
    chosen = [seat for seat in seats if seat.language == reading.language] if reading.language else []
    return Court(
        type=court_type,
        place=jurisdiction,
        division=_find_division(reading, place, jurisdiction, court_type, gaz),
        language=chosen[0].language if chosen else None,
        classification="SPECIFIC",
        ecli_codes=_join_codes(chosen or seats),
        alias=head.text,
        name_language=name_language,
        abbreviated=head.abbreviated,
    )


def _choose_place(cue: Cue, court_type: str, gaz: Gazetteer) -> str:
    """Chooses the place if a province and a canton share a name."""
    if court_type == _CANTON_TYPE:
        cantons = [place for place in cue.values if gaz.places[place].kind != "province"]
        return (cantons or list(cue.values))[0]
    return cue.values[0]


def _find_seats(court_type: str, place: str, gaz: Gazetteer) -> tuple[Seat, ...]:
    """Returns the courts of a type for a place: its own, else those of its district, else of its appeal area."""
    row = gaz.places[place]
    for key in (place, row.district, row.ressort):
        seats = gaz.seats.get((court_type, key)) if key else None
        if seats:
            return seats
    return ()


def _find_division(reading: Reading, place: str, jurisdiction: str, court_type: str, gaz: Gazetteer) -> str | None:
    """Returns the division of the court, or None: a place marked as one, or smaller than the jurisdiction."""
    if reading.division:
        division = _choose_place(reading.division, court_type, gaz)
        seats = _find_seats(court_type, division, gaz)
        if not seats or seats[0].place == jurisdiction:
            return division
    finer = place != jurisdiction and gaz.places[place].kind != "province"
    return place if finer else None


def _resolve_bare_seat(reading: Reading, gaz: Gazetteer) -> Court | None:
    """Resolves a court of appeal cited by its seat alone, as Belgian citation guides allow."""
    cue = reading.place
    if cue is None or (_BARE_SEAT_TYPE, cue.values[0]) not in gaz.seats:
        return None
    seat = gaz.seats[_BARE_SEAT_TYPE, cue.values[0]][0]
    return Court(
        type=_BARE_SEAT_TYPE,
        place=seat.place,
        division=None,
        language=None,
        classification="SPECIFIC",
        ecli_codes=seat.ecli_codes,
        alias=seat.place,
        name_language=_single(cue.languages),
        abbreviated=True,
    )


def _resolve_embedded_code(text: str, gaz: Gazetteer) -> CourtRef | None:
    """Resolves a text that is itself an ECLI or a court code."""
    found = name_words(text)
    if found[:2] == ("ecli", "be") and len(found) > 2:
        code = found[2].upper()
    elif len(found) == 1:
        code = found[0].upper()
    else:
        return None
    meaning = gaz.codes.get(code)
    return _make_court_of_code(code, meaning, gaz) if meaning else None


def _make_court_of_code(code: str, meaning: CodeMeaning, gaz: Gazetteer) -> Court | Other:
    """Makes the court that a code in an ECLI means."""
    if meaning.body is not None:
        return _make_other(meaning.body, code, None, gaz)
    court_type = meaning.types[0]
    national = gaz.types[court_type].national
    seats = gaz.seats.get((court_type, meaning.place), ()) if meaning.place else ()
    codes = _join_codes([seat for seat in seats if seat.language == meaning.language])
    if national:
        codes = gaz.codes_of_type.get(court_type, ())
    return Court(
        type=court_type,
        place=meaning.place,
        division=None,
        language=meaning.language,
        classification="NATIONAL" if national else "SPECIFIC",
        ecli_codes=codes if codes or national else (code,),
        alias=code,
        name_language=None,
        abbreviated=True,
        other_types=meaning.types[1:],
    )


def _join_codes(seats: tuple[Seat, ...] | list[Seat]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for seat in seats for code in seat.ecli_codes))


def _single(languages: frozenset[str]) -> str | None:
    return next(iter(languages)) if len(languages) == 1 else None
