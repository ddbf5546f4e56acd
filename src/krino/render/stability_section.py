"""The part of the HTML report that shows how far the seats of a panel agree."""

from __future__ import annotations

from krino.render.html_tables import wide_table
from krino.render.markup import Markup, tag
from krino.results.stability import FieldStability, Stability
from krino.results.wording import figure, fraction, member_text, panel_text

_HEADS = ("Field", "Cases", "Seats agree", "Cases split", "Mean spread", "Widest", "Mean sd")


def stability_section(stability: Stability | None) -> Markup | None:
    """None for a run without panels."""
    if stability is None:
        return None
    return tag(
        "section",
        tag("h2", "Stability", id="stability"),
        wide_table(_HEADS, [_row(item) for item in stability.fields], figures=_HEADS[1:]),
        tag("p", f"{panel_text(stability)} {member_text(stability)}", class_="note"),
        tag(
            "p",
            "Each seat's own verdict is compared with the others', before the votes were joined. "
            "Seats agree: the mean share of seats that gave the commonest value.",
            class_="note",
        ),
        aria_labelledby="stability",
    )


def _row(item: FieldStability) -> Markup:
    numbers = ["–" if value is None else figure(value) for value in (item.spread, item.widest, item.sd)]
    cells = [f"{item.n:,}", fraction(item.agreement), f"{item.split:,}", *numbers]
    return tag(
        "tr", tag("th", item.name.replace("_", " "), scope="row"), *(tag("td", cell, class_="figure") for cell in cells)
    )
