"""Measures what a rule is about, over a whole run, a slice of it, or the cases it shares with another run.

A case without a value never helps a run: in a share that must be high it counts as not having the label, in one that
must be low it is left out, and a mean leaves it out while the limits on failed cases and nulls decide about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from krino.results.comparison.columns import FieldColumn, RunColumns
from krino.results.comparison.pairs import Pairs
from krino.results.gates.rules import NULL, Rule
from krino.stats.moments import FEW, Moments
from krino.stats.paired import mean_intervals, share_difference
from krino.stats.resample import Floats, Resampler
from krino.stats.shares import careful_interval, wilson

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Measure:
    """`value` is None where there is nothing to measure, `interval` where it is counted or too few for one."""

    value: float | None
    n: int
    interval: tuple[float, float] | None = None
    nulls: int = 0
    judged: int = 0

    def worse_end(self, rule: Rule) -> float | None:
        return None if self.interval is None else self.interval[0 if rule.lower else 1]


def measure(run: RunColumns, rule: Rule, cases: Mask) -> Measure:
    """A rule over the cases of one run."""
    target, judged = rule.target, cases & run.ok
    total, ok = int(cases.sum()), int(judged.sum())
    if target.field is None:
        without = total - ok
        share = without / total if total else None
        return Measure(share if rule.limit.percent else float(without), total)
    column = run.fields.get(target.field)
    if column is None:  # nothing was judged, so there is no field at all
        return Measure(None, 0)
    valued = judged & has_value(column)
    nulls = ok - int(valued.sum())
    if target.label == NULL:
        return Measure(nulls / ok if ok else None, ok)
    if target.label is None:
        found = _mean(column, valued)
        return Measure(found.mean if found.n else None, found.n, careful_interval(found), nulls, ok)
    part = int((column.having(target.label) & valued).sum())
    whole = total if rule.lower else ok - nulls
    return Measure(part / whole if whole else None, whole, wilson(part, whole), nulls, ok)


def measure_change(base: RunColumns, run: RunColumns, pairs: Pairs, rule: Rule, cases: Mask) -> Measure:
    """A rule over how the cases of a run differ from the same cases of another one."""
    wanted = cases[pairs.b] & base.ok[pairs.a]
    in_base, in_run = pairs.a[wanted], pairs.b[wanted]
    assert rule.target.field is not None
    old, new = base.fields.get(rule.target.field), run.fields.get(rule.target.field)
    if old is None or new is None:
        return Measure(None, 0)
    had, has, judged = has_value(old)[in_base], has_value(new)[in_run], run.ok[in_run]
    nulls, ok = int((had & judged & ~has).sum()), int((had & judged).sum())
    if rule.target.label is None:
        change = (new.numbers[in_run] - old.numbers[in_base])[had & has]
        return Measure(float(change.mean()) if change.size else None, change.size, _change(change), nulls, ok)
    before, after = old.having(rule.target.label)[in_base], new.having(rule.target.label)[in_run]
    counted = had if rule.lower else had & has
    lost, gained = (int((counted & flip).sum()) for flip in (before & ~after, after & ~before))
    n = int(counted.sum())
    return Measure((gained - lost) / n if n else None, n, share_difference(lost, gained, n), nulls, ok)


def has_value(column: FieldColumn) -> Mask:
    known: Mask = ~np.isnan(column.numbers) if column.kind == "number" else column.codes >= 0
    return known


def _mean(column: FieldColumn, valued: Mask) -> Moments:
    """Whether numbers are scores in 0 to 1 is for the whole field to say, not for a slice of it."""
    values = column.numbers[valued]
    if not values.size:
        return Moments()
    mean = float(values.mean())
    least, most = float(np.nanmin(column.numbers)), float(np.nanmax(column.numbers))
    return Moments(values.size, mean, float(((values - mean) ** 2).sum()), least, most)


def _change(change: Floats) -> tuple[float, float] | None:
    """The bootstrap of few cases is as rough as the normal approximation."""
    if change.size < FEW:
        return None
    return mean_intervals(change[:, np.newaxis], Resampler.of(change.size))[0]
