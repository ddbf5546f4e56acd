"""Is a broken rule within the noise of repeats? Reads a run as each asking of a repeated model alone would have it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from krino.results.table import Table, read_table
from krino.runs.manifest import Manifest

_MOST_SEATS = 12
"""Each takes one reading of the journal."""

Seat = tuple[str, int]
"""A member of the panel, and the number of the repeat."""


@dataclass(frozen=True)
class Repeats:
    """The run once for each asking; read only if a rule is broken."""

    folder: Path
    fields: Collection[str]
    by: Sequence[Sequence[str]]
    seats: Sequence[Seat]

    @cached_property
    def tables(self) -> list[Table]:
        """The table of the run for each asking."""
        return [
            read_table(self.folder, fields=self.fields, by=self.by, change=_change_to_seat(seat)) for seat in self.seats
        ]

    def count_kept(self, holds: Callable[[Table], bool]) -> tuple[int, int] | None:
        """How many askings alone keep a rule, of how many; None if there are no repeats."""
        if not self.seats:
            return None
        return sum(map(holds, self.tables)), len(self.tables)


def find_seats(manifest: Manifest) -> list[Seat]:
    """The askings of a run with repeats; none for a jury asked once, whose models differ by more than noise."""
    labeller = manifest.plan.labeller
    repeat = labeller.get("repeat", 1)
    if not isinstance(repeat, int) or repeat < 2:
        return []
    return [(str(member), n) for n in range(1, repeat + 1) for member in labeller.get("members", ())][:_MOST_SEATS]


def _change_to_seat(seat: Seat) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Returns a function that gives a judgement the verdict of this asking alone; a case that was not asked about keeps
    its own.

    If it gave no valid answer every field is null, so that the case does not count in favour of a rule.
    """

    def change(record: Mapping[str, Any]) -> Mapping[str, Any]:
        for ballot in (record.get("ballots") or ()) if record["status"] == "ok" else ():
            if (str(ballot["member"]), ballot["repeat"]) == seat:
                verdict = ballot["verdict"] or dict.fromkeys(record["verdict"])
                return {**record, "verdict": verdict, "roll_up": ballot["roll_up"] if ballot["verdict"] else None}
        return record

    return change
