"""`/`: the runs of the folder, newest first, with the progress of running ones."""

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
from krino.web.rendering import describe_inputs, render_page, run_address, trust_markup
from krino.web.runs_folder import ListedRun, OpenRun, RunsFolder
from krino.web.workbench import WorkbenchDep

router = APIRouter(include_in_schema=False)

_SIZE = 50
_LONGEST = 300
"""Most characters of a manifest's text in one row; a manifest may come from anyone."""


@router.get("/")
def runs_page(
    request: Request,
    workbench: WorkbenchDep,
    q: str = "",
    number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
) -> Response:
    """Lists the runs, one page at a time."""
    found = [run for run in workbench.runs.runs() if _matches(run, q)]
    shown = found[(number - 1) * _SIZE : number * _SIZE]
    lines = [_describe_run(workbench.runs, run) for run in shown]
    more = number * _SIZE < len(found)
    return render_page(request, "runs.html", lines=lines, found=len(found), q=q, number=number, more=more)


@router.get("/static/report.css")
def report_style() -> Response:
    """The report's style sheet, shared so that workbench and report look the same."""
    style = (resources.files("krino.render") / "page" / "report.css").read_bytes()
    return Response(style, media_type="text/css", headers={"cache-control": "no-cache"})


def _matches(run: ListedRun, words: str) -> bool:
    """Whether each of the words is in the name, the judge or the labeller of a run."""
    known = [run.name, *(() if run.manifest is None else (judge_name(run.manifest), run_labeller_name(run.manifest)))]
    return all(word in " ".join(known).lower() for word in words.lower().split())


def _describe_run(folder: RunsFolder, run: ListedRun) -> dict[str, Any]:
    """Makes the template variables for one row of the list."""
    manifest, named = run.manifest, {"name": run.name, "address": run_address(run.name), "problem": run.problem}
    if manifest is None:
        return {**named, "inputs": ""}
    progress, counts = None, manifest.counts
    if run.is_running:
        opened = folder.open(run.name, patience=0.1)
        progress, counts = describe_progress(opened, run), opened.counts()
    return {
        **named,
        "judge": clean_line(judge_name(manifest), _LONGEST),
        "labeller": clean_line(run_labeller_name(manifest), _LONGEST),
        "started": format_start(manifest),
        "state": "silent" if run.is_silent else manifest.state,
        "inputs": clean_line(describe_inputs(manifest), _LONGEST),
        "counts": counts,
        "chart": trust_markup(stacked_bar(counts_block(counts))) if counts.total else None,
        "progress": progress,
    }


class RunProgress(BaseModel):
    """Progress of a run, polled by the page."""

    message: str
    share: float | None
    """From 0 to 1; None if the end is not known."""
    live: bool
    """Whether to keep polling."""


def describe_progress(opened: OpenRun, listed: ListedRun) -> RunProgress:
    """Describes the progress of a run: of indexing it here, or of judging it."""
    judged = opened.counts().total
    if opened.is_incomplete:
        share = opened.state.journal.end / opened.journal_size
        return RunProgress(
            message=f"reading the run: {format_count(judged)} so far ({share:.0%})", share=share, live=True
        )
    if opened.is_indexing:
        return RunProgress(message="summarising the run", share=None, live=True)
    if listed.is_silent:
        since = datetime.fromtimestamp(listed.last_write, UTC)
        problem = (
            f"the run is not finished, but nothing was written since {since:%Y-%m-%d %H:%M} UTC. It may have been "
            "killed; run the same command again to continue it."
        )
        return RunProgress(message=f"{format_count(judged)} judged; {problem}", share=None, live=True)
    if listed.is_running:
        # Counted since the last command started, which may have reused earlier judgements, so it is rough.
        seconds = time.time() - opened.manifest.started.timestamp()
        pace = f", for {format_duration(seconds)}" if judged and seconds > 1 else ""
        return RunProgress(message=f"{format_count(judged)} judged so far{pace}", share=None, live=True)
    return RunProgress(message=f"{format_count(judged)} judged", share=1.0, live=False)
