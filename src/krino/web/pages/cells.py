"""Values of a verdict as a page shows them: short, and coloured by where they stand on their scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from krino.results.kinds import as_number, codes_of
from krino.results.verdict_schema import Scales, Schema, explains, grade, scales_of
from krino.results.wording import figure
from krino.runs.fields import own_fields
from krino.text.clean import clean_line

_LONGEST = 80


class Cell(NamedTuple):
    name: str
    text: str
    kind: str
    """What the style sheet knows it as."""
    grade: str


def cell_of(name: str, verdict: Mapping[str, Any], scales: Scales, *, ok: bool = True, number: bool = False) -> Cell:
    """`number`: the column is one of numbers, whatever this value is."""
    value, kind, shown = verdict.get(name), "figure" if number else "word", name.replace("_", " ")
    if value is None:
        return Cell(shown, "null" if ok else "–", f"{kind} none", "")
    found = as_number(value)
    if found is not None:
        text = str(value) if isinstance(value, int) else figure(found)
        return Cell(shown, text, kind, grade(scales, name, found) or "")
    codes = codes_of(value)
    return Cell(shown, clean_line(", ".join(codes) if codes else str(value), _LONGEST), kind, "")


def at_a_glance(judgement: Mapping[str, Any], schema: Schema) -> Iterator[Cell]:
    """The numbers and codes of a verdict, and the figures beside it: what a reader wants to know before all else."""
    verdict, scales = own_fields(judgement) if judgement["status"] == "ok" else {}, scales_of(schema)
    for name, value in verdict.items():
        if as_number(value) is not None or (codes_of(value) is not None and not explains(schema, name)):
            yield cell_of(name, verdict, scales)
