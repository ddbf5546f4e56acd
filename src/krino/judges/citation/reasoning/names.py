"""The names under which the courts of a case can stand in a reasoning, each with the mark that is put for it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

from krino.judges.citation.belgium import table as belgian_table
from krino.judges.citation.belgium.courts import Court, CourtRef, Other
from krino.judges.citation.belgium.dates import fold_letters
from krino.judges.citation.belgium.gazetteer import Head, gazetteer, words
from krino.judges.citation.candidates import CandidateFacts, Cited
from krino.judges.citation.case import CitationCase
from krino.judges.citation.reasoning.clauses import CITED, FOUND, OTHER, PLACE

Names = tuple[tuple[str, str], ...]


def names_of(case: CitationCase, cited: Cited, candidates: Sequence[CandidateFacts]) -> Names:
    """The names under which the courts of the case can stand in a text, each with its mark; a name has one."""
    found: dict[str, str] = {}

    def put(mark: str, names: Iterable[str | None]) -> None:
        for name in names:
            plain = " ".join(fold_letters(name).lower().split()) if name else ""
            if len(plain) > 1:
                found.setdefault(plain, mark)

    put(CITED, (case.cited_court_name, _alias(cited.court)))
    same = [item.named for item in candidates if item.alignment == "SAME"]
    # The full name of a short one in the other language than that of the court beside it: Cass., Cour de cassation.
    put(CITED, _written_out(cited.court, same))
    for mark, alignments in ((FOUND, ("SAME",)), (OTHER, ("OTHER_TYPE", "OTHER_JURISDICTION"))):
        for item in candidates:
            if item.alignment in alignments:
                put(mark, (*item.court_names, _alias(item.named)))
    if cited.classification == "GENERIC":
        for item in candidates:
            if isinstance(item.court, Court) and item.court.place:
                put(PLACE, _place_names(item.court.place))
    if isinstance(cited.court, Court) and cited.court.place:
        ours = _written_place(cited.court.place, (case.cited_court_name,))
        for item in candidates:
            theirs = _written_place(cited.court.place, item.court_names) if item.alignment == "SAME" else ()
            if theirs and ours and not set(ours) & set(theirs):  # one city under two names: Luik, Liège
                put(CITED, ours)
                put(FOUND, theirs)
    return tuple(sorted(found.items(), key=lambda entry: -len(entry[0])))


def _written_out(short: CourtRef, beside: Sequence[CourtRef]) -> tuple[str, ...]:
    """The full names of a court that is named in short, in the other language than those beside it."""
    tongues = {court.name_language for court in beside if isinstance(court, Court) and not court.abbreviated}
    if not is_short(short) or tongues not in ({"fr"}, {"nl"}):
        return ()
    return _full_forms(kind_of(short), frozenset(("en", "de", *tongues)))


@lru_cache(maxsize=256)
def _full_forms(kind: str, apart: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """The full names of a kind of court that are in none of these languages."""
    heads = (head for _, head in gazetteer().heads.items() if head.target == kind and not head.abbreviated)
    return tuple(head.text for head in heads if not head.languages & apart)


@lru_cache(maxsize=64)
def written_beside(mark: str, kind: str) -> re.Pattern[str]:
    """A short name with the full one, in whatever language, in brackets, in quotes or behind a comma."""
    forms = "|".join(re.escape(fold_letters(form).lower()) for form in _full_forms(kind))
    return re.compile(rf"{mark}[^\w\n{CITED}{FOUND}]{{1,6}}(?:{mark}|(?:{forms})(?!\w))")


def kind_of(court: CourtRef) -> str:
    return court.type if isinstance(court, Court) else court.body if isinstance(court, Other) else ""


def is_short(court: CourtRef) -> bool:
    return isinstance(court, Court) and court.abbreviated


def _alias(court: CourtRef) -> str | None:
    return court.alias if isinstance(court, Court | Other) else None


@cache
def _place_names(place: str) -> tuple[str, ...]:
    row = next(row for row in belgian_table("places")["place"] if row["id"] == place)
    return (row["fr"], row["nl"], *row.get("aliases", ()))


@lru_cache(maxsize=1_024)
def _written_place(place: str, court_names: tuple[str | None, ...]) -> tuple[str, ...]:
    """The names of a place that stand in the names of a court."""
    written = set(words(" ".join(filter(None, court_names))))
    return tuple(name for name in _place_names(place) if set(words(name)) <= written)


@lru_cache(maxsize=512)
def pattern_of(names: Names) -> re.Pattern[str]:
    """One group for each name, in their order."""
    forms = []
    for name, mark in names:
        form = r"\s+".join(re.escape(part) for part in name.rstrip(".").split())
        forms.append(f"({form}" + (r"\w{0,4})" if mark == PLACE else r"\.?)" if name.endswith(".") else ")"))
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)", re.IGNORECASE)


def full_names(text: str) -> Iterator[Head]:
    """The names of courts that a text writes out."""
    sentence = words(text)
    at = 0
    while at < len(sentence):
        found = gazetteer().heads.longest(sentence, at)
        if found is not None and not found[0].abbreviated:
            yield found[0]
        at += found[1] if found is not None else 1


def names_a_place(text: str) -> bool:
    """Whether a text names a Belgian city or district, in whatever language."""
    sentence = words(text)
    return any(
        found is not None and found[0].kind == "place"
        for found in (gazetteer().cues.longest(sentence, at) for at in range(len(sentence)))
    )
