"""Compares two runs: which settings differ, and how statuses, fields and spending changed in their common cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from krino.results.comparison.field_changes import FieldComparison
from krino.results.comparison.matching import Pairs, match_cases
from krino.results.comparison.result import Comparison, Flip, Matching, Side, Spending
from krino.results.formatting import format_count, format_start, judge_name, run_labeller_name
from krino.results.table import SPENDING, Places, Table, read_table, slice_name, unknown_column
from krino.runs.index import NAMES
from krino.runs.manifest import HASHES, Plan, differing
from krino.stats.bootstrap import Resampler
from krino.text.clean import clean_line

SHOWN = 5
"""Ids named for each kind of change, unless asked otherwise."""
_OF_INPUT = ("inputs", "format", "mapping")
_LONGEST_SETTING = 80


def compare(first: Path, second: Path, *, shown: int = SHOWN, cluster: str | None = None) -> Comparison:
    """Compares B (`second`) with A (`first`). `cluster`: a metadata column whose cases are not independent."""
    by = [[cluster]] if cluster else []
    a, b = (read_table(folder, by=by, spending=True) for folder in (first, second))
    pairs = match_cases(a, b)
    ok = a.ok[pairs.a] & b.ok[pairs.b]
    in_a, in_b = pairs.a[ok], pairs.b[ok]
    groups = _find_clusters(a, cluster, in_a)
    resampler = Resampler.create(len(in_a), groups)
    judged = FieldComparison(a, b, in_a, in_b, resampler, shown)
    return Comparison(
        a=_describe_run(a),
        b=_describe_run(b),
        settings=tuple(differing_settings(a, b)),
        warnings=tuple(_list_warnings(a, b)),
        matching=_summarise_matching(a, b, pairs, len(in_a), shown),
        cluster=cluster,
        clusters=len(set(groups)) if groups is not None else None,
        statuses=tuple(_count_status_flips(a, b, pairs, shown)),
        fields=tuple(judged.changes()),
        spending=tuple(_compare_spending(a, b, pairs)),
    )


def _describe_run(run: Table) -> Side:
    """Returns what a comparison shows about one of its runs."""
    manifest = run.manifest
    return Side(
        run=str(run.folder),
        judge=judge_name(manifest),
        labeller=run_labeller_name(manifest),
        started=format_start(manifest),
        state=manifest.state,
        counts=run.counts(),
    )


def _find_clusters(a: Table, cluster: str | None, in_a: Places) -> list[int] | None:
    """Returns the cluster of each matched case, or None if no clusters were asked for."""
    if cluster is None:
        return None
    if cluster not in a.metadata:
        raise unknown_column("--cluster", cluster, a.metadata, "column of metadata")
    groups: list[int] = a.slices[slice_name([cluster])].codes[in_a].tolist()
    return groups


def differing_settings(a: Table, b: Table) -> Iterator[str]:
    """The settings in which two runs differ. The same content under another file name is the same input."""
    one, other = a.manifest, b.manifest
    same_input = one.input_hash is not None and one.input_hash == other.input_hash
    skipped = _OF_INPUT if same_input else ()
    if _labeller_identity(one.plan) != _labeller_identity(other.plan):
        skipped = (*skipped, "labeller")  # for two different labellers, a list of details would not help
        here, there = (_format_setting(run_labeller_name(manifest)) for manifest in (one, other))
        yield f"labeller: {here} in A, {there} in B"
    for key, here, there in differing(one.plan, other.plan):
        if key in HASHES:
            yield f"{HASHES[key]} differs"
        elif key.split(".")[0] not in skipped:
            yield f"{key}: {_format_setting(here)} in A, {_format_setting(there)} in B"
    if one.krino_version != other.krino_version:
        yield f"krino: {one.krino_version} in A, {other.krino_version} in B"


def _labeller_identity(plan: Plan) -> tuple[object, set[str]]:
    """The kind of labeller, and the members of a panel."""
    return plan.labeller.get("kind"), set(plan.labeller.get("members", ()))


def _format_setting(value: object) -> str:
    return "nothing" if value is None else clean_line(str(value), _LONGEST_SETTING)


def _list_warnings(a: Table, b: Table) -> Iterator[str]:
    """Yields warnings about what the comparison leaves out."""
    for name, run in (("A", a), ("B", b)):
        counts, state = run.counts(), run.manifest.state
        if state != "finished":
            yield f"{name} is not finished ({state}): cases that it did not reach are not compared"
        if missing := counts.failed + counts.error:
            yield f"{name} has {format_count(missing)} without a verdict: fields leave them out"
    for name, run, other in (("A", a, b), ("B", b, a)):
        if alone := [field for field in run.fields if field not in other.fields]:
            yield f"only {name} has the field{'' if len(alone) == 1 else 's'} {clean_line(', '.join(alone), 200)}"


def _summarise_matching(a: Table, b: Table, pairs: Pairs, both_ok: int, shown: int) -> Matching:
    """Returns how many cases matched, and examples of those that did not."""

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


def _count_status_flips(a: Table, b: Table, pairs: Pairs, shown: int) -> Iterator[Flip]:
    """Yields each change of status with its number of cases and examples."""
    before, after = a.statuses[pairs.a], b.statuses[pairs.b]
    for old in NAMES:
        for new in NAMES:
            which = np.flatnonzero((before == old) & (after == new))
            if old != new and len(which):
                named = tuple(a.ids.at(pairs.a[which[:shown]]))
                yield Flip(before=NAMES[old], after=NAMES[new], count=len(which), ids=named)


def _compare_spending(a: Table, b: Table, pairs: Pairs) -> Iterator[Spending]:
    """Yields what both runs spent on the matched cases, of each kind that either spent."""
    for place, name in enumerate(SPENDING):
        here, there = (
            _total(run.spending[places, place], whole=name not in ("cost", "seconds"))
            for run, places in ((a, pairs.a), (b, pairs.b))
        )
        if here or there:
            yield Spending(name=name, a=here, b=there)


def _total(values: NDArray[np.float32], whole: bool) -> float | None:
    """The sum of the known values; None if none is known. A case that needed no model costs 0, which is known."""
    if np.isnan(values).all():
        return None
    total = float(np.nansum(values, dtype=np.float64))
    return round(total) if whole else total
