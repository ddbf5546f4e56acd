"""Turns charts and sections of a page into tables and lines, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from krino import blocks as b
from krino.results.formatting import format_fraction, format_interval, format_number, format_share

SIGNS: dict[b.Tone | None, str] = {"good": "✓", "warn": "–", "bad": "✗", "info": "·", "plain": "·"}
"""Shown beside a colour, for readers who cannot see it."""
_SHOWN_CODES = 6
_SHOWN_NEVER = 4


def expand_for_text(blocks: Iterable[b.Block], spread: Callable[[b.Score], b.Value] | None = None) -> Iterator[b.Block]:
    """Yields blocks without sections and charts; `spread` draws the distribution of a score in a table cell.

    A folded section is left out. One that begins with a table gets no heading, because the table has one.
    """
    for block in blocks:
        match block:
            case b.Section():
                if not block.folded and block.blocks:
                    if not isinstance(block.blocks[0], b.Parts | b.Scores | b.Categories | b.DataTable | b.KeyFigures):
                        yield b.Heading(block.title)
                    yield from expand_for_text(block.blocks, spread)
            case b.Scores():
                yield _make_scores_table(block, spread)
            case b.Categories():
                rows = [(item.name, f"{item.n:,}", _format_counts(item)) for item in block.categories]
                yield b.DataTable("", ("Field", "n", "values"), rows, figures=(1,))
            case b.Reliability():
                yield reliability_table(block)
            case _:
                yield block


def _make_scores_table(block: b.Scores, spread: Callable[[b.Score], b.Value] | None) -> b.DataTable:
    """Returns scores as a table, with a column for the spread where one can be drawn."""
    columns: tuple[str, ...] = ("Score", "n", "null", "mean", "95 % interval")
    rows: list[Sequence[b.Value]] = [
        (
            score.name,
            f"{score.n:,}",
            f"{score.nulls:,}" if score.nulls else "–",
            b.Cell(format_number(score.mean), score.tone, strong=True),
            format_interval(score.interval),
            *([spread(score)] if spread else []),
        )
        for score in block.scores
    ]
    return b.DataTable("", (*columns, "spread") if spread else columns, rows, figures=(1, 2, 3, 4))


def _format_counts(item: b.Category) -> str:
    """Returns the most frequent codes with their counts, and those of a closed list that were never given."""
    given = [(code, count) for code, count in item.counts.items() if count]
    shown = [f"{code} {count:,} ({format_share(count, item.n)})" for code, count in given[:_SHOWN_CODES]]
    if (more := len(given) - _SHOWN_CODES) > 0:
        shown.append(f"and {more} more")
    if item.nulls:
        shown.append(f"null {item.nulls:,}")
    never = [code for code, count in item.counts.items() if not count]
    if never:
        more = len(never) - _SHOWN_NEVER
        shown.append(f"never: {', '.join(never[:_SHOWN_NEVER])}" + (f" and {more} more" if more > 0 else ""))
    return " · ".join(shown)


def reliability_table(block: b.Reliability) -> b.DataTable:
    """Returns a reliability diagram as a table."""
    rows = [
        (f"{item.low:g} to {item.high:g}", f"{item.n:,}", format_number(item.confidence), format_fraction(item.right))
        for item in block.bins
        if item.n
    ]
    return b.DataTable(block.title, ("Says", "n", "mean", "right"), rows, figures=(1, 2, 3))


def key_figure_lines(block: b.KeyFigures) -> Iterator[tuple[str, str]]:
    for item in block.figures:
        yield item.name, f"{item.value} {item.note}".strip()


def hidden_rows_note(block: b.DataTable) -> str:
    """Returns a note about rows that are not shown; empty if all are."""
    more = len(block.rows) - block.most if block.most else 0
    return f"… and {more:,} more" if more > 0 else ""


def cell_text(value: b.Value) -> str:
    """Returns the plain text of a cell's value."""
    if value is None:
        return ""
    if isinstance(value, b.Cell):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
