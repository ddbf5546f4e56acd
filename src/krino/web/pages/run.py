"""`/runs/{run}`: what a run comes to, and its cases by page, filter, search and order; all of it in the address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import orjson
from fastapi import APIRouter, Request
from starlette.responses import Response

from krino.blocks import Block, Section
from krino.render.embed import columns_of, note_of
from krino.render.summary import counts_block, page_blocks
from krino.results.slices import SliceTable
from krino.results.summary import Summary
from krino.results.verdict_schema import Scales, scales_of
from krino.results.wording import date_of, figure, judge_of, labeller_of
from krino.runs.fields import ROLL_UP, ROLL_UPS, own_fields
from krino.runs.manifest import Manifest
from krino.text.clean import clean_line
from krino.web.drawing import drawn, inputs_in_words, row_address, run_address
from krino.web.index.pages import Row
from krino.web.index.question import NULL, Question
from krino.web.labels.labelling import note_seen
from krino.web.pages.cells import Cell, cell_of
from krino.web.pages.opening import Bench, opened_run, question_of
from krino.web.pages.progress import Progress, progress_of
from krino.web.run_index import Opened, Overall
from krino.web.templating import page

router = APIRouter(include_in_schema=False)

SIZES = (25, 50, 100, 200)
_MOST_COLUMNS = 8
_SHOWN_INPUTS = 2
_LONGEST_INPUT = 180
_LONGEST_ID = 300
_MOST_CHOICES = 40


@router.get("/runs/{run}")
def run_page(request: Request, run: str, bench: Bench) -> Response:
    opened, shelved = opened_run(bench, run)
    question, number = question_of(request, "page", "size"), _whole(request, "page", 1)
    size = _whole(request, "size", SIZES[1])
    size = size if size in SIZES else SIZES[1]
    taken = {"page": number, "size": size}
    odd = [name for name, value in taken.items() if request.query_params.get(name, str(value)) != str(value)]
    overall = None if opened.state.problem else opened.overall()
    found = None if opened.state.problem else opened.cases.page(question, (number - 1) * size, size)
    rows = [] if found is None else found.rows
    scales = scales_of(opened.manifest.about.fields_schema)
    blocks = list(_summary(opened, overall))
    columns = [] if overall is None else _columns(overall.found.summary, scales)
    context: dict[str, Any] = {
        "run": run,
        "base": run_address(run),
        "facts_": facts_of(opened.manifest),
        "settings": _settings(opened.manifest),
        "sections": [(block.key, block.title) for block in blocks if isinstance(block, Section) and block.key],
        "progress_": progress_of(opened, shelved),
        "problem": opened.state.problem,
        "summary": drawn(blocks, run),
        "folded": question.narrows or number > 1,
        "question": question,
        "odd": odd,
        "chips": list(_chips(run, question, size)),
        "choices": _choices(opened, overall, question),
        "heads": [_head(run, question, column, size) for column in columns],
        "lines": list(_lines(opened, rows, columns, question, scales)),
        "found": 0 if found is None else found.found,
        "unknown": [] if found is None else found.unknown,
        "pager": None if found is None else _pager(run, question, number, size, found.found),
        "sizes": SIZES,
        "size": size,
        "rater": note_seen(request, opened, ((row.entry.input_hash, row.entry.id) for row in rows)),
    }
    return page(request, "run.html", **context)


@router.get("/runs/{run}/progress")
def run_progress(run: str, bench: Bench) -> Progress:
    """For the page itself, while something goes on."""
    opened, shelved = opened_run(bench, run)
    return progress_of(opened, shelved)


def facts_of(manifest: Manifest) -> list[tuple[str, str]]:
    """The head of a run, as in the report."""
    state = manifest.state if manifest.stop_reason is None else f"{manifest.state}: {manifest.stop_reason}"
    facts = [
        ("Judge", judge_of(manifest)),
        ("Labeller", labeller_of(manifest)),
        ("Started", date_of(manifest)),
        ("State", clean_line(state, 300)),
        ("Input", inputs_in_words(manifest)),
    ]
    return [fact for fact in facts if fact[1]]


def _settings(manifest: Manifest) -> str:
    """How the run was made, with the names of files and not where they lie."""
    inputs = [PurePath(name).name or name for name in manifest.plan.inputs]
    settings = {**manifest.plan.model_dump(mode="json"), "inputs": inputs, "krino": manifest.krino_version}
    return orjson.dumps(settings, option=orjson.OPT_INDENT_2).decode()


def _summary(opened: Opened, overall: Overall | None) -> Iterator[Block]:
    """What the report shows above its cases; before the run was summed up once, how its cases ended so far."""
    if overall is not None:
        yield from page_blocks(overall.found.summary, opened.manifest, overall.found.slices, overall.own)
    elif not opened.state.problem:
        yield counts_block(opened.counts())


# --- the table -------------------------------------------------------------------------------------


class Column(NamedTuple):
    name: str
    number: bool


class Line(NamedTuple):
    """A case in the list."""

    address: str
    id: str
    status: str
    roll_up: str | None
    about: list[tuple[str, str]]
    cells: list[Cell]
    note: str


def _columns(summary: Summary, scales: Scales) -> list[Column]:
    """A field with numbers in some cases and words in others is one column."""
    found = {item["name"]: bool(item["number"]) for item in reversed(columns_of(summary, scales))}
    wanted = [item["name"] for item in columns_of(summary, scales) if item["name"] != ROLL_UP]
    return [Column(name, found[name]) for name in dict.fromkeys(wanted)][:_MOST_COLUMNS]


def _lines(
    opened: Opened, rows: Sequence[Row], columns: Sequence[Column], question: Question, scales: Scales
) -> Iterator[Line]:
    for row, judgement in zip(rows, opened.cases.judgements(rows), strict=True):
        ok = judgement["status"] == "ok"
        verdict = own_fields(judgement) if ok else {}
        inputs = list((judgement.get("inputs") or {}).items())[:_SHOWN_INPUTS]
        yield Line(
            row_address(opened.name, row, question),
            clean_line(row.entry.id, _LONGEST_ID) or "(no id)",
            judgement["status"],
            judgement.get("roll_up") if ok else None,
            [(name.replace("_", " "), clean_line(text, _LONGEST_INPUT)) for name, text in inputs],
            [cell_of(column.name, verdict, scales, ok=ok, number=column.number) for column in columns],
            clean_line(note_of(judgement, large=False), 240),
        )


def _head(run: str, question: Question, column: Column, size: int) -> dict[str, Any]:
    return {**head(run, question, column.name, size), "number": column.number}


def head(run: str, question: Question, name: str, size: int) -> dict[str, Any]:
    """A heading that sorts: where it leads, and how the list is sorted by it now."""
    sorted_now = "none" if question.sort != name else "descending" if question.down else "ascending"
    address = run_address(run, question.sorted_by(name), size=size if size != SIZES[1] else None)
    return {"name": name.replace("_", " "), "address": f"{address}#cases", "sort": sorted_now}


def _pager(run: str, question: Question, number: int, size: int, found: int) -> dict[str, Any]:
    last = max((found + size - 1) // size, 1)
    own = size if size != SIZES[1] else None

    def at(page_number: int) -> str | None:
        there = 1 <= page_number <= last and page_number != number
        return f"{run_address(run, question, page=page_number, size=own)}#cases" if there else None

    return {
        "number": number,
        "last": last,
        "first_at": at(1),
        "back_at": at(number - 1),
        "next_at": at(number + 1),
        "last_at": at(last),
        "heads": {name: head(run, question, name, size) for name in ("id", "status", ROLL_UP)},
    }


# --- filters ---------------------------------------------------------------------------------------


class Choice(NamedTuple):
    value: str
    cases: int
    chosen: bool


def _chips(run: str, question: Question, size: int) -> Iterator[tuple[str, str]]:
    """What narrows the list, in words, each with the address without it."""
    signs = {"q": "words: {value}", "status": "{value}", "is": "{name} is {value}", "in": "{name}: {value}"}
    signs |= {"min": "{name} ≥ {value}", "max": "{name} ≤ {value}"}
    for name, value in question.pairs():
        kind, _, of = name.partition(".")
        if kind in signs:
            told = signs[kind].format(name=of.replace("_", " "), value=value)
            own = size if size != SIZES[1] else None
            yield clean_line(told, 80), f"{run_address(run, question.without(name, value), size=own)}#cases"


def _choices(opened: Opened, overall: Overall | None, question: Question) -> dict[str, Any]:
    counts = opened.counts()
    chosen: dict[str, Any] = {
        "statuses": [
            Choice(status, count, status in question.statuses) for status, count in counts.model_dump().items()
        ],
        "roll_ups": [],
        "numbers": [],
        "codes": [],
        "metadata": [],
    }
    if overall is None:
        return chosen
    least, most = dict(question.least), dict(question.most)
    summary = overall.found.summary
    chosen["numbers"] = [
        (item.name, figure(item.min), figure(item.max), _given(least, item.name), _given(most, item.name))
        for item in summary.numbers
        if item.name in opened.state.fields
    ]
    for field in summary.codes:
        values = _values(field.counts, field.nulls, {value for name, value in question.codes if name == field.name})
        if field.name == ROLL_UP:
            order = {word: place for place, word in enumerate(ROLL_UPS)}
            chosen["roll_ups"] = sorted(values, key=lambda item: order.get(item.value, len(order)))
        elif field.name in opened.state.fields:
            chosen["codes"].append((field.name, values))
    chosen["metadata"] = [_sliced(table, question) for table in overall.found.slices]
    return chosen


def _values(counts: Mapping[str, int], nulls: int, wanted: set[str]) -> list[Choice]:
    found = [Choice(value, count, value in wanted) for value, count in list(counts.items())[:_MOST_CHOICES]]
    return [*found, Choice(NULL, nulls, NULL in wanted)] if nulls else found


def _sliced(table: SliceTable, question: Question) -> tuple[str, list[Choice]]:
    wanted = {value for name, value in question.metadata if name == table.column}
    found = [Choice(item.value, item.n, item.value in wanted) for item in table.slices[:_MOST_CHOICES]]
    return table.column, found


def _given(ends: Mapping[str, float], name: str) -> str:
    return f"{ends[name]:g}" if name in ends else ""


def _whole(request: Request, name: str, usual: int) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 and int(text) > 0 else usual
