"""What all pages share: blocks and verdicts as parts of a page, the addresses of runs and cases, and what they ask."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from markupsafe import Markup
from starlette.requests import Request

from krino.blocks import Block, Section, Verbatim
from krino.contract import Judgement
from krino.render import markup as render
from krino.render.case import case_blocks
from krino.render.html import Links, to_html
from krino.results.field_kinds import as_codes, as_number
from krino.results.formatting import format_number
from krino.results.verdict_schema import Scales, Schema, declared_scales, grade_value, is_text_explanation
from krino.runs.fields import own_fields
from krino.runs.manifest import JudgeCard, Manifest
from krino.text.clean import clean_line
from krino.web.index.pages import Row
from krino.web.index.question import Question

_PLAIN = re.compile(r"(?!\.{1,2}$)[^/\\\x00-\x1f]{1,200}")
_LONGEST_ID = 2_000
_LONGEST_VALUE = 80
_KEPT = re.compile(r"^(stdin(?:-\d+)?|records):[0-9a-f]+.*$")
_ANY = Question()


def drawn(blocks: Iterable[Block], run: str) -> Markup:
    """Every text in them is escaped by the renderer; cases, codes and slices lead to cases of the run."""
    links = Links(
        lambda case: case_address(run, case),
        lambda field, code: f"{run_address(run, Question(((f'is.{field}', code),)))}#cases",
        lambda column, value: f"{run_address(run, Question(((f'in.{column}', value),)))}#cases",
    )
    return safe(to_html(blocks, links))


def safe(markup: render.Markup) -> Markup:
    """Markup of our renderer, for a template."""
    return Markup(markup)  # noqa: S704 - escaped where it was drawn


# --- verdicts --------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """A value of a verdict: short, and coloured by where it stands on its scale."""

    name: str
    text: str
    kind: str
    """What the style sheet knows it as."""
    grade: str


def told_of(judgement: Mapping[str, Any], card: JudgeCard, own: Sequence[Block], run: str) -> dict[str, Any]:
    """What a template is given of a case. `own`: how its judge shows it."""
    cells = list(at_a_glance(judgement, card.fields_schema))
    return {"judgement": judgement, "cells": cells, "body": case_body(judgement, card, own, run, labels=True)}


def case_body(
    judgement: Mapping[str, Any], card: JudgeCard, own: Sequence[Block], run: str, *, labels: bool = False
) -> Markup:
    """All that is said of a case, without its heading; `labels`: those too, which open on demand."""
    scales = declared_scales(card.fields_schema)
    shown = case_blocks(Judgement.model_validate(judgement), card.rules, scales, own, labels=labels)
    next(shown)
    return drawn(map(_on_demand, shown), run)


def _on_demand(block: Block) -> Block:
    if isinstance(block, Verbatim) and block.title.startswith("Labels"):
        return Section(block.title, [Verbatim("", block.text)], folded=True)
    return block


def at_a_glance(judgement: Mapping[str, Any], schema: Schema) -> Iterator[Cell]:
    """The numbers and codes of a verdict, and the figures beside it: what a reader wants to know before all else."""
    verdict, scales = own_fields(judgement) if judgement["status"] == "ok" else {}, declared_scales(schema)
    for name, value in verdict.items():
        if as_number(value) is not None or (as_codes(value) is not None and not is_text_explanation(schema, name)):
            yield cell_of(name, verdict, scales)


def cell_of(name: str, verdict: Mapping[str, Any], scales: Scales, *, ok: bool = True, number: bool = False) -> Cell:
    """`number`: the column is one of numbers, whatever this value is."""
    value, kind, shown = verdict.get(name), "figure" if number else "word", name.replace("_", " ")
    if value is None:
        return Cell(shown, "null" if ok else "–", f"{kind} none", "")
    found = as_number(value)
    if found is not None:
        text = str(value) if isinstance(value, int) else format_number(found)
        return Cell(shown, text, kind, grade_value(scales, name, found) or "")
    codes = as_codes(value)
    return Cell(shown, clean_line(", ".join(codes) if codes else str(value), _LONGEST_VALUE), kind, "")


# --- addresses -------------------------------------------------------------------------------------


def question_of(request: Request, *besides: str) -> Question:
    """`besides`: names that mean something else on this page. A form sends what was left empty, too."""
    return Question.read((pair for pair in request.query_params.multi_items() if pair[1]), besides)


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
