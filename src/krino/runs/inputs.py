"""Puts the cases of a run beside its judgements again, for those who show them together.

The cases come from whoever has the right to name them: a run folder says which files and which judge it was made with,
but it may come from anyone, so nothing here opens what it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from krino.cases.item import CaseItem
from krino.contract import hash_record
from krino.errors import KrinoError
from krino.runs.inside import inside

_KEPT = re.compile(r"(stdin(?:-\d+)?):[0-9a-f]*((?:\.[a-z]+){1,2})", re.IGNORECASE)


def kept_input(folder: Path, name: str) -> Path | None:
    """Where an input lies that came on stdin or by a pipe: `stdin:HASH.jsonl` was kept as `stdin.jsonl` in the folder.

    None for an input that is a file somewhere else.
    """
    found = _KEPT.fullmatch(name)
    return None if found is None else inside(folder / f"{found[1]}{found[2]}")


def with_cases(
    judgements: Iterable[Mapping[str, Any]], cases: Callable[[], Iterator[CaseItem]]
) -> Iterator[Mapping[str, Any]]:
    """The judgements, in the order of the input, each with its raw record under `case`.

    A record that can no longer be read, or is not the one that was judged, is left out: the judgement stands alone.
    """
    beside = CasesBeside(cases)
    for judgement in judgements:
        record = beside.case_of(judgement)
        yield judgement if record is None else {**judgement, "case": record}


class CasesBeside:
    """Finds the case of a judgement, for those who need the cases of some; judgements come in the order of the input.

    The input is read only as far as it must be, and only the cases that are asked for are compared with the run.
    """

    def __init__(self, cases: Callable[[], Iterator[CaseItem]]) -> None:
        self._items = _as_far_as_they_go(cases)
        self._item: CaseItem | None = None
        self._begun = False

    def case_of(self, judgement: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """None where the case can no longer be read, or is not the one that was judged."""
        while not self._begun or (self._item is not None and self._item.index < judgement["index"]):
            self._item, self._begun = next(self._items, None), True
        item = self._item
        if item is None or item.index != judgement["index"] or item.record is None:
            return None
        return item.record if hash_record(item.record) == judgement.get("input_hash") else None


def _as_far_as_they_go(cases: Callable[[], Iterator[CaseItem]]) -> Iterator[CaseItem]:
    try:
        yield from cases()
    except (KrinoError, OSError):
        return
