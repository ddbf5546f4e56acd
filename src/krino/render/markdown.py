"""Writes a run's summary as Markdown, short enough for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from krino.results.slices import SliceNumber, SliceTable, slice_heads
from krino.results.stability import Stability
from krino.results.summary import Summary, spent
from krino.results.wording import (
    FEW_NOTE,
    INTERVAL_NOTE,
    SMALL_NOTE,
    date_of,
    figure,
    fraction,
    interval_text,
    judge_of,
    labeller_of,
    member_text,
    panel_text,
    share,
    spend_text,
)
from krino.runs.manifest import Manifest
from krino.text.clean import clean_line

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~@&])")
_SELF_LINKING = re.compile(r"(://|\bwww(?=\.)|@)", re.IGNORECASE)
_BREAK = "\u200b"  # invisible; GitHub makes no link or mention across it
_SHOWN_CODES = 6
_SHOWN_MESSAGES = 5


def to_markdown(summary: Summary, manifest: Manifest, slices: Sequence[SliceTable] = ()) -> str:
    """GitHub's dialect. Text from cases is escaped: it can open no link, no image, no mention and no HTML."""
    return "\n".join(_lines(summary, manifest, slices)) + "\n"


def escape(text: str, most: int = 160) -> str:
    """On one line, without meaning to Markdown, shortened."""
    return _SELF_LINKING.sub(rf"\1{_BREAK}", _SPECIAL.sub(r"\\\1", clean_line(text, most)))


def _lines(summary: Summary, manifest: Manifest, slices: Sequence[SliceTable]) -> Iterator[str]:
    counts = summary.counts
    yield f"### {escape(judge_of(manifest))}: {counts.ok:,} of {counts.total:,} cases judged"
    yield ""
    yield f"{escape(labeller_of(manifest))} · {date_of(manifest)} · {manifest.state}"
    yield ""
    yield from table_lines(
        ("Status", "Cases", "Share"),
        ((status, f"{count:,}", share(count, counts.total)) for status, count in counts.model_dump().items()),
    )
    if summary.numbers:
        yield from _scores(summary)
    if summary.codes:
        yield from _codes(summary)
    if summary.stability is not None:
        yield from _stability(summary.stability)
    if summary.messages:
        rows = ((group.status, f"{group.count:,}", escape(group.text)) for group in summary.messages[:_SHOWN_MESSAGES])
        yield from table_lines(("Not judged", "Cases", "Why"), rows)
    for table in slices:
        yield from _slices(table)
    if any(item.few for table in slices for item in table.slices):
        yield f"<sub>{escape(SMALL_NOTE)}</sub>"
        yield ""
    decided = summary.decided_by
    if decided.total:
        yield f"Decided by rules alone: {share(decided.rules, decided.total)} of verdict fields.  "
    yield f"Spent: {spend_text(spent(summary, manifest))}."


def _scores(summary: Summary) -> Iterator[str]:
    yield from table_lines(
        ("Score", "n", "null", "mean", "95 % interval"),
        (
            (
                escape(item.name),
                f"{item.n:,}",
                f"{item.nulls:,}",
                f"**{figure(item.mean)}**",
                interval_text(item.interval),
            )
            for item in summary.numbers
        ),
    )
    if told := [item for item in summary.numbers if item.interval is not None]:
        few = f", {FEW_NOTE}" if any(item.few for item in told) else ""
        yield f"<sub>{INTERVAL_NOTE}{few.replace('<', '&lt;')}.</sub>"
    yield ""


def _codes(summary: Summary) -> Iterator[str]:
    rows = []
    for item in summary.codes:
        shown = [f"{escape(code)} {count:,}" for code, count in list(item.counts.items())[:_SHOWN_CODES]]
        more = len(item.counts) - _SHOWN_CODES
        values = " · ".join([*shown, f"and {more} more"] if more > 0 else shown)
        rows.append((escape(item.name), f"{item.n:,}", values))
    yield from table_lines(("Field", "n", "Values"), rows)


def _stability(stability: Stability) -> Iterator[str]:
    rows = (
        (
            escape(item.name),
            f"{item.n:,}",
            fraction(item.agreement),
            f"{item.split:,}",
            "–" if item.spread is None else figure(item.spread),
        )
        for item in stability.fields
    )
    yield from table_lines(("Seats agree on", "n", "agree", "split", "spread"), rows)
    yield escape(f"{panel_text(stability)} {member_text(stability)}".strip(), 400)
    yield ""


def _mean(found: SliceNumber) -> str:
    if found.mean is None:
        return "–"
    return figure(found.mean) if found.interval is None else f"{figure(found.mean)} ({interval_text(found.interval)})"


def _slices(table: SliceTable) -> Iterator[str]:
    rows = []
    for item in table.slices:
        scores = (_mean(item.numbers[name]) for name in table.numbers)
        n = f"{item.n:,}{escape('*') if item.few else ''}"
        ends = (f"{item.roll_up.get(word, 0):,}" for word in table.roll_ups)
        rows.append((escape(item.value), n, f"{item.not_ok:,}", *ends, *scores))
    yield from table_lines((escape(table.column), *map(escape, slice_heads(table))), rows)


def table_lines(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
