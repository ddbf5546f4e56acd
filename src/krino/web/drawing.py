"""Blocks as parts of a page, and the addresses of runs and cases that all pages share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath
from urllib.parse import quote, urlencode

from markupsafe import Markup

from krino.blocks import Block
from krino.render import markup as render
from krino.render.html import Links, to_html
from krino.runs.manifest import Manifest
from krino.text.clean import clean_line
from krino.web.index.pages import Row
from krino.web.index.question import Question

_PLAIN = re.compile(r"(?!\.{1,2}$)[^/\\\x00-\x1f]{1,200}")
_LONGEST_ID = 2_000
_KEPT = re.compile(r"^(stdin(?:-\d+)?|records):[0-9a-f]+.*$")
_ANY = Question()


def drawn(blocks: Iterable[Block], run: str) -> Markup:
    """Every text in them is escaped by the renderer; cases, codes and slices lead to cases of the run."""
    links = Links(
        lambda case: case_address(run, case),
        lambda field, code: f"{run_address(run, Question(codes=((field, code),)))}#cases",
        lambda column, value: f"{run_address(run, Question(metadata=((column, value),)))}#cases",
    )
    return safe(to_html(blocks, links))


def safe(markup: render.Markup) -> Markup:
    """Markup of our renderer, for a template."""
    return Markup(markup)  # noqa: S704 - escaped where it was drawn


def run_address(run: str, question: Question = _ANY, **more: object) -> str:
    return f"/runs/{quote(run, safe='')}{question.address(**more)}"


def row_address(run: str, row: Row, question: Question = _ANY) -> str:
    """Of a case in a list; the question goes along, so that what comes before and after it is known."""
    by_place = row.again or not 0 < len(row.entry.id) <= _LONGEST_ID
    return case_address(run, row.entry.id, row.place if by_place else None, question)


def case_address(run: str, case: str, place: int | None = None, question: Question = _ANY) -> str:
    """By its id; `place` where several cases have it, or no address can hold it. An id that no path can hold stands in
    the query."""
    plain = _PLAIN.fullmatch(case) is not None
    own = [] if plain or not 0 < len(case) <= _LONGEST_ID else [("id", case)]
    own += [] if place is None else [("n", str(place))]
    query = urlencode([*own, *question.pairs()])
    return f"/runs/{quote(run, safe='')}/cases/{quote(case, safe='') if plain else '-'}{'?' if query else ''}{query}"


def inputs_in_words(manifest: Manifest) -> str:
    """The files that a run was made of, by name: where they lie is nobody's business, nor is a hash of use."""
    names = (_KEPT.sub(r"\1", PurePath(name).name or name) for name in manifest.plan.inputs)
    return clean_line(", ".join(names), 160)
