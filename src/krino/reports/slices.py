"""Counts a run by what is known about its cases: for each value of a column, how the cases ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from krino.errors import UsageProblem
from krino.reports.clean import clean_line

MOST_VALUES = 1_000
ENDINGS = ("pass", "review", "fail", "ok", "failed", "error")


def count_by(judgements: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, dict[str, dict[str, int]]]:
    """Column, value, ending, cases. The ending is the judge's roll-up where there is one, else the status."""
    counts: dict[str, dict[str, Counter[str]]] = {column: {} for column in columns}
    known: set[str] = set()
    for judgement in judgements:
        metadata = judgement.get("metadata") or {}
        known.update(metadata)
        ending = judgement.get("roll_up") or judgement["status"]
        for column, values in counts.items():
            value = str(metadata[column]) if metadata.get(column) is not None else "none"
            if value in values or len(values) < MOST_VALUES:
                values.setdefault(value, Counter())[ending] += 1
    if unknown := [column for column in columns if column not in known]:
        there = ", ".join(sorted(known)) or "none"
        raise UsageProblem(f"--by {unknown[0]}: the judgements have no such column; they have {there}")
    return {column: {value: dict(found) for value, found in values.items()} for column, values in counts.items()}


def print_slices(console: Console, counts: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    endings = [
        name for name in ENDINGS if any(name in found for values in counts.values() for found in values.values())
    ]
    for column, values in counts.items():
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column(Text(clean_line(column, 40)))
        for heading in ("cases", *endings):
            table.add_column(heading, justify="right")
        for value, found in sorted(values.items(), key=lambda item: -sum(item[1].values())):
            figures = [f"{found.get(name, 0):,}" for name in endings]
            table.add_row(Text(clean_line(value, 60)), f"{sum(found.values()):,}", *figures)
        console.print(table)
        console.print()
