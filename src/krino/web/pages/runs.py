"""`/`: the runs of the folder, the newest first; one under way shows how far it is."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from importlib import resources
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from krino.render.charts import stacked_bar
from krino.render.summary import counts_block
from krino.results.formatting import format_count, format_duration, format_start, judge_name, run_labeller_name
from krino.text.clean import clean_line
from krino.web.drawing import inputs_in_words, run_address, safe
from krino.web.run_index import Opened, RunShelf, Shelved
from krino.web.templating import page
from krino.web.workbench import Bench

router = APIRouter(include_in_schema=False)

_SIZE = 50
_LONGEST = 300
"""Of what a manifest, which anybody may have written, says in a line of the list."""


@router.get("/")
def runs_page(
    request: Request,
    bench: Bench,
    q: str = "",
    number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
) -> Response:
    found = [run for run in bench.runs.runs() if _matches(run, q)]
    shown = found[(number - 1) * _SIZE : number * _SIZE]
    lines = [_line(bench.runs, run) for run in shown]
    more = number * _SIZE < len(found)
    return page(request, "runs.html", lines=lines, found=len(found), q=q, number=number, more=more)


@router.get("/static/report.css")
def report_style() -> Response:
    """The style sheet of the report: the workbench looks the same, because it is the same file."""
    style = (resources.files("krino.render") / "page" / "report.css").read_bytes()
    return Response(style, media_type="text/css", headers={"cache-control": "no-cache"})


def _matches(run: Shelved, words: str) -> bool:
    known = [run.name, *(() if run.manifest is None else (judge_name(run.manifest), run_labeller_name(run.manifest)))]
    return all(word in " ".join(known).lower() for word in words.lower().split())


def _line(shelf: RunShelf, run: Shelved) -> dict[str, Any]:
    """A run in the list."""
    manifest, named = run.manifest, {"name": run.name, "address": run_address(run.name), "problem": run.problem}
    if manifest is None:
        return {**named, "inputs": ""}
    progress, counts = None, manifest.counts
    if run.going_on:
        opened = shelf.open(run.name, patience=0.1)
        progress, counts = progress_of(opened, run), opened.counts()
    return {
        **named,
        "judge": clean_line(judge_name(manifest), _LONGEST),
        "labeller": clean_line(run_labeller_name(manifest), _LONGEST),
        "started": format_start(manifest),
        "state": "silent" if run.silent else manifest.state,
        "inputs": clean_line(inputs_in_words(manifest), _LONGEST),
        "counts": counts,
        "chart": safe(stacked_bar(counts_block(counts))) if counts.total else None,
        "progress": progress,
    }


class Progress(BaseModel):
    """What a page asks for again and again while something goes on."""

    told: str
    share: float | None
    """Of what is going on, where its end is known."""
    live: bool
    """Something goes on: it is worth asking again."""


def progress_of(opened: Opened, shelved: Shelved) -> Progress:
    """How far a run is: what is read of it here, and whether it is still being judged."""
    judged = opened.counts().total
    if opened.behind:
        share = opened.state.journal.end / opened.journal_size
        return Progress(told=f"reading the run: {format_count(judged)} so far ({share:.0%})", share=share, live=True)
    if opened.indexing:
        return Progress(told="summing the run up", share=None, live=True)
    if shelved.silent:
        since = datetime.fromtimestamp(shelved.heard, UTC)
        told = (
            f"says that it is going on, but nothing was written since {since:%Y-%m-%d %H:%M} UTC: it may have been "
            "killed. The command that began it goes on where it stopped."
        )
        return Progress(told=f"{format_count(judged)} judged; {told}", share=None, live=True)
    if shelved.going_on:
        # Since the last command began; it may have begun with cases that were judged before, so it is a rough figure.
        seconds = time.time() - opened.manifest.started.timestamp()
        pace = f", for {format_duration(seconds)}" if judged and seconds > 1 else ""
        return Progress(told=f"{format_count(judged)} judged so far{pace}", share=None, live=True)
    return Progress(told=f"{format_count(judged)} judged", share=1.0, live=False)
