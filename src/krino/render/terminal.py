"""Draws blocks on a terminal of 80 columns or more.

All text goes through `clean` and into `Text`, which parses no markup: control sequences and markup in a case are shown
as plain text.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from krino import blocks as b
from krino.render.text_form import SIGNS, cell_text, expand_for_text, hidden_rows_note, key_figure_lines
from krino.results.formatting import format_share
from krino.text.clean import clean, clean_line

_STYLES: dict[b.Tone | None, str] = {
    "good": "green",
    "warn": "yellow",
    "bad": "bold red",
    "info": "cyan",
    "plain": "dim",
    None: "",
}
_LEVELS = " ▁▂▃▄▅▆▇█"
_SPARK_BINS = 10
_LONGEST_TEXT = 4_000
_LONGEST_CELL = 400
_GAP = 3  # between two columns of a table
_LEAST_TEXT = 15  # minimum width of a text column beside number columns


class _Screen(Console):
    def on_broken_pipe(self) -> NoReturn:
        """Raises `BrokenPipeError`. Rich would exit with code 1, which means that a gate failed."""
        raise BrokenPipeError


def screen(**settings: Any) -> Console:
    """Returns a console without markup, emoji codes and highlighting."""
    return _Screen(markup=False, emoji=False, highlight=False, **settings)


def show(console: Console, blocks: Iterable[b.Block]) -> None:
    console.print(Group(*_add_blank_lines(blocks, console.width)), highlight=False)


def to_text(blocks: Iterable[b.Block], width: int = 100) -> str:
    """Returns blocks as plain text, for `print`."""
    sink = io.StringIO()
    show(screen(file=sink, width=width, color_system=None), blocks)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines())


def can_be_shown(blocks: Sequence[b.Block]) -> bool:
    """Can the blocks be shown? Those of an edited run folder may be invalid."""
    try:
        to_text(blocks)
    except Exception:
        return False
    return True


def _add_blank_lines(blocks: Iterable[b.Block], width: int) -> Iterator[RenderableType]:
    """Yields what is drawn for the blocks, with blank lines between those that do not belong together."""
    before: b.Block | None = None
    for block in expand_for_text(blocks, sparkline):
        drawn = list(_draw(block, width))
        if drawn and before is not None and not _follows_closely(block, before):
            yield Text()
        yield from drawn
        before = block if drawn else before


def _follows_closely(block: b.Block, before: b.Block) -> bool:
    """Does a block belong to the one before it, so that no blank line comes between?"""
    if isinstance(block, b.Paragraph) and block.small:
        return True
    if isinstance(before, b.Heading) and before.level > 1:
        return not isinstance(block, b.Heading)
    return isinstance(before, b.Heading | b.Paragraph | b.Parts) and isinstance(block, b.Paragraph | b.Parts)


def _draw(block: b.Block, width: int) -> Iterator[RenderableType]:
    """Yields what is drawn for one block."""
    match block:
        case b.Heading():
            yield _draw_heading(block, width)
        case b.Paragraph():
            style = "dim" if block.small and block.tone is None else _STYLES[block.tone]
            sign = "! " if block.tone == "warn" else ""
            text = Text(sign + clean_line(block.text), style=f"bold {style}".strip() if block.strong else style)
            yield Padding(text, (0, 0, 0, 2), expand=False) if block.small else text
        case b.Parts():
            yield _draw_parts(block)
        case b.KeyFigures():
            yield _make_name_value_table(key_figure_lines(block))
        case b.DataTable():
            yield from _draw_table(block, width)
        case b.MarkedText():
            yield from _with_title(block.title, _indent(_draw_marked_text(block)))
        case b.BulletList():
            items = (Padding(Text.assemble(("· ", "dim"), _draw_text(item)), (0, 0, 0, 2)) for item in block.items)
            yield from _with_title(block.title, *items)
        case b.Fields():
            yield from _with_title(block.title, *(line for field in block.fields for line in _draw_field(field)))
        case b.Verbatim():
            yield from _with_title(block.title, _indent(_draw_text(block.text)))


def _with_title(title: str, *lines: RenderableType) -> Iterator[RenderableType]:
    if title:
        yield Text(clean_line(title, 200), style="bold")
    yield from lines


def _draw_heading(block: b.Heading, width: int) -> Text:
    """Draws a heading, with its note on the same line if it fits."""
    line = Text.assemble((clean_line(block.text, 200), "bold" if block.level < 3 else "bold cyan"))
    if block.mark:
        line.append("  ").append(clean_line(block.mark, 80), style=_STYLES[block.tone] or "bold")
    if note := clean_line(block.note):
        line.append("  " if line.cell_len + cell_len(note) + 2 <= width else "\n").append(note, style="dim")
    return line


def _draw_parts(block: b.Parts) -> Text:
    """Returns the parts of a whole in one line."""
    line = Text.assemble((f"{block.total:,}", "bold"), f" {clean_line(block.what)}: ")
    shown = [
        Text(
            f"{SIGNS[part.tone]} {part.count:,} {clean_line(part.name)} ({format_share(part.count, block.total)})",
            style=_STYLES[part.tone] if part.count else "dim",
        )
        for part in block.parts
    ]
    return line.append_text(Text("   ").join(shown))


def _make_name_value_table(rows: Iterable[tuple[str, str]]) -> Table:
    """Returns a table of names and values."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(Text(clean_line(name, 40)), Text(clean_line(text)))
    return table


def sparkline(score: b.Score) -> b.Cell:
    """Draws the distribution of a score in at most ten characters; every non-empty bin is visible."""
    counts = list(score.counts)
    if len(counts) > _SPARK_BINS:
        counts = [sum(counts[place : place + 2]) for place in range(0, len(counts), 2)]
    most = max(counts, default=0) or 1
    top = len(_LEVELS) - 1
    signs = (_LEVELS[max(1, round(count / most * top))] if count else _LEVELS[0] for count in counts)
    return b.Cell("".join(signs), tone="info")


def _draw_marked_text(block: b.MarkedText) -> Text:
    """Returns a text with its marks. Each label follows its segment in brackets, because not every reader sees
    colours."""
    shown = Text()
    for segment in block.segments:
        tone = block.tones.get(segment.mark, "info") if segment.mark else None
        shown.append_text(_draw_text(segment.text, _STYLES[tone]))
        if segment.mark:
            shown.append(f" [{clean_line(segment.mark, 60)}]", style="dim")
        if len(shown) > 2 * _LONGEST_TEXT:
            return shown.append("…")
    shown.rstrip()
    return shown


def _draw_field(field: b.Field) -> Iterator[RenderableType]:
    """Yields the lines of one field."""
    for said in field.first:
        yield Padding(Text(f"! {clean_line(said)}", style="yellow"), (0, 0, 0, 2))
    style = _STYLES[field.tone] or ("bold" if field.strong else "")
    yield _indent(Text.assemble((clean_line(field.name, 80), "cyan"), "  ", _draw_text(field.value, style)))
    if field.by:
        yield Padding(Text(clean_line(field.by), style="dim"), (0, 0, 0, 4))
    for note in field.notes:
        yield Padding(Text.assemble(("· ", "dim"), _draw_text(note)), (0, 0, 0, 4))


def _indent(text: Text) -> Padding:
    return Padding(text, (0, 0, 0, 2))


def _draw_text(text: str, style: str = "") -> Text:
    """Returns a cleaned text, cut to the longest that is shown."""
    shown = clean(text[: 2 * _LONGEST_TEXT])
    if len(text) > _LONGEST_TEXT:
        shown = f"{shown[:_LONGEST_TEXT]}… ({len(text):,} characters)"
    return Text(shown, style=style)


# --- tables ----------------------------------------------------------------------------------------


def _draw_table(block: b.DataTable, width: int) -> Iterator[RenderableType]:
    """Yields one table. If the number columns leave no room for text columns, the last ones move to further tables."""
    if block.title:
        yield Text(clean_line(block.title, 240), style="bold")
    heads = [Text(clean_line(name, 40)) for name in block.columns]
    if not heads:
        return
    tones = [*block.tones, *[None] * len(block.rows)]
    empty = [""] * len(heads)  # a judge of the user may give short rows
    rows = [
        [_draw_cell(value, tone) for value in [*row, *empty][: len(heads)]]
        for row, tone in zip(block.rows[: block.most or None], tones, strict=False)
    ]
    wide = [_measure_width(column) for column in zip(heads, *rows, strict=True)]
    for number, places in enumerate(_split_columns(block, wide, width)):
        if number:
            yield Text()
        table = _make_plain_table([heads[place] for place in places], [place in block.figures for place in places])
        table.columns[0].no_wrap = 0 in block.figures or wide[0] <= width // 3  # names should not wrap
        for row in rows:
            table.add_row(*(row[place] for place in places))
        yield table
    if note := hidden_rows_note(block):
        yield Padding(Text(note, style="dim"), (0, 0, 0, 2))


def _split_columns(block: b.DataTable, wide: Sequence[int], width: int) -> Iterator[list[int]]:
    """Yields the columns of each part: names in all, text columns in the first, number columns where they fit."""
    names = list(range(min(block.names, len(wide))))
    words = [place for place in range(len(names), len(wide)) if place not in block.figures]
    first = names[:1]
    fixed = sum(min(wide[place], width // 3) for place in first) + sum(wide[place] for place in names[1:])
    places, taken = [*names, *words], fixed + sum(min(wide[place], _LEAST_TEXT) for place in words)
    taken += _GAP * (len(places) - 1)
    for place in (place for place in block.figures if len(names) <= place < len(wide)):
        if taken + _GAP + wide[place] > width and any(at in block.figures for at in places if at not in names):
            yield sorted(places)
            places, taken = list(names), fixed + _GAP * (len(names) - 1)
        places.append(place)
        taken += _GAP + wide[place]
    yield sorted(places)


def _make_plain_table(heads: Sequence[Text], figures: Sequence[bool]) -> Table:
    """Returns an empty table in which text columns wrap and number columns do not."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), title_justify="left")
    for head, right in zip(heads, figures, strict=True):
        justify = "right" if right else "left"
        table.add_column(head, justify=justify, no_wrap=right, overflow="fold", header_style="bold")  # type: ignore[arg-type]
    return table


def _draw_cell(value: b.Value, tone: b.Tone | None) -> Text:
    """Returns the text of a cell in its style."""
    if not isinstance(value, b.Cell):
        return Text(_clean_cell(cell_text(value)), style=_STYLES[tone])
    style = _STYLES[value.tone or tone] or ("bold" if value.strong else "")
    shown = Text(_clean_cell(value.text), style=style)
    return Text.assemble(shown, (f"\n{_clean_cell(value.below)}", "dim")) if value.below else shown


def _clean_cell(text: str) -> str:
    """Returns the text on one line. A short line is not changed, since a sparkline contains blanks."""
    return text if len(text) <= _LONGEST_CELL and text.isprintable() else clean_line(text, _LONGEST_CELL)


def _measure_width(cells: Iterable[Text]) -> int:
    return max((cell_len(line) for cell in cells for line in cell.plain.split("\n")), default=0)
