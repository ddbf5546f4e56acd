"""Load the gazetteer of Belgian courts, places, codes and other bodies from the package's data files."""

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from krino.judges.citation.court_text import PhraseTable, plain_words

LANGUAGES: Final = ("fr", "nl", "de")
STATUS_ORDER: Final = ("observed", "official_unseen", "observed_legacy", "superseded", "unverified")

Need = Literal["nothing", "place", "context", "abroad"]
CueKind = Literal["place", "abroad", "division", "language", "chamber", "neutral", "signal", "origin", "label", "month"]


@dataclass(frozen=True, slots=True)
class Trap:
    """An alias with two readings: the court type meant with a place, with a number N/YYYY, and so on."""

    place: str
    number: str
    later: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class Head:
    """An alias that can open a court name, and what it stands for: a court type, another body, no court."""

    kind: Literal["court", "other", "not_court"]
    target: str
    text: str
    languages: frozenset[str]
    abbreviated: bool
    need: Need = "nothing"
    fixed_place: str | None = None
    fixed_language: str | None = None
    trap: Trap | None = None


@dataclass(frozen=True, slots=True)
class Cue:
    """A word or phrase that can follow the head: a place (several ids share a name), a marker, filler."""

    kind: CueKind
    values: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Body:
    """A body outside the courts; one `by_language` is two, a French-language and a Dutch-language one."""

    by_language: bool
    ecli_codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CourtType:
    id: str
    national: bool
    foreign_at: dict[str, str]
    confidence: str


@dataclass(frozen=True, slots=True)
class Place:
    id: str
    kind: str
    district: str | None
    ressort: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Seat:
    """One individual court: its jurisdiction and, for the tribunals of Brussels, its language."""

    type: str
    place: str
    language: str | None
    divisions: tuple[str, ...]
    ecli_codes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CodeMeaning:
    """What the court part of a Belgian ECLI stands for; one code of Eupen covers three types."""

    types: tuple[str, ...]
    place: str | None
    language: str | None
    body: str | None


@dataclass(frozen=True, slots=True)
class Gazetteer:
    types: dict[str, CourtType]
    bodies: dict[str, Body]
    places: dict[str, Place]
    seats: dict[tuple[str, str], tuple[Seat, ...]]
    codes: dict[str, CodeMeaning]
    codes_of_type: dict[str, tuple[str, ...]]
    heads: PhraseTable[Head]
    cues: PhraseTable[Cue]


@cache
def raw(name: str) -> dict[str, Any]:
    """One data file as written, for the gazetteer itself and for those who check its examples."""
    return tomllib.loads((files(__package__) / "data" / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def gazetteer() -> Gazetteer:
    types = {
        row["id"]: CourtType(row["id"], row["national"], row.get("foreign_at", {}), row["confidence"])
        for row in raw("court_types")["type"]
    }
    places = {
        row["id"]: Place(row["id"], row["kind"], row.get("district"), row["ressort"], row["confidence"])
        for row in raw("places")["place"]
    }
    codes = _codes()
    return Gazetteer(types, _bodies(), places, _seats(), codes, _codes_of_type(codes), _heads(), _cues())


def _bodies() -> dict[str, Body]:
    rows = sorted(raw("ecli_codes")["code"], key=lambda row: STATUS_ORDER.index(row["status"]))
    return {
        row["id"]: Body(
            row.get("by_language", False), tuple(code["code"] for code in rows if code.get("body") == row["id"])
        )
        for row in raw("other_bodies")["body"]
    }


def _seats() -> dict[tuple[str, str], tuple[Seat, ...]]:
    """Every court under its own place and under each of its divisions."""
    table: dict[tuple[str, str], tuple[Seat, ...]] = {}
    rows = raw("courts")["court"]
    for row in rows:
        seat = Seat(
            type=row["type"],
            place=row["place"],
            language=row.get("language"),
            divisions=tuple(row.get("divisions", ())),
            ecli_codes=tuple(row.get("ecli_codes", ())) + tuple(row.get("ecli_unverified", ())),
        )
        for place in dict.fromkeys((seat.place, *seat.divisions)):
            table[seat.type, place] = (*table.get((seat.type, place), ()), seat)
    return table


def _codes() -> dict[str, CodeMeaning]:
    data = raw("ecli_codes")
    table = {
        row["code"]: CodeMeaning(tuple(row.get("types", ())), row.get("place"), row.get("language"), row.get("body"))
        for row in data["code"]
    }
    claimed = {row["code"]: CodeMeaning((row["type"],), None, None, None) for row in data["claimed"]}
    aliases = {row["code"]: table[row["means"]] for row in data["alias"]}
    return {**aliases, **claimed, **table}


def _codes_of_type(codes: dict[str, CodeMeaning]) -> dict[str, tuple[str, ...]]:
    """The real codes of each type, those in use before those replaced or unconfirmed."""
    rows = sorted(raw("ecli_codes")["code"], key=lambda row: STATUS_ORDER.index(row["status"]))
    table: dict[str, tuple[str, ...]] = {}
    for row in rows:
        for court_type in codes[row["code"]].types:
            table[court_type] = (*table.get(court_type, ()), row["code"])
    return table


def _heads() -> PhraseTable[Head]:
    """All aliases; an alias that several languages share loses its language."""
    table: PhraseTable[Head] = PhraseTable()
    for head in (*_not_court_heads(), *_body_heads(), *_type_heads(), *_trap_heads()):
        phrase = plain_words(head.text)
        known = table.get(phrase)
        if known is not None and known.target == head.target:
            abbreviated = known.abbreviated and head.abbreviated
            head = replace(known, languages=known.languages | head.languages, abbreviated=abbreviated)
        table.put(phrase, head)
    return table


def _not_court_heads() -> Iterator[Head]:
    for text in raw("court_types")["words"]["not_court"]:
        yield Head("not_court", "", text, frozenset(), abbreviated=True)


def _body_heads() -> Iterator[Head]:
    for row in raw("other_bodies")["body"]:
        need: Need = "abroad" if row.get("abroad_only") else "nothing"
        for key in ("names", "names_fr", "names_nl", "abbreviations"):
            language = key[-2:] if key.startswith("names_") else None
            for text in row.get(key, ()):
                short = key == "abbreviations"
                yield Head("other", row["id"], text, frozenset(), short, need, fixed_language=language)


def _type_heads() -> Iterator[Head]:
    for row in raw("court_types")["type"]:
        for key in ("names", "historic", "abbreviations"):
            for language, texts in row.get(key, {}).items():
                for text in texts:
                    spoken = frozenset((language,))
                    need = _need(row, text)
                    yield Head("court", row["id"], text, spoken, key == "abbreviations", need)
        for place, sections in row.get("at", {}).items():
            for language, texts in sections.items():
                for text in texts:
                    spoken = frozenset((language,))
                    yield Head("court", row["id"], text, spoken, "." in text, fixed_place=place)


def _need(row: dict[str, Any], text: str) -> Need:
    if text in row.get("needs_place", ()):
        return "place"
    return "context" if text in row.get("needs_context", ()) else "nothing"


def _trap_heads() -> Iterator[Head]:
    for row in raw("court_types")["trap"]:
        trap = Trap(row["place"], row["number"], row["later"], row["otherwise"])
        for text in row["aliases"]:
            spoken = frozenset((row["language"],))
            yield Head("court", trap.otherwise, text, spoken, abbreviated=True, trap=trap)


def _cues() -> PhraseTable[Cue]:
    table: PhraseTable[Cue] = PhraseTable()
    vocabulary = raw("court_types")["words"]
    plain: tuple[CueKind, ...] = ("neutral", "signal", "label", "month", "origin", "division", "chamber")
    for kind in plain:
        _put_all(table, vocabulary[kind], Cue(kind))
    for language, phrases in vocabulary["language"].items():
        _put_all(table, phrases, Cue("language", (language,)))
    for row in raw("other_bodies")["abroad"]:
        _put_all(table, row["words"], Cue("abroad", (row["body"],)))
    for row in raw("places")["place"]:
        for language, name in _place_names(row):
            _put_place(table, name, row["id"], frozenset((language,)))
        for alias in row.get("aliases", ()):
            _put_place(table, alias, row["id"], frozenset())
    return table


def _place_names(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """A German name that is the French or Dutch one says nothing about the language of the text."""
    local = {plain_words(row["fr"]), plain_words(row["nl"])}
    for language in LANGUAGES:
        if language != "de" or plain_words(row["de"]) not in local:
            yield language, row[language]


def _put_all(table: PhraseTable[Cue], phrases: Iterable[str], cue: Cue) -> None:
    for phrase in phrases:
        table.put(plain_words(phrase), cue)


def _put_place(table: PhraseTable[Cue], name: str, place: str, languages: frozenset[str]) -> None:
    phrase = plain_words(name)
    known = table.get(phrase)
    if known is not None and known.kind == "place":
        ids = tuple(dict.fromkeys((*known.values, place)))
        table.put(phrase, Cue("place", ids, known.languages | languages))
    else:
        table.put(phrase, Cue("place", (place,), languages))
