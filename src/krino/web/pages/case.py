"""`/runs/{run}/cases/{case}`: one case in full, from the same blocks as report and terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from krino.cases.metadata import column_value
from krino.contract.identity import labeller_name
from krino.web.index.case_view import own_blocks
from krino.web.index.cases import CaseRow
from krino.web.labels.service import label_address, record_seen
from krino.web.problems import Problem
from krino.web.rendering import describe_case, read_filter, render_page, row_address, run_address
from krino.web.runs_folder import OpenRun
from krino.web.workbench import Workbench, WorkbenchDep

router = APIRouter(include_in_schema=False)


@router.get("/runs/{run}/cases/{case:path}")
def case_page(
    request: Request,
    run: str,
    case: str,
    workbench: WorkbenchDep,
    n: Annotated[int | None, Query(ge=0, le=10**12)] = None,
    id: str | None = None,  # noqa: A002 - the parameter's name in addresses
) -> Response:
    """Shows one case with its verdict, its view and its neighbours in the list."""
    opened = workbench.runs.open(run)
    row = find_row(opened, id or case, n)
    question = read_filter(request, "n", "id")
    beside = opened.cases.neighbours(question, row)
    shown = show_case(request, workbench, opened, row)
    context: dict[str, Any] = {
        "run": run,
        **shown,
        "facts_": list(_list_facts(shown["judgement"])),
        "beside": beside,
        "list_at": f"{run_address(run, question)}#cases",
        "before_at": row_address(run, beside.before, question) if beside and beside.before else None,
        "after_at": row_address(run, beside.after, question) if beside and beside.after else None,
        "question": question,
        "label_at": label_address(run, row.entry.input_hash),
    }
    return render_page(request, "case.html", **context)


def show_case(request: Request, workbench: Workbench, opened: OpenRun, row: CaseRow) -> dict[str, Any]:
    """Makes the template variables for a case. Records that the current rater has seen its verdict."""
    (judgement,) = opened.cases.read_judgements([row])
    own = own_blocks(opened.run, judgement, workbench.settings.runs)
    shown = describe_case(judgement, opened.manifest.about, own, opened.name)
    record_seen(request, opened, [(row.entry.input_hash, row.entry.id)], listed=False)
    return shown


def find_row(opened: OpenRun, case: str, place: int | None = None, again: int = 0) -> CaseRow:
    """Finds the row of a case by position if given, else by id. Raises `Problem` if the run is damaged, has no such
    case, or has one with another id at that position."""
    if opened.state.problem:
        raise _not_found(opened.state.problem, "repair the run as the message says")
    row = opened.cases.at(place) if place is not None else opened.cases.find(case, again)
    if row is None or (place is not None and case not in ("-", row.entry.id)):
        raise _not_found(f"the run has no judgement of this case: {case[:100]}", "its page lists the judged cases")
    return row


def _not_found(error: str, remedy: str) -> Problem:
    return Problem(404, error, where="the address", remedy=remedy)


def _list_facts(judgement: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields what is known about a case: judge, labeller, source and metadata."""
    yield "Judge", f"{judgement['judge']} {judgement['judge_version']}"
    if judgement.get("labeller"):
        yield "Labeller", labeller_name(judgement["labeller"])
    if source := judgement.get("source"):
        line = f":{source['line']}" if source["line"] is not None else ""
        yield "Source", f"{Path(source['file']).name}{line}"
    metadata = judgement.get("metadata") or {}
    yield from ((name.replace("_", " "), column_value(metadata, [name])) for name in metadata)
