"""`/runs/{run}`: the summary of a run and a table of its cases to filter, search and sort; all of it in the URL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePath
from typing import Any, NamedTuple

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response

from krino.blocks import Block, Section
from krino.render.embed import columns_of, note_of
from krino.render.summary import counts_block, page_blocks
from krino.results.field_kinds import ROLL_UP, ROLL_UPS, own_fields
from krino.results.formatting import format_number, format_start, judge_name, run_labeller_name
from krino.results.summary import Summary
from krino.results.verdict_schema import declared_scales
from krino.runs.manifest import Manifest
from krino.text.clean import clean_line
from krino.web.index.case_filter import NULL, CaseFilter
from krino.web.index.cases import CaseRow
from krino.web.labels.service import record_seen
from krino.web.pages.runs import RunProgress, describe_progress
from krino.web.pages.verify import known_verification
from krino.web.rendering import (
    describe_inputs,
    make_cell,
    read_filter,
    render_blocks,
    render_page,
    row_address,
    run_address,
)
from krino.web.runs_folder import OpenRun, RunOverall
from krino.web.workbench import WorkbenchDep

router = APIRouter(include_in_schema=False)

SIZES = (25, 50, 100, 200)
_USUAL_SIZE = 50
_MOST_COLUMNS = 8
_SHOWN_INPUTS = 2
_LONGEST_INPUT = 180
_LONGEST_ID = 300
_MOST_CHOICES = 40


@router.get("/runs/{run}")
def run_page(request: Request, run: str, workbench: WorkbenchDep) -> Response:
    """Shows a run: its summary, and one page of its cases."""
    opened = workbench.runs.open(run)
    facts = [*list_facts(opened.manifest), *_list_verified(opened)]
    about: dict[str, Any] = {"run": run, "facts_": facts, "problem": opened.state.problem}
    if opened.state.problem:
        return render_page(request, "run.html", **about)
    listing, overall = Listing.from_request(request, run), opened.overall()
    question = listing.question
    found = opened.cases.page(question, (listing.number - 1) * listing.size, listing.size)
    columns = {} if overall is None else _choose_columns(overall.found.summary)
    blocks = list(_summary_blocks(opened, overall))
    context: dict[str, Any] = {
        "base": run_address(run),
        "settings": _format_settings(opened.manifest),
        "sections": [(block.key, block.title) for block in blocks if isinstance(block, Section) and block.key],
        "progress_": describe_progress(opened, workbench.runs.find_run(run)),
        "summary": render_blocks(blocks, run),
        "folded": question.narrows or listing.number > 1,
        "question": question,
        "odd": listing.ignored_parameters(request),
        "chips": list(_list_active_filters(listing)),
        "choices": _list_choices(opened, overall, question),
        "heads": {name: _make_heading(listing, name) for name in ("id", "status", ROLL_UP)},
        "columns": [_make_heading(listing, name, number) for name, number in columns.items()],
        "lines": list(_list_rows(opened, found.rows, columns, question)),
        "found": found.found,
        "unknown": found.unknown,
        "pager": _make_pager(listing, found.found),
        "sizes": SIZES,
        "size": listing.size_parameter,
        "rater": record_seen(request, opened, ((row.entry.input_hash, row.entry.id) for row in found.rows)),
    }
    return render_page(request, "run.html", **about, **context)


@router.get("/runs/{run}/progress")
def run_progress(run: str, workbench: WorkbenchDep) -> RunProgress:
    """Polled by the page while the run is running or being indexed."""
    return describe_progress(workbench.runs.open(run), workbench.runs.find_run(run))


def list_facts(manifest: Manifest) -> list[tuple[str, str]]:
    """Lists the facts at the top of the page, as in the report; empty ones are left out."""
    state = manifest.state if manifest.stop_reason is None else f"{manifest.state}: {manifest.stop_reason}"
    facts = [
        ("Judge", judge_name(manifest)),
        ("Labeller", run_labeller_name(manifest)),
        ("Started", format_start(manifest)),
        ("State", clean_line(state, 300)),
        ("Input", describe_inputs(manifest)),
    ]
    return [fact for fact in facts if fact[1]]


def _list_verified(opened: OpenRun) -> Iterator[tuple[str, str]]:
    """Yields what the last verification of this run found, if it was verified here."""
    if (found := known_verification(opened)) is not None:
        yield "Verified", found.sentence


def _format_settings(manifest: Manifest) -> str:
    """Formats the settings of the run as JSON, with file names instead of paths."""
    inputs = [PurePath(name).name or name for name in manifest.plan.inputs]
    settings = {**manifest.plan.model_dump(mode="json"), "inputs": inputs, "krino": manifest.krino_version}
    return orjson.dumps(settings, option=orjson.OPT_INDENT_2).decode()


def _summary_blocks(opened: OpenRun, overall: RunOverall | None) -> Iterator[Block]:
    """Yields the blocks above the cases, as in the report; before the first summary only the counts."""
    if overall is not None:
        yield from page_blocks(overall.found.summary, opened.manifest, overall.found.slices, overall.own)
    elif not opened.state.problem:
        yield counts_block(opened.counts())


# --- the table -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Listing:
    """Filter, page number and page size of the table."""

    run: str
    question: CaseFilter
    number: int
    size: int

    @classmethod
    def from_request(cls, request: Request, run: str) -> Listing:
        """Reads filter, page number and page size from the query; invalid ones get their defaults."""
        number, size = _parse_positive(request, "page", 1), _parse_positive(request, "size", _USUAL_SIZE)
        return cls(run, read_filter(request, "page", "size"), number, size if size in SIZES else _USUAL_SIZE)

    def ignored_parameters(self, request: Request) -> list[str]:
        """Lists the parameters (page, size) that were given but not understood."""
        taken = {"page": str(self.number), "size": str(self.size)}
        return [name for name, value in taken.items() if request.query_params.get(name, value) != value]

    @property
    def size_parameter(self) -> int | None:
        return None if self.size == _USUAL_SIZE else self.size

    def at(self, question: CaseFilter, number: int | None = None) -> str:
        """Returns the URL of the table with another filter or page number."""
        return f"{run_address(self.run, question, page=number, size=self.size_parameter)}#cases"


def _choose_columns(summary: Summary) -> dict[str, bool]:
    """Chooses the fields that get a column, each with whether the column is numeric (some of its values may be
    words)."""
    found: dict[str, bool] = {}
    for item in columns_of(summary, {}):
        if item["name"] != ROLL_UP:
            found.setdefault(item["name"], item["number"])
    return dict(islice(found.items(), _MOST_COLUMNS))


def _list_rows(
    opened: OpenRun, rows: list[CaseRow], columns: Mapping[str, bool], question: CaseFilter
) -> Iterator[dict[str, Any]]:
    """Yields what the table shows about each case."""
    scales = declared_scales(opened.manifest.about.fields_schema)
    for row, judgement in zip(rows, opened.cases.read_judgements(rows), strict=True):
        ok = judgement["status"] == "ok"
        verdict = own_fields(judgement) if ok else {}
        inputs = list((judgement.get("inputs") or {}).items())[:_SHOWN_INPUTS]
        yield {
            "address": row_address(opened.name, row, question),
            "id": clean_line(row.entry.id, _LONGEST_ID) or "(no id)",
            "status": judgement["status"],
            "roll_up": judgement.get("roll_up") if ok else None,
            "about": [(name.replace("_", " "), clean_line(text, _LONGEST_INPUT)) for name, text in inputs],
            "cells": [make_cell(name, verdict, scales, ok=ok, number=number) for name, number in columns.items()],
            "note": clean_line(note_of(judgement, large=False), 240),
        }


def _make_heading(listing: Listing, name: str, number: bool = False) -> dict[str, Any]:
    """Makes a column heading: its sort link, and the current order."""
    question = listing.question
    sorted_now = "none" if question.sort != name else "descending" if question.down else "ascending"
    address = listing.at(question.sorted_by(name))
    return {"name": name.replace("_", " "), "address": address, "sort": sorted_now, "number": number}


def _make_pager(listing: Listing, found: int) -> dict[str, Any]:
    """Returns the page number, the last one, and the URLs of the first, previous, next and last page; None where there
    is nowhere to go."""
    number, last = listing.number, max((found + listing.size - 1) // listing.size, 1)
    leads = {"first_at": 1, "back_at": number - 1, "next_at": number + 1, "last_at": last}
    there = {
        name: listing.at(listing.question, other) if 1 <= other <= last and other != number else None
        for name, other in leads.items()
    }
    return {"number": number, "last": last, **there}


# --- filters ---------------------------------------------------------------------------------------


class FilterChoice(NamedTuple):
    value: str
    cases: int
    chosen: bool


def _list_active_filters(listing: Listing) -> Iterator[tuple[str, str]]:
    """Yields the active filters in words, each with the URL that removes it."""
    signs = {"q": "words: {value}", "status": "{value}", "is": "{name} is {value}", "in": "{name}: {value}"}
    signs |= {"min": "{name} ≥ {value}", "max": "{name} ≤ {value}"}
    for name, value in listing.question.pairs():
        kind, _, of = name.partition(".")
        if kind in signs:
            text = signs[kind].format(name=of.replace("_", " "), value=value)
            yield clean_line(text, 80), listing.at(listing.question.without(name, value))


def _list_choices(opened: OpenRun, overall: RunOverall | None, question: CaseFilter) -> dict[str, Any]:
    """Returns the choices of the filter form, with counts and what is chosen now; before the first summary only those
    of the status."""
    chosen: dict[str, Any] = {
        "statuses": _make_choices(opened.counts().model_dump(), _requested_values(question, "status")),
        "roll_ups": [],
        "numbers": [],
        "codes": [],
        "metadata": [],
    }
    if overall is None:
        return chosen
    least, most = dict(question.of("min")), dict(question.of("max"))
    summary = overall.found.summary
    chosen["numbers"] = [
        (
            item.name,
            format_number(item.min),
            format_number(item.max),
            _format_limit(least, item.name),
            _format_limit(most, item.name),
        )
        for item in summary.numbers
        if item.name in opened.state.fields
    ]
    for field in summary.codes:
        values = _make_choices(field.counts, _requested_values(question, "is", field.name), field.nulls)
        if field.name == ROLL_UP:
            order = {word: place for place, word in enumerate(ROLL_UPS)}
            chosen["roll_ups"] = sorted(values, key=lambda item: order.get(item.value, len(order)))
        elif field.name in opened.state.fields:
            chosen["codes"].append((field.name, values))
    for table in overall.found.slices:
        counts = {item.value: item.n for item in table.slices}
        chosen["metadata"].append(
            (table.column, _make_choices(counts, _requested_values(question, "in", table.column)))
        )
    return chosen


def _make_choices(counts: Mapping[str, int], wanted: set[str], nulls: int = 0) -> list[FilterChoice]:
    """Makes choices with their counts, at most `_MOST_CHOICES`, and one for null if any value is null."""
    found = [FilterChoice(value, count, value in wanted) for value, count in islice(counts.items(), _MOST_CHOICES)]
    return [*found, FilterChoice(NULL, nulls, NULL in wanted)] if nulls else found


def _requested_values(question: CaseFilter, kind: str, field: str = "") -> set[str]:
    return {value for name, value in question.of(kind) if name == field}


def _format_limit(ends: Mapping[str, str], name: str) -> str:
    """Formats the number that the filter sets as one end for a field; empty if it sets none."""
    return f"{float(ends[name]):g}" if name in ends else ""


def _parse_positive(request: Request, name: str, usual: int) -> int:
    """Reads a positive whole number from the query; `usual` if there is none or it is invalid."""
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 and int(text) > 0 else usual
