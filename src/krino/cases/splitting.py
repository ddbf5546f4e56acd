"""Takes records that hold several cases apart, and numbers the cases anew."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from krino.cases.item import CaseItem, case_id
from krino.contract import Judge


def split_items(items: Iterator[CaseItem], judge: Judge[Any, Any, Any]) -> Iterator[CaseItem]:
    """One item for each case; what stands in one record keeps the place in the file that the record has."""
    if type(judge).split is Judge.split:
        return items
    return _split(items, judge)


def _split(items: Iterator[CaseItem], judge: Judge[Any, Any, Any]) -> Iterator[CaseItem]:
    index = 0
    for item in items:
        for found in _cases(item, judge):
            yield replace(found, index=index)
            index += 1


def _cases(item: CaseItem, judge: Judge[Any, Any, Any]) -> list[CaseItem]:
    if item.record is None:
        return [item]
    try:
        parts = list(judge.split(item.record))
    except Exception as fault:
        problem = f"{item.source or item.id}: the record cannot be taken apart: {type(fault).__name__}: {fault}"
        return [replace(item, record=None, problem=problem)]
    own = case_id(item.record)
    if len(parts) == 1:
        (inner, record), *_ = parts
        return [replace(item, id=own or inner or item.id, record=record)]
    return [
        replace(item, id=_joined(own, inner or f"{item.id}#{number}"), record=record)
        for number, (inner, record) in enumerate(parts, 1)
    ]


def _joined(own: str | None, inner: str) -> str:
    return inner if own is None else f"{own}:{inner}"
