"""The slices of a run in its HTML report: a table for each column of metadata that has few values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krino.render.html_tables import wide_table
from krino.render.markup import Markup, join, tag
from krino.results.slices import Slice, SliceNumber, SliceTable, slice_heads
from krino.results.wording import SMALL_NOTE, figure, interval_text


def slices_section(tables: Sequence[SliceTable]) -> Markup | None:
    """Folded away where every slice is small: then it says little, and the cases should not have to wait for it."""
    if not tables:
        return None
    few = [item.few for table in tables for item in table.slices]
    shown = (*map(_table, tables), tag("p", SMALL_NOTE, class_="note") if any(few) else None)
    if all(few):
        columns = ", ".join(table.column.replace("_", " ") for table in tables)
        return tag("details", tag("summary", f"Slices by {columns}"), *shown, class_="panel fold", id="slices")
    return tag("section", tag("h2", "Slices", id="slices"), *shown, aria_labelledby="slices")


def _table(table: SliceTable) -> Markup:
    heads = [name.replace("_", " ") for name in slice_heads(table)]
    rows = [tag("tr", tag("th", item.value, scope="row"), *_cells(item, table)) for item in table.slices]
    column = table.column.replace("_", " ")
    return wide_table([column, *heads], rows, figures=heads, name=f"Slices by {column}")


def _cells(item: Slice, table: SliceTable) -> Iterator[Markup]:
    yield _figure(f"{item.n:,}{'*' if item.few else ''}")
    yield _figure(f"{item.not_ok:,}")
    for word in table.roll_ups:
        yield _figure(f"{item.roll_up.get(word, 0):,}")
    for name in table.numbers:
        yield tag("td", _number(item.numbers[name]), class_="figure")


def _figure(text: str) -> Markup:
    return tag("td", text, class_="figure")


def _number(found: SliceNumber) -> Markup:
    if found.mean is None:
        return join("–")
    return join(tag("strong", figure(found.mean)), tag("br"), tag("span", interval_text(found.interval), class_="soft"))
