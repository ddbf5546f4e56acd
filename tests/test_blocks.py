"""Blocks are plain data, and each of the three renderers shows every kind of them without letting its text act."""

from __future__ import annotations

import io
import json
import re
from typing import Any, get_args

import pytest
from rich.console import Console

from krino.blocks import (
    Block,
    BulletList,
    Categories,
    Category,
    Cell,
    DataTable,
    Field,
    Fields,
    Heading,
    KeyFigure,
    KeyFigures,
    MarkedText,
    Paragraph,
    Part,
    Parts,
    Reliability,
    ReliabilityBin,
    Score,
    Scores,
    Section,
    Segment,
    Verbatim,
    as_data,
    from_data,
)
from krino.render.html import to_html, to_notebook_html
from krino.render.markdown import to_markdown
from krino.render.terminal import show
from made_judgements import HOSTILE
from report_page import Page

NASTY = f"{HOSTILE} a|b [x](https://evil.example) @team <b>bold</b>"


def every_kind(text: str) -> list[Block]:
    """One block of each kind, the text wherever a text may stand."""
    score = Score(text, 3, 1, 0.5, (0.1, 0.9), 0.0, 1.0, 0.0, 0.5, (1, 2), whole=False, tone="good")
    cell = Cell(text, "bad", strong=True, below=text, case=text)
    return [
        Heading(text, mark=text, tone="bad", note=text),
        Paragraph(text, tone="warn", strong=True),
        Paragraph(text, small=True),
        Parts(text, [Part(text, 2, "good", text), Part(text, 0, "bad")]),
        KeyFigures([KeyFigure(text, text, text)]),
        Scores([score]),
        Categories([Category(text, 3, 1, {text: 2, f"{text}_2": 1, f"{text}_3": 0})]),
        Reliability(text, [ReliabilityBin(0.0, 0.1, 3, 0.05, 0.5)]),
        MarkedText(text, [Segment(text, text, text, text, text), Segment(f" {text}\n")], {text: "bad"}),
        BulletList(text, [text]),
        DataTable(text, (text, text, "n"), [(text, cell, 3), (None, True, 0.5)], tones=["warn", None], figures=(2,)),
        Fields(text, [Field(text, text, "warn", text, [text], [text])]),
        Verbatim(text, text),
        Section(text, [Paragraph(text)]),
        Section(text, [Paragraph(text)], folded=True),
    ]


def test_every_kind_of_block_is_tried() -> None:
    assert {type(block) for block in every_kind("x")} == set(get_args(Block))


def test_blocks_survive_the_way_through_json() -> None:
    data = json.loads(json.dumps(as_data(every_kind(NASTY))))
    assert as_data(from_data(data)) == data and len(data) == len(every_kind(NASTY))


def test_what_has_its_default_takes_no_room() -> None:
    assert as_data([Paragraph("x")]) == [{"text": "x", "kind": "paragraph"}]
    (score,) = as_data([Scores([Score("s", 0, 0, 0.0, None, 0, 0, 0, 1, (), whole=False)])])[0]["scores"]
    assert score["n"] == 0 and score["mean"] == 0.0 and score["whole"] is False


@pytest.mark.parametrize("data", [None, 3, "x", [None], [{"kind": "nonsense"}], [{"kind": "table"}], {"kind": "list"}])
def test_what_is_no_block_is_left_out(data: Any) -> None:
    assert from_data(data) == []


@pytest.mark.parametrize("place", range(len(every_kind("x"))), ids=lambda place: every_kind("x")[place].kind)
def test_no_text_of_any_block_acts_on_any_reader(place: int) -> None:
    block = every_kind(NASTY)[place]
    out = io.StringIO()
    show(Console(file=out, width=300), [block])
    assert "\x1b" not in out.getvalue() and "\x07" not in out.getvalue()
    page = Page(str(to_html([block])))
    assert not {"script", "img", "b"} & {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes)
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in page.tags)
    markdown = to_markdown([block])
    if not isinstance(block, Verbatim):  # four blanks before each line: it is shown as it stands
        assert not re.search(r"(?<!\\)<(?!/?sub>)", markdown)
        assert "https://evil" not in markdown and "@team" not in markdown
    assert "\x1b" not in markdown


@pytest.mark.parametrize("place", range(len(every_kind("x"))), ids=lambda place: every_kind("x")[place].kind)
def test_every_reader_is_shown_the_text(place: int) -> None:
    block = every_kind("Ghent")[place]
    out = io.StringIO()
    show(Console(file=out, width=100), [block])
    folded = isinstance(block, Section) and block.folded
    assert ("Ghent" in out.getvalue()) is not folded, "the short forms leave out what a page folds away"
    assert ("Ghent" in to_markdown([block])) is not folded
    assert "Ghent" in Page(str(to_html([block]))).visible


def test_a_table_in_markdown_keeps_its_cells_whatever_stands_in_them() -> None:
    (line,) = (line for line in to_markdown([DataTable("", ("a", "b"), [(NASTY, "x")])]).splitlines() if "x |" in line)
    assert line.replace("\\|", "").count("|") == 3


def test_rows_beyond_the_first_are_told_by_their_number() -> None:
    table = DataTable("", ("a",), [(str(n),) for n in range(12)], most=10)
    out = io.StringIO()
    show(Console(file=out, width=80), [table])
    for text in (out.getvalue(), to_markdown([table])):
        assert "… and 2 more" in text and "11" not in text
    assert "11" in to_html([table])


def test_a_notebook_gets_the_blocks_with_their_styles() -> None:
    text = to_notebook_html(every_kind(NASTY))
    page = Page(text)
    ((_, style),) = page.blocks
    assert ".krino" in style and "@import" not in style and "url(" not in style
    assert all(line.startswith((".krino", "/*")) for line in style.splitlines() if line), "nothing outside is touched"
    assert not {"script", "img"} & {tag for tag, _ in page.tags}


def test_a_table_with_rows_of_any_length_is_shown_all_the_same() -> None:
    """It may come from a judge of the user's own, or from a report of anyone's making."""
    table = DataTable("", ("a", "b"), [("one",), ("two", "three", "four"), ()], figures=(1, 7), tones=["warn"] * 9)
    out = io.StringIO()
    show(Console(file=out, width=80), [table, DataTable("", (), [("x",)])])
    assert "one" in out.getvalue() and "three" in out.getvalue()
    assert "one" in to_markdown([table]) and "one" in to_html([table])
