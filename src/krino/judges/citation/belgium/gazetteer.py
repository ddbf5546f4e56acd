"""Loads the gazetteer of Belgian courts, places, codes and other bodies, and tokenises names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import unescape
from typing import Any, Final, Generic, Literal, TypeVar

from krino.judges.citation.belgium import table
from krino.text.forms import INVISIBLE

# The court is at the start of a text; what follows is parties, reports and prose.
MAX_LENGTH: Final = 400
BREAK: Final = ","

_LETTERS: Final = str.maketrans({"ʼ": "'", "œ": "oe", "æ": "ae", "ø": "o", "ł": "l"})
_PIECE: Final = re.compile(r"[^\W_]+|[,;:()\[\]{}/|\n–—]|\s-\s")
_CONSTITUTIONAL_NUMBER: Final = re.compile(r"(?<![\d./-])\d{1,3}/(?:19[89]\d|20\d\d)(?![\d/])")
_LABELLED_SHORT_NUMBER: Final = re.compile(r"\bn(?:r|o|°|º)\.?\s{0,3}\d{1,3}/\d\d(?![\d/])", re.IGNORECASE)
_WHOLE_NUMBER: Final = re.compile(r"\D*(?:\d{1,3}/(?:\d{4}|\d{2})|(?:19[89]\d|20\d\d)/\d{1,3})\D*")
_YEAR: Final = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")

Payload = TypeVar("Payload")


def fold_name(text: str) -> str:
    """Returns a text in lower case without accents."""
    lowered = text.casefold()
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFKD", lowered.translate(_LETTERS))
    return "".join(char for char in decomposed if not unicodedata.combining(char)).casefold()


def name_tokens(text: str) -> list[str]:
    """Tokenises a court name: folded words, and a BREAK at punctuation other than dots and apostrophes."""
    text = text[:MAX_LENGTH]
    if "&" in text:
        text = unescape(text)  # crawled pages contain HTML entities: Cour d&#39;appel
    if not text.isascii():
        text = text.translate(INVISIBLE)
    return [piece if piece[0].isalnum() else BREAK for piece in _PIECE.findall(fold_name(text))]


def name_words(text: str) -> tuple[str, ...]:
    """The folded words of a name, without breaks."""
    return tuple(word for word in name_tokens(text) if word != BREAK)


def latest_year(text: str) -> int | None:
    """Returns the latest plausible year written in the text, or None."""
    years = _YEAR.findall(text[:MAX_LENGTH])
    return max(map(int, years)) if years else None


def names_constitutional_number(text: str) -> bool:
    """Does the text contain a judgment number in the form of the Constitutional Court (N/YYYY)?"""
    head = text[:MAX_LENGTH]
    return bool(_CONSTITUTIONAL_NUMBER.search(head) or _LABELLED_SHORT_NUMBER.search(head))


def is_constitutional_number(case_number: str) -> bool:
    """Is a case number of that form, including short and reversed ones?"""
    return len(case_number) < 60 and _WHOLE_NUMBER.fullmatch(case_number) is not None


class PhraseTable(Generic[Payload]):
    """Finds the longest known phrase that starts at a given word."""

    __slots__ = ("_by_phrase", "_lengths")

    def __init__(self) -> None:
        self._by_phrase: dict[tuple[str, ...], Payload] = {}
        self._lengths: dict[str, tuple[int, ...]] = {}

    def get(self, phrase: tuple[str, ...]) -> Payload | None:
        return self._by_phrase.get(phrase)

    def items(self) -> Iterable[tuple[tuple[str, ...], Payload]]:
        return self._by_phrase.items()

    def put(self, phrase: tuple[str, ...], payload: Payload) -> None:
        self._by_phrase[phrase] = payload
        known = self._lengths.get(phrase[0], ())
        self._lengths[phrase[0]] = tuple(sorted({*known, len(phrase)}, reverse=True))

    def longest(self, sentence: Sequence[str], start: int) -> tuple[Payload, int] | None:
        """Returns the payload of the longest phrase that begins at `start`, and its length in words; or None."""
        for length in self._lengths.get(sentence[start], ()):
            payload = self._by_phrase.get(tuple(sentence[start : start + length]))
            if payload is not None and start + length <= len(sentence):
                return payload, length
        return None


LANGUAGES: Final = ("fr", "nl", "de")
STATUS_ORDER: Final = ("observed", "official_unseen", "observed_legacy", "superseded", "unverified")

Need = Literal["nothing", "place", "context", "abroad"]
CueKind = Literal[
    "place", "abroad", "division", "language", "chamber", "neutral", "signal", "origin", "label", "month", "prose"
]


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """The court types that an ambiguous alias means: with a place, with a number N/YYYY, after 2007, or otherwise."""

    place: str
    number: str
    later: str
    otherwise: str


@dataclass(frozen=True, slots=True)
class Head:
    """An alias that can begin a court name, and its meaning: a court type, another body, or no court."""

    kind: Literal["court", "other", "not_court"]
    target: str
    text: str
    languages: frozenset[str]
    abbreviated: bool
    need: Need = "nothing"
    fixed_place: str | None = None
    fixed_language: str | None = None
    ambiguity: Ambiguity | None = None


@dataclass(frozen=True, slots=True)
class Cue:
    """A word or phrase that can follow the head: a place (several may share a name), a marker or filler."""

    kind: CueKind
    values: tuple[str, ...] = ()
    languages: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Body:
    """A body outside the courts; `by_language`: there is a French-language and a Dutch-language one."""

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
    """The court behind the court part of a Belgian ECLI; one code of Eupen covers three types."""

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
def gazetteer() -> Gazetteer:
    """Loads all tables of courts, places, codes and bodies."""
    types = {
        row["id"]: CourtType(row["id"], row["national"], row.get("foreign_at", {}), row["confidence"])
        for row in table("court_types")["type"]
    }
    places = {
        row["id"]: Place(row["id"], row["kind"], row.get("district"), row["ressort"], row["confidence"])
        for row in table("places")["place"]
    }
    codes = _load_codes()
    return Gazetteer(
        types, _load_bodies(), places, _load_seats(), codes, _group_codes_by_type(codes), _load_heads(), _load_cues()
    )


def _load_bodies() -> dict[str, Body]:
    """Loads bodies that are not courts of the gazetteer, with their ECLI codes."""
    rows = sorted(table("ecli_codes")["code"], key=lambda row: STATUS_ORDER.index(row["status"]))
    return {
        row["id"]: Body(
            row.get("by_language", False), tuple(code["code"] for code in rows if code.get("body") == row["id"])
        )
        for row in table("other_bodies")["body"]
    }


def _load_seats() -> dict[tuple[str, str], tuple[Seat, ...]]:
    """Loads every court, listed under its own place and under each of its divisions."""
    index: dict[tuple[str, str], tuple[Seat, ...]] = {}
    rows = table("courts")["court"]
    for row in rows:
        seat = Seat(
            type=row["type"],
            place=row["place"],
            language=row.get("language"),
            divisions=tuple(row.get("divisions", ())),
            ecli_codes=tuple(row.get("ecli_codes", ())) + tuple(row.get("ecli_unverified", ())),
        )
        for place in dict.fromkeys((seat.place, *seat.divisions)):
            index[seat.type, place] = (*index.get((seat.type, place), ()), seat)
    return index


def _load_codes() -> dict[str, CodeMeaning]:
    """Loads what each court code of an ECLI means."""
    data = table("ecli_codes")
    index = {
        row["code"]: CodeMeaning(tuple(row.get("types", ())), row.get("place"), row.get("language"), row.get("body"))
        for row in data["code"]
    }
    claimed = {row["code"]: CodeMeaning((row["type"],), None, None, None) for row in data["claimed"]}
    aliases = {row["code"]: index[row["means"]] for row in data["alias"]}
    return {**aliases, **claimed, **index}


def _group_codes_by_type(codes: dict[str, CodeMeaning]) -> dict[str, tuple[str, ...]]:
    """Returns the real codes of each court type, those in use before those replaced or unconfirmed."""
    rows = sorted(table("ecli_codes")["code"], key=lambda row: STATUS_ORDER.index(row["status"]))
    index: dict[str, tuple[str, ...]] = {}
    for row in rows:
        for court_type in codes[row["code"]].types:
            index[court_type] = (*index.get(court_type, ()), row["code"])
    return index


def _load_heads() -> PhraseTable[Head]:
    """Loads all aliases; one that several languages share has all of them, and so says nothing about the language."""
    index: PhraseTable[Head] = PhraseTable()
    for head in (*_load_not_court_heads(), *_load_body_heads(), *_load_type_heads(), *_load_ambiguous_heads()):
        phrase = name_words(head.text)
        known = index.get(phrase)
        if known is not None and known.target == head.target:
            abbreviated = known.abbreviated and head.abbreviated
            head = replace(known, languages=known.languages | head.languages, abbreviated=abbreviated)
        index.put(phrase, head)
    return index


def _load_not_court_heads() -> Iterator[Head]:
    for text in table("court_types")["words"]["not_court"]:
        yield Head("not_court", "", text, frozenset(), abbreviated=True)


def _load_body_heads() -> Iterator[Head]:
    """Yields the names of bodies that are not courts of the gazetteer."""
    for row in table("other_bodies")["body"]:
        need: Need = "abroad" if row.get("abroad_only") else "nothing"
        for key in ("names", "names_fr", "names_nl", "abbreviations"):
            language = key[-2:] if key.startswith("names_") else None
            for text in row.get(key, ()):
                short = key == "abbreviations"
                yield Head("other", row["id"], text, frozenset(), short, need, fixed_language=language)


def _load_type_heads() -> Iterator[Head]:
    """Yields the names of courts, historic ones and abbreviations included."""
    for row in table("court_types")["type"]:
        for key in ("names", "historic", "abbreviations"):
            for language, texts in row.get(key, {}).items():
                for text in texts:
                    spoken = frozenset((language,))
                    need = _find_need(row, text)
                    yield Head("court", row["id"], text, spoken, key == "abbreviations", need)
        for place, sections in row.get("at", {}).items():
            for language, texts in sections.items():
                for text in texts:
                    spoken = frozenset((language,))
                    yield Head("court", row["id"], text, spoken, "." in text, fixed_place=place)


def _find_need(row: dict[str, Any], text: str) -> Need:
    if text in row.get("needs_place", ()):
        return "place"
    return "context" if text in row.get("needs_context", ()) else "nothing"


def _load_ambiguous_heads() -> Iterator[Head]:
    """Yields abbreviations that may mean several courts."""
    for row in table("court_types")["trap"]:
        ambiguity = Ambiguity(row["place"], row["number"], row["later"], row["otherwise"])
        for text in row["aliases"]:
            spoken = frozenset((row["language"],))
            yield Head("court", ambiguity.otherwise, text, spoken, abbreviated=True, ambiguity=ambiguity)


def _load_cues() -> PhraseTable[Cue]:
    """Loads the words that give the parts of a court's name their role."""
    index: PhraseTable[Cue] = PhraseTable()
    vocabulary = table("court_types")["words"]
    plain: tuple[CueKind, ...] = ("neutral", "signal", "label", "month", "origin", "division", "chamber", "prose")
    for kind in plain:
        _put_all(index, vocabulary[kind], Cue(kind))
    for language, phrases in vocabulary["language"].items():
        _put_all(index, phrases, Cue("language", (language,)))
    for row in table("other_bodies")["abroad"]:
        _put_all(index, row["words"], Cue("abroad", (row["body"],)))
    for row in table("places")["place"]:
        for language, name in _list_place_names(row):
            _put_place(index, name, row["id"], frozenset((language,)))
        for alias in row.get("aliases", ()):
            _put_place(index, alias, row["id"], frozenset())
    return index


def _list_place_names(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the names of a place with their languages.

    A German name that is also the French or Dutch one is left out: it says nothing about the language.
    """
    local = {name_words(row["fr"]), name_words(row["nl"])}
    for language in LANGUAGES:
        if language != "de" or name_words(row["de"]) not in local:
            yield language, row[language]


def _put_all(index: PhraseTable[Cue], phrases: Iterable[str], cue: Cue) -> None:
    for phrase in phrases:
        index.put(name_words(phrase), cue)


def _put_place(index: PhraseTable[Cue], name: str, place: str, languages: frozenset[str]) -> None:
    """Adds the name of a place; names that several places share list all of them."""
    phrase = name_words(name)
    known = index.get(phrase)
    if known is not None and known.kind == "place":
        ids = tuple(dict.fromkeys((*known.values, place)))
        index.put(phrase, Cue("place", ids, known.languages | languages))
    else:
        index.put(phrase, Cue("place", (place,), languages))


def court_names_in(text: str) -> Iterator[Head]:
    """Finds names of courts that a text writes out in full."""
    return (head for head in _phrases_in(text, gazetteer().heads) if not head.abbreviated)


def names_a_place(text: str) -> bool:
    """Does a text name a Belgian city or district, in any language?"""
    return any(cue.kind == "place" for cue in _phrases_in(text, gazetteer().cues))


def _phrases_in(text: str, phrases: PhraseTable[Payload]) -> Iterator[Payload]:
    sentence = name_tokens(text)
    found = (phrases.longest(sentence, at) for at in range(len(sentence)))
    return (item[0] for item in found if item is not None)
