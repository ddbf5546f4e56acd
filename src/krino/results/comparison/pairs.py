"""Finds the same cases in two runs: by id, and where an id is given more than once, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from krino.errors import UsageProblem
from krino.results.comparison.columns import RunColumns
from krino.text.clean import clean_line

Places = NDArray[np.intp]
_Key = str | tuple[str, int]


@dataclass(frozen=True)
class Pairs:
    """Places of the same cases in both runs, and of those that only one has."""

    a: Places
    b: Places
    only_a: Places
    only_b: Places
    repeated: int
    """Ids that a run gives to more than one case."""
    other_content: Places
    """Pairs whose records differ: places in `a` and `b`."""

    def __len__(self) -> int:
        return len(self.a)


def match(a: RunColumns, b: RunColumns) -> Pairs:
    """Raises `UsageProblem` when the runs have no case in common."""
    there = {key: place for place, key in enumerate(_keys(b.ids))}
    matched, only_a = [], []
    for place, key in enumerate(_keys(a.ids)):
        other = there.pop(key, None)
        if other is None:
            only_a.append(place)
        else:
            matched.append((place, other))
    if not matched:
        raise UsageProblem(_nothing_in_common(a, b))
    pairs = np.array(matched, np.intp)
    in_a, in_b = pairs[:, 0], pairs[:, 1]
    return Pairs(
        a=in_a,
        b=in_b,
        only_a=np.array(only_a, np.intp),
        only_b=np.array(sorted(there.values()), np.intp),
        repeated=max(_repeated(a.ids), _repeated(b.ids)),
        other_content=np.flatnonzero(a.digests[in_a] != b.digests[in_b]),
    )


def _keys(ids: Iterable[str]) -> Iterator[_Key]:
    """The id itself; for its second and later cases, with their number."""
    seen: dict[str, int] = {}
    for name in ids:
        before = seen[name] = seen.get(name, -1) + 1
        yield name if not before else (name, before)


def _repeated(ids: list[str]) -> int:
    return len({key[0] for key in _keys(ids) if isinstance(key, tuple)})


def _nothing_in_common(a: RunColumns, b: RunColumns) -> str:
    for run in (a, b):
        if not run.ids:
            return f"{run.folder} has no judgements: there is nothing to compare"
    examples = " and ".join(f"`{clean_line(run.ids[0], 60)}` in {run.folder}" for run in (a, b))
    return (
        f"no case of {a.folder} is in {b.folder}: ids differ, as {examples}; "
        "give each case an `id` that is the same in both inputs"
    )
