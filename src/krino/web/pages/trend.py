"""`/trend`: a score over the runs of one judge, as a chart and a table."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from krino.errors import UsageProblem
from krino.render.charts import trend_chart
from krino.render.trend import trend_blocks
from krino.results.field_kinds import ROLL_UPS
from krino.results.trend import Trend
from krino.results.trend import trend as read_trend
from krino.results.verdict_schema import closed_labels, declared_scale
from krino.web.rendering import render_blocks, render_page, trust_markup
from krino.web.runs_folder import ListedRun
from krino.web.workbench import Workbench, WorkbenchDep

router = APIRouter(include_in_schema=False)

_MOST_RUNS = 30
_MOST_CASES = 500_000
"""Cases that a page reads: more of them take longer than a reader waits."""
_MOST_LABELS = 12


@router.get("/trend")
def trend_page(
    request: Request,
    workbench: WorkbenchDep,
    judge: str = "",
    of: Annotated[str, Query(max_length=400)] = "",
) -> Response:
    """Shows the trend of a score or label over the newest finished runs of a judge, and the form to choose them."""
    runs = [run for run in workbench.runs.runs() if run.manifest is not None and run.manifest.state == "finished"]
    judges = sorted({_judge_of(run) for run in runs})
    chosen = [run for run in runs if _judge_of(run) == judge][:_MOST_RUNS]
    context: dict[str, Any] = {"judges": judges, "judge": judge, "of": of, "problem": "", "chart": None}
    context["targets"] = _list_targets(chosen)
    if judge and of:
        try:
            found = _compute_trend(workbench, chosen[::-1], of)
        except UsageProblem as problem:
            context["problem"] = _hide_folder(workbench, str(problem))
        else:
            context["chart"] = trust_markup(trend_chart(found))
            context["rest"] = render_blocks(trend_blocks(found), chosen[0].name)
    return render_page(request, "trend.html", **context)


def _judge_of(run: ListedRun) -> str:
    return "" if run.manifest is None else str(run.manifest.plan.judge["name"])


def _list_targets(runs: list[ListedRun]) -> list[str]:
    """Lists what the newest run of the judge can be followed by: scores, labels and the roll-up."""
    if not runs or runs[0].manifest is None:
        return []
    schema = runs[0].manifest.about.fields_schema
    found = []
    for name in schema.get("properties", {}):
        if declared_scale(schema, name) is not None:
            found.append(name)
        labels = sorted(closed_labels(schema, name) or ())
        found += [f"{name}:{label}" for label in labels[:_MOST_LABELS]]
    return [*found, *ROLL_UPS]


def _compute_trend(workbench: Workbench, runs: list[ListedRun], of: str) -> Trend:
    """Computes the trend over these runs, named without paths; `UsageProblem` for too many cases."""
    cases = sum(run.manifest.counts.total for run in runs if run.manifest is not None)
    if cases > _MOST_CASES:
        raise UsageProblem(f"these runs have {cases:,} cases, more than a page reads: use `krino trend`")
    found = read_trend([workbench.runs.path_of(run.name) for run in runs], of)
    points = tuple(point.model_copy(update={"run": run.name}) for point, run in zip(found.points, runs, strict=True))
    sentence = _hide_folder(workbench, found.sentence)
    return found.model_copy(update={"points": points, "sentence": sentence})


def _hide_folder(workbench: Workbench, text: str) -> str:
    """Removes the path of the folder of runs from a text: runs are named as on the other pages."""
    for folder in (workbench.runs.folder.resolve(), workbench.runs.folder):
        text = text.replace(f"{folder}/", "")
    return text
