"""`/`: the runs of the folder, the newest first; one under way shows how far it is."""

from __future__ import annotations

from importlib import resources
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Query, Request
from markupsafe import Markup
from starlette.responses import Response

from krino.render.charts import stack
from krino.render.summary import counts_block
from krino.results.wording import date_of, judge_of, labeller_of
from krino.runs.manifest import Counts
from krino.text.clean import clean_line
from krino.web.drawing import inputs_in_words, run_address, safe
from krino.web.pages.opening import Bench
from krino.web.pages.progress import Progress, progress_of
from krino.web.run_index import RunShelf, Shelved
from krino.web.templating import page

router = APIRouter(include_in_schema=False)

_SIZE = 50
_LONGEST = 300
"""Of what a manifest, which anybody may have written, says in a line of the list."""


class Line(NamedTuple):
    """A run in the list."""

    name: str
    address: str
    judge: str = ""
    labeller: str = ""
    started: str = ""
    state: str = ""
    inputs: str = ""
    counts: Counts | None = None
    chart: Markup | None = None
    progress: Progress | None = None
    problem: str = ""


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
    if not words:
        return True
    known = [run.name, *(() if run.manifest is None else (judge_of(run.manifest), labeller_of(run.manifest)))]
    return all(word in " ".join(known).lower() for word in words.lower().split())


def _line(shelf: RunShelf, run: Shelved) -> Line:
    if run.manifest is None:
        return Line(run.name, run_address(run.name), problem=run.problem)
    manifest, progress, counts = run.manifest, None, run.manifest.counts
    if run.going_on:
        opened = shelf.open(run.name, patience=0.1)
        progress, counts = progress_of(opened, run), opened.counts()
    return Line(
        run.name,
        run_address(run.name),
        clean_line(judge_of(manifest), _LONGEST),
        clean_line(labeller_of(manifest), _LONGEST),
        date_of(manifest),
        "silent" if run.silent else manifest.state,
        clean_line(inputs_in_words(manifest), _LONGEST),
        counts,
        safe(stack(counts_block(counts))) if counts.total else None,
        progress,
    )
