"""Draws blocks as HTML; `krino.render.markup` escapes every text and attribute.

The page `report.html` is put together in `krino.render.report`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import groupby
from urllib.parse import quote

from krino import blocks as b
from krino.render import charts
from krino.render.markup import Markup, join, tag
from krino.render.text_form import SIGNS, cell_text, reliability_table
from krino.results.formatting import field_words, format_count, format_interval, format_number, format_share

_SHOWN_CODES = 24
_LONG_VALUE, _MOST_WORDS = 60, 4
_FINDING, _FOUND = "!", "panel finding"
_GRADES: dict[b.Tone | None, str] = {"bad": "low", "warn": "middle", "good": "high"}


def link_on_page(case: str) -> str:
    return f"#case={quote(case, safe='')}"


@dataclass(frozen=True, slots=True)
class Links:
    """Link targets of a page: a case, the cases with a code of a field, the cases with a metadata value."""

    case: Callable[[str], str] = link_on_page
    coded: Callable[[str, str], str] | None = None
    sliced: Callable[[str, str], str] | None = None


_ON_THIS_PAGE = Links()


def to_html(blocks: Iterable[b.Block], links: Links = _ON_THIS_PAGE) -> Markup:
    return join(*(_draw(block, links) for block in blocks))


def can_be_drawn(blocks: Sequence[b.Block]) -> bool:
    """Can the blocks be drawn? Those of an edited run folder may be invalid, and must not cost the whole page."""
    try:
        to_html(blocks)
    except Exception:
        return False
    return True


def to_notebook_html(blocks: Iterable[b.Block]) -> str:
    """Draws blocks for a notebook, with the styles that they need."""
    return tag("div", tag("style", Markup(page_file("notebook.css"))), to_html(blocks), class_="krino")


@cache
def page_file(name: str) -> str:
    """Reads the text of a style sheet, script or page template."""
    return (resources.files("krino.render") / "page" / name).read_text("utf-8")


def _draw(block: b.Block, links: Links) -> Markup:
    """Draws one block as HTML."""
    match block:
        case b.Section():
            return _draw_section(block, links)
        case b.Heading():
            return _draw_heading(block)
        case b.Paragraph():
            kind = "note" if block.small else "notice" if block.tone in ("warn", "bad") else None
            return tag("p", tag("strong", block.text) if block.strong else block.text, class_=kind)
        case b.Parts():
            return _draw_panel(charts.stacked_bar(block), tag("ul", *_draw_legend(block), class_="legend"))
        case b.KeyFigures():
            return _draw_panel(tag("div", *_draw_cards(block), class_="cards"))
        case b.Scores():
            return tag("div", *(_draw_score(item, charts.histogram(item)) for item in block.scores), class_="grid")
        case b.Categories():
            return _draw_categories(block, links)
        case b.Reliability():
            table = tag("div", _draw_grid(reliability_table(block), links, "nested"), class_="wide")
            title = tag("h3", block.title) if block.title else None
            return _draw_panel(title, tag("div", charts.reliability_diagram(block), table, class_="beside"))
        case b.DataTable():
            return _draw_table(block, links)
        case b.MarkedText():
            text = tag("p", *_draw_segments(block), class_="marked text", id=_anchor(block.key))
            return _draw_titled_panel(block.title, join(text, _draw_mark_legend(block)))
        case b.BulletList():
            items = (tag("li", item, class_="text") for item in block.items)
            return _draw_titled_panel(block.title, tag("ul", *items, class_="plain-list"))
        case b.Fields():
            if any(field.by or field.notes for field in block.fields):
                return join(tag("h3", block.title) if block.title else None, *_draw_verdict_panels(block.fields))
            return _draw_titled_panel(block.title, tag("dl", *_draw_fields(block.fields), class_="small"))
        case b.Verbatim():
            return _draw_titled_panel(block.title, tag("pre", block.text, class_="code text"))


def _draw_section(block: b.Section, links: Links) -> Markup:
    """Draws a section, folded if the block says so."""
    key = block.key or None
    if block.folded:
        return draw_folded(block.title, to_html(block.blocks, links), key=key)
    return tag("section", tag("h2", block.title, id=key), to_html(block.blocks, links), aria_labelledby=key)


def draw_folded(title: str, *children: Markup | None, key: str | None = None) -> Markup:
    """Draws a collapsed panel."""
    return tag("details", tag("summary", title), *children, class_="panel fold", id=key)


def _draw_panel(*children: Markup | None) -> Markup:
    return tag("div", *children, class_="panel")


def _draw_titled_panel(title: str, body: Markup) -> Markup:
    return join(tag("h3", title) if title else None, _draw_panel(body))


def _draw_heading(block: b.Heading) -> Markup:
    mark = tag("span", f" {block.mark}", class_=f"badge tone-{block.tone or 'plain'}") if block.mark else None
    note = tag("p", block.note, class_="note") if block.note else None
    return join(tag(f"h{min(block.level + 1, 4)}", block.text, mark), note)


def _draw_legend(block: b.Parts) -> Iterator[Markup]:
    """Yields the legend of a stacked bar."""
    for part in block.parts:
        details = " · ".join(filter(None, (format_share(part.count, block.total), part.meaning)))
        sign = tag("span", SIGNS[part.tone], class_=f"sign ink-{part.tone}", aria_hidden="true")
        yield tag("li", sign, tag("strong", f"{part.count:,}"), f" {part.name} ", tag("span", details, class_="soft"))


def _draw_cards(block: b.KeyFigures) -> Iterator[Markup]:
    for item in block.figures:
        shown = (("name", item.name), ("value", item.value), ("soft", item.note))
        yield tag("div", *(tag("span", text, class_=kind) for kind, text in shown), class_="card")


def _draw_score(item: b.Score, chart: Markup) -> Markup:
    """Draws a score with its chart."""
    nulls = f", {item.nulls:,} null" if item.nulls else ""
    interval = (
        "no interval: there is one value only" if item.interval is None else f"95 %: {format_interval(item.interval)}"
    )
    return tag(
        "figure",
        tag("figcaption", _field_name(item.name), tag("span", format_number(item.mean), class_="value")),
        chart,
        tag("p", tag("span", f"Mean of {format_count(item.n)}{nulls}"), tag("span", interval), class_="soft"),
        class_="panel score",
    )


def _draw_categories(block: b.Categories, links: Links) -> Markup:
    """Draws a chart for each field; fields with a single value are listed in one line."""
    varied = [item for item in block.categories if sum(map(bool, item.counts.values())) > 1 or item.nulls]
    constant = [item for item in block.categories if item not in varied]
    same = "; ".join(f"{field_words(item.name)} is {next(iter(item.counts))} ({item.n:,})" for item in constant)
    return join(
        tag("div", *(_draw_category(item, links) for item in varied), class_="grid") if varied else None,
        tag("p", f"Always the same: {same}.", class_="note") if constant else None,
    )


def _draw_category(item: b.Category, links: Links) -> Markup:
    """Draws bars as long as the share of cases, also for labels of a closed list that were never given."""
    given = [(code, count) for code, count in item.counts.items() if count]
    never = [code for code, count in item.counts.items() if not count]
    rows = [
        tag(
            "li",
            tag("span", _link(_make_breakable(code), links.coded if count else None, item.name, code)),
            tag("strong", f"{count:,}"),
            tag("span", format_share(count, item.n), class_="soft share"),
            charts.bar(count, item.n),
            class_="count",
        )
        for code, count in [*given[:_SHOWN_CODES], *((code, 0) for code in never)]
    ]
    more = len(given) - _SHOWN_CODES
    nulls = f" · {item.nulls:,} null" if item.nulls else ""
    return tag(
        "figure",
        tag("figcaption", _field_name(item.name)),
        tag("ul", *rows, class_="counts"),
        tag("p", f"{item.n:,} cases{nulls}{f' · {more} more values' if more > 0 else ''}", class_="soft"),
        class_="panel wide-figure" if len(rows) > 8 else "panel",
    )


def _link(shown: Markup, to: Callable[[str, str], str] | None, name: str, value: str) -> Markup:
    return shown if to is None else tag("a", shown, href=to(name, value))


def _field_name(name: str) -> Markup:
    return tag("span", field_words(name), class_="field", title=name)


def _make_breakable(code: str) -> Markup:
    """Returns a code that may wrap only after underscores."""
    parts = code.split("_")
    words = [f"{part}_" for part in parts[:-1]] + parts[-1:]
    return join(words[0], *(item for word in words[1:] for item in (tag("wbr"), word)))


def _draw_table(block: b.DataTable, links: Links) -> Markup:
    """Draws a table that scrolls sideways if it is wider than the page."""
    label = f"{block.title or f'Table by {field_words(block.columns[0])}'}, scrolls sideways"
    box = tag("div", _draw_grid(block, links), class_="panel scroll", tabindex="0", role="region", aria_label=label)
    return join(tag("h3", block.title) if block.title else None, box)


def _draw_grid(block: b.DataTable, links: Links, kind: str | None = None) -> Markup:
    """Draws a table."""
    figures = set(block.figures)
    heads = [
        tag("th", field_words(name), scope="col", class_="figure" if place in figures else None)
        for place, name in enumerate(block.columns)
    ]
    tones = [*block.tones, *[None] * len(block.rows)]
    rows = [
        tag("tr", *_draw_cells(row, figures, links), class_=f"row-{tone}" if tone else None)
        for row, tone in zip(block.rows, tones, strict=False)
    ]
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_=kind)


def _draw_cells(row: Sequence[b.Value], figures: set[int], links: Links) -> Iterator[Markup]:
    """Yields the cells of a row; the first is the row's heading, unless it is a figure."""
    for place, value in enumerate(row):
        kind = "figure" if place in figures else "text"
        if place == 0 and kind == "text":
            yield tag("th", _draw_cell(value, links), scope="row")
        else:
            yield tag("td", _draw_cell(value, links), class_=kind)


def _draw_cell(value: b.Value, links: Links) -> Markup:
    """Draws the content of a cell: code, link, tone, and what is written below."""
    text = cell_text(value)
    if not isinstance(value, b.Cell):
        return join(text)
    shown = join(text)
    if value.code:
        shown = tag("code", shown)
    if value.case is not None:
        shown = tag("a", shown, href=links.case(value.case))
    if value.slice_of is not None:
        shown = _link(shown, links.sliced, value.slice_of, value.text)
    if value.tone in ("good", "warn", "bad"):
        shown = tag("span", shown, class_=f"ink-{value.tone}")
    if value.strong:
        shown = tag("strong", shown)
    return join(shown, tag("br"), tag("span", value.below, class_="soft")) if value.below else shown


def _draw_segments(block: b.MarkedText) -> Iterator[Markup]:
    """Yields the segments of a text; those with a target are links, and the style sheet highlights the target."""
    for segment in block.segments:
        if not (segment.mark or segment.target or segment.key):
            yield join(segment.text)
            continue
        label = ": ".join(filter(None, (field_words(segment.mark or ""), segment.title)))
        shown = tag("a", segment.text, href=f"#{_anchor(segment.target)}") if segment.target else join(segment.text)
        spoken = tag("span", f" ({label})", class_="hidden") if label else None
        kind = f"tone-{block.tones.get(segment.mark, 'info')}" if segment.mark else None
        name = "mark" if segment.mark else "span"
        yield tag(name, shown, spoken, class_=kind, title=label or None, id=_anchor(segment.key))


def _draw_mark_legend(block: b.MarkedText) -> Markup | None:
    """Draws the labels that occur, in their colours; None if there are none."""
    marks = dict.fromkeys(segment.mark for segment in block.segments if segment.mark)
    legend = [tag("span", field_words(mark), class_=f"tone tone-{block.tones.get(mark, 'info')}") for mark in marks]
    return tag("div", *legend, class_="marks", aria_hidden="true") if legend else None


def _anchor(key: str | None) -> str | None:
    """Returns the anchor of a key, escaped because keys hold ids of steps from the input; None without a key."""
    return None if key is None else f"at-{quote(key, safe='')}"


def _draw_fields(fields: Sequence[b.Field]) -> Iterator[Markup]:
    """Yields names and values as a definition list; fields in a row with the same name share it."""
    for name, found in groupby(fields, key=lambda field: field.name):
        yield tag("dt", field_words(name))
        for field in found:
            lines = [*field.first, *field.notes, *([field.by] if field.by else [])]
            shown = tag("span", field.value, class_=f"text ink-{field.tone}" if field.tone else "text")
            yield tag("dd", shown, *(tag("p", line, class_="note text") for line in lines))


def _draw_verdict_panels(fields: Sequence[b.Field]) -> Iterator[Markup]:
    """Yields one panel for each value with its evidence and who decided it; empty values come last in one panel.

    A field that only explains another (`score_explanation` for `score`) is shown with that field.
    """
    explained = {field.name: of for field in fields if (of := _find_explained(field, fields)) is not None}
    bare = [field for field in fields if field.value == "null" and not (field.notes or field.first)]
    for field in fields:
        if field.name not in explained and field not in bare:
            explanations = [other for other in fields if explained.get(other.name) == field.name and other not in bare]
            yield _draw_verdict_panel(field, explanations)
    if empty := [field for field in bare if field.name not in explained]:
        yield _draw_panel(tag("dl", *_draw_fields([replace(field, by="") for field in empty]), class_="small"))


def _find_explained(field: b.Field, fields: Sequence[b.Field]) -> str | None:
    """Returns the name of the field that this one explains (`score` for `score_explanation`); None if it explains
    none."""
    if field.notes or field.first:
        return None
    return next((other.name for other in fields if field.name.startswith(f"{other.name}_")), None)


def _draw_verdict_panel(field: b.Field, explanations: Sequence[b.Field]) -> Markup:
    """Draws one field of a verdict with its explanations and evidence."""
    if field.name == _FINDING:
        return tag("div", tag("strong", field.value, class_="text"), tag("p", field.by, class_="soft"), class_=_FOUND)
    long = len(field.value) > _LONG_VALUE or len(field.value.split()) > _MOST_WORDS
    kind = f"grade {_GRADES[field.tone]}" if field.tone in _GRADES else "text"
    value = tag("span", tag("span", field.value, class_=kind), class_="value" if field.strong else "value word")
    evidence = [tag("li", note, class_="text") for note in field.notes]
    return tag(
        "div",
        *(tag("p", line, class_="caution text") for line in field.first),
        tag("div", _field_name(field.name), None if long else value, class_="head"),
        tag("p", field.value, class_="why text") if long else None,
        *(tag("p", other.value, class_="why text") for other in explanations),
        tag("ul", *evidence, class_="evidence") if evidence else None,
        tag("p", field.by, class_="decider text") if field.by else None,
        class_="panel ruling",
    )
