"""Measures what a rule limits, over a run, a slice of it, or the cases that it shares with another run.

Cases without a value never count in favour of a run. In a share that must be high they count as not having the label;
in a share that must be low, and in a mean, they are left out, and the limits on failed cases and nulls apply to them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from krino.results.comparison.matching import Pairs
from krino.results.gates.rules import NULL, Rule
from krino.results.table import Column, Mask, Places, Table
from krino.results.verdict_schema import declared_bounds
from krino.stats.arrays import Floats
from krino.stats.bootstrap import Resampler
from krino.stats.confidence_intervals import FEW, Moments, gate_interval, wilson_interval
from krino.stats.paired_tests import bootstrap_mean_intervals, share_difference_interval


@dataclass(frozen=True)
class Measure:
    """`value` is None if there is nothing to measure; `interval` is None for exact counts and for too few cases."""

    value: float | None
    n: int
    interval: tuple[float, float] | None = None
    nulls: int = 0
    judged: int = 0


def measure(run: Table, rule: Rule, cases: Mask) -> Measure:
    """Measures a rule over these cases of one run; without a value if the run has no such field."""
    target, judged = rule.target, cases & run.ok
    total, ok = int(cases.sum()), int(judged.sum())
    if target.field is None:
        without = total - ok
        share = without / total if total else None
        return Measure(share if rule.limit.is_share else float(without), total)
    column = run.fields.get(target.field)
    if column is None:  # no case was judged, so that there are no fields
        return Measure(None, 0)
    valued = judged & has_value(column)
    nulls = ok - int(valued.sum())
    if target.label == NULL:
        return Measure(nulls / ok if ok else None, ok)
    if target.beyond is not None:
        part = int((target.beyond.includes(column.numbers) & valued).sum())
        return _counted(rule, part, total if rule.is_minimum else ok - nulls, nulls, ok)
    if target.label is None:
        found = _field_moments(column, valued)
        ends = declared_bounds(run.manifest.about.fields_schema, target.field)
        return Measure(found.mean if found.n else None, found.n, gate_interval(found, ends), nulls, ok)
    part = int((column.having(target.label) & valued).sum())
    whole = total if rule.is_minimum else ok - nulls
    return Measure(part / whole if whole else None, whole, wilson_interval(part, whole), nulls, ok)


def _counted(rule: Rule, part: int, whole: int, nulls: int, judged: int) -> Measure:
    """Makes the measure of the cases that a rule names: their number if it limits that, or else their share."""
    if not rule.limit.is_share:
        return Measure(float(part) if whole else None, whole, None, nulls, judged)
    return Measure(part / whole if whole else None, whole, wilson_interval(part, whole), nulls, judged)


@dataclass(frozen=True)
class PairedField:
    """A field in the cases that two runs share and that the base run has judged."""

    base: Table
    run: Table
    in_base: Places
    in_run: Places
    old: Column
    new: Column
    known_before: Mask
    """Which cases have a value in the base run."""
    known_now: Mask
    judged: Mask
    """Which cases the run has judged."""

    def change(self) -> Floats:
        """By how much the number of each case rose; nan if it has none in one of the runs."""
        return self.new.numbers[self.in_run] - self.old.numbers[self.in_base]

    def having(self, label: str) -> tuple[Mask, Mask]:
        """Which cases have the label in the base run, and which in the run."""
        return self.old.having(label)[self.in_base], self.new.having(label)[self.in_run]

    def changed(self, label: str, to: str) -> Mask:
        """Which cases had one label in the base run and have the other one now."""
        return self.known_before & self.having(label)[0] & self.known_now & self.having(to)[1]


def pair_field(base: Table, run: Table, pairs: Pairs, rule: Rule, cases: Mask) -> PairedField | None:
    """Returns the values of a field in both runs; None if one of them has no such field."""
    wanted = cases[pairs.b] & base.ok[pairs.a]
    in_base, in_run = pairs.a[wanted], pairs.b[wanted]
    old, new = (one.fields.get(rule.target.field or "") for one in (base, run))
    if old is None or new is None:
        return None
    known_before, known_now = has_value(old)[in_base], has_value(new)[in_run]
    return PairedField(base, run, in_base, in_run, old, new, known_before, known_now, run.ok[in_run])


def measure_change(both: PairedField | None, rule: Rule) -> Measure:
    """Measures a rule over how the cases of a run differ from the same cases of the base run."""
    if both is None:
        return Measure(None, 0)
    known_before, known_now = both.known_before, both.known_now
    judged = known_before & both.judged
    nulls, ok = int((judged & ~known_now).sum()), int(judged.sum())
    if rule.target.to is not None and rule.target.label is not None:
        changed = int(both.changed(rule.target.label, rule.target.to).sum())
        return _counted(rule, changed, int((known_before & known_now).sum()), nulls, ok)
    if rule.target.label is None:
        change = both.change()[known_before & known_now]
        return Measure(float(change.mean()) if change.size else None, change.size, _change_interval(change), nulls, ok)
    before, after = both.having(rule.target.label)
    compared = known_before if rule.is_minimum else known_before & known_now
    lost, gained = (int((compared & flip).sum()) for flip in (before & ~after, after & ~before))
    n = int(compared.sum())
    return Measure((gained - lost) / n if n else None, n, share_difference_interval(lost, gained, n), nulls, ok)


def has_value(column: Column) -> Mask:
    """Which cases have a value of the field: a number, or a label; null is none."""
    known: Mask = ~np.isnan(column.numbers) if column.kind == "number" else column.codes >= 0
    return known


def _field_moments(column: Column, valued: Mask) -> Moments:
    """The moments of these cases, with the extremes of the whole field: a slice must not decide whether it is a
    score."""
    values = column.numbers[valued]
    if not values.size:
        return Moments()
    least, most = float(np.nanmin(column.numbers)), float(np.nanmax(column.numbers))
    return replace(Moments.of(values), least=least, most=most)


def _change_interval(change: Floats) -> tuple[float, float] | None:
    """The bootstrap interval of a mean change; None for few cases, where it is as rough as the normal approximation."""
    if change.size < FEW:
        return None
    return bootstrap_mean_intervals(change[:, np.newaxis], Resampler.create(change.size))[0]
