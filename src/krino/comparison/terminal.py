"""Prints a comparison on a terminal; whatever comes from a case is cleaned and read as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.text import Text

from krino.comparison import wording
from krino.comparison.changes import Comparison
from krino.reports.clean import clean_line
from krino.reports.terminal import note_line, plain_table

_STYLES = {"higher": "bold cyan", "lower": "bold magenta"}


def print_comparison(console: Console, comparison: Comparison) -> None:
    console.print(Group(*_parts(comparison)), highlight=False)


def _parts(comparison: Comparison) -> Iterator[RenderableType]:
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        yield Text.assemble((f"{name}  {clean_line(side.run)}", "bold"))
        yield note_line(wording.side_line(side), indent=3)
    if comparison.settings:
        yield Text("\nThe runs were made with other settings:", style="yellow")
        yield from (note_line(line, "yellow", 3) for line in comparison.settings)
    yield Text()
    yield from (Text(clean_line(line)) for line in wording.matching_lines(comparison.matching))
    yield from (Text(f"! {clean_line(line)}", style="yellow") for line in comparison.warnings)
    yield from _table(wording.SCORE_HEADS, wording.score_rows(comparison), range(1, 6))
    yield from _table(wording.LABEL_HEADS, wording.label_rows(comparison), range(1, 7))
    yield from (Text(f"{clean_line(line)}") for line in wording.unflipped(comparison))
    yield from _table(wording.FLIP_HEADS, wording.flip_rows(comparison), range(2, 3))
    yield from _table(wording.SPENDING_HEADS, wording.spending_rows(comparison), range(1, 4))
    yield Text()
    yield from map(note_line, wording.notes(comparison))


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], right: range) -> Iterator[RenderableType]:
    table = plain_table(*heads, right=right)
    table.columns[0].no_wrap = True  # a name is looked for; what is said of it may take two lines
    for row in rows:
        table.add_row(*(Text(clean_line(cell, 400), style=_STYLES.get(cell, "")) for cell in row))
    if table.row_count:
        yield Text()
        yield table
