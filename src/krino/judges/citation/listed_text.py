"""Reads a list of candidates written as text, as a prompt would show it: one entry a decision, each with its ECLI."""

from __future__ import annotations

import re
from typing import Any

from krino.judges.citation.courts import Unknown, resolve_court
from krino.judges.citation.dates import parse_date
from krino.judges.citation.tables import table

_LONGEST = 500_000
_ENTRY = re.compile(
    r"^[ \t]*(?:[-*•]|\(?\d{1,3}[.):]|#{1,4}"
    r"|\**(?:candidate|candidat|kandidaat|decision|décision|beslissing)\s*#?\d+\**\s*[:.)-]?)\s*",
    re.IGNORECASE | re.MULTILINE,
)
_ECLI = re.compile(r"ECLI:[A-Z]{2}:[A-Z0-9]{1,7}:\d{4}:[A-Z0-9.]+[A-Z0-9]", re.IGNORECASE)
_PIECE_END = re.compile(r"\s*(?:\n|\||;|\s[-–—]\s|,(?=\s*[\w_ ]{2,20}:))\s*")
_LABEL = re.compile(r"\**\s*([^\W\d][\w .°_-]{1,30}?)\s*\**\s*[:=]\s*\**\s*(.*)", re.DOTALL)


def candidates_in_text(text: str) -> list[dict[str, Any]]:
    """The candidates of a text; raises `ValueError` where an entry cannot be told apart or names no decision."""
    entries = _entries(text[:_LONGEST])
    found = [_candidate(entry) for entry in entries]
    if wrong := [place for place, item in enumerate(found, 1) if item is None]:
        raise ValueError(
            f"candidates: entry {wrong[0]} of the text names no single ECLI; give a list of objects with decision_id"
        )
    if not found:
        raise ValueError("candidates is text in which no decision can be told apart; give a list of objects")
    return [item for item in found if item is not None]


def _entries(text: str) -> list[str]:
    """One entry for each mark of a list that brings an ECLI; lines under a mark belong to its entry."""
    starts = [match.end() for match in _ENTRY.finditer(text)]
    if not starts:
        return [line for line in text.splitlines() if line.strip()]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    entries: list[str] = []
    for piece in pieces:
        # A bullet inside an entry ("- rol_number: ...") brings no decision of its own.
        if (entries and not _ECLI.search(piece) and _LABEL.match(piece.strip())) or (
            entries and not _ECLI.search(entries[-1])
        ):
            entries[-1] += f"\n{piece}"
        else:
            entries.append(piece)
    return [entry for entry in entries if entry.strip()]


def _candidate(entry: str) -> dict[str, Any] | None:
    ids = {found.upper() for found in _ECLI.findall(entry)}
    if len(ids) != 1:
        return None
    fields: dict[str, Any] = {"decision_id": ids.pop(), "summaries": []}
    for piece in filter(None, (part.strip(" *`") for part in _PIECE_END.split(entry))):
        if not _ECLI.search(piece):
            _take(piece, fields)
    return fields


def _take(piece: str, fields: dict[str, Any]) -> None:
    """One piece of an entry: by its label, else by what it turns out to be."""
    labelled = _LABEL.fullmatch(piece)
    name = _field_of(labelled[1]) if labelled else None
    if labelled and name:
        if name == "summaries":
            fields["summaries"].append(labelled[2])
        else:
            fields.setdefault(name, labelled[2])
    elif "court_name" not in fields and not isinstance(resolve_court(piece), Unknown):
        fields["court_name"] = piece
    elif "decision_date" not in fields and len(piece) < 40 and parse_date(piece):
        fields["decision_date"] = piece
    else:
        fields["summaries"].append(piece)


def _field_of(label: str) -> str | None:
    plain = " ".join(label.casefold().replace("_", " ").replace(".", " ").split())
    labels: dict[str, list[str]] = table("record_names")["labels"]
    return next((name for name, words in labels.items() if plain in words), None)
