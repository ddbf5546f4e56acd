"""What all pages share: templates, blocks and verdicts as HTML, and the URLs of runs and cases."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import PurePath
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from krino import __version__
from krino.blocks import Block, Section, Verbatim
from krino.contract import Judgement
from krino.render import markup
from krino.render.case import case_blocks
from krino.render.html import Links, to_html
from krino.results.field_kinds import as_codes, as_number, own_fields
from krino.results.formatting import format_number
from krino.results.verdict_schema import Scales, Schema, declared_scales, grade_value, is_text_explanation
from krino.runs.manifest import JudgeCard, Manifest
from krino.text.clean import clean, clean_line
from krino.web.index.case_filter import CaseFilter
from krino.web.index.cases import CaseRow

_PLAIN = re.compile(r"(?!\.{1,2}$)[^/\\\x00-\x1f]{1,200}")
_LONGEST_ID = 2_000
_LONGEST_VALUE = 80
_KEPT = re.compile(r"^(stdin(?:-\d+)?|records):[0-9a-f]+.*$")
_ANY = CaseFilter()


# --- templates -------------------------------------------------------------------------------------


def _clean_text(value: Any) -> Any:
    """Removes control characters from a text, including those that reverse the direction of a line; other values
    stay."""
    return clean(value) if type(value) is str else value


@cache
def template_environment() -> Environment:
    """Returns the environment of all page templates."""
    made = Environment(
        loader=PackageLoader("krino.web", "templates"),
        autoescape=True,  # in every template, whatever its name ends with
        undefined=StrictUndefined,
        finalize=_clean_text,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["run_address"] = run_address
    return made


def render_page(
    request: Request, name: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """Renders a template as a response.

    Templates know `request`, `csrf_token` (every form that posts needs it as the hidden field `csrf`), `signed_in` and
    `version`.
    """
    text = (
        template_environment()
        .get_template(name)
        .render(
            request=request,
            csrf_token=getattr(request.state, "csrf_token", ""),  # refused requests have none
            signed_in=getattr(request.state, "signed_in", False),
            version=__version__,
            **context,
        )
    )
    return HTMLResponse(text, status, headers=dict(headers or {}))


# --- blocks ----------------------------------------------------------------------------------------


def render_blocks(blocks: Iterable[Block], run: str) -> Markup:
    """Renders blocks as HTML, escaped by the renderer. Cases, codes and slices link to cases of the run."""
    links = Links(
        lambda case: case_address(run, case),
        lambda field, code: f"{run_address(run, CaseFilter(((f'is.{field}', code),)))}#cases",
        lambda column, value: f"{run_address(run, CaseFilter(((f'in.{column}', value),)))}#cases",
    )
    return trust_markup(to_html(blocks, links))


def trust_markup(text: markup.Markup) -> Markup:
    """Marks HTML from our own renderer as safe for templates. Never call it with other text."""
    return Markup(text)  # noqa: S704 - escaped where it was render_blocks


# --- verdicts --------------------------------------------------------------------------------------


class PageCell(NamedTuple):
    """A value of a verdict as short text, with its grade_value on the scale as a colour."""

    name: str
    text: str
    kind: str
    """CSS classes."""
    grade: str


def describe_case(judgement: Mapping[str, Any], card: JudgeCard, own: Sequence[Block], run: str) -> dict[str, Any]:
    """Makes the template variables for a case. `own`: blocks by which its judge shows it."""
    cells = list(list_cells(judgement, card.fields_schema))
    return {"judgement": judgement, "cells": cells, "body": render_case(judgement, card, own, run, labels=True)}


def render_case(
    judgement: Mapping[str, Any], card: JudgeCard, own: Sequence[Block], run: str, *, labels: bool = False
) -> Markup:
    """Renders everything about a case except its heading. `labels`: also the labels, folded."""
    scales = declared_scales(card.fields_schema)
    shown = case_blocks(Judgement.model_validate(judgement), card.rules, scales, own, labels=labels)
    next(shown)
    return render_blocks(map(_fold_labels, shown), run)


def _fold_labels(block: Block) -> Block:
    """Folds the block of the labels; other blocks stay as they are."""
    if isinstance(block, Verbatim) and block.title.startswith("Labels"):
        return Section(block.title, [Verbatim("", block.text)], folded=True)
    return block


def list_cells(judgement: Mapping[str, Any], schema: Schema) -> Iterator[PageCell]:
    """Yields the numbers and codes of a verdict, which readers want first; none unless the status is ok."""
    verdict, scales = own_fields(judgement) if judgement["status"] == "ok" else {}, declared_scales(schema)
    for name, value in verdict.items():
        if as_number(value) is not None or (as_codes(value) is not None and not is_text_explanation(schema, name)):
            yield make_cell(name, verdict, scales)


def make_cell(
    name: str, verdict: Mapping[str, Any], scales: Scales, *, ok: bool = True, number: bool = False
) -> PageCell:
    """Makes a cell of one value; a missing one is shown as `null`, or as a dash if the case is not ok. `number`: the
    column is numeric, whatever this value is."""
    value, kind, shown = verdict.get(name), "figure" if number else "word", name.replace("_", " ")
    if value is None:
        return PageCell(shown, "null" if ok else "–", f"{kind} none", "")
    found = as_number(value)
    if found is not None:
        text = str(value) if isinstance(value, int) else format_number(found)
        return PageCell(shown, text, kind, grade_value(scales, name, found) or "")
    codes = as_codes(value)
    return PageCell(shown, clean_line(", ".join(codes) if codes else str(value), _LONGEST_VALUE), kind, "")


# --- addresses -------------------------------------------------------------------------------------


def read_filter(request: Request, *besides: str) -> CaseFilter:
    """Reads the case filter from a query string. `besides`: parameters with another meaning on this page."""
    return CaseFilter.read((pair for pair in request.query_params.multi_items() if pair[1]), besides)


def run_address(run: str, question: CaseFilter = _ANY, **more: object) -> str:
    """Returns the URL of a run with a filter of its cases; `more` are further parameters."""
    return f"/runs/{quote(run, safe='')}{question.address(**more)}"


def row_address(run: str, row: CaseRow, question: CaseFilter = _ANY) -> str:
    """Returns the URL of a case in a list. It carries the filter, so that the page can link to the neighbours."""
    by_place = row.again or not 0 < len(row.entry.id) <= _LONGEST_ID
    return case_address(run, row.entry.id, row.place if by_place else None, question)


def case_address(run: str, case: str, place: int | None = None, question: CaseFilter = _ANY) -> str:
    """Returns the URL of a case by its id; with `place` if several cases share the id. An id that cannot be a path
    segment goes into the query."""
    plain = _PLAIN.fullmatch(case) is not None
    own = [] if plain or not 0 < len(case) <= _LONGEST_ID else [("id", case)]
    own += [] if place is None else [("n", str(place))]
    query = urlencode([*own, *question.pairs()])
    return f"/runs/{quote(run, safe='')}/cases/{quote(case, safe='') if plain else '-'}{'?' if query else ''}{query}"


def describe_inputs(manifest: Manifest) -> str:
    """Lists the names of a run's input files, without their folders (private) and hashes (useless here)."""
    names = (_KEPT.sub(r"\1", PurePath(name).name or name) for name in manifest.plan.inputs)
    return clean_line(", ".join(names), 160)
