"""Compares two runs: matches their cases, says what was set otherwise, and how every part of the outcome changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from krino.errors import UsageProblem
from krino.results.comparison.field_changes import FieldComparison
from krino.results.comparison.result import Comparison, Flip, Matching, Side, Spending
from krino.results.formatting import format_count, format_start, judge_name, run_labeller_name
from krino.results.table import SPENDING, Places, Table, read_table, slice_name, unknown_column
from krino.runs.journal import NAMES
from krino.runs.manifest import HASHES, Plan, differing
from krino.stats.bootstrap import Resampler
from krino.text.clean import clean_line

Keys = NDArray[np.int64]
"""A number for each case, the same in both runs."""


@dataclass(frozen=True)
class Pairs:
    """Places of the same cases in both runs, and of those that only one has."""

    a: Places
    b: Places
    only_a: Places
    only_b: Places
    repeated: int
    """Ids that a run gives to more than one case: those are matched by content, as far as it is the same."""
    other_content: Places
    """Pairs whose records differ: places in `a` and `b`."""

    def __len__(self) -> int:
        return len(self.a)


def match_cases(a: Table, b: Table) -> Pairs:
    """Raises `UsageProblem` when the runs have no case in common."""
    keys_a = a.ids.hashes()
    keys_b = keys_a if a.ids.same_as(b.ids) else b.ids.hashes()
    repeated = np.union1d(_several(keys_a), _several(keys_b))
    if len(repeated):
        keys_a, keys_b = (_by_content(keys, run.digests, repeated) for keys, run in ((keys_a, a), (keys_b, b)))
    in_a, in_b = _same_keys(keys_a, keys_b)
    if not len(in_a):
        raise UsageProblem(_nothing_in_common(a, b, len(repeated)))
    return Pairs(
        a=in_a,
        b=in_b,
        only_a=_others(in_a, len(a)),
        only_b=_others(in_b, len(b)),
        repeated=len(repeated),
        other_content=np.flatnonzero(a.digests[in_a] != b.digests[in_b]),
    )


def _several(keys: Keys) -> Keys:
    """Those that more than one case has."""
    ordered = np.sort(keys)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]])


def _by_content(keys: Keys, digests: NDArray[np.uint64], repeated: Keys) -> Keys:
    """The keys, where an id is repeated together with the content: an id alone, or its place among cases that may have
    been moved, would pair one case with another. Cases of the same id and content are numbered."""
    found = keys.copy()
    seen: Counter[tuple[int, int]] = Counter()
    for place in np.flatnonzero(np.isin(keys, repeated)).tolist():
        known = int(keys[place]), int(digests[place])
        found[place] = hash((*known, seen[known]))
        seen[known] += 1
    return found


def _same_keys(a: Keys, b: Keys) -> tuple[Places, Places]:
    """Places of the same keys in both, in the order of the first."""
    if a is b:
        everywhere = np.arange(len(a), dtype=np.intp)
        return everywhere, everywhere
    order = np.argsort(b, kind="stable")
    ordered = b[order]
    there = np.minimum(np.searchsorted(ordered, a), max(len(b) - 1, 0))
    in_a = np.flatnonzero(ordered[there] == a) if len(b) else np.empty(0, np.intp)
    return in_a, order[there[in_a]]


def _others(places: Places, size: int) -> Places:
    missing = np.ones(size, np.bool_)
    missing[places] = False
    return np.flatnonzero(missing)


def _nothing_in_common(a: Table, b: Table, repeated: int) -> str:
    for run in (a, b):
        if not len(run):
            return f"{run.folder} has no judgements: there is nothing to compare"
    if repeated:
        return (
            f"no case of {a.folder} can be found in {b.folder}: {repeated:,} ids are given to several cases, which "
            "could be told apart only by content that is the same in both; give each case an `id` of its own, and "
            "judge again"
        )
    examples = " and ".join(f"`{clean_line(run.ids[0], 60)}` in {run.folder}" for run in (a, b))
    return (
        f"no case of {a.folder} is in {b.folder}: ids differ, as {examples}; "
        "give each case an `id` that is the same in both inputs"
    )


SHOWN = 5
"""Ids named for each kind of change, unless asked otherwise."""
_OF_INPUT = ("inputs", "format", "mapping")
_LONGEST_SETTING = 80


def compare(first: Path, second: Path, *, shown: int = SHOWN, cluster: str | None = None) -> Comparison:
    """B (`second`) against A (`first`). `cluster`: a column of metadata whose cases hang together."""
    by = [[cluster]] if cluster else []
    a, b = (read_table(folder, by=by, spending=True) for folder in (first, second))
    pairs = match_cases(a, b)
    ok = a.ok[pairs.a] & b.ok[pairs.b]
    in_a, in_b = pairs.a[ok], pairs.b[ok]
    groups = _groups(a, cluster, in_a)
    resampler = Resampler.create(len(in_a), groups)
    judged = FieldComparison(a, b, in_a, in_b, resampler, shown)
    return Comparison(
        a=_side(a),
        b=_side(b),
        settings=tuple(differing_settings(a, b)),
        warnings=tuple(_warnings(a, b)),
        matching=_matching(a, b, pairs, len(in_a), shown),
        cluster=cluster,
        clusters=len(set(groups)) if groups is not None else None,
        statuses=tuple(_statuses(a, b, pairs, shown)),
        fields=tuple(judged.changes()),
        spending=tuple(_spending(a, b, pairs)),
    )


def _side(run: Table) -> Side:
    manifest = run.manifest
    return Side(
        run=str(run.folder),
        judge=judge_name(manifest),
        labeller=run_labeller_name(manifest),
        started=format_start(manifest),
        state=manifest.state,
        counts=run.counts(),
    )


def _groups(a: Table, cluster: str | None, in_a: Places) -> list[int] | None:
    if cluster is None:
        return None
    if cluster not in a.metadata:
        raise unknown_column("--cluster", cluster, a.metadata, "column of metadata")
    groups: list[int] = a.slices[slice_name([cluster])].codes[in_a].tolist()
    return groups


def differing_settings(a: Table, b: Table) -> Iterator[str]:
    """Where the plans differ. The same content under another file name is the same input."""
    one, other = a.manifest, b.manifest
    same_input = one.input_hash is not None and one.input_hash == other.input_hash
    told = _OF_INPUT if same_input else ()
    if _who(one.plan) != _who(other.plan):  # of two that are not the same at all, no detail is worth a line
        told = (*told, "labeller")
        yield f"labeller: {_short(run_labeller_name(one))} in A, {_short(run_labeller_name(other))} in B"
    for key, here, there in differing(one.plan, other.plan):
        if key in HASHES:
            yield f"{HASHES[key]} is not the same"
        elif key.split(".")[0] not in told:
            yield f"{key}: {_short(here)} in A, {_short(there)} in B"
    if one.krino_version != other.krino_version:
        yield f"krino: {one.krino_version} in A, {other.krino_version} in B"


def _who(plan: Plan) -> tuple[object, set[str]]:
    """The kind of labeller, and the members of a panel."""
    return plan.labeller.get("kind"), set(plan.labeller.get("members", ()))


def _short(value: object) -> str:
    return "nothing" if value is None else clean_line(str(value), _LONGEST_SETTING)


def _warnings(a: Table, b: Table) -> Iterator[str]:
    for name, run in (("A", a), ("B", b)):
        counts, state = run.counts(), run.manifest.state
        if state != "finished":
            yield f"{name} is not finished ({state}): cases that were not reached are not compared"
        if missing := counts.failed + counts.error:
            yield f"{name} has {format_count(missing)} without a verdict: fields leave them out"
    for name, run, other in (("A", a, b), ("B", b, a)):
        if alone := [field for field in run.fields if field not in other.fields]:
            yield f"only {name} has the field{'' if len(alone) == 1 else 's'} {clean_line(', '.join(alone), 200)}"


def _matching(a: Table, b: Table, pairs: Pairs, both_ok: int, shown: int) -> Matching:
    def ids(run: Table, places: Places) -> tuple[str, ...]:
        return tuple(run.ids.at(places[:shown]))

    return Matching(
        matched=len(pairs),
        both_ok=both_ok,
        only_a=len(pairs.only_a),
        only_b=len(pairs.only_b),
        only_a_ids=ids(a, pairs.only_a),
        only_b_ids=ids(b, pairs.only_b),
        repeated_ids=pairs.repeated,
        other_content=len(pairs.other_content),
        other_content_ids=ids(a, pairs.a[pairs.other_content]),
    )


def _statuses(a: Table, b: Table, pairs: Pairs, shown: int) -> Iterator[Flip]:
    before, after = a.statuses[pairs.a], b.statuses[pairs.b]
    for old in NAMES:
        for new in NAMES:
            which = np.flatnonzero((before == old) & (after == new))
            if old != new and len(which):
                named = tuple(a.ids.at(pairs.a[which[:shown]]))
                yield Flip(before=NAMES[old], after=NAMES[new], count=len(which), ids=named)


def _spending(a: Table, b: Table, pairs: Pairs) -> Iterator[Spending]:
    for place, name in enumerate(SPENDING):
        here, there = (
            _total(run.spending[places, place], whole=name not in ("cost", "seconds"))
            for run, places in ((a, pairs.a), (b, pairs.b))
        )
        if here or there:
            yield Spending(name=name, a=here, b=there)


def _total(values: NDArray[np.float32], whole: bool) -> float | None:
    """Null when no case says; a case that needed no model has no cost, which is not the same as an unknown one."""
    if np.isnan(values).all():
        return None
    total = float(np.nansum(values, dtype=np.float64))
    return round(total) if whole else total
