"""Prints the slices of a run on a terminal: a table for each column, a mean over its interval for each score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.text import Text

from krino.reports.clean import clean_line
from krino.reports.slices import Slice, SliceNumber, SliceTable, slice_heads
from krino.reports.terminal import note_line, plain_table
from krino.reports.wording import INTERVAL_NOTE, SMALL_NOTE, figure, interval_text


def print_slices(console: Console, tables: Iterable[SliceTable]) -> None:
    shown = list(tables)
    for table in shown:
        heads = [clean_line(name, 30) for name in slice_heads(table)]
        lines = plain_table(clean_line(table.column, 40), *heads, right=range(1, len(heads) + 1))
        for item in table.slices:
            lines.add_row(Text(clean_line(item.value, 60)), *_cells(item, table))
        console.print(lines)
        console.print()
    if any(table.numbers for table in shown):
        console.print(note_line(f"{INTERVAL_NOTE}."))
    if any(item.few for table in shown for item in table.slices):
        console.print(note_line(SMALL_NOTE))


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
