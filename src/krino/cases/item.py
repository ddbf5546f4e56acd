"""One case as it comes out of a file: a raw record with its place, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from krino.contract import Source


@dataclass(frozen=True, slots=True)
class CaseItem:
    """`record` is None exactly when `problem` says why (what was wrong, where, what to do)."""

    index: int
    id: str
    record: Mapping[str, Any] | None
    source: Source | None = None
    problem: str | None = None
    raw: str | None = None
    """The text that could not be parsed (cut to a sensible length), for the record."""
