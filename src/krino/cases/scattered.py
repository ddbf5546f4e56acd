"""Finds cases whose parts lie in several records of one file, so that no part is scored as the whole.

Exporters of traces write in batches: the spans of one trace may stand in two lines. Where a file can be read twice,
a first look over it finds every part; in a pipe, only the parts after the first can be known for what they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from krino.cases.item import CaseItem

_KEY_BYTES = 16
_SHOWN_ID = 80


class Scattered:
    """Which ids were met in which record, file by file; of each id only a hash is kept."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}
        self._known: dict[bytes, tuple[int, int]] = {}

    def look_ahead(self, met: Iterable[tuple[CaseItem, Sequence[str]]]) -> None:
        """Remember which ids lie in several records, and nothing of the others."""
        first: dict[bytes, int] = {}
        for item, ids in met:
            for own in ids:
                key, place = _key(item, own), _place(item)
                if (earlier := first.setdefault(key, place)) != place:
                    self._known.setdefault(key, (earlier, place))

    def problem(self, item: CaseItem, own: str) -> str | None:
        """Why this part of a record is no case, if other records hold parts of the same."""
        key, place = _key(item, own), _place(item)
        if key in self._known:
            return _told(item, own, self._known[key])
        if (earlier := self._first.setdefault(key, place)) == place:
            return None
        late = "; the first part was read as a case before this one turned up: its judgement is of a part only"
        return _told(item, own, (earlier, place)) + late


def _told(item: CaseItem, own: str, places: tuple[int, int]) -> str:
    one, two = places
    where = f"{item.source}: " if item.source else ""
    return (
        f"{where}trace {own[:_SHOWN_ID]} lies in several records (lines {one} and {two}): "
        "write one trace a line, or one file with all as a JSON list"
    )


def _place(item: CaseItem) -> int:
    """The line; for records from Python, which have none, their number."""
    return item.source.line if item.source and item.source.line is not None else item.index + 1


def _key(item: CaseItem, own: str) -> bytes:
    name = f"{item.source.file if item.source else ''}\0{own}"
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()
