"""Formats names, numbers, shares, durations and costs the same way in all reports."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from krino.contract import Usage
from krino.contract.identity import labeller_name
from krino.results.stability import Stability
from krino.runs.manifest import Counts, Manifest
from krino.text.clean import cut

INTERVAL_NOTE = "Intervals are 95 % intervals of the mean"
FEW_CASES_NOTE = "rough where n < 30"
SMALL_SLICE_NOTE = "* Fewer than 30 cases: too few to say much."


def judge_name(manifest: Manifest) -> str:
    """Name and version of a run's judge."""
    judge = manifest.plan.judge
    return " ".join(str(judge[key]) for key in ("name", "version") if judge.get(key))


def run_labeller_name(manifest: Manifest) -> str:
    """The name of a run's labeller."""
    return labeller_name(manifest.plan.labeller)


def format_start(manifest: Manifest) -> str:
    """When a run started, to the minute, with the time zone."""
    return f"{manifest.started:%Y-%m-%d %H:%M} {manifest.started.tzname() or ''}".strip()


def field_words(name: str) -> str:
    """`answer_relevance` as `answer relevance`."""
    return name.replace("_", " ")


def format_count(count: int, word: str = "case") -> str:
    """`1 case`, `1,200 cases`."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def format_outcomes(counts: Counts) -> str:
    """`7 ok, 2 failed, 1 error`."""
    return ", ".join(f"{count:,} {status}" for status, count in counts.model_dump().items())


def format_number(value: float) -> str:
    """Three decimals for scores, fewer for large numbers; no sign for what rounds to zero."""
    size = abs(value)
    if size >= 1e6:
        return f"{value:.3g}"
    if size >= 1_000:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if 0.9995 <= size < 1:  # do not round up to 1
        return f"{0.999 if value > 0 else -0.999}"
    return f"{value if size >= 0.0005 else 0.0:.3f}"


def format_interval(interval: tuple[float, float] | None) -> str:
    """`0.712 to 0.845`; a dash if there is no interval."""
    return "–" if interval is None else f"{format_number(interval[0])} to {format_number(interval[1])}"


def format_share(part: int, whole: int) -> str:
    """A share in whole per cent, but never 0 % for a part or 100 % for less than all; a dash of nothing."""
    if not whole:
        return "–"
    percent = round(100 * part / whole)
    if part and not percent:
        return "<1 %"
    if part < whole and percent == 100:
        return ">99 %"
    return f"{percent} %"


def format_usage(usage: Usage) -> str:
    """Formats the calls, tokens and cost of a run in one line."""
    if not usage.calls and not usage.cached:
        return "no model calls"
    parts = [format_count(usage.calls, "model call")]
    if usage.cached:
        parts.append(f"{usage.cached:,} from cache")
    parts.append(f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out")
    known = "unknown (no prices given)" if usage.cost is None else format_cost(usage.cost, usage.unpriced)
    parts.append(f"cost {known}")
    if usage.cache_read_tokens:
        parts.append(_format_prompt_cache(usage))
    return ", ".join(parts)


def _format_prompt_cache(usage: Usage) -> str:
    """The share of the input that came from the provider's prompt cache, and the saving if prices are known."""
    text = f"{format_share(usage.cache_read_tokens, usage.input_tokens)} of the input from the provider's prompt cache"
    if usage.cache_saved is None:
        return text
    return f"{text}, which {'saved' if usage.cache_saved >= 0 else 'cost'} {abs(usage.cache_saved):,.4g}"


def format_cost(cost: float, unpriced: int) -> str:
    """The cost, marked as a lower bound if some calls have no price."""
    return f"at least {cost:,.4g} ({format_count(unpriced, 'call')} without a price)" if unpriced else f"{cost:,.4g}"


def describe_panel(stability: Stability) -> str:
    """The votes of a panel over a run in a few sentences."""
    cases = format_count(stability.cases)
    undecided = f" ({stability.undecided:,} left undecided)" if stability.undecided else ""
    differ = f"they differ in {stability.split:,} and tie in {stability.tied:,}{undecided}"
    lines = [f"{stability.seats:,} seats in {cases}: {differ}."]
    if stability.absent:
        lines.append(f"{stability.absent:,} gave no labels.")
    if stability.shuffled:
        lines.append(f"{stability.shuffled:,} saw parts of the case in another order.")
    return " ".join(lines)


def describe_members(stability: Stability) -> str:
    """How often each member of a jury agreed with the panel; empty for a single model."""
    if len(stability.members) < 2:
        return ""
    shares = [f"{item.name} {format_fraction(item.agreement)}" for item in stability.members]
    return f"With the panel: {', '.join(shares)} of fields."


def format_fraction(value: float | None) -> str:
    """A fraction in per cent; never 100 % for less than 1; a dash for None."""
    return "–" if value is None else format_share(round(value * 1e6), 1_000_000)


def format_duration(seconds: float) -> str:
    """Formats a duration in seconds, minutes or hours."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


_LONGEST = 60
_MOST = 20


def quote(value: Any) -> str:
    """A shortened value in quotes; `repr` escapes anything that could control a terminal."""
    return cut(repr(value[: 2 * _LONGEST] if isinstance(value, str) else value), _LONGEST)


def join_quoted(names: Iterable[Any], most: int = _MOST) -> str:
    """At most `most` names in quotes, with an ellipsis if there are more; `none` if there are none."""
    first = list(islice(names, most + 1))
    return join_first(map(quote, first), most, len(first)) or "none"


def join_first(texts: Iterable[str], most: int, count: int) -> str:
    """At most `most` texts of `count`, with an ellipsis if there are more."""
    shown = list(islice(texts, most))
    return ", ".join([*shown, "…"] if count > len(shown) else shown)
