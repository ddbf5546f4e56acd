"""Matches the cases of two runs by id; cases whose id is not unique are matched by content."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from krino.errors import UsageProblem
from krino.results.table import Places, Table
from krino.text.clean import clean_line

Keys = NDArray[np.int64]
"""A number for each case that is equal for equal cases of both runs."""


@dataclass(frozen=True)
class Pairs:
    """The places of the matched cases in both runs, and of the cases that only one run has."""

    a: Places
    b: Places
    only_a: Places
    only_b: Places
    repeated: int
    """Ids that a run gives to more than one case: these cases are matched by content, if it is the same."""
    other_content: Places
    """Pairs whose records differ, as places in `a` and `b`."""

    def __len__(self) -> int:
        return len(self.a)


def match_cases(a: Table, b: Table) -> Pairs:
    """Matches the cases of two runs. Raises `UsageProblem` if they have no case in common."""
    keys_a = a.ids.hashes()
    keys_b = keys_a if a.ids.same_as(b.ids) else b.ids.hashes()
    repeated = np.union1d(_repeated_keys(keys_a), _repeated_keys(keys_b))
    if len(repeated):
        keys_a, keys_b = (_add_content(keys, run.digests, repeated) for keys, run in ((keys_a, a), (keys_b, b)))
    in_a, in_b = _find_common(keys_a, keys_b)
    if not len(in_a):
        raise UsageProblem(_explain_no_match(a, b, len(repeated)))
    return Pairs(
        a=in_a,
        b=in_b,
        only_a=_find_rest(in_a, len(a)),
        only_b=_find_rest(in_b, len(b)),
        repeated=len(repeated),
        other_content=np.flatnonzero(a.digests[in_a] != b.digests[in_b]),
    )


def _repeated_keys(keys: Keys) -> Keys:
    """The keys that more than one case has."""
    ordered = np.sort(keys)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _add_content(keys: Keys, digests: NDArray[np.uint64], repeated: Keys) -> Keys:
    """The keys, with the content added where an id is repeated; equal cases are numbered.

    A repeated id alone, or its position among cases that may have moved, could pair two different cases.
    """
    found = keys.copy()
    seen: Counter[tuple[int, int]] = Counter()
    for place in np.flatnonzero(np.isin(keys, repeated)).tolist():
        known = int(keys[place]), int(digests[place])
        found[place] = hash((*known, seen[known]))
        seen[known] += 1
    return found


def _find_common(a: Keys, b: Keys) -> tuple[Places, Places]:
    """The places of the common keys in both, in the order of the first. Keys must not be repeated."""
    if a is b:
        everywhere = np.arange(len(a), dtype=np.intp)
        return everywhere, everywhere
    order = np.argsort(b, kind="stable")
    ordered = b[order]
    there = np.minimum(np.searchsorted(ordered, a), max(len(b) - 1, 0))
    in_a = np.flatnonzero(ordered[there] == a) if len(b) else np.empty(0, np.intp)
    return in_a, order[there[in_a]]


def _find_rest(places: Places, size: int) -> Places:
    """The places below `size` that are not among these."""
    missing = np.ones(size, np.bool_)
    missing[places] = False
    return np.flatnonzero(missing)


def _explain_no_match(a: Table, b: Table, repeated: int) -> str:
    """Says why no case of one run is found in the other."""
    for run in (a, b):
        if not len(run):
            return f"{run.folder} has no judgements: there is nothing to compare"
    if repeated:
        return (
            f"no case of {a.folder} can be found in {b.folder}: {repeated:,} ids belong to several cases, which "
            "can only be matched by content that is the same in both; give each case an `id` of its own, and "
            "judge again"
        )
    examples = " and ".join(f"`{clean_line(run.ids[0], 60)}` in {run.folder}" for run in (a, b))
    return (
        f"no case of {a.folder} is in {b.folder}: ids differ, as {examples}; "
        "give each case an `id` that is the same in both inputs"
    )
