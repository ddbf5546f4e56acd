"""Prints the slices of a run on a terminal: a table for each column, a mean over its interval for each score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from krino.render.terminal import COLUMN_GAP, column_width, note_line, plain_table
from krino.results.slices import Slice, SliceNumber, SliceTable, slice_heads
from krino.results.wording import INTERVAL_NOTE, SMALL_NOTE, figure, interval_text
from krino.text.clean import clean_line


def print_slices(console: Console, tables: Iterable[SliceTable]) -> None:
    shown = list(tables)
    for table in shown:
        for part in _parts(table, console.width):
            console.print(part)
            console.print()
    if any(table.numbers for table in shown):
        console.print(note_line(f"{INTERVAL_NOTE}."))
    if any(item.few for table in shown for item in table.slices):
        console.print(note_line(SMALL_NOTE))


def _parts(table: SliceTable, width: int) -> Iterator[Table]:
    """One table, or where that is too wide several: each has the value and its n, and as many columns as fit."""
    heads = [Text(clean_line(name, 30)) for name in (table.column, *slice_heads(table))]
    rows = [[Text(clean_line(item.value, 60)), *_cells(item, table)] for item in table.slices]
    taken = [column_width(column) + COLUMN_GAP for column in zip(heads, *rows, strict=True)]
    taken[0] = min(taken[0], width // 3)
    places = [0, 1]
    for place in range(2, len(heads)):
        if len(places) > 2 and sum(taken[at] for at in (*places, place)) - COLUMN_GAP > width:
            yield _part(heads, rows, places)
            places = [0, 1]
        places.append(place)
    yield _part(heads, rows, places)


def _part(heads: Sequence[Text], rows: Iterable[Sequence[Text]], places: Sequence[int]) -> Table:
    lines = plain_table(*(heads[place].plain for place in places), right=range(1, len(places)))
    for row in rows:
        lines.add_row(*(row[place] for place in places))
    return lines


def _cells(item: Slice, table: SliceTable) -> Iterator[Text]:
    yield Text(f"{item.n:,}{'*' if item.few else ''}", style="dim" if item.few else "")
    yield Text(f"{item.not_ok:,}", style="yellow" if item.not_ok else "dim")
    for word in table.roll_ups:
        yield Text(f"{item.roll_up.get(word, 0):,}")
    for name in table.numbers:
        yield _number(item.numbers[name])


def _number(found: SliceNumber) -> Text:
    if found.mean is None:
        return Text("–", style="dim")
    return Text.assemble((figure(found.mean), "bold"), (f"\n{interval_text(found.interval)}", "dim"))
