"""Exhibits as a page shows them: short texts whole, long ones opened on demand, and never more than a page can hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from krino.contract.hooks import Exhibit, Exhibits

_LONGEST = 20_000
"""Characters of one text; of a longer one the page says how much it leaves out."""
_MOST_OPEN = 24_000
_LEAST_OPEN, _WIDEST_OPEN = 600, 6_000
"""Characters that a source shows at once: the fewer, the more sources there are."""
_MOST_PIECES = 1_000
_MOST_TEXT = 2_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """One exhibit: `rest` opens on demand, `missing` characters are not on the page at all."""

    title: str
    text: str
    rest: str = ""
    missing: int = 0
    sentences: tuple[str, ...] = ()


@dataclass(slots=True)
class Shown:
    """`left_out`: exhibits for which the page has no room."""

    work: list[Piece] = field(default_factory=list)
    sources: list[Piece] = field(default_factory=list)
    left_out: int = 0


def show(exhibits: Exhibits, *, numbered: bool) -> Shown:
    """`numbered`: with the numbers of sentences and candidates, for who gives labels that refer to them."""
    shown = Shown()
    sources = exhibits.sources[:_MOST_PIECES]
    at_once = min(max(_MOST_OPEN // max(len(sources), 1), _LEAST_OPEN), _WIDEST_OPEN)
    shown.work = _pieces(exhibits.work[:_MOST_PIECES], _LONGEST, _MOST_TEXT // 2, numbered)
    shown.sources = _pieces(sources, at_once, _MOST_TEXT // 2, numbered)
    shown.left_out = max(len(exhibits.work) - _MOST_PIECES, 0) + len(exhibits.sources) - len(sources)
    return shown


def _pieces(exhibits: Iterable[Exhibit], at_once: int, room: int, numbered: bool) -> list[Piece]:
    found = []
    for exhibit in exhibits:
        if not exhibit.text and not numbered:
            continue
        piece = _piece(exhibit, at_once, min(_LONGEST, max(room, _LEAST_OPEN)), numbered)
        room -= len(piece.text) + len(piece.rest) + sum(map(len, piece.sentences))
        found.append(piece)
    return found


def _piece(exhibit: Exhibit, at_once: int, longest: int, numbered: bool) -> Piece:
    title = f"{exhibit.title} ({exhibit.number} in the questions)" if numbered and exhibit.number else exhibit.title
    if numbered and exhibit.sentences:
        kept = _as_many(exhibit.sentences, longest)
        return Piece(title, "", missing=sum(map(len, exhibit.sentences)) - sum(map(len, kept)), sentences=kept)
    text = exhibit.text
    opened = text if len(text) <= min(2 * at_once, longest) else text[:at_once]
    return Piece(title, opened, text[len(opened) : longest], max(len(text) - longest, 0))


def _as_many(texts: Sequence[str], most: int) -> tuple[str, ...]:
    kept: list[str] = []
    for text in texts:
        if most <= 0:
            break
        kept.append(text[:most])
        most -= len(text)
    return tuple(kept)
