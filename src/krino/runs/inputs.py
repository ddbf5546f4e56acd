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
    items = _as_far_as_they_go(cases)
    item = next(items, None)
    for judgement in judgements:
        while item is not None and item.index < judgement["index"]:
            item = next(items, None)
        same = item is not None and item.index == judgement["index"]
        record = item.record if item is not None and same else None
        if record is not None and hash_record(record) == judgement.get("input_hash"):
            yield {**judgement, "case": record}
        else:
            yield judgement


def _as_far_as_they_go(cases: Callable[[], Iterator[CaseItem]]) -> Iterator[CaseItem]:
    try:
        yield from cases()
    except (KrinoError, OSError):
        return
