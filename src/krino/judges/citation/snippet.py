"""The part of a snippet that speaks about the cited decision, where the snippet cites several."""

from __future__ import annotations

import re
from typing import NamedTuple

from krino.judges.citation.cited import Cited, key_of
from krino.judges.citation.dates import find_dates

_ECLI = re.compile(r"ECLI:[A-Z]{2}:[A-Z0-9]{1,7}:\d{4}:[A-Z0-9.]+[A-Z0-9]", re.IGNORECASE)
_ONE_CITATION = 60
"""Marks that stand closer than this belong to one citation: Cass., 3 mai 2010, C.09.0123.F."""
_SENTENCE_END = re.compile(r"[.;!?]\s+(?=[A-ZÀ-Þ(\"«])")
_ENOUGH = 25
"""Letters that are needed before a text says what a decision is about."""


class _Mark(NamedTuple):
    start: int
    end: int
    is_cited: bool


def about_the_cited(snippet: str, cited: Cited) -> str:
    """What stands beside the cited date, number or ECLI; all of it where only one decision is cited."""
    citations = _citations(snippet, cited)
    if len(citations) < 2 or not any(citation.is_cited for citation in citations):
        return snippet
    # Texts either name a subject and then cite, or cite and then explain: what opens the snippet tells which.
    explains_after = _letters(snippet[: citations[0].start]) < _ENOUGH
    ends = [0, *(citation.end for citation in citations)]
    starts = [*(citation.start for citation in citations), len(snippet)]
    parts = []
    for place, citation in enumerate(citations):
        if citation.is_cited and explains_after:
            parts.append(snippet[citation.end : starts[place + 1]])
        elif citation.is_cited:
            parts.append(_last_sentence(snippet[ends[place] : citation.start]))
    beside = " ".join(parts)
    return beside if _letters(beside) >= _ENOUGH else snippet


def _citations(snippet: str, cited: Cited) -> list[_Mark]:
    """The decisions that a snippet cites, each with the stretch of text that its date, number and ECLI take."""
    found: list[_Mark] = []
    for mark in sorted(_marks(snippet, cited)):
        if found and mark.start - found[-1].end < _ONE_CITATION and not _parts(snippet[found[-1].end : mark.start]):
            last = found.pop()
            mark = _Mark(last.start, max(last.end, mark.end), last.is_cited or mark.is_cited)
        found.append(mark)
    return found


def _marks(snippet: str, cited: Cited) -> list[_Mark]:
    dates = [_Mark(day.start, day.end, day.date == cited.date) for day in find_dates(snippet)]
    eclis = [_Mark(*match.span(), key_of(match[0].upper()) == cited.key) for match in _ECLI.finditer(snippet)]
    numbers = []
    if cited.number and len(cited.number) > 3:
        numbers = [_Mark(*match.span(), True) for match in re.finditer(re.escape(cited.number), snippet)]
    return [*dates, *eclis, *numbers]


def _parts(between: str) -> bool:
    """Whether what stands between two marks parts two citations."""
    return ";" in between or _SENTENCE_END.search(between) is not None or _letters(between) >= _ENOUGH


def _last_sentence(text: str) -> str:
    pieces = _SENTENCE_END.split(text)
    while len(pieces) > 1 and _letters(pieces[-1]) < _ENOUGH:
        pieces[-2:] = [f"{pieces[-2]} {pieces[-1]}"]
    return pieces[-1]


def _letters(text: str) -> int:
    return sum(character.isalpha() for character in text)
