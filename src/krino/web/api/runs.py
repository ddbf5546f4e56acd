"""`/v1/runs`: the runs of the runs folder, what they come to, and their judgements page by page."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self

import orjson
from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from krino.contract import Judgement
from krino.results.slices import SliceTable
from krino.results.summary import Summary
from krino.runs.fields import ROLL_UP
from krino.runs.manifest import Counts, Manifest, RunState
from krino.text.clean import clean_line
from krino.web.index.question import PARTS, Question
from krino.web.labels.labelling import note_seen
from krino.web.problems import NOT_FOUND, Problem, refuse_damaged
from krino.web.run_index import Opened
from krino.web.workbench import Bench

router = APIRouter(prefix="/v1", tags=["runs"])
RunName = Annotated[str, Path(alias="run", description="name of the run's folder", examples=["my-run"])]
MOST_AT_ONCE = 500
_ASKING = f"{PARTS}, and first and most; docs/workbench.md says what each finds"


class RunEntry(BaseModel):
    """A run as the list shows it."""

    name: str
    problem: str | None = Field(default=None, description="why it cannot be read; what else is told may be incomplete")
    judge: str | None = None
    judge_version: str | None = None
    state: RunState | None = None
    started: datetime | None = None
    updated: datetime | None = None
    cases: int | None = Field(default=None, description="cases in the input; null until it was read to its end")
    counts: Counts | None = Field(default=None, description="how the cases ended; of a run under way, zero until later")

    @classmethod
    def of(cls, name: str, manifest: Manifest | None, problem: str = "") -> Self:
        if manifest is None:
            return cls(name=name, problem=problem)
        return cls(
            name=name,
            judge=str(manifest.plan.judge.get("name")),
            judge_version=str(manifest.plan.judge.get("version")),
            state=manifest.state,
            started=manifest.started,
            updated=manifest.updated,
            cases=manifest.cases,
            counts=manifest.counts,
        )


class Runs(BaseModel):
    runs: list[RunEntry] = Field(description="the newest first")


class RunDetail(BaseModel):
    """One run as a whole."""

    run: RunEntry
    labeller: dict[str, Any] = Field(description="who labelled: model, parameters, channel")
    options: dict[str, Any] = Field(description="options of the judge")
    summary: Summary | None = Field(description="null until the run was summed up for the first time")
    slices: list[SliceTable]
    current: bool = Field(description="false while a later state of the run is being read")


class CasePage(BaseModel):
    """Some cases of a run, out of those that were asked for."""

    found: int = Field(ge=0, description="cases that fit the question")
    first: int = Field(ge=0)
    current: bool = Field(description="false while the run is still being read: there may be more cases")
    cases: list[Judgement]


@router.get("/runs")
def runs(bench: Bench) -> Runs:
    """All runs, those under way among them."""
    return Runs(runs=[RunEntry.of(run.name, run.manifest, run.problem) for run in bench.runs.runs()])


@router.get("/runs/{run}", responses=NOT_FOUND)
def run(bench: Bench, name: RunName) -> RunDetail:
    """What a run comes to: counts, scores, slices. A run that was never opened may have no summary for a moment."""
    opened = bench.runs.open(name)
    manifest, overall = opened.manifest, opened.overall()
    entry = RunEntry.of(name, manifest)
    entry.counts, entry.problem = opened.counts(), opened.state.problem or None
    return RunDetail(
        run=entry,
        labeller=manifest.plan.labeller,
        options=dict(manifest.plan.judge.get("options") or {}),
        summary=overall.found.summary if overall else None,
        slices=overall.found.slices if overall else [],
        current=overall is not None and overall.current and not opened.indexing,
    )


@router.get("/runs/{run}/cases", responses={200: {"model": CasePage}, **NOT_FOUND})
def cases(
    request: Request,
    bench: Bench,
    name: RunName,
    first: Annotated[int, Query(ge=0, le=10**9, description="how many to pass over")] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_AT_ONCE, description="how many to give at once")] = 50,
) -> Response:
    """Judgements, page by page. The question is written as in the addresses of the workbench's pages: `q=words`,
    `status=failed`, `is.FIELD=VALUE`, `min.FIELD=0.2`, `max.FIELD=0.5`, `in.COLUMN=VALUE`, `sort=FIELD`, `down=1`.
    What cannot be read, or names what the run does not have, is refused, and so is a run that is damaged."""
    opened = bench.runs.open(name)
    refuse_damaged(opened, "run")
    question = Question.read(request.query_params.multi_items(), ("first", "most"))
    for part, told in question.unread:
        raise Problem(422, told, where=f"query.{part}", remedy=_ASKING)
    page = opened.cases.page(question, first, most)
    if page.unknown:
        raise _unknown(opened, page.unknown[0])
    found = list(opened.cases.judgements(page.rows))
    note_seen(request, opened, ((row.entry.input_hash, row.entry.id) for row in page.rows))
    data = {"found": page.found, "first": first, "current": not opened.behind, "cases": found}
    return Response(orjson.dumps(data), media_type="application/json")


def _unknown(opened: Opened, name: str) -> Problem:
    """A field or column that is asked for and not there: another answer would look as if all cases fitted."""
    so_far = " as far as it was read" if opened.indexing else ""
    fields, columns = (", ".join(names) or "none" for names in ((ROLL_UP, *opened.state.fields), opened.state.metadata))
    return Problem(
        422,
        f"the run has no `{clean_line(name, 80)}`{so_far}",
        where="query",
        remedy=f"fields: {fields}; columns of metadata: {columns}; `sort` also takes id and status",
    )
