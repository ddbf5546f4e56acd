"""Splits records that hold several cases, and numbers the cases again.

Trace exporters write in batches, so that the spans of one trace may be in two lines. A part is never scored as if it
were the whole trace. If a file can be read twice, a first pass finds every part; in a pipe, only the parts after the
first are recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from krino.cases.item import CaseItem, case_id
from krino.contract import AnyJudge, ReadsRecords
from krino.text.clean import clean_name
from krino.text.faults import describe_exception

_KEY_BYTES = 16
_SHOWN_ID = 80


class Scattered:
    """Finds ids that occur in several records of a file. Only a hash of each id is kept."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}
        self._known: dict[bytes, tuple[int, int]] = {}

    def look_ahead(self, found: Iterable[tuple[CaseItem, Sequence[str]]]) -> None:
        """Goes through all items, and remembers the ids that occur in several records of a file."""
        first: dict[bytes, int] = {}
        for item, ids in found:
            for own in ids:
                key, place = _key(item, own), _place(item)
                if (earlier := first.setdefault(key, place)) != place:
                    self._known.setdefault(key, (earlier, place))

    def problem(self, item: CaseItem, own: str) -> str | None:
        """Why this part of a record is not a case: other records hold parts of the same trace. None if none did so far.

        Remembers the id, so that a part in a later record is recognised.
        """
        key, place = _key(item, own), _place(item)
        if key in self._known:
            return _describe_scattered_trace(item, own, self._known[key])
        if (earlier := self._first.setdefault(key, place)) == place:
            return None
        late = "; the first part was read as a case before this one turned up: its judgement is of a part only"
        return _describe_scattered_trace(item, own, (earlier, place)) + late


def _describe_scattered_trace(item: CaseItem, own: str, places: tuple[int, int]) -> str:
    """Describes a trace that is scattered over several records."""
    one, two = places
    where = f"{item.source}: " if item.source else ""
    return (
        f"{where}trace {own[:_SHOWN_ID]} lies in several records (lines {one} and {two}): "
        "write one trace a line, or one file with all as a JSON list"
    )


def _place(item: CaseItem) -> int:
    """The line number; for records from Python, their number."""
    return item.source.line if item.source and item.source.line is not None else item.index + 1


def _key(item: CaseItem, own: str) -> bytes:
    name = f"{item.source.file if item.source else ''}\0{own}"
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).digest()


SplitPart = tuple[str | None, Mapping[str, Any]]


def split_items(items: Iterator[CaseItem], judge: AnyJudge, ahead: Iterable[CaseItem] = ()) -> Iterator[CaseItem]:
    """Yields one item for each case, with the source of its record.

    `ahead`: the items that can be read twice. A case whose parts are in several of them gets no score.
    """
    return _split(items, judge, ahead) if isinstance(judge, ReadsRecords) else items


def _split(items: Iterator[CaseItem], judge: ReadsRecords, ahead: Iterable[CaseItem]) -> Iterator[CaseItem]:
    """Yields the cases of all records, numbered again."""
    scattered = Scattered()
    scattered.look_ahead((item, _list_inner_ids(item, judge)) for item in ahead)
    index = 0
    for item in items:
        for found in _split_item(item, judge, scattered):
            yield replace(found, index=index)
            index += 1


def _list_inner_ids(item: CaseItem, judge: ReadsRecords) -> list[str]:
    parts = _split_record(item, judge)
    return [] if isinstance(parts, str) else [inner for inner, _ in parts if inner]


def _split_item(item: CaseItem, judge: ReadsRecords, scattered: Scattered) -> list[CaseItem]:
    """Returns the cases of one record, with ids of their own if there are several; what is no case gets a problem."""
    if item.record is None:
        return [item]
    parts = _split_record(item, judge)
    if isinstance(parts, str):
        return [replace(item, record=None, problem=parts)]
    own = case_id(item.record)
    found = []
    for number, (inner, record) in enumerate(parts, 1):
        name = _join_ids(own, inner or f"{item.id}#{number}") if len(parts) > 1 else own or inner or item.id
        problem = scattered.problem(item, inner) if inner else None
        found.append(replace(item, id=clean_name(name), record=None if problem else record, problem=problem))
    return found


def _split_record(item: CaseItem, judge: ReadsRecords) -> list[SplitPart] | str:
    """The cases of the record, or a string that says why it has none."""
    if item.record is None:
        return []
    try:
        parts = list(judge.split(item.record))
    except Exception as fault:
        return f"{item.source or item.id}: the record cannot be taken apart: {describe_exception(fault)}"
    return parts or f"{item.source or item.id}: the record holds no case; give it one, or remove it"


def _join_ids(own: str | None, inner: str) -> str:
    return inner if own is None else f"{own}:{inner}"
