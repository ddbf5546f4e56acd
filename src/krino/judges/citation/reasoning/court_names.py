"""Replaces the names of a case's courts in its reasoning by marks, so that "§ is not §" can be read as a phrase."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from krino.judges.citation.belgium import table
from krino.judges.citation.belgium.courts import Court, CourtRef, Other
from krino.judges.citation.belgium.dates import fold_letters
from krino.judges.citation.case import CitationCase
from krino.judges.citation.reasoning.patterns import CITED, FOUND, OTHER, PLACE
from krino.judges.citation.scoring.candidates import CandidateFacts, Cited

Names = tuple[tuple[str, str], ...]
"""Names of courts without accents and in lower case, longest first, each with the mark that replaces it."""


def mark_court_names(text: str, names: Names) -> str:
    """Returns the text with each letter of a court's name replaced by its mark: offsets stay as they are."""
    if not names:
        return text
    return _names_pattern(names).sub(lambda found: names[(found.lastindex or 1) - 1][1] * len(found[0]), text)


def court_names_of(case: CitationCase, cited: Cited, candidates: Iterable[CandidateFacts]) -> Names:
    """Returns all names of the case's courts, longest first, with the mark that replaces each."""
    found: dict[str, str] = {}

    def put(mark: str, *names: str | None) -> None:
        """Notes the folded names under a mark; the first mark of a name stays."""
        for name in names:
            plain = " ".join(fold_letters(name).lower().split()) if name else ""
            if len(plain) > 1:
                found.setdefault(plain, mark)

    put(CITED, case.cited_court_name, _alias(cited.court))
    for item in candidates:
        if isinstance(item.court, Court) and item.court.place:
            _put_place(put, cited, item, case.cited_court_name)
    for mark, alignments in ((FOUND, ("SAME",)), (OTHER, ("OTHER_TYPE", "OTHER_JURISDICTION"))):
        for item in candidates:
            if item.alignment in alignments:
                put(mark, *item.court_names, _alias(item.named))
    return tuple(sorted(found.items(), key=lambda entry: -len(entry[0])))


def _put_place(put: Callable[..., None], cited: Cited, item: CandidateFacts, cited_name: str | None) -> None:
    """Notes the place of a candidate's court; of the cited court, only if it is written in two ways: Luik, Liège."""
    names = _place_names(item.court.place) if isinstance(item.court, Court) and item.court.place else ()
    if cited.classification == "GENERIC":
        put(PLACE, *names)
    elif item.alignment == "SAME":
        ours, theirs = (
            [name for name in names if fold_letters(name).lower() in fold_letters(text).lower()]
            for text in (cited_name or "", " ".join(item.court_names))
        )
        if ours and theirs and not set(ours) & set(theirs):
            put(CITED, *ours)
            put(FOUND, *theirs)


@cache
def _place_names(place: str) -> tuple[str, ...]:
    row = next(row for row in table("places")["place"] if row["id"] == place)
    return (row["fr"], row["nl"], *row.get("aliases", ()))


def _alias(court: CourtRef) -> str | None:
    return court.alias if isinstance(court, Court | Other) else None


@lru_cache(maxsize=512)
def _names_pattern(names: Names) -> re.Pattern[str]:
    """Returns a pattern with one group for each name, in their order."""
    forms = []
    for name, _ in names:
        form = r"\s+".join(re.escape(part) for part in name.rstrip(".").split())
        forms.append(f"({form}" + (r"\.?)" if name.endswith(".") else ")"))
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)", re.IGNORECASE)
