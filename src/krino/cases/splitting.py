"""Takes records that hold several cases apart, and numbers the cases anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from krino.cases.item import CaseItem, case_id
from krino.cases.scattered import Scattered
from krino.contract import Judge, ReadsRecords

AnyJudge = Judge[Any, Any, Any]
Part = tuple[str | None, Mapping[str, Any]]


def split_items(items: Iterator[CaseItem], judge: AnyJudge, ahead: Iterable[CaseItem] = ()) -> Iterator[CaseItem]:
    """One item for each case; what stands in one record keeps the place in the file that the record has.

    `ahead` are those of the items that can be read twice: a case whose parts lie in several of them has no score.
    """
    return _split(items, judge, ahead) if isinstance(judge, ReadsRecords) else items


def _split(items: Iterator[CaseItem], judge: ReadsRecords, ahead: Iterable[CaseItem]) -> Iterator[CaseItem]:
    scattered = Scattered()
    scattered.look_ahead((item, _ids(item, judge)) for item in ahead)
    index = 0
    for item in items:
        for found in _cases(item, judge, scattered):
            yield replace(found, index=index)
            index += 1


def _ids(item: CaseItem, judge: ReadsRecords) -> list[str]:
    parts = _parts(item, judge)
    return [] if isinstance(parts, str) else [inner for inner, _ in parts if inner]


def _cases(item: CaseItem, judge: ReadsRecords, scattered: Scattered) -> list[CaseItem]:
    if item.record is None:
        return [item]
    parts = _parts(item, judge)
    if isinstance(parts, str):
        return [replace(item, record=None, problem=parts)]
    own = case_id(item.record)
    found = []
    for number, (inner, record) in enumerate(parts, 1):
        name = _joined(own, inner or f"{item.id}#{number}") if len(parts) > 1 else own or inner or item.id
        problem = scattered.problem(item, inner) if inner else None
        found.append(replace(item, id=name, record=None if problem else record, problem=problem))
    return found


def _parts(item: CaseItem, judge: ReadsRecords) -> list[Part] | str:
    """The cases of the record, or why there are none."""
    if item.record is None:
        return []
    try:
        parts = list(judge.split(item.record))
    except Exception as fault:
        return f"{item.source or item.id}: the record cannot be taken apart: {type(fault).__name__}: {fault}"
    return parts or f"{item.source or item.id}: the record holds no case; give it one, or remove it"


def _joined(own: str | None, inner: str) -> str:
    return inner if own is None else f"{own}:{inner}"
