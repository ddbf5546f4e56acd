"""Resolves a court name or an ECLI court code to a court, and compares courts."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from krino.judges.citation.belgium.court_reading import Reading, read_court, spellings
from krino.judges.citation.belgium.gazetteer import (
    CodeMeaning,
    Cue,
    Gazetteer,
    Head,
    Seat,
    gazetteer,
    is_constitutional_number,
    latest_year,
    names_constitutional_number,
    plain_words,
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
    """Typing errors that had to be mended to read the name, as `written → read`."""


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
    """Text that names no court we know."""

    text: str


CourtRef: TypeAlias = Court | Other | Unknown


def resolve_court(text: str | None) -> CourtRef:
    """The court a string names; a number inside the string counts."""
    return _resolve(text or "", numbered=False, year=None)


def resolve_court_in_citation(text: str | None, case_number: str | None, year: int | None = None) -> CourtRef:
    """The court a string names, with the cited number and year settling aliases of two courts."""
    numbered = bool(case_number) and is_constitutional_number(case_number or "")
    return _resolve(text or "", numbered=numbered, year=year)


@lru_cache(maxsize=4096)
def court_of_ecli_code(code: str) -> CourtRef:
    """The court behind the court part of a Belgian ECLI, codes written by mistake included."""
    gaz = gazetteer()
    key = code.strip().upper()
    meaning = gaz.codes.get(key)
    return Unknown(code) if meaning is None else _court_of_meaning(key, meaning, gaz)


def alignment(cited: CourtRef, candidate: CourtRef) -> Alignment:
    """Whether the candidate's court is the cited one, another of its type, or of another type."""
    if isinstance(cited, Unknown) or isinstance(candidate, Unknown):
        return "UNKNOWN"
    if isinstance(cited, Other) or isinstance(candidate, Other):
        return _aligned_bodies(cited, candidate)
    if cited.type != candidate.type and not _share_a_type(cited, candidate):
        return "OTHER_TYPE"
    if cited.classification != "SPECIFIC":
        return "SAME"
    if cited.place is None or candidate.place is None:
        return "UNKNOWN"
    if cited.place == candidate.place:
        two_courts = cited.language and candidate.language and cited.language != candidate.language
        return "OTHER_JURISDICTION" if two_courts else "SAME"
    return "UNKNOWN" if _one_holds_the_other(cited, candidate) else "OTHER_JURISDICTION"


def _aligned_bodies(cited: Court | Other, candidate: Court | Other) -> Alignment:
    if not (isinstance(cited, Other) and isinstance(candidate, Other) and cited.body == candidate.body):
        return "OTHER_TYPE"
    two_bodies = cited.language and candidate.language and cited.language != candidate.language
    return "OTHER_JURISDICTION" if two_bodies and cited.classification == "SPECIFIC" else "SAME"


def _share_a_type(one: Court, other: Court) -> bool:
    return bool({one.type, *one.other_types} & {other.type, *other.other_types})


def _one_holds_the_other(one: Court, other: Court) -> bool:
    """Whether a canton is set against its district, a type whose courts are not listed: undecidable."""
    gaz = gazetteer()
    if one.type == _CANTON_TYPE and not {one.alias, other.alias} & gaz.codes.keys():
        return False  # only a code stands for a district; a name is that of a canton
    if one.place is None or other.place is None or (one.type, one.place) in gaz.seats:
        return False
    return gaz.places[one.place].district == other.place or gaz.places[other.place].district == one.place


@lru_cache(maxsize=16_384)
def _resolve(text: str, *, numbered: bool, year: int | None) -> CourtRef:
    """As it is written; where that names no court, or no place, with typing errors mended."""
    found = _resolve_written(text, numbered=numbered, year=year)
    if isinstance(found, Other) or (isinstance(found, Court) and found.classification != "GENERIC"):
        return found
    mended = [
        (spelling, _resolve_written(spelling.text, numbered=numbered, year=year))
        for spelling in spellings(text, places_only=isinstance(found, Court))
    ]
    readings = [(spelling, court) for spelling, court in mended if _says_more(court, found)]
    if not readings or len({identity(court) for _, court in readings}) > 1:
        return found
    spelling, court = readings[0]
    return court if isinstance(court, Unknown) else replace(court, mended=spelling.changes)


def _says_more(mended: CourtRef, written: CourtRef) -> bool:
    """Whether mending a word made a court of nothing, or added the place to a court that had none."""
    if isinstance(written, Court):
        return isinstance(mended, Court) and mended.type == written.type and mended.place is not None
    return not isinstance(mended, Unknown)


def identity(court: CourtRef) -> tuple[object, ...]:
    """What two readings of one court have in common; empty for text that names none."""
    if isinstance(court, Court):
        return court.type, court.place, court.language
    return (court.body, court.language) if isinstance(court, Other) else ()


def _resolve_written(text: str, *, numbered: bool, year: int | None) -> CourtRef:
    gaz = gazetteer()
    reading = read_court(text, gaz)
    if reading is None:
        return _court_of_embedded_code(text, gaz) or Unknown(text)
    if reading.head is None:
        return _bare_seat(reading, gaz) or Unknown(text)
    head = reading.head
    if head.kind == "not_court":
        return Unknown(text)
    if head.kind == "other":
        return _other(head.target, head.text, reading.language, gaz)
    if reading.abroad:
        return _other(reading.abroad, head.text, None, gaz)
    numbered = numbered or names_constitutional_number(text)
    year = latest_year(text) or year
    placed = bool(reading.place or reading.division or head.fixed_place)
    if head.need == "place" and not placed:
        return Unknown(text)
    if head.need == "context" and not (placed or numbered or year):
        return Unknown(text)
    return _court(_type_meant(head, placed, numbered, year), head, reading, gaz)


def _other(body: str, alias: str, language: str | None, gaz: Gazetteer) -> Other:
    """A body that exists once is of its kind alone; one that exists in each language may be left open."""
    row = gaz.bodies[body]
    if not row.by_language:
        return Other(body, alias, ecli_codes=row.ecli_codes)
    return Other(body, alias, language, "SPECIFIC" if language else "GENERIC", row.ecli_codes)


def _type_meant(head: Head, placed: bool, numbered: bool, year: int | None) -> str:
    if head.trap is None:
        return head.target
    if placed:
        return head.trap.place
    if numbered:
        return head.trap.number
    if year is not None and year > _LAST_YEAR_OF_ARBITRATION_COURT:
        return head.trap.later
    return head.trap.otherwise


def _court(court_type: str, head: Head, reading: Reading, gaz: Gazetteer) -> Court | Other:
    kind = gaz.types[court_type]
    named = reading.place or reading.division
    place = head.fixed_place or (_place_id(named, court_type, gaz) if named else None)
    if place in kind.foreign_at and not reading.says_province:
        return _other(kind.foreign_at[place or ""], head.text, None, gaz)
    name_language = _only(head.languages) or (_only(named.languages) if named else None)
    if kind.national or place is None:
        codes = gaz.codes_of_type.get(court_type, ())
        level: Classification = "NATIONAL" if kind.national else "GENERIC"
        return Court(court_type, None, None, None, level, codes, head.text, name_language, head.abbreviated)
    seats = _seats_of(court_type, place, gaz)
    jurisdiction = seats[0].place if seats else place
    chosen = [seat for seat in seats if seat.language == reading.language] if reading.language else []
    return Court(
        type=court_type,
        place=jurisdiction,
        division=_division(reading, place, jurisdiction, court_type, gaz),
        language=chosen[0].language if chosen else None,
        classification="SPECIFIC",
        ecli_codes=_codes(chosen or seats),
        alias=head.text,
        name_language=name_language,
        abbreviated=head.abbreviated,
    )


def _place_id(cue: Cue, court_type: str, gaz: Gazetteer) -> str:
    """The place meant where a province and a canton share a name."""
    if court_type == _CANTON_TYPE:
        cantons = [place for place in cue.values if gaz.places[place].kind != "province"]
        return (cantons or list(cue.values))[0]
    return cue.values[0]


def _seats_of(court_type: str, place: str, gaz: Gazetteer) -> tuple[Seat, ...]:
    """The court of that type for a place: its own, else that of its district, else of its ressort."""
    row = gaz.places[place]
    for key in (place, row.district, row.ressort):
        seats = gaz.seats.get((court_type, key)) if key else None
        if seats:
            return seats
    return ()


def _division(reading: Reading, place: str, jurisdiction: str, court_type: str, gaz: Gazetteer) -> str | None:
    """The seat named, where it is finer than the court's jurisdiction or marked as a division."""
    if reading.division:
        division = _place_id(reading.division, court_type, gaz)
        seats = _seats_of(court_type, division, gaz)
        if not seats or seats[0].place == jurisdiction:
            return division
    finer = place != jurisdiction and gaz.places[place].kind != "province"
    return place if finer else None


def _bare_seat(reading: Reading, gaz: Gazetteer) -> Court | None:
    """Belgian guides cite a court of appeal by its seat alone."""
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
        name_language=_only(cue.languages),
        abbreviated=True,
    )


def _court_of_embedded_code(text: str, gaz: Gazetteer) -> CourtRef | None:
    """A string that is itself an ECLI or a court code."""
    found = plain_words(text)
    if found[:2] == ("ecli", "be") and len(found) > 2:
        code = found[2].upper()
    elif len(found) == 1:
        code = found[0].upper()
    else:
        return None
    meaning = gaz.codes.get(code)
    return _court_of_meaning(code, meaning, gaz) if meaning else None


def _court_of_meaning(code: str, meaning: CodeMeaning, gaz: Gazetteer) -> Court | Other:
    if meaning.body is not None:
        return _other(meaning.body, code, None, gaz)
    court_type = meaning.types[0]
    national = gaz.types[court_type].national
    seats = gaz.seats.get((court_type, meaning.place), ()) if meaning.place else ()
    codes = _codes([seat for seat in seats if seat.language == meaning.language])
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


def _codes(seats: tuple[Seat, ...] | list[Seat]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(code for seat in seats for code in seat.ecli_codes))


def _only(languages: frozenset[str]) -> str | None:
    return next(iter(languages)) if len(languages) == 1 else None
