"""Draws blocks as HTML; `krino.render.markup` escapes every text and attribute."""

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
from krino.render.short_form import SIGNS, reliability_table, value_text
from krino.results.wording import counted, figure, interval_text, share, spaced

_SHOWN_CODES = 24
_LONG_VALUE, _MOST_WORDS = 60, 4
_FINDING, _FOUND = "!", "panel finding"
_GRADES: dict[b.Tone | None, str] = {"bad": "low", "warn": "middle", "good": "high"}


def on_this_page(case: str) -> str:
    return f"#case={quote(case, safe='')}"


@dataclass(frozen=True, slots=True)
class Links:
    """Where a page leads: to a case by its id; to the cases with a code of a field, or with a value of a column."""

    case: Callable[[str], str] = on_this_page
    coded: Callable[[str, str], str] | None = None
    sliced: Callable[[str, str], str] | None = None


_ON_THIS_PAGE = Links()


def to_html(blocks: Iterable[b.Block], links: Links = _ON_THIS_PAGE) -> Markup:
    return join(*(_draw(block, links) for block in blocks))


def can_be_drawn(blocks: Sequence[b.Block]) -> bool:
    """Blocks of a run folder that somebody made up may be charts of nothing: they cost themselves, never the page."""
    try:
        to_html(blocks)
    except Exception:
        return False
    return True


def for_notebook(blocks: Iterable[b.Block]) -> str:
    """The same as a part of somebody else's page, with the few styles that it needs."""
    return tag("div", tag("style", Markup(page_file("notebook.css"))), to_html(blocks), class_="krino")


@cache
def page_file(name: str) -> str:
    """A style sheet, a script or the frame of a page."""
    return (resources.files("krino.render") / "page" / name).read_text("utf-8")


def _draw(block: b.Block, links: Links) -> Markup:
    match block:
        case b.Section():
            return _section(block, links)
        case b.Heading():
            return _heading(block)
        case b.Paragraph():
            kind = "note" if block.small else "notice" if block.tone in ("warn", "bad") else None
            return tag("p", tag("strong", block.text) if block.strong else block.text, class_=kind)
        case b.Parts():
            return _panel(charts.stack(block), tag("ul", *_legend(block), class_="legend"))
        case b.KeyFigures():
            return _panel(tag("div", *_cards(block), class_="cards"))
        case b.Scores():
            return tag("div", *(_score(item, charts.histogram(item)) for item in block.scores), class_="grid")
        case b.Categories():
            return _categories(block, links)
        case b.Reliability():
            table = tag("div", _grid(reliability_table(block), links, "nested"), class_="wide")
            title = tag("h3", block.title) if block.title else None
            return _panel(title, tag("div", charts.reliability(block), table, class_="beside"))
        case b.DataTable():
            return _table(block, links)
        case b.MarkedText():
            text = tag("p", *_marked(block), class_="marked text", id=_anchor(block.key))
            return _titled(block.title, join(text, _marks(block)))
        case b.BulletList():
            items = (tag("li", item, class_="text") for item in block.items)
            return _titled(block.title, tag("ul", *items, class_="plain-list"))
        case b.Fields():
            if any(field.by or field.notes for field in block.fields):
                return join(tag("h3", block.title) if block.title else None, *_rulings(block.fields))
            return _titled(block.title, tag("dl", *_fields(block.fields), class_="small"))
        case b.Verbatim():
            return _titled(block.title, tag("pre", block.text, class_="code text"))


def _section(block: b.Section, links: Links) -> Markup:
    key = block.key or None
    if block.folded:
        return fold(block.title, to_html(block.blocks, links), key=key)
    return tag("section", tag("h2", block.title, id=key), to_html(block.blocks, links), aria_labelledby=key)


def fold(title: str, *children: Markup | None, key: str | None = None) -> Markup:
    """What a reader opens on demand."""
    return tag("details", tag("summary", title), *children, class_="panel fold", id=key)


def _panel(*children: Markup | None) -> Markup:
    return tag("div", *children, class_="panel")


def _titled(title: str, body: Markup) -> Markup:
    return join(tag("h3", title) if title else None, _panel(body))


def _heading(block: b.Heading) -> Markup:
    mark = tag("span", f" {block.mark}", class_=f"badge tone-{block.tone or 'plain'}") if block.mark else None
    note = tag("p", block.note, class_="note") if block.note else None
    return join(tag(f"h{min(block.level + 1, 4)}", block.text, mark), note)


def _legend(block: b.Parts) -> Iterator[Markup]:
    for part in block.parts:
        told = " · ".join(filter(None, (share(part.count, block.total), part.meaning)))
        sign = tag("span", SIGNS[part.tone], class_=f"sign ink-{part.tone}", aria_hidden="true")
        yield tag("li", sign, tag("strong", f"{part.count:,}"), f" {part.name} ", tag("span", told, class_="soft"))


def _cards(block: b.KeyFigures) -> Iterator[Markup]:
    for item in block.figures:
        shown = (("name", item.name), ("value", item.value), ("soft", item.note))
        yield tag("div", *(tag("span", text, class_=kind) for kind, text in shown), class_="card")


def _score(item: b.Score, chart: Markup) -> Markup:
    nulls = f", {item.nulls:,} null" if item.nulls else ""
    interval = (
        "no interval: there is one value only" if item.interval is None else f"95 %: {interval_text(item.interval)}"
    )
    return tag(
        "figure",
        tag("figcaption", _field_name(item.name), tag("span", figure(item.mean), class_="value")),
        chart,
        tag(
            "p",
            tag("span", f"Mean of {counted(item.n)}{nulls}"),
            tag("span", interval),
            class_="soft",
        ),
        class_="panel score",
    )


def _categories(block: b.Categories, links: Links) -> Markup:
    """A field that has one value in every case needs no chart."""
    varied = [item for item in block.categories if sum(map(bool, item.counts.values())) > 1 or item.nulls]
    constant = [item for item in block.categories if item not in varied]
    same = "; ".join(f"{spaced(item.name)} is {next(iter(item.counts))} ({item.n:,})" for item in constant)
    return join(
        tag("div", *(_category(item, links) for item in varied), class_="grid") if varied else None,
        tag("p", f"Always the same: {same}.", class_="note") if constant else None,
    )


def _category(item: b.Category, links: Links) -> Markup:
    """Bars as long as the share of cases; of a closed list also what was never given, in one line."""
    given = [(code, count) for code, count in item.counts.items() if count]
    never = [code for code, count in item.counts.items() if not count]
    rows = [
        tag(
            "li",
            tag("span", _linked(_breakable(code), links.coded if count else None, item.name, code)),
            tag("strong", f"{count:,}"),
            tag("span", share(count, item.n), class_="soft share"),
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


def _linked(shown: Markup, to: Callable[[str, str], str] | None, name: str, value: str) -> Markup:
    return shown if to is None else tag("a", shown, href=to(name, value))


def _field_name(name: str) -> Markup:
    return tag("span", spaced(name), class_="field", title=name)


def _breakable(code: str) -> Markup:
    """A code that may break after its underscores, and nowhere else."""
    parts = code.split("_")
    words = [f"{part}_" for part in parts[:-1]] + parts[-1:]
    return join(words[0], *(item for word in words[1:] for item in (tag("wbr"), word)))


def _table(block: b.DataTable, links: Links) -> Markup:
    """It scrolls sideways where it is wider than the page."""
    label = f"{block.title or f'Table by {spaced(block.columns[0])}'}, scrolls sideways"
    box = tag("div", _grid(block, links), class_="panel scroll", tabindex="0", role="region", aria_label=label)
    return join(tag("h3", block.title) if block.title else None, box)


def _grid(block: b.DataTable, links: Links, kind: str | None = None) -> Markup:
    figures = set(block.figures)
    heads = [
        tag("th", spaced(name), scope="col", class_="figure" if place in figures else None)
        for place, name in enumerate(block.columns)
    ]
    tones = [*block.tones, *[None] * len(block.rows)]
    rows = [
        tag("tr", *_cells(row, figures, links), class_=f"row-{tone}" if tone else None)
        for row, tone in zip(block.rows, tones, strict=False)
    ]
    return tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_=kind)


def _cells(row: Sequence[b.Value], figures: set[int], links: Links) -> Iterator[Markup]:
    for place, value in enumerate(row):
        kind = "figure" if place in figures else "text"
        if place == 0 and kind == "text":
            yield tag("th", _cell(value, links), scope="row")
        else:
            yield tag("td", _cell(value, links), class_=kind)


def _cell(value: b.Value, links: Links) -> Markup:
    text = value_text(value)
    if not isinstance(value, b.Cell):
        return join(text)
    shown = join(text)
    if value.code:
        shown = tag("code", shown)
    if value.case is not None:
        shown = tag("a", shown, href=links.case(value.case))
    if value.slice_of is not None:
        shown = _linked(shown, links.sliced, value.slice_of, value.text)
    if value.tone in ("good", "warn", "bad"):
        shown = tag("span", shown, class_=f"ink-{value.tone}")
    if value.strong:
        shown = tag("strong", shown)
    return join(shown, tag("br"), tag("span", value.below, class_="soft")) if value.below else shown


def _marked(block: b.MarkedText) -> Iterator[Markup]:
    """A stretch that points at another is a link to it: the address names it, and the style sheet shows which it is."""
    for segment in block.segments:
        if not (segment.mark or segment.target or segment.key):
            yield join(segment.text)
            continue
        told = ": ".join(filter(None, (spaced(segment.mark or ""), segment.title)))
        shown = tag("a", segment.text, href=f"#{_anchor(segment.target)}") if segment.target else join(segment.text)
        spoken = tag("span", f" ({told})", class_="hidden") if told else None
        kind = f"tone-{block.tones.get(segment.mark, 'info')}" if segment.mark else None
        name = "mark" if segment.mark else "span"
        yield tag(name, shown, spoken, class_=kind, title=told or None, id=_anchor(segment.key))


def _marks(block: b.MarkedText) -> Markup | None:
    """The labels that occur, each in its colour."""
    marks = dict.fromkeys(segment.mark for segment in block.segments if segment.mark)
    legend = [tag("span", spaced(mark), class_=f"tone tone-{block.tones.get(mark, 'info')}") for mark in marks]
    return tag("div", *legend, class_="marks", aria_hidden="true") if legend else None


def _anchor(key: str | None) -> str | None:
    """The name of a place on the page. Keys hold ids of steps, which are anybody's."""
    return None if key is None else f"at-{quote(key, safe='')}"


def _fields(fields: Sequence[b.Field]) -> Iterator[Markup]:
    for name, found in groupby(fields, key=lambda field: field.name):
        yield tag("dt", spaced(name))
        for field in found:
            lines = [*field.first, *field.notes, *([field.by] if field.by else [])]
            shown = tag("span", field.value, class_=f"text ink-{field.tone}" if field.tone else "text")
            yield tag("dd", shown, *(tag("p", line, class_="note text") for line in lines))


def _rulings(fields: Sequence[b.Field]) -> Iterator[Markup]:
    """A panel for each value with what it rests on and who gave it; those that say nothing come last, together.

    A field that only explains another (`score_explanation` beside `score`) is shown with it.
    """
    explained = {field.name: of for field in fields if (of := _explained_by(field, fields)) is not None}
    bare = [field for field in fields if field.value == "null" and not (field.notes or field.first)]
    for field in fields:
        if field.name not in explained and field not in bare:
            told = [other for other in fields if explained.get(other.name) == field.name and other not in bare]
            yield _ruling(field, told)
    if spoken := [field for field in bare if field.name not in explained]:
        yield _panel(tag("dl", *_fields([replace(field, by="") for field in spoken]), class_="small"))


def _explained_by(field: b.Field, fields: Sequence[b.Field]) -> str | None:
    if field.notes or field.first:
        return None
    return next((other.name for other in fields if field.name.startswith(f"{other.name}_")), None)


def _ruling(field: b.Field, told: Sequence[b.Field]) -> Markup:
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
        *(tag("p", other.value, class_="why text") for other in told),
        tag("ul", *evidence, class_="evidence") if evidence else None,
        tag("p", field.by, class_="decider text") if field.by else None,
        class_="panel ruling",
    )
