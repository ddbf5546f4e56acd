"""The pages for labelling: the queue, one case at two depths, undo, and the live agreement.

Until a person asks to see the verdict of a case, its page contains nothing of the verdict or of other people's labels:
the template never receives them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote
from uuid import uuid4

from fastapi import APIRouter, Depends, Form, Query, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from krino.errors import UsageProblem
from krino.people.rows import DepthChoice
from krino.people.store import Depth, Event, KeyReused, normalise_rater
from krino.render.agreement import agreement_blocks
from krino.results.agreement.result import Agreement
from krino.results.explanations import format_value
from krino.web.index.case_view import own_blocks
from krino.web.labels.agreement import find_cell_cases, hide_unjudged, list_named_cases, summarise_agreement
from krino.web.labels.forms import SubmittedForm
from krino.web.labels.queue import LONGEST_TARGET, REASON_TEXTS, list_progress
from krino.web.labels.service import (
    LabelCase,
    LabellingDep,
    LabellingService,
    get_rater,
    label_address,
    rater_cookie,
    record_seen,
)
from krino.web.labels.tasks import fit_exhibits
from krino.web.problems import Problem
from krino.web.rendering import render_blocks, render_case, render_page
from krino.web.runs_folder import OpenRun
from krino.web.security import make_cookie
from krino.web.workbench import get_workbench

router = APIRouter(include_in_schema=False)
_KEY = re.compile("[0-9a-f]{32}")
_YEAR = 365 * 24 * 3600
_MOST_BOXES = 10_000
_MOST_CLASSES = 16


async def _read_form(request: Request) -> SubmittedForm:
    return SubmittedForm((await request.form(max_fields=_MOST_BOXES)).multi_items())


Sent = Annotated[SubmittedForm, Depends(_read_form)]
Target = Annotated[str, Query(max_length=LONGEST_TARGET)]
"""The rate that labels are wanted for (`pass`, `match:exact`), which decides the order of the queue."""


# --- raters ----------------------------------------------------------------------------------------------


def _require_rater(request: Request) -> str:
    """Returns the rater's name, or raises a problem that says how to set it."""
    rater = get_rater(request)
    if rater is None:
        raise Problem(409, "no rater is set", where="cookie", remedy="open the queue of the run and enter your name")
    return rater


Rater = Annotated[str, Depends(_require_rater)]


@router.post("/runs/{run}/rater")
def choose_name(
    request: Request,
    run: str,
    name: Annotated[str, Form()],
    depth: Annotated[str, Form()] = "",
    of: Annotated[str, Form()] = "",
) -> Response:
    """Stores the rater's name in a cookie."""
    kept = make_cookie(request.scope, rater_cookie(request), quote(normalise_rater(name), safe=""), _YEAR)
    return RedirectResponse(label_address(run, depth=depth, of=of), 303, {"set-cookie": kept})


# --- the queue -------------------------------------------------------------------------------------------


@router.get("/runs/{run}/label")
def queue_page(
    request: Request, labelling: LabellingDep, run: str, depth: Depth = "fields", who: bool = False, of: Target = ""
) -> Response:
    """Shows progress and the next case of the queue."""
    opened = labelling.open(run)
    rater = get_rater(request)
    queue = labelling.queue(opened, depth, of)
    turn = queue.next(rater) if rater is not None else None
    context: dict[str, Any] = {
        "opened": opened,
        "depth": depth,
        "of": of,
        "targets": queue.ranking.targets(),
        "rater": rater,
        "asks_name": who or rater is None,
        "progress": list_progress(queue),
        "total": len(queue.ranking.cases),
        "done": len(queue.list_done(rater)) if rater else 0,
        "skipped": queue.list_skipped(rater) if rater else [],
        "disputed": sum(key[0] == 0 for key in queue.ranking.order),
        "unsure": sum(key[0] == 1 for key in queue.ranking.order),
        "turn": turn,
        "why": REASON_TEXTS[turn.why] if turn else "",
    }
    return render_page(request, "label_queue.html", **context)


# --- one case --------------------------------------------------------------------------------------------


@router.get("/runs/{run}/label/{case}")
def case_page(
    request: Request,
    labelling: LabellingDep,
    run: str,
    case: str,
    depth: Depth | None = None,
    saved: str = "",
    of: Target = "",
) -> Response:
    """Shows a case to label."""
    rater = get_rater(request)
    if rater is None:
        return RedirectResponse(label_address(run, depth=depth or "fields", of=of), 303)
    found = labelling.case(labelling.open(run), case)
    return _render_case_page(request, labelling, found, rater, depth or "fields", of, saved=saved)


def _render_case_page(
    request: Request,
    labelling: LabellingService,
    case: LabelCase,
    rater: str,
    depth: Depth,
    of: str,
    *,
    filled: dict[str, Any] | None = None,
    problems: Sequence[str] = (),
    note: str | None = None,
    saved: str = "",
) -> Response:
    """Renders a case to label; its verdict and the labels are on the page only if this person has asked to see them.

    `filled`: contents of the form so far; by default the person's earlier answer.
    """
    opened, place, asked = case.opened, case.place, labelling.make_task(case)
    mine = labelling.store.current(place.subject, rater=rater, input_hash=place.input_hash)
    before = next((event for event in mine if event.depth == depth and event.action == "label"), None)
    shown = labelling.store.has_seen(place, rater, listed=False)
    own = own_blocks(opened.run, case.judgement, get_workbench(request).settings.runs) if shown else ()
    queue = labelling.queue(opened, depth, of)
    given = filled if filled is not None else before.answer if before is not None else None
    context: dict[str, Any] = {
        "opened": opened,
        "case": place,
        "rater": rater,
        "depth": depth,
        "of": of,
        "asked": asked,
        "shown": fit_exhibits(asked.exhibits, numbered=depth == "labels"),
        "form": asked.forms[depth].form(given) if depth in asked.forms else None,
        "judged": {event.depth for event in mine if event.action == "label"},
        "note": note if note is not None else before.note if before else "",
        "key": uuid4().hex,
        "problems": problems,
        "saved": saved,
        "why": REASON_TEXTS[queue.explain_offer(rater, place.input_hash).why],
        "done": len(queue.list_done(rater)),
        "skipped": len(queue.list_skipped(rater)),
        "total": len(queue.ranking.cases),
        "blind": not labelling.store.has_seen(place, rater),
        "verdict": render_case(case.judgement, opened.manifest.about, own, opened.name) if shown else None,
        "labels": _format_labels(labelling, case) if shown else None,
    }
    return render_page(request, "label_case.html", status=422 if problems else 200, **context)


def _format_labels(labelling: LabellingService, case: LabelCase) -> list[tuple[Event, dict[str, str]]]:
    """Returns everybody's labels of a case, this rater's among them, with their values as the page shows them."""
    found = labelling.store.current(case.place.subject, input_hash=case.place.input_hash)
    return [
        (event, {name: format_value(value) for name, value in event.fields.items()})
        for event in found
        if event.action == "label"
    ]


@router.post("/runs/{run}/label/{case}")
def save(
    request: Request,
    labelling: LabellingDep,
    rater: Rater,
    filled: Sent,
    run: str,
    case: str,
    depth: Depth,
    of: Target = "",
) -> Response:
    """Saves an answer and moves on to the next case; a faulty answer is shown again with its problems."""
    if (shown := filled.get("rater")) and shown != rater:
        raise Problem(
            409,
            f"this page was opened by {shown}, but the current rater is {rater}",
            where="rater",
            remedy="reload the case, and save it under the right name",
        )
    found = labelling.case(labelling.open(run), case)
    note, answer, problems = filled.get("note"), None, list[str]()
    try:
        answer = labelling.make_task(found).at(depth).read(filled)
        if not filled.get("more"):
            key = filled.get("key") if _KEY.fullmatch(filled.get("key")) else None
            try:
                labelling.save(found, rater, depth, answer, note=note, key=key, target=of)
            except KeyReused:  # changed and saved again from the same page: the later answer counts
                labelling.save(found, rater, depth, answer, note=note, target=of)
            return RedirectResponse(_next_address(labelling, found.opened, rater, depth, of, case), 303)
    except UsageProblem as problem:
        problems = [line.removeprefix("- ") for line in str(problem).split("\n")]
    return _render_case_page(request, labelling, found, rater, depth, of, filled=answer, problems=problems, note=note)


@router.post("/runs/{run}/label/{case}/skip")
def skip(labelling: LabellingDep, rater: Rater, run: str, case: str, depth: Depth, of: Target = "") -> Response:
    """Skips a case and moves on to the next one."""
    found = labelling.case(labelling.open(run), case)
    labelling.skip(found, rater, depth, of)
    return RedirectResponse(_next_address(labelling, found.opened, rater, depth, of), 303)


@router.post("/runs/{run}/label/{case}/show")
def show_verdict(labelling: LabellingDep, rater: Rater, run: str, case: str, depth: Depth, of: Target = "") -> Response:
    """Shows the verdict of a case. From here on this person's labels of this case are not blind."""
    labelling.store.mark_seen([labelling.case(labelling.open(run), case).place], rater)
    return RedirectResponse(label_address(run, case, depth=depth, of=of) + "#verdict", 303)


@router.post("/runs/{run}/undo")
def undo(
    labelling: LabellingDep,
    rater: Rater,
    run: str,
    depth: Annotated[str, Form()] = "",
    of: Annotated[str, Form()] = "",
) -> Response:
    """Undoes the rater's last label or skip, and goes back to that case; to the queue if there is none."""
    undone = labelling.undo(labelling.open(run), rater)
    if undone is None:
        return RedirectResponse(label_address(run, depth=depth, of=of), 303)
    return RedirectResponse(label_address(run, undone.place.input_hash, depth=undone.depth, of=of), 303)


def _next_address(
    labelling: LabellingService, opened: OpenRun, rater: str, depth: Depth, of: str, saved: str = ""
) -> str:
    """Returns the URL of the rater's next case; that of the queue if none is left."""
    turn = labelling.queue(opened, depth, of).next(rater)
    case = turn.input_hash if turn else ""
    return label_address(opened.name, case, depth=depth, of=of, **({"saved": saved} if saved and case else {}))


# --- agreement -------------------------------------------------------------------------------------------


@router.get("/runs/{run}/agreement")
def agreement_page(request: Request, labelling: LabellingDep, run: str, depth: DepthChoice = "both") -> Response:
    """Shows the live agreement. Polled every few seconds; answers 304 if nothing has changed."""
    opened = labelling.open(run)
    rater = get_rater(request)
    compared = labelling.agreements.get(opened, depth)
    etag = f'"{compared.edition}-{opened.state.journal.end}-{depth}-{quote(rater or "")}"'
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers={"etag": etag})
    judged = labelling.list_labelled(opened, rater) if rater else None
    found = hide_unjudged(compared.found, judged) if compared.found else None
    record_seen(request, opened, list_named_cases(found, compared.ids))
    context: dict[str, Any] = {
        "opened": opened,
        "depth": depth,
        "rater": rater,
        "compared": compared,
        "found": found,
        "lines": summarise_agreement(found) if found else (),
        "figures": _render_figures(found, run) if found else "",
        "most_classes": _MOST_CLASSES,
    }
    return render_page(request, "agreement.html", headers={"etag": etag, "cache-control": "no-cache"}, **context)


def _render_figures(found: Agreement, run: str) -> Markup:
    """Renders all figures except those that the page shows with links: confusion tables and cases."""
    fields = tuple(field.model_copy(update={"confusion": None, "worst": ()}) for field in found.fields)
    return render_blocks(list(agreement_blocks(found.model_copy(update={"fields": fields}), ""))[1:], run)


@router.get("/runs/{run}/agreement/cases")
def cell_page(
    request: Request,
    labelling: LabellingDep,
    run: str,
    field: str,
    people: str,
    judge: str,
    depth: DepthChoice = "both",
) -> Response:
    """Lists the cases of one cell of the confusion table; those not labelled yet stay hidden from the rater."""
    opened = labelling.open(run)
    rater = get_rater(request)
    compared = labelling.agreements.get(opened, depth)
    found = find_cell_cases(compared, field, people, judge)
    judged = labelling.list_labelled(opened, rater) if rater else None
    open_to = [case for case in found if judged is None or case.input_hash in judged]
    record_seen(request, opened, ((case.input_hash, case.id) for case in open_to))
    context: dict[str, Any] = {"field": field, "people": people, "judge": judge, "hidden": len(found) - len(open_to)}
    return render_page(request, "agreement_cases.html", opened=opened, depth=depth, cases=open_to, **context)
