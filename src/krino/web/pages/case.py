"""`/runs/{run}/cases/{case}`: one case in full, made of the blocks that the report and the terminal show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from krino.cases.metadata import column_value
from krino.results.formatting import labeller_name
from krino.web.drawing import question_of, row_address, run_address, told_of
from krino.web.index.case_view import own_blocks
from krino.web.index.pages import Row
from krino.web.labels.labelling import label_address, note_seen
from krino.web.problems import Problem
from krino.web.run_index import Opened
from krino.web.templating import page
from krino.web.workbench import Bench, Workbench

router = APIRouter(include_in_schema=False)


@router.get("/runs/{run}/cases/{case:path}")
def case_page(
    request: Request,
    run: str,
    case: str,
    bench: Bench,
    n: Annotated[int | None, Query(ge=0, le=10**12)] = None,
    id: str | None = None,  # noqa: A002 - the parameter's name in addresses
) -> Response:
    opened = bench.runs.open(run)
    row = found_row(opened, id or case, n)
    question = question_of(request, "n", "id")
    beside = opened.cases.neighbours(question, row)
    told = shown_case(request, bench, opened, row)
    context: dict[str, Any] = {
        "run": run,
        **told,
        "facts_": list(_facts(told["judgement"])),
        "beside": beside,
        "list_at": f"{run_address(run, question)}#cases",
        "before_at": row_address(run, beside.before, question) if beside and beside.before else None,
        "after_at": row_address(run, beside.after, question) if beside and beside.after else None,
        "question": question,
        "label_at": label_address(run, row.entry.input_hash),
    }
    return page(request, "case.html", **context)


def shown_case(request: Request, bench: Workbench, opened: Opened, row: Row) -> dict[str, Any]:
    """What a template is given of a case; a rater who looks at it has seen its verdict."""
    (judgement,) = opened.cases.judgements([row])
    own = own_blocks(opened.run, judgement, bench.settings.runs)
    told = told_of(judgement, opened.manifest.about, own, opened.name)
    note_seen(request, opened, [(row.entry.input_hash, row.entry.id)], listed=False)
    return told


def found_row(opened: Opened, case: str, place: int | None = None, again: int = 0) -> Row:
    """By place where one is given, else by id; the pages of a damaged run show nothing."""
    if opened.state.problem:
        raise _no_such(opened.state.problem, "mend the run as the message says")
    row = opened.cases.at(place) if place is not None else opened.cases.find(case, again)
    if row is None or (place is not None and case not in ("-", row.entry.id)):
        raise _no_such(
            f"the run has no judgement of this case: {case[:100]}", "the list of its cases shows what it has"
        )
    return row


def _no_such(told: str, remedy: str) -> Problem:
    return Problem(404, told, where="the address", remedy=remedy)


def _facts(judgement: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "Judge", f"{judgement['judge']} {judgement['judge_version']}"
    if judgement.get("labeller"):
        yield "Labeller", labeller_name(judgement["labeller"])
    if source := judgement.get("source"):
        line = f":{source['line']}" if source["line"] is not None else ""
        yield "Source", f"{Path(source['file']).name}{line}"
    metadata = judgement.get("metadata") or {}
    yield from ((name.replace("_", " "), column_value(metadata, [name])) for name in metadata)
