"""`/v1/runs`: runs with their summaries, and their judgements page by page."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self

import orjson
from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from krino.contract import Judgement
from krino.results.field_kinds import ROLL_UP
from krino.results.slices import SliceTable
from krino.results.summary import Summary
from krino.runs.manifest import Counts, Manifest, RunState
from krino.text.clean import clean_line
from krino.web.index.case_filter import PARTS, CaseFilter
from krino.web.labels.service import record_seen
from krino.web.problems import NOT_FOUND, Problem, refuse_damaged
from krino.web.runs_folder import OpenRun
from krino.web.workbench import WorkbenchDep

router = APIRouter(prefix="/v1", tags=["runs"])
RunName = Annotated[str, Path(alias="run", description="name of the run's folder", examples=["my-run"])]
MOST_AT_ONCE = 500
_ASKING = f"{PARTS}, and first and most; docs/workbench.md says what each finds"


class RunEntry(BaseModel):
    """A run in the list."""

    name: str
    problem: str | None = Field(default=None, description="why it cannot be read; the other fields may be incomplete")
    judge: str | None = None
    judge_version: str | None = None
    state: RunState | None = None
    started: datetime | None = None
    updated: datetime | None = None
    cases: int | None = Field(default=None, description="cases in the input; null until it was read completely")
    counts: Counts | None = Field(default=None, description="cases by status; zeros while a run is starting")

    @classmethod
    def of(cls, name: str, manifest: Manifest | None, problem: str = "") -> Self:
        """Describes a run, or says why it cannot be read."""
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
    runs: list[RunEntry] = Field(description="newest first")


class RunDetail(BaseModel):
    """One run with its summary."""

    run: RunEntry
    labeller: dict[str, Any] = Field(description="model, parameters and channel of the labeller")
    options: dict[str, Any] = Field(description="options of the judge")
    summary: Summary | None = Field(description="null until the run was summarised for the first time")
    slices: list[SliceTable]
    current: bool = Field(description="false while changes of the run are being read")


class CasePage(BaseModel):
    """One page of the matching cases of a run."""

    found: int = Field(ge=0, description="number of matching cases")
    first: int = Field(ge=0)
    current: bool = Field(description="false while the run is still being read, so that there may be more cases")
    cases: list[Judgement]


@router.get("/runs")
def runs(workbench: WorkbenchDep) -> Runs:
    """All runs, including running ones."""
    return Runs(runs=[RunEntry.of(run.name, run.manifest, run.problem) for run in workbench.runs.runs()])


@router.get("/runs/{run}", responses=NOT_FOUND)
def run(workbench: WorkbenchDep, name: RunName) -> RunDetail:
    """Counts, scores and slices of a run. The summary may be missing for a moment if the run was never opened."""
    opened = workbench.runs.open(name)
    manifest, overall = opened.manifest, opened.overall()
    entry = RunEntry.of(name, manifest)
    entry.counts, entry.problem = opened.counts(), opened.state.problem or None
    return RunDetail(
        run=entry,
        labeller=manifest.plan.labeller,
        options=dict(manifest.plan.judge.get("options") or {}),
        summary=overall.found.summary if overall else None,
        slices=overall.found.slices if overall else [],
        current=overall is not None and overall.current and not opened.is_indexing,
    )


@router.get("/runs/{run}/cases", responses={200: {"model": CasePage}, **NOT_FOUND})
def cases(
    request: Request,
    workbench: WorkbenchDep,
    name: RunName,
    first: Annotated[int, Query(ge=0, le=10**9, description="number of cases to skip")] = 0,
    most: Annotated[int, Query(ge=1, le=MOST_AT_ONCE, description="most cases to return")] = 50,
) -> Response:
    """Judgements, page by page. The filter is written as in the URLs of the workbench's pages: `q=words`,
    `status=failed`, `is.FIELD=VALUE`, `min.FIELD=0.2`, `max.FIELD=0.5`, `in.COLUMN=VALUE`, `sort=FIELD`, `down=1`.
    Invalid filters, unknown fields and damaged runs are refused."""
    opened = workbench.runs.open(name)
    refuse_damaged(opened, "run")
    question = CaseFilter.read(request.query_params.multi_items(), ("first", "most"))
    for part, reason in question.rejected:
        raise Problem(422, reason, where=f"query.{part}", remedy=_ASKING)
    page = opened.cases.page(question, first, most)
    if page.unknown:
        raise _unknown(opened, page.unknown[0])
    found = list(opened.cases.read_judgements(page.rows))
    record_seen(request, opened, ((row.entry.input_hash, row.entry.id) for row in page.rows))
    data = {"found": page.found, "first": first, "current": not opened.is_incomplete, "cases": found}
    return Response(orjson.dumps(data), media_type="application/json")


def _unknown(opened: OpenRun, name: str) -> Problem:
    """Returns the problem for an unknown field or column: ignoring it would look as if all cases matched."""
    so_far = " in the part read so far" if opened.is_indexing else ""
    fields, columns = (", ".join(names) or "none" for names in ((ROLL_UP, *opened.state.fields), opened.state.metadata))
    return Problem(
        422,
        f"the run has no `{clean_line(name, 80)}`{so_far}",
        where="query",
        remedy=f"fields: {fields}; columns of metadata: {columns}; `sort` also takes id and status",
    )
