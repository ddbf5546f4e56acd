"""Decides whether a rule of a gate holds: compares the measured value or the worse end of its interval with the limit.

Without a value or an interval no rule holds, and neither with nulls that no other rule allows.
"""

from __future__ import annotations

from krino.results.formatting import format_count, format_number
from krino.results.gates.measures import Measure
from krino.results.gates.rules import NULL, Rule, RuleLimit, Target
from krino.stats.confidence_intervals import FEW


def decide_rule(rule: Rule, found: Measure, *, point: bool, nulls_allowed: bool) -> tuple[bool, str]:
    """Whether the rule holds, and the reason in words.

    `point`: compare the value itself with the limit, instead of the worse end of its interval.
    """
    if found.value is None:
        of = "" if rule.target.field is None else f" of `{rule.target.field}`"
        return False, f"no case has a value{of}"
    counted = point or rule.is_exact
    worse_end = None if found.interval is None else found.interval[0 if rule.is_minimum else 1]
    decisive = found.value if counted else worse_end
    outcome = _describe_outcome(rule, found.value, decisive, counted=counted)
    parts = [f"{_describe_measure(rule, found, found.value)}{outcome}"]
    if found.nulls:
        field = rule.target.field
        nulls = f"{found.nulls:,} of {found.judged:,} judged cases have no {field} (null)"
        parts.append(nulls if nulls_allowed else f"{nulls}: allow them with --max {field}:{NULL}=SHARE%")
    within = decisive is not None and rule.allows(decisive)
    return within and (nulls_allowed or not found.nulls), "; ".join(parts)


# --- the measured value in words ---------------------------------------------------------------------------


def _describe_measure(rule: Rule, found: Measure, value: float) -> str:
    """Says what a rule measured."""
    target, limit = rule.target, rule.limit
    of = format_count(found.n)
    if target.field is None:
        part = _format_value(value, limit) if limit.is_share else f"{value:,.0f}"
        return f"{part} of {of} {'has' if found.n == 1 else 'have'} no verdict"
    if not limit.is_share and target.names_cases:
        return f"{value:,.0f} of {of}: {_describe_named(target)}"
    what = f"mean {target}" if target.is_mean else f"share of {target}"
    interval = _describe_interval(rule, found)
    if not rule.compares_runs or target.to is not None:
        return f"{what} {_format_value(value, limit)} of {of}{interval}"
    change = f"{'fell' if value < 0 else 'rose'} by {_format_value(abs(value), limit)}" if value else "did not change"
    return f"{what} {change} over {of}{interval}"


def _describe_named(target: Target) -> str:
    """The cases that a rule names."""
    if target.beyond is not None:
        return f"{target.field} {target.beyond.side} {target.beyond.number:.10g}"
    return f"{target.field} changed from {target.label} to {target.to}"


def _describe_interval(rule: Rule, found: Measure) -> str:
    """Formats the interval of a measured value, or nothing if there is none."""
    if found.interval is None:
        return ""
    low, high = (_format_value(edge, rule.limit, signed=rule.compares_runs) for edge in found.interval)
    return f" (95 % interval {low} to {high})"


def _format_value(value: float, limit: RuleLimit, *, signed: bool = False) -> str:
    sign = "−" if value < 0 else "+" if signed else ""
    return sign + (f"{100 * abs(value):.1f} %" if limit.is_share else format_number(abs(value)))


# --- the outcome in words ------------------------------------------------------------


def _describe_outcome(rule: Rule, value: float, decisive: float | None, *, counted: bool) -> str:
    """The part of the message that follows the measured value."""
    beyond, within, end = ("below", "at least", "lower") if rule.is_minimum else ("above", "at most", "upper")
    limit = str(rule.limit).replace("%", " %")
    margin = rule.compares_runs or rule.target.field is None or rule.is_exact
    if not rule.allows(value):
        return f", more than the {limit} allowed" if margin else f" is {beyond} {limit}"
    kept = f", at most {limit} allowed" if margin else f" is {within} {limit}"
    if decisive is None:
        return f"{kept}, but there are too few cases for an interval ({FEW} are needed; --point gates the value itself)"
    if not rule.allows(decisive):
        where = "beyond that" if rule.compares_runs else f"{beyond} {limit}"
        return f"{kept}, but the {end} end of the interval is {where}"
    return kept if counted else f"{kept}, at the {end} end of the interval too"
