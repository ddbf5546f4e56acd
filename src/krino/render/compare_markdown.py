"""Writes a comparison as Markdown, short enough for a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from krino.render import compare_wording as wording
from krino.render.markdown import escape, table_lines
from krino.results.comparison.changes import Comparison

_SHOWN_ROWS = 30
_LONGEST = 200


def to_markdown(comparison: Comparison) -> str:
    """GitHub's dialect; text from cases is escaped."""
    return "\n".join(_lines(comparison)) + "\n"


def _lines(comparison: Comparison) -> Iterator[str]:
    yield f"### {escape(comparison.b.run)} against {escape(comparison.a.run)}"
    yield ""
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        yield f"- **{name}** {escape(side.run)}: {escape(wording.side_line(side), 300)}"
    for line in comparison.settings:
        yield f"- ⚠ other settings: {escape(line, 300)}"
    for line in comparison.warnings:
        yield f"- ⚠ {escape(line, 300)}"
    for line in wording.matching_lines(comparison.matching):
        yield f"- {escape(line, 400)}"
    yield ""
    yield from _table(wording.SCORE_HEADS, wording.score_rows(comparison))
    yield from _table(wording.LABEL_HEADS, wording.label_rows(comparison))
    for line in wording.unflipped(comparison):
        yield f"- {escape(line)}"
    yield ""
    yield from _table(wording.FLIP_HEADS, wording.flip_rows(comparison))
    yield from _table(wording.SPENDING_HEADS, wording.spending_rows(comparison))
    yield f"<sub>{escape(' '.join(wording.notes(comparison)), 1_000)}</sub>"


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    shown = [tuple(escape(cell, _LONGEST) for cell in row) for row in rows]
    if not shown:
        return
    more = len(shown) - _SHOWN_ROWS
    yield from table_lines(heads, shown[:_SHOWN_ROWS])
    if more > 0:
        yield f"… and {more:,} more rows.\n"
