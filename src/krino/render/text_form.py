"""Turns what a page draws or folds away into tables and lines: what terminal and Markdown have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from krino import blocks as b
from krino.results.formatting import format_fraction, format_interval, format_number, format_share

SIGNS: dict[b.Tone | None, str] = {"good": "✓", "warn": "–", "bad": "✗", "info": "·", "plain": "·"}
"""Beside a colour, for those who see none."""
_SHOWN_CODES = 6
_SHOWN_NEVER = 4


def expand_for_text(blocks: Iterable[b.Block], spread: Callable[[b.Score], b.Value] | None = None) -> Iterator[b.Block]:
    """Sections one after the other, and as tables what only a page draws. `spread` draws how the values of a score lie.

    Tables and the like are known by their own headings and need no further title.
    """
    for block in blocks:
        match block:
            case b.Section():
                if not block.folded and block.blocks:
                    if not isinstance(block.blocks[0], b.Parts | b.Scores | b.Categories | b.DataTable | b.KeyFigures):
                        yield b.Heading(block.title)
                    yield from expand_for_text(block.blocks, spread)
            case b.Scores():
                yield _scores_table(block, spread)
            case b.Categories():
                rows = [(item.name, f"{item.n:,}", _counts(item)) for item in block.categories]
                yield b.DataTable("", ("Field", "n", "values"), rows, figures=(1,))
            case b.Reliability():
                yield reliability_table(block)
            case _:
                yield block


def _scores_table(block: b.Scores, spread: Callable[[b.Score], b.Value] | None) -> b.DataTable:
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


def _counts(item: b.Category) -> str:
    """The most frequent codes; of a closed list also those that were never given."""
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
    """What is said of rows that are not shown."""
    more = len(block.rows) - block.most if block.most else 0
    return f"… and {more:,} more" if more > 0 else ""


def cell_text(value: b.Value) -> str:
    if value is None:
        return ""
    if isinstance(value, b.Cell):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
