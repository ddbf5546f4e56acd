"""Says in a sentence what was measured for a rule, and whether that keeps the limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from krino.results.gates.measures import Measure
from krino.results.gates.rules import NULL, Limit, Rule, Target
from krino.results.wording import figure
from krino.stats.moments import FEW


@dataclass(frozen=True)
class Told:
    holds: bool
    message: str


def tell(rule: Rule, found: Measure, *, point: bool, nulls_allowed: bool) -> Told:
    """`point`: the value itself is held against the limit, not the end of its interval."""
    if found.value is None:
        return Told(False, f"no case has {_value_words(rule.target)}")
    held = found.value if point or rule.target.counted else found.worse_end(rule)
    outcome = _outcome(rule, found.value, held, counted=point or rule.target.counted)
    parts = [f"{_subject(rule, found, found.value)}{outcome}"]
    if found.nulls:
        parts += _nulls(rule, found, nulls_allowed)
    within = held is not None and rule.allows(held)
    return Told(within and (nulls_allowed or not found.nulls), "; ".join(parts))


# --- what was measured ---------------------------------------------------------------------------


def _value_words(target: Target) -> str:
    return "a value" if target.field is None else f"a value of `{target.field}`"


def _subject(rule: Rule, found: Measure, value: float) -> str:
    target, limit = rule.target, rule.limit
    of = f"{found.n:,} case{'' if found.n == 1 else 's'}"
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


def _nulls(rule: Rule, found: Measure, allowed: bool) -> Iterator[str]:
    told = f"{found.nulls:,} of {found.judged:,} judged cases have no {rule.target.field} (null)"
    yield told if allowed else f"{told}: allow them with --max {rule.target.field}:{NULL}=SHARE%"


def _shown(value: float, limit: Limit, *, signed: bool = False) -> str:
    sign = "−" if value < 0 else "+" if signed else ""
    return sign + (f"{100 * abs(value):.1f} %" if limit.percent else figure(abs(value)))


# --- and whether that keeps the limit ------------------------------------------------------------


def _outcome(rule: Rule, value: float, held: float | None, *, counted: bool) -> str:
    """What follows the subject."""
    end = f"{'lower' if rule.lower else 'upper'} end of the interval"
    margin = rule.paired or rule.target.field is None
    if not rule.allows(value):
        return f", more than the {_limit(rule)} allowed" if margin else f" is {_beyond(rule)}"
    kept = f", at most {_limit(rule)} allowed" if margin else f" is {_within(rule)}"
    if held is None:
        return f"{kept}, but so few cases have no interval ({FEW} are needed; --point gates the value itself)"
    if not rule.allows(held):
        beyond = "beyond that" if rule.paired else _beyond(rule)
        return f"{kept}, but the {end} is {beyond}"
    return kept if counted else f"{kept}, at the {end} too"


def _within(rule: Rule) -> str:
    return f"{'at least' if rule.lower else 'at most'} {_limit(rule)}"


def _beyond(rule: Rule) -> str:
    return f"{'below' if rule.lower else 'above'} {_limit(rule)}"


def _limit(rule: Rule) -> str:
    return str(rule.limit).replace("%", " %")
