"""Prints a comparison on a terminal; whatever comes from a case is cleaned and read as plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from krino.render import compare_wording as wording
from krino.render.terminal import COLUMN_GAP, column_width, note_line, plain_table
from krino.results.comparison.changes import Comparison
from krino.text.clean import clean_line

_STYLES = {"higher": "bold cyan", "lower": "bold magenta"}
_LEAST_LAST = 15  # the words of the last column, over two lines


def print_comparison(console: Console, comparison: Comparison) -> None:
    console.print(Group(*_parts(comparison, console.width)), highlight=False)


def _parts(comparison: Comparison, width: int) -> Iterator[RenderableType]:
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        yield Text.assemble((f"{name}  {clean_line(side.run)}", "bold"))
        yield note_line(wording.side_line(side), indent=3)
    if comparison.settings:
        yield Text("\nThe runs were made with other settings:", style="yellow")
        yield from (note_line(line, "yellow", 3) for line in comparison.settings)
    yield Text()
    yield from (Text(clean_line(line)) for line in wording.matching_lines(comparison.matching))
    yield from (Text(f"! {clean_line(line)}", style="yellow") for line in comparison.warnings)
    yield from _table(wording.SCORE_HEADS, wording.score_rows(comparison), range(1, 6), width)
    yield from _table(wording.LABEL_HEADS, wording.label_rows(comparison), range(1, 7), width)
    yield from (Text(f"{clean_line(line)}") for line in wording.unflipped(comparison))
    yield from _table(wording.FLIP_HEADS, wording.flip_rows(comparison), range(2, 3), width)
    yield from _table(wording.SPENDING_HEADS, wording.spending_rows(comparison), range(1, 4), width)
    yield Text()
    yield from map(note_line, wording.notes(comparison))


def _table(
    heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], right: range, width: int
) -> Iterator[RenderableType]:
    """Figures do not break. Where they leave no room for what is said of them, the last of them get a second table."""
    cells = [[Text(clean_line(cell, 400), style=_STYLES.get(cell, "")) for cell in row] for row in rows]
    if not cells:
        return
    columns = [column_width(column) for column in zip(map(Text, heads), *cells, strict=True)]
    figures = sum(columns[place] for place in right) + COLUMN_GAP * (len(heads) - 1)
    first, last = min(columns[0], width // 3), min(columns[-1], _LEAST_LAST)
    moved = right[len(right) // 2 :] if figures + first + last > width else right[:0]
    for places in ([place for place in range(len(heads)) if place not in moved], [0, *moved]):
        if len(places) > 1:
            yield Text()
            yield _part(heads, cells, right, places, whole_names=columns[0] <= first)


def _part(
    heads: Sequence[str], rows: Iterable[Sequence[Text]], right: range, places: Sequence[int], *, whole_names: bool
) -> Table:
    shown = [at for at, place in enumerate(places) if place in right]
    figures = range(shown[0], shown[-1] + 1) if shown else range(0)
    table = plain_table(*(heads[place] for place in places), right=figures)
    table.columns[0].no_wrap = whole_names  # a name is looked for; what is said of it may take two lines
    for row in rows:
        table.add_row(*(row[place] for place in places))
    return table
