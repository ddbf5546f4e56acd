"""A table of the report that scrolls sideways where it is wider than the page."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from krino.render.markup import Markup, tag


def wide_table(heads: Sequence[str], rows: Sequence[Markup], figures: Collection[str], name: str = "Table") -> Markup:
    """`figures`: the headings of columns that hold numbers; `name`: what a screen reader calls it."""
    top = [tag("th", head, scope="col", class_="figure" if head in figures else None) for head in heads]
    table = tag("table", tag("thead", tag("tr", *top)), tag("tbody", *rows))
    label = f"{name}, scrolls sideways"
    return tag("div", table, class_="panel scroll", tabindex="0", role="region", aria_label=label)
