"""Measures what a rule is about, over a whole run, a slice of it, or the cases it shares with another run.

A case without a value never helps a run: in a share that must be high it counts as not having the label, in one that
must be low it is left out, and a mean leaves it out while the limits on failed cases and nulls decide about it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from krino.results.comparison.compare import Pairs
from krino.results.gates.rules import NULL, Limit, Rule
from krino.results.table import Column, Mask, Places, Table
from krino.results.verdict_schema import declared_ends
from krino.results.wording import counted, figure
from krino.stats.moments import FEW, Moments, careful_interval, wilson
from krino.stats.paired import mean_intervals, share_difference
from krino.stats.resample import Floats, Resampler


@dataclass(frozen=True)
class Measure:
    """`value` is None where there is nothing to measure, `interval` where it is counted or too few for one."""

    value: float | None
    n: int
    interval: tuple[float, float] | None = None
    nulls: int = 0
    judged: int = 0


def measure(run: Table, rule: Rule, cases: Mask) -> Measure:
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
        ends = declared_ends(run.manifest.about.fields_schema, target.field)
        return Measure(found.mean if found.n else None, found.n, careful_interval(found, ends), nulls, ok)
    part = int((column.having(target.label) & valued).sum())
    whole = total if rule.lower else ok - nulls
    return Measure(part / whole if whole else None, whole, wilson(part, whole), nulls, ok)


@dataclass(frozen=True)
class Paired:
    """A field in the cases that two runs share and that the other one has judged."""

    base: Table
    run: Table
    in_base: Places
    in_run: Places
    old: Column
    new: Column
    had: Mask
    """Which cases had a value in the other run."""
    has: Mask
    judged: Mask
    """Which cases the run itself has judged."""

    def change(self) -> Floats:
        return self.new.numbers[self.in_run] - self.old.numbers[self.in_base]

    def having(self, label: str) -> tuple[Mask, Mask]:
        """Which cases had the label before, and which have it now."""
        return self.old.having(label)[self.in_base], self.new.having(label)[self.in_run]


def paired(base: Table, run: Table, pairs: Pairs, rule: Rule, cases: Mask) -> Paired | None:
    """None where one of the runs has no such field."""
    wanted = cases[pairs.b] & base.ok[pairs.a]
    in_base, in_run = pairs.a[wanted], pairs.b[wanted]
    old, new = (one.fields.get(rule.target.field or "") for one in (base, run))
    if old is None or new is None:
        return None
    had, has = has_value(old)[in_base], has_value(new)[in_run]
    return Paired(base, run, in_base, in_run, old, new, had, has, run.ok[in_run])


def measure_change(both: Paired | None, rule: Rule) -> Measure:
    """A rule over how the cases of a run differ from the same cases of another one."""
    if both is None:
        return Measure(None, 0)
    had, has = both.had, both.has
    nulls, ok = int((had & both.judged & ~has).sum()), int((had & both.judged).sum())
    if rule.target.label is None:
        change = both.change()[had & has]
        return Measure(float(change.mean()) if change.size else None, change.size, _change(change), nulls, ok)
    before, after = both.having(rule.target.label)
    compared = had if rule.lower else had & has
    lost, gained = (int((compared & flip).sum()) for flip in (before & ~after, after & ~before))
    n = int(compared.sum())
    return Measure((gained - lost) / n if n else None, n, share_difference(lost, gained, n), nulls, ok)


def has_value(column: Column) -> Mask:
    known: Mask = ~np.isnan(column.numbers) if column.kind == "number" else column.codes >= 0
    return known


def _mean(column: Column, valued: Mask) -> Moments:
    """Whether numbers are scores in 0 to 1 is for the whole field to say, not for a slice of it."""
    values = column.numbers[valued]
    if not values.size:
        return Moments()
    least, most = float(np.nanmin(column.numbers)), float(np.nanmax(column.numbers))
    return replace(Moments.of(values), least=least, most=most)


def _change(change: Floats) -> tuple[float, float] | None:
    """The bootstrap of few cases is as rough as the normal approximation."""
    if change.size < FEW:
        return None
    return mean_intervals(change[:, np.newaxis], Resampler.of(change.size))[0]


def tell(rule: Rule, found: Measure, *, point: bool, nulls_allowed: bool) -> tuple[bool, str]:
    """Whether the rule holds, and why, in words. `point`: the value itself is held against the limit, not the end of
    its interval."""
    if found.value is None:
        of = "" if rule.target.field is None else f" of `{rule.target.field}`"
        return False, f"no case has a value{of}"
    counted = point or rule.target.counted
    worse_end = None if found.interval is None else found.interval[0 if rule.lower else 1]
    held = found.value if counted else worse_end
    outcome = _outcome(rule, found.value, held, counted=counted)
    parts = [f"{_subject(rule, found, found.value)}{outcome}"]
    if found.nulls:
        field = rule.target.field
        nulls = f"{found.nulls:,} of {found.judged:,} judged cases have no {field} (null)"
        parts.append(nulls if nulls_allowed else f"{nulls}: allow them with --max {field}:{NULL}=SHARE%")
    within = held is not None and rule.allows(held)
    return within and (nulls_allowed or not found.nulls), "; ".join(parts)


# --- what was measured ---------------------------------------------------------------------------


def _subject(rule: Rule, found: Measure, value: float) -> str:
    target, limit = rule.target, rule.limit
    of = counted(found.n)
    if target.field is None:
        part = _shown(value, limit) if limit.percent else f"{value:,.0f}"
        return f"{part} of {of} {'has' if found.n == 1 else 'have'} no verdict"
    what = f"mean {target}" if target.label is None else f"share of {target}"
    interval = _interval(rule, found)
    if not rule.paired:
        return f"{what} {_shown(value, limit)} of {of}{interval}"
    change = f"{'fell' if value < 0 else 'rose'} by {_shown(abs(value), limit)}" if value else "did not change"
    return f"{what} {change} over {of}{interval}"


def _interval(rule: Rule, found: Measure) -> str:
    if found.interval is None:
        return ""
    low, high = (_shown(edge, rule.limit, signed=rule.paired) for edge in found.interval)
    return f" (95 % interval {low} to {high})"


def _shown(value: float, limit: Limit, *, signed: bool = False) -> str:
    sign = "−" if value < 0 else "+" if signed else ""
    return sign + (f"{100 * abs(value):.1f} %" if limit.percent else figure(abs(value)))


# --- and whether that keeps the limit ------------------------------------------------------------


def _outcome(rule: Rule, value: float, held: float | None, *, counted: bool) -> str:
    """What follows the subject."""
    beyond, within, end = ("below", "at least", "lower") if rule.lower else ("above", "at most", "upper")
    limit = str(rule.limit).replace("%", " %")
    margin = rule.paired or rule.target.field is None
    if not rule.allows(value):
        return f", more than the {limit} allowed" if margin else f" is {beyond} {limit}"
    kept = f", at most {limit} allowed" if margin else f" is {within} {limit}"
    if held is None:
        return f"{kept}, but so few cases have no interval ({FEW} are needed; --point gates the value itself)"
    if not rule.allows(held):
        where = "beyond that" if rule.paired else f"{beyond} {limit}"
        return f"{kept}, but the {end} end of the interval is {where}"
    return kept if counted else f"{kept}, at the {end} end of the interval too"
