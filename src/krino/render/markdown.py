"""Writes blocks as GitHub Markdown, short enough for a pull request.

All text goes through `escape`, so that it cannot contain links, images, mentions, table cells or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from krino import blocks as b
from krino.render.text_form import SIGNS, cell_text, expand_for_text, hidden_rows_note, key_figure_lines
from krino.results.formatting import format_share
from krino.text.clean import clean, clean_line

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~@&])")
_SELF_LINKING = re.compile(r"(://|\bwww(?=\.)|@)", re.IGNORECASE)
_BREAK = "\u200b"  # invisible; GitHub makes no link or mention across it
_LONGEST_CELL = 240
_LONGEST = 1_000
_LONGEST_VERBATIM = 4_000


def to_markdown(blocks: Iterable[b.Block]) -> str:
    """Writes blocks as Markdown."""
    lines: list[str] = []
    for block in expand_for_text(blocks):
        drawn = list(_draw(block))
        lines += [*drawn, ""] if drawn and drawn[-1] else drawn
    return "\n".join(lines).rstrip("\n") + "\n"


def escape(text: str, most: int = _LONGEST_CELL) -> str:
    """Returns the text on one line, escaped and shortened."""
    return _SELF_LINKING.sub(rf"\1{_BREAK}", _SPECIAL.sub(r"\\\1", clean_line(text, most)))


def _draw(block: b.Block) -> Iterator[str]:
    """Yields the lines of one block."""
    match block:
        case b.Heading():
            mark = f": {escape(block.mark)}" if block.mark else ""
            yield f"{'#' * (block.level + 1)} {escape(block.text)}{mark}"
            if block.note:
                yield from ("", escape(block.note, _LONGEST))
        case b.Paragraph():
            yield _write_paragraph(block)
        case b.Parts():
            heads = (escape(block.what), f"{block.total:,}", "share")
            rows = (
                (escape(part.name), f"{part.count:,}", format_share(part.count, block.total)) for part in block.parts
            )
            yield from _write_table(heads, rows)
        case b.KeyFigures():
            yield from (f"- {escape(name)}: {escape(text, _LONGEST)}" for name, text in key_figure_lines(block))
        case b.DataTable():
            yield from _write_data_table(block)
        case b.MarkedText():
            yield from _titled(block.title, "".join(_write_marked(block)))
        case b.BulletList():
            yield from _titled(block.title, *(f"- {escape(item, _LONGEST)}" for item in block.items))
        case b.Fields():
            yield from _titled(block.title, *_write_fields(block))
        case b.Verbatim():
            lines = clean(block.text[: 2 * _LONGEST_VERBATIM])[:_LONGEST_VERBATIM].splitlines()
            yield from _titled(block.title, *(f"    {line}" for line in lines))


def _titled(title: str, *lines: str) -> Iterator[str]:
    if title:
        yield from (f"**{escape(title)}**", "")
    yield from lines


def _write_paragraph(block: b.Paragraph) -> str:
    """Writes a paragraph, with a sign for its tone."""
    text = escape(block.text, _LONGEST)
    if block.small:
        return f"<sub>{text}</sub>"
    sign = "⚠ " if block.tone == "warn" else f"{SIGNS[block.tone]} " if block.tone in ("good", "bad") else ""
    return f"**{sign}{text}**" if block.strong else f"{sign}{text}"


def _write_marked(block: b.MarkedText) -> Iterator[str]:
    """Yields the segments of a text with their marks."""
    for segment in block.segments:
        text = escape(segment.text, _LONGEST)
        lead, tail = segment.text[:1].isspace(), segment.text[-1:].isspace()  # blanks that `escape` removes
        mark = f" **\\[{escape(segment.mark)}\\]**" if segment.mark else ""
        yield f"{' ' if lead else ''}{text}{mark}{'  ' if segment.text.endswith(chr(10)) else ' ' if tail else ''}"


def _write_fields(block: b.Fields) -> Iterator[str]:
    """Yields fields as a list, notes below each."""
    for field in block.fields:
        by = f", {escape(field.by)}" if field.by else ""
        yield f"- {escape(field.name)}: **{escape(field.value, _LONGEST)}**{by}"
        yield from (f"  - {escape(note, _LONGEST)}" for note in (*field.first, *field.notes))


def _write_data_table(block: b.DataTable) -> Iterator[str]:
    """Yields a table with at most as many rows as the block allows."""
    if not block.rows:
        return
    rows = (tuple(map(_write_cell, row)) for row in block.rows[: block.most or None])
    yield from _titled(block.title, *_write_table(tuple(map(escape, block.columns)), rows))
    if note := hidden_rows_note(block):
        yield from ("", f"{note}.")


def _write_table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yields the lines of a Markdown table."""
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _write_cell(value: b.Value) -> str:
    """Writes the content of a cell."""
    text = cell_text(value)
    if not isinstance(value, b.Cell):
        return escape(text)
    if value.code:  # nothing can be escaped in a code span, so its delimiters are replaced
        return f"`{clean_line(text, _LONGEST_CELL).replace('`', chr(39)).replace('|', '¦')}`"
    shown = f"**{escape(text)}**" if value.strong else escape(text)
    return f"{shown} ({escape(value.below)})" if value.below else shown
