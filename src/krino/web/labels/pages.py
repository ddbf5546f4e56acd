"""The pages of labelling: the queue, one case at two depths, undo, and the agreement as labels come.

A page about a case that the person has not asked to be shown holds nothing of its verdict, nor of what others said: the
templates are never given it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any
from urllib.parse import quote
from uuid import uuid4

from fastapi import APIRouter, Depends, Form, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from krino.errors import UsageProblem
from krino.people.rows import DepthChoice
from krino.people.store import Depth, Event, KeyReused, normalize_rater
from krino.render.agreement import agreement_blocks
from krino.results.agreement.result import Agreement
from krino.results.named_cases import value_text
from krino.web.drawing import case_body, drawn
from krino.web.index.case_view import own_blocks
from krino.web.labels.agreement import for_rater, in_cell, in_short, named_in
from krino.web.labels.forms import Filled
from krino.web.labels.labelling import Desk, Labelling, Looked, label_address, note_seen, rater_cookie, rater_of
from krino.web.labels.queue import WORDS, progress_of
from krino.web.labels.showing import show
from krino.web.problems import Problem
from krino.web.run_index import Opened
from krino.web.security import cookie
from krino.web.templating import page
from krino.web.workbench import workbench

router = APIRouter(include_in_schema=False)
_KEY = re.compile("[0-9a-f]{32}")
_YEAR = 365 * 24 * 3600
_MOST_BOXES = 10_000
_MOST_CLASSES = 16


async def _sent(request: Request) -> Filled:
    return Filled((await request.form(max_fields=_MOST_BOXES)).multi_items())


Sent = Annotated[Filled, Depends(_sent)]


# --- who labels ------------------------------------------------------------------------------------------


def _needs_rater(request: Request) -> str:
    rater = rater_of(request)
    if rater is None:
        raise Problem(
            409, "nobody has said who labels", where="cookie", remedy="open the queue of the run and write your name"
        )
    return rater


Rater = Annotated[str, Depends(_needs_rater)]


@router.post("/runs/{run}/rater")
def choose_name(
    request: Request, run: str, name: Annotated[str, Form()], depth: Annotated[str, Form()] = ""
) -> Response:
    kept = cookie(request.scope, rater_cookie(request), quote(normalize_rater(name), safe=""), _YEAR)
    return RedirectResponse(label_address(run, depth=depth), 303, {"set-cookie": kept})


# --- the queue -------------------------------------------------------------------------------------------


@router.get("/runs/{run}/label")
def queue_page(request: Request, desk: Desk, run: str, depth: Depth = "fields", who: bool = False) -> Response:
    opened = desk.open(run)
    rater = rater_of(request)
    queue = desk.queue(opened, depth)
    turn = queue.next(rater) if rater is not None else None
    context: dict[str, Any] = {
        "opened": opened,
        "depth": depth,
        "rater": rater,
        "asks_name": who or rater is None,
        "progress": progress_of(queue),
        "total": len(queue.ranking.cases),
        "done": len(queue.done(rater)) if rater else 0,
        "skipped": queue.skipped(rater) if rater else [],
        "disputed": sum(key[0] == 0 for key in queue.ranking.order),
        "unsure": sum(key[0] == 1 for key in queue.ranking.order),
        "turn": turn,
        "why": WORDS[turn.why] if turn else "",
    }
    return page(request, "label_queue.html", **context)


# --- one case --------------------------------------------------------------------------------------------


@router.get("/runs/{run}/label/{case}")
def case_page(
    request: Request, desk: Desk, run: str, case: str, depth: Depth | None = None, saved: str = ""
) -> Response:
    rater = rater_of(request)
    if rater is None:
        return RedirectResponse(label_address(run, depth=depth or "fields"), 303)
    return _case_page(request, desk, desk.case(desk.open(run), case), rater, depth or "fields", saved=saved)


def _case_page(
    request: Request,
    desk: Labelling,
    looked: Looked,
    rater: str,
    depth: Depth,
    *,
    filled: dict[str, Any] | None = None,
    problems: Sequence[str] = (),
    note: str | None = None,
    saved: str = "",
) -> Response:
    """`filled`: what stands in the form already; else what this person said before, or nothing."""
    opened, place, asked = looked.opened, looked.place, desk.asked(looked)
    mine = desk.store.current(place.subject, rater=rater, input_hash=place.input_hash)
    before = next((event for event in mine if event.depth == depth and event.action == "label"), None)
    shown = desk.store.has_seen(place, rater, listed=False)
    own = own_blocks(opened.run, looked.judgement, workbench(request).settings.runs) if shown else ()
    queue = desk.queue(opened, depth)
    given = filled if filled is not None else before.answer if before is not None else None
    context: dict[str, Any] = {
        "opened": opened,
        "case": place,
        "rater": rater,
        "depth": depth,
        "asked": asked,
        "shown": show(asked.exhibits, numbered=depth == "labels"),
        "form": asked.forms[depth].form(given) if depth in asked.forms else None,
        "judged": {event.depth for event in mine if event.action == "label"},
        "note": note if note is not None else before.note if before else "",
        "key": uuid4().hex,
        "problems": problems,
        "saved": saved,
        "why": WORDS[queue.turn_of(rater, place.input_hash).why],
        "done": len(queue.done(rater)),
        "skipped": len(queue.skipped(rater)),
        "total": len(queue.ranking.cases),
        "blind": not desk.store.has_seen(place, rater),
        "verdict": case_body(looked.judgement, opened.manifest.about, own, opened.name) if shown else None,
        "others": _said_by_others(desk, looked) if shown else None,
    }
    return page(request, "label_case.html", status=422 if problems else 200, **context)


def _said_by_others(desk: Labelling, looked: Looked) -> list[tuple[Event, dict[str, str]]]:
    found = desk.store.current(looked.place.subject, input_hash=looked.place.input_hash)
    return [
        (event, {name: value_text(value) for name, value in event.fields.items()})
        for event in found
        if event.action == "label"
    ]


@router.post("/runs/{run}/label/{case}")
def save(request: Request, desk: Desk, rater: Rater, filled: Sent, run: str, case: str, depth: Depth) -> Response:
    if (shown := filled.get("rater")) and shown != rater:
        raise Problem(
            409,
            f"this page was opened by {shown}, and {rater} labels now",
            where="rater",
            remedy="load the case again, and say it under the name that is meant",
        )
    looked = desk.case(desk.open(run), case)
    note, answer, problems = filled.get("note"), None, list[str]()
    try:
        answer = desk.asked(looked).at(depth).read(filled)
        if not filled.get("more"):
            key = filled.get("key") if _KEY.fullmatch(filled.get("key")) else None
            try:
                desk.save(looked, rater, depth, answer, note=note, key=key)
            except KeyReused:  # saved once, changed, and saved again from the same page: the later one counts
                desk.save(looked, rater, depth, answer, note=note)
            return RedirectResponse(_next(desk, looked.opened, rater, depth, case), 303)
    except UsageProblem as problem:
        problems = [line.removeprefix("- ") for line in str(problem).split("\n")]
    return _case_page(request, desk, looked, rater, depth, filled=answer, problems=problems, note=note)


@router.post("/runs/{run}/label/{case}/skip")
def skip(desk: Desk, rater: Rater, run: str, case: str, depth: Depth) -> Response:
    looked = desk.case(desk.open(run), case)
    desk.skip(looked, rater, depth)
    return RedirectResponse(_next(desk, looked.opened, rater, depth), 303)


@router.post("/runs/{run}/label/{case}/show")
def show_verdict(desk: Desk, rater: Rater, run: str, case: str, depth: Depth) -> Response:
    """From here on this person is not blind to this case, and the record says so."""
    desk.store.mark_seen([desk.case(desk.open(run), case).place], rater)
    return RedirectResponse(label_address(run, case, depth=depth) + "#verdict", 303)


@router.post("/runs/{run}/undo")
def undo(desk: Desk, rater: Rater, run: str, depth: Annotated[str, Form()] = "") -> Response:
    """Back to the case whose label or skip was taken back."""
    undone = desk.undo(desk.open(run), rater)
    if undone is None:
        return RedirectResponse(label_address(run, depth=depth), 303)
    return RedirectResponse(label_address(run, undone.place.input_hash, depth=undone.depth), 303)


def _next(desk: Labelling, opened: Opened, rater: str, depth: Depth, saved: str = "") -> str:
    turn = desk.queue(opened, depth).next(rater)
    case = turn.input_hash if turn else ""
    return label_address(opened.name, case, depth=depth, **({"saved": saved} if saved and case else {}))


# --- agreement -------------------------------------------------------------------------------------------


@router.get("/runs/{run}/agreement")
def agreement_page(request: Request, desk: Desk, run: str, depth: DepthChoice = "both") -> Response:
    """It is asked for again every few seconds by those who look at it; where nothing is new, nothing is sent."""
    opened = desk.open(run)
    rater = rater_of(request)
    compared = desk.comparisons.of(opened, depth)
    etag = f'"{compared.edition}-{opened.state.journal.end}-{depth}-{quote(rater or "")}"'
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers={"etag": etag})
    judged = desk.judged(opened, rater) if rater else None
    found = for_rater(compared.found, judged) if compared.found else None
    note_seen(request, opened, named_in(found, compared.ids))
    context: dict[str, Any] = {
        "opened": opened,
        "depth": depth,
        "rater": rater,
        "compared": compared,
        "found": found,
        "lines": in_short(found) if found else (),
        "figures": _figures(found, run) if found else "",
        "most_classes": _MOST_CLASSES,
    }
    return page(request, "agreement.html", headers={"etag": etag, "cache-control": "no-cache"}, **context)


def _figures(found: Agreement, run: str) -> Markup:
    """All but what the page shows with links: the table of what was confused, and the cases."""
    fields = tuple(field.model_copy(update={"confusion": None, "worst": ()}) for field in found.fields)
    return drawn(list(agreement_blocks(found.model_copy(update={"fields": fields}), ""))[1:], run)


@router.get("/runs/{run}/agreement/cases")
def cell_page(
    request: Request, desk: Desk, run: str, field: str, people: str, judge: str, depth: DepthChoice = "both"
) -> Response:
    opened = desk.open(run)
    rater = rater_of(request)
    compared = desk.comparisons.of(opened, depth)
    found = in_cell(compared, field, people, judge)
    judged = desk.judged(opened, rater) if rater else None
    open_to = [case for case in found if judged is None or case.input_hash in judged]
    note_seen(request, opened, ((case.input_hash, case.id) for case in open_to))
    context: dict[str, Any] = {"field": field, "people": people, "judge": judge, "hidden": len(found) - len(open_to)}
    return page(request, "agreement_cases.html", opened=opened, depth=depth, cases=open_to, **context)
