"""Finds lookups whose whole result stood in the result of one earlier step: it was known already."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from krino.judges.efficiency.finders.calls import squeeze
from krino.judges.efficiency.traces.content import dump, from_json
from krino.judges.efficiency.traces.steps import Step

_LEAST_FIELDS = 5
_LEAST_LINES = 3
_SHORTEST_LINE = 15
_LEAST_LETTERS = 60
"""Together, so that a handful of flags and little numbers is not taken for something known."""
_MOST_PIECES = 2_000
_POSTINGS = 12
_MAX_DEPTH = 20


@dataclass(slots=True)
class KnownResults:
    """The pieces of results so far: fields with their names, or lines of text. The work per step is bounded."""

    pieces: dict[int, frozenset[int]] = field(default_factory=dict)
    postings: dict[int, list[int]] = field(default_factory=dict)

    def add(self, place: int, step: Step) -> None:
        found = frozenset(_hash(piece) for piece in _pieces(step.output))
        if not found:
            return
        self.pieces[place] = found
        for piece in found:
            held = self.postings.setdefault(piece, [])
            if len(held) < _POSTINGS:
                held.append(place)

    def find(self, step: Step) -> int | None:
        """The first earlier step that had brought all of this result."""
        told = _pieces(step.output)
        if not told or sum(map(len, told)) < _LEAST_LETTERS:
            return None
        wanted = {_hash(piece) for piece in told}
        rarest: list[int] | None = None
        for piece in wanted:
            held = self.postings.get(piece)
            if held is None:
                return None
            if rarest is None or len(held) < len(rarest):
                rarest = held
        return next((place for place in rarest or () if wanted <= self.pieces[place]), None)


def _hash(piece: str) -> int:
    return zlib.crc32(piece.encode("utf-8", "surrogatepass"))


def _pieces(output: Any) -> list[str]:
    """What a result tells, piece by piece; nothing where it tells too little or too much to compare."""
    value = from_json(output)
    if isinstance(value, str):
        lines = {line for line in map(squeeze, value.splitlines()) if len(line) >= _SHORTEST_LINE}
        return sorted(lines) if _LEAST_LINES <= len(lines) <= _MOST_PIECES else []
    fields = set(_fields("", value))
    return sorted(fields) if _LEAST_FIELDS <= len(fields) <= _MOST_PIECES else []


def _fields(name: str, value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        for key, item in value.items():
            yield from _fields(str(key).casefold(), item, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _MAX_DEPTH:
        for item in value:
            yield from _fields(name, item, depth + 1)
    elif value not in (None, ""):
        yield f"{name}={squeeze(dump(value))}"
