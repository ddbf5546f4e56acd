"""Reads the judgements of a run once, for all that is made of them: summary, slices, report, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from krino.results.slices import FewValued, SliceTable
from krino.results.summary import Summary, SummaryTally
from krino.results.verdict_schema import Schema


class Taker(Protocol):
    """Something that is made of judgements, one after the other in the order of the input."""

    def add(self, judgement: Mapping[str, Any], /) -> None: ...


@dataclass(frozen=True)
class Collected:
    """What a run comes to."""

    summary: Summary
    slices: list[SliceTable]
    """By every column of metadata that has few values."""


def collect(judgements: Iterable[Mapping[str, Any]], *takers: Taker, schema: Schema | None = None) -> Collected:
    """One pass: each judgement is read once and handed to everyone who needs it. `schema`: of the verdict."""
    summary, slices = SummaryTally(schema), FewValued()
    for part in summary.reader.parts(judgements):
        summary.add(part)
        slices.add(part)
        for taker in takers:
            for judgement in part.records:
                taker.add(judgement)
    return Collected(summary.result(), slices.result())
