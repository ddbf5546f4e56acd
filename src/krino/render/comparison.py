"""Shows two runs side by side: settings, matching, scores, labels, flips and spending."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krino.blocks import Block, BulletList, Cell, DataTable, Heading, Paragraph, Tone, Value
from krino.results.comparison.result import (
    CodeChange,
    Comparison,
    Flip,
    Interval,
    LabelChange,
    Matching,
    NumberChange,
    OtherChange,
    Side,
    Spending,
)
from krino.results.formatting import format_duration, format_number, format_outcomes, join_first
from krino.stats.confidence_intervals import FEW

_MOST_ROWS = 30
_TONES: dict[str, Tone] = {"higher": "info", "lower": "warn"}
_NAMES = {
    "calls": "model calls",
    "cached": "from cache",
    "input_tokens": "tokens in",
    "output_tokens": "tokens out",
    "seconds": "labelling time",
    "unpriced": "calls without a price",
}


def comparison_blocks(comparison: Comparison, *, flips: bool = True) -> Iterator[Block]:
    """Yields the comparison as blocks. `flips`: include the cases that changed; a caller may show them in another
    form."""
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        yield Heading(f"{name}  {side.run}", note=_describe_run(side))
    if comparison.settings:
        yield BulletList("The runs have different settings", comparison.settings)
    yield from (Paragraph(line) for line in _describe_matching(comparison.matching))
    yield from (Paragraph(line, tone="warn") for line in comparison.warnings)
    scores = ("Score", "n", "A", "B", "B − A", "95 % interval", "B is")
    yield from _make_table(scores, _list_scores(comparison), range(1, 6))
    labels = ("Label", "A", "B", "B − A", "95 % interval", "flips", "p", "B is")
    yield from _make_table(labels, _list_flipped_labels(comparison), range(1, 7))
    yield from (Paragraph(line) for line in _describe_unflipped(comparison))
    if flips:
        yield from _make_table(("Field", "A → B", "cases", "ids"), _list_flips(comparison), range(2, 3))
    yield from _make_table(("Spent", "A", "B", "B − A"), _list_spending(comparison), range(1, 4))
    yield from (Paragraph(line, small=True) for line in _explain_figures(comparison))


def _make_table(heads: Sequence[str], rows: Iterator[Sequence[Value]], figures: range) -> Iterator[DataTable]:
    """Yields the table, or nothing if it has no rows."""
    if shown := list(rows):
        yield DataTable("", heads, shown, figures=figures, most=_MOST_ROWS)


def _describe_run(side: Side) -> str:
    facts = f"{side.judge} · {side.labeller} · {side.started} · {side.state}"
    return f"{facts} · {side.counts.total:,} cases: {format_outcomes(side.counts)}"


def _describe_matching(matching: Matching) -> Iterator[str]:
    """Yields sentences on which cases are in both runs."""
    yield f"{matching.matched:,} cases are in both, {matching.both_ok:,} of them judged in both."
    for name, count, ids in (("A", matching.only_a, matching.only_a_ids), ("B", matching.only_b, matching.only_b_ids)):
        if count:
            yield f"Only in {name}: {count:,}{_format_examples(ids, count)}."
    if count := matching.other_content:
        examples = _format_examples(matching.other_content_ids, count)
        yield (
            f"{count:,} of them have different content with the same id{examples}. "
            "This is expected if one judge compares two systems, and wrong if two judges are compared."
        )
    if matching.repeated_ids:
        note = "these are matched if their content is the same, and otherwise count as missing"
        yield f"{matching.repeated_ids:,} ids belong to several cases; {note}."


def _list_scores(comparison: Comparison) -> Iterator[Sequence[Value]]:
    """Yields the rows of the table of scores."""
    for item in comparison.fields:
        if isinstance(item, NumberChange):
            yield (
                item.name,
                f"{item.n:,}",
                "–" if item.a is None else format_number(item.a),
                "–" if item.b is None else format_number(item.b),
                "–" if item.difference is None else _format_signed(item.difference),
                _format_interval(item.interval),
                _format_direction(item),
            )


def _list_flipped_labels(comparison: Comparison) -> Iterator[Sequence[Value]]:
    """Yields a row for each label that flipped; `_describe_unflipped` has the others."""
    for field in comparison.fields:
        if isinstance(field, CodeChange):
            for item in (item for item in field.labels if item.lost or item.gained):
                yield (
                    f"{field.name}: {item.label}",
                    _percent(item.a / field.n) if field.n else "–",
                    _percent(item.b / field.n) if field.n else "–",
                    _format_points(item.difference),
                    "–"
                    if item.interval is None
                    else f"{_format_points(item.interval[0])} to {_format_points(item.interval[1])}",
                    f"−{item.lost:,} +{item.gained:,}",
                    _format_p(item.p),
                    _format_direction(item),
                )


def _describe_unflipped(comparison: Comparison) -> Iterator[str]:
    """Yields a sentence for each field in which no case flipped, with the difference that could have been missed."""
    for field in comparison.fields:
        if isinstance(field, CodeChange) and field.n and not field.changed:
            half = max(((item.interval[1] - item.interval[0]) / 2 for item in field.labels if item.interval), default=0)
            yield f"{field.name}: no difference shown, no case flipped (±{100 * half:.1f} percentage points)."


def _list_flips(comparison: Comparison) -> Iterator[Sequence[Value]]:
    """Yields rows of changes of status, flips of labels, largest changes of scores, and changed texts."""
    for flip in comparison.statuses:
        yield _make_flip_row("status", flip)
    for field in comparison.fields:
        if isinstance(field, CodeChange):
            for flip in field.flips:
                yield _make_flip_row(field.name, flip)
            if rest := field.changed - sum(flip.count for flip in field.flips):
                yield field.name, "in other ways", f"{rest:,}", ""
        elif isinstance(field, NumberChange) and field.movers:
            moved = f"up {field.risen:,}, down {field.fallen:,}"
            named = ", ".join(
                f"{mover.id} ({format_number(mover.a)} → {format_number(mover.b)})" for mover in field.movers
            )
            yield field.name, moved, f"{field.risen + field.fallen:,}", named
        elif isinstance(field, OtherChange) and field.changed:
            yield field.name, "another text", f"{field.changed:,}", ", ".join(field.ids)


def _list_spending(comparison: Comparison) -> Iterator[Sequence[Value]]:
    """Yields the rows of the table of what both runs spent."""
    for item in comparison.spending:
        yield (
            _NAMES.get(item.name, item.name),
            _format_amount(item, item.a),
            _format_amount(item, item.b),
            _format_change(item),
        )


def _explain_figures(comparison: Comparison) -> Iterator[str]:
    """Yields sentences on how to read the figures."""
    clustered = comparison.cluster is not None
    kinds = {type(item) for item in comparison.fields}
    if NumberChange in kinds:
        yield "Intervals of scores are 95 % intervals of the mean difference (paired bootstrap)."
        few = f"fewer than {FEW} {'clusters' if clustered else 'cases'}"
        yield f"Of {few} a score is called higher or lower only if the exact test of their signs says so too."
    if CodeChange in kinds and not clustered:
        yield "p is McNemar's exact test of the flips, adjusted for the labels of a field (Holm)."
    if clustered:
        yield (
            f"Cases with the same {comparison.cluster} were drawn together ({comparison.clusters:,} clusters), "
            "and the intervals decide."
        )
    yield "± is half the interval: about the smallest difference that these cases could show."


def _format_signed(value: float) -> str:
    return f"{'−' if value < 0 else '+'}{format_number(abs(value))}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _format_points(difference: float) -> str:
    """Formats a difference of shares in percentage points."""
    return f"{'−' if difference < 0 else '+'}{abs(100 * difference):.1f}"


def _format_p(p: float | None) -> str:
    return "–" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _format_direction(item: NumberChange | LabelChange) -> str | Cell:
    """Formats which way a field changed, and how sure that is."""
    if item.says in ("higher", "lower", "too few to tell") or item.interval is None:
        return Cell(item.says, _TONES.get(item.says), strong=item.says in _TONES)
    half = (item.interval[1] - item.interval[0]) / 2
    if item.says == "the same" and not half:
        return "the same in every case"
    shown = format_number(half) if isinstance(item, NumberChange) else f"{100 * half:.1f}"
    return f"{item.says} (±{shown})"


def _format_interval(interval: Interval | None) -> str:
    """Formats an interval; one of zero width is a dash: it means that all cases changed by the same amount, not
    certainty."""
    return (
        "–"
        if interval is None or interval[0] == interval[1]
        else f"{_format_signed(interval[0])} to {_format_signed(interval[1])}"
    )


def _make_flip_row(name: str, flip: Flip) -> tuple[str, str, str, str]:
    return name, f"{flip.before} → {flip.after}", f"{flip.count:,}", ", ".join(flip.ids)


def _format_examples(ids: Sequence[str], count: int) -> str:
    return f" ({join_first(ids, len(ids), count)})" if ids else ""


def _format_amount(item: Spending, value: float | None) -> str:
    """Formats an amount: seconds, money or a count; None is `unknown`."""
    if value is None:
        return "unknown"
    if item.name == "seconds":
        return format_duration(value)
    return f"{value:,.4g}" if item.name == "cost" else f"{value:,.0f}"


def _format_change(item: Spending) -> str:
    """Formats the change of an amount, absolute and in per cent; a dash if either amount is unknown."""
    if item.a is None or item.b is None:
        return "–"
    change = item.b - item.a
    shown = f"{'−' if change < 0 else '+'}{_format_amount(item, abs(change))}"
    return f"{shown} ({'−' if change < 0 else '+'}{abs(100 * change / item.a):.0f} %)" if item.a else shown
