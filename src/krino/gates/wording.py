"""Says what was measured for a rule, and what speaks against the run."""

from __future__ import annotations

from collections.abc import Iterator

from krino.gates.measures import Measure
from krino.gates.rules import Limit, Rule
from krino.reports.wording import figure
from krino.stats.moments import FEW


def measured(rule: Rule, found: Measure) -> Iterator[str]:
    if found.value is None:
        return
    of = f"of {found.n:,} case{'' if found.n == 1 else 's'}"
    shown = _shown(found.value, rule.limit, signed=rule.paired)
    if rule.target.field is None:
        yield f"{shown if rule.limit.percent else f'{found.value:,.0f}'} {of} without a verdict"
    elif rule.paired:
        yield f"changed by {shown} over {found.n:,} cases"
    else:
        yield f"mean {shown} {of}" if rule.target.label is None else f"{shown} {of}"
    if found.interval is not None:
        low, high = (_shown(edge, rule.limit, signed=rule.paired) for edge in found.interval)
        yield f"95 % interval {low} to {high}"
    if found.nulls:
        yield f"{found.nulls:,} of {found.judged:,} judged cases are null"


def reasons_against(rule: Rule, found: Measure, held: float | None, *, nulls_allowed: bool) -> list[str]:
    """Empty when the rule holds. `held` is what is held against the limit: the value, or the end of its interval."""
    if found.value is None:
        return ["no case has a value"]
    reasons = []
    if held is None:
        reasons.append(f"too few for an interval ({FEW} are needed; --point gates the value itself)")
    elif not rule.allows(held):
        edge = f"{'−' if rule.edge < 0 else '+' if rule.paired else ''}{str(rule.limit).lstrip('-')}"
        what = "it" if not rule.allows(found.value) else f"the {'lower' if rule.lower else 'upper'} end"
        reasons.append(f"{what} is {'below' if rule.lower else 'above'} {edge}")
    if found.nulls and not nulls_allowed:
        reasons.append(f"allow nulls with --max {rule.target.field}:null=SHARE%")
    return reasons


def _shown(value: float, limit: Limit, *, signed: bool) -> str:
    sign = "−" if value < 0 else "+" if signed else ""
    return sign + (f"{100 * abs(value):.1f} %" if limit.percent else figure(abs(value)))
