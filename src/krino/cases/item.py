"""One case as it comes out of a file: a raw record with its place, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from krino.contract import Source
from krino.text.clean import clean_name

ID_FIELDS = ("id", "case_id", "_id", "uid")

_EXACT = 2**53  # larger floats stand for several whole numbers


@dataclass(slots=True)  # not frozen: one is made for every case, and that would take three times as long
class CaseItem:
    """`record` is None exactly when `problem` says why (what was wrong, where, what to do)."""

    index: int
    id: str
    record: Mapping[str, Any] | None
    source: Source | None = None
    problem: str | None = None
    raw: str | None = None
    """The text that could not be parsed (cut to a sensible length), for the record."""
    place: int | None = None
    """Of a case in a shard: where it stands in the whole that the shard was cut from."""


def case_id(record: Mapping[str, Any]) -> str | None:
    """The id a record gives itself, if any, without characters that nobody sees."""
    for field in ID_FIELDS:
        value = record.get(field)
        if value.__class__ is float and value.is_integer() and abs(value) < _EXACT:
            value = int(value)  # how tables with a gap write whole numbers
        if value.__class__ is int:
            return str(value)
        if value.__class__ is str and (name := clean_name(value)):
            return name
    return None


def as_text(name: str) -> str:
    """The name of a file as text that can be written down: it need not be text, on some systems."""
    return name.encode("utf-8", "replace").decode()
