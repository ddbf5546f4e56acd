"""`/v1/labels`: read, give and undo labels, get the next case, export for `krino agree`, and the live agreement."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from krino.errors import UsageProblem
from krino.exports.csv_file import csv_cell, defuse_formula
from krino.people.database import DatabaseUnavailable
from krino.people.rows import DepthChoice, build_rows, order_columns
from krino.people.store import (
    LONGEST_NOTE,
    LONGEST_RATER,
    Depth,
    Event,
    KeyReused,
    QueueReason,
    Subject,
    normalise_rater,
)
from krino.results.agreement.result import Agreement
from krino.web.labels.agreement import list_named_cases
from krino.web.labels.queue import LONGEST_TARGET, REASON_TEXTS
from krino.web.labels.service import LabelCase, LabellingDep, LabellingService, case_not_found, get_rater, record_seen
from krino.web.problems import ErrorBody, Problem
from krino.web.runs_folder import OpenRun
from krino.web.strict_requests import StrictRoute

router = APIRouter(prefix="/v1/labels", tags=["labels"], route_class=StrictRoute)
_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorBody, "description": "no such run or case"},
    422: {"model": ErrorBody, "description": "the request or the answer is invalid"},
}
RunName = Annotated[str, Query(min_length=1, max_length=255, description="name of a run", examples=["my-run"])]
RaterName = Annotated[str, Field(min_length=1, max_length=LONGEST_RATER, examples=["anna"])]
CaseId = Annotated[
    str | None, Field(max_length=10_000, description="id of the case in the run (the first that has it)")
]
CaseHash = Annotated[str | None, Field(pattern="^[0-9a-f]{32}$", description="hash of the case's content")]


class LabelOut(BaseModel):
    """A rater's label of a case, as it counts now."""

    number: int = Field(description="increases with every label, skip and undo")
    case: str
    input_hash: str
    rater: str
    depth: Depth
    action: Literal["label", "skip"]
    answer: dict[str, Any] | None = Field(description="fields of the verdict or labels, depending on depth")
    verdict: dict[str, Any] | None = Field(
        description="verdict that the judge's rules derived from the person's labels"
    )
    note: str
    why: QueueReason = Field(description="why the queue offered the case")
    random: bool = Field(description="whether the case was drawn at random")
    blind: bool = Field(description="whether the person had not seen the verdict")
    run: str
    created: str


class LabelList(BaseModel):
    labels: list[LabelOut]
    next: int | None = Field(description="pass it as `after` for the next page; null if there is none")


class LabelIn(BaseModel):
    """Identify the case by `case` or by `input_hash`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"run": "my-run", "case": "case-1", "rater": "anna", "answer": {"faithfulness": 0.5}, "note": "why"}
            ]
        },
    )

    run: Annotated[str, Field(min_length=1, max_length=255)]
    case: CaseId = None
    input_hash: CaseHash = None
    rater: RaterName
    depth: Depth = "fields"
    answer: dict[str, Any]
    note: str = Field(default="", max_length=LONGEST_NOTE)
    key: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        pattern="^[ -~]+$",
        description="idempotency key: requests with the same key are one label",
    )
    of: str = Field(
        default="", max_length=LONGEST_TARGET, description="as in /v1/labels/next, if the case came from it"
    )


class UndoIn(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"run": "my-run", "rater": "anna"}]})

    run: Annotated[str, Field(min_length=1, max_length=255)]
    rater: RaterName


class Undone(BaseModel):
    undone: LabelOut | None = Field(description="the label that no longer counts; null if there was nothing to undo")


class Next(BaseModel):
    """The case that this rater should label next; all null if there is none left."""

    case: str | None = None
    input_hash: str | None = None
    why: QueueReason | None = None
    reason: str | None = Field(default=None, description="the reason in words")
    random: bool | None = None


class Live(BaseModel):
    edition: int = Field(description="changes with every label")
    agreement: Agreement | None = Field(description="null while there are no labels to compare; cases by `input_hash`")
    problem: str


@router.get("", responses=_ERRORS)
def labels(
    request: Request,
    labelling: LabellingDep,
    run: RunName,
    rater: Annotated[str | None, Query(max_length=LONGEST_RATER)] = None,
    depth: Depth | None = None,
    after: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> LabelList:
    """The labels that count in a run, oldest first."""
    opened = _open_complete(labelling, run)
    events = labelling.store.current(Subject.of(opened.manifest), rater=normalise_rater(rater) if rater else None)
    found = [event for event in events if event.id > after and depth in (None, event.depth)]
    known = opened.cases.find_by_hashes(event.place.input_hash for event in found)
    matching = [event for event in found if event.place.input_hash in known]
    page = matching[:limit]
    _record_shown_labels(
        request, opened, ((event.rater, event.place.input_hash, event.place.case_id) for event in page)
    )
    return LabelList(
        labels=[_to_label_out(event) for event in page], next=page[-1].id if len(matching) > limit else None
    )


@router.post("", status_code=201, responses=_ERRORS)
def give(labelling: LabellingDep, label: LabelIn) -> LabelOut:
    """Give a label. It is on disk when the response arrives."""
    case = _find_case(labelling, label)
    with _report_at("body.rater"):
        rater = normalise_rater(label.rater)
    with _report_at("body.answer"):
        saved = labelling.save(case, rater, label.depth, label.answer, note=label.note, key=label.key, target=label.of)
        return _to_label_out(saved)


@router.post("/undo", responses=_ERRORS)
def undo(labelling: LabellingDep, wanted: UndoIn) -> Undone:
    """Undo the rater's last label or skip in this run; the one before it counts again."""
    with _report_at("body.rater"):
        rater = normalise_rater(wanted.rater)
    undone = labelling.undo(labelling.open(wanted.run, "body.run"), rater)
    return Undone(undone=_to_label_out(undone) if undone else None)


@router.get("/next", responses=_ERRORS)
def next_case(
    labelling: LabellingDep,
    run: RunName,
    rater: Annotated[str, Query(min_length=1, max_length=LONGEST_RATER)],
    depth: Depth = "fields",
    of: Annotated[
        str, Query(max_length=LONGEST_TARGET, description="for the true rate of a label: pass, or FIELD:LABEL")
    ] = "",
) -> Next:
    """The case that this rater should label next, and why. The response reveals nothing of the verdict."""
    opened = labelling.open(run)
    turn = labelling.queue(opened, depth, of).next(normalise_rater(rater))
    if turn is None:
        return Next()
    place = labelling.case(opened, turn.input_hash).place
    return Next(
        case=place.case_id, input_hash=place.input_hash, why=turn.why, reason=REASON_TEXTS[turn.why], random=turn.random
    )


@router.get("/agreement", responses=_ERRORS)
def agreement(request: Request, labelling: LabellingDep, run: RunName, depth: DepthChoice = "both") -> Live:
    """Current agreement of raters with each other and with the judge."""
    opened = labelling.open(run)
    found = labelling.agreements.get(opened, depth)
    record_seen(request, opened, list_named_cases(found.found, found.ids))
    return Live(edition=found.edition, agreement=found.found, problem=found.problem)


@router.get(
    "/export",
    responses={
        **_ERRORS,
        200: {
            "description": "one row per case and rater, for `krino agree`",
            "content": {"text/csv": {}, "application/x-ndjson": {}},
        },
    },
    response_class=Response,
)
def export(
    request: Request,
    labelling: LabellingDep,
    run: RunName,
    format: Literal["csv", "jsonl"] = "csv",  # noqa: A002 - the parameter's name in addresses
    depth: DepthChoice = "both",
) -> Response:
    """The labels of a run as a file. `label_random` marks the random sample; `label_weight` is one over the chance of
    being labelled, where cases were drawn for a true rate."""
    opened = _open_complete(labelling, run)
    subject = Subject.of(opened.manifest)
    events = labelling.store.current(subject)
    found = opened.cases.find_by_hashes(event.place.input_hash for event in events)
    ids = {digest: row.entry.id for digest, row in found.items()}
    rows = build_rows(events, ids, subject.version, depth, labelling.answers(opened))
    said = ((event.rater, event.place.input_hash) for event in events if event.place.input_hash in ids)
    _record_shown_labels(request, opened, ((rater, digest, ids[digest]) for rater, digest in said))
    text, kind = (_to_csv(rows), "text/csv") if format == "csv" else (_to_jsonl(rows), "application/x-ndjson")
    headers = {"content-disposition": f'attachment; filename="labels.{format}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)


def _open_complete(labelling: LabellingService, run: str) -> OpenRun:
    """Opens a run; 503 while it is still being read, because labels of cases not yet read would be missing."""
    opened = labelling.open(run)
    if opened.is_incomplete:
        raise Problem(
            503,
            "the run is still being read",
            where="run",
            remedy="try again in a moment",
            headers={"Retry-After": "1"},
        )
    return opened


def _record_shown_labels(request: Request, opened: OpenRun, said: Iterable[tuple[str, str, str]]) -> None:
    """Records which other people's labels a rater's browser was shown: they end blindness as the verdict does."""
    own = get_rater(request)
    record_seen(request, opened, ((digest, name) for rater, digest, name in said if rater != own))


def _to_jsonl(rows: list[dict[str, Any]]) -> bytes:
    names = order_columns(rows)
    return b"".join(orjson.dumps({name: row[name] for name in names if name in row}) + b"\n" for row in rows)


def _to_csv(rows: list[dict[str, Any]]) -> str:
    """Writes CSV in which an empty cell means no label and `null` the label null; lists are JSON."""
    names, text = order_columns(rows), io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(map(defuse_formula, names))
    table.writerows([_format_cell(row[name]) if name in row else "" for name in names] for row in rows)
    return text.getvalue()


def _format_cell(value: Any) -> str | int | float:
    if value is None:
        return "null"
    return csv_cell(orjson.dumps(value).decode() if isinstance(value, list | dict) else value)


@contextmanager
def _report_at(where: str) -> Iterator[None]:
    """Turns a `UsageProblem` in the block into an error response (422) about this field of the request."""
    try:
        yield
    except DatabaseUnavailable:  # not the client's fault
        raise
    except UsageProblem as problem:
        at = "body.key" if isinstance(problem, KeyReused) else where
        raise Problem(422, str(problem), where=at, remedy="change it as the message says") from None


def _find_case(labelling: LabellingService, label: LabelIn) -> LabelCase:
    """Finds the case that a label names, by content hash or else by id; `Problem` if there is none."""
    opened = labelling.open(label.run, "body.run")
    if label.input_hash is not None:
        return labelling.case(opened, label.input_hash, "body.input_hash")
    if label.case is None:
        raise Problem(422, "the case is missing", where="body.case", remedy="give `case` (its id) or `input_hash`")
    row = opened.cases.find(label.case)
    if row is None:
        raise case_not_found(label.case, "body.case", "GET /v1/runs/RUN/cases lists them")
    return labelling.case(opened, row.entry.input_hash)


def _to_label_out(event: Event) -> LabelOut:
    """Returns a label as the API shows it."""
    place = event.place
    same = ("rater", "depth", "action", "answer", "verdict", "note", "why", "random", "blind", "created")
    return LabelOut.model_validate(
        {
            "number": event.id,
            "case": place.case_id,
            "input_hash": place.input_hash,
            "run": place.run,
            **{name: getattr(event, name) for name in same},
        }
    )
