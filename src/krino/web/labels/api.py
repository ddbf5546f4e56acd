"""`/v1/labels`: read and give labels, undo, the next case, the file that `krino agree` reads, and the agreement."""

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
from krino.exports.csv_file import cell, harmless
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
    normalize_rater,
)
from krino.results.agreement.result import Agreement
from krino.web.labels.agreement import named_in
from krino.web.labels.labelling import Desk, Labelling, Looked, no_case, note_seen, rater_of
from krino.web.labels.queue import WORDS
from krino.web.problems import Problem, Told
from krino.web.run_index import Opened
from krino.web.strict import StrictRoute

router = APIRouter(prefix="/v1/labels", tags=["labels"], route_class=StrictRoute)
_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": Told, "description": "there is no such run or case"},
    422: {"model": Told, "description": "the request or the answer does not hold"},
}
RunName = Annotated[str, Query(min_length=1, max_length=255, description="name of a run", examples=["my-run"])]
RaterName = Annotated[str, Field(min_length=1, max_length=LONGEST_RATER, examples=["anna"])]
CaseId = Annotated[
    str | None, Field(max_length=10_000, description="id of the case in the run (the first that has it)")
]
CaseHash = Annotated[str | None, Field(pattern="^[0-9a-f]{32}$", description="hash of the case's content")]


class LabelOut(BaseModel):
    """What a rater said of a case, as it counts now."""

    number: int = Field(description="grows with every line of the history")
    case: str
    input_hash: str
    rater: str
    depth: Depth
    action: Literal["label", "skip"]
    answer: dict[str, Any] | None = Field(description="the fields of the verdict, or the labels, by the depth")
    verdict: dict[str, Any] | None = Field(description="what the judge's rules made of the person's labels")
    note: str
    why: QueueReason = Field(description="why the queue brought the case")
    random: bool = Field(description="it came by the random share")
    blind: bool = Field(description="the person had not been shown the verdict")
    run: str
    created: str


class LabelList(BaseModel):
    labels: list[LabelOut]
    next: int | None = Field(description="give it as `after` for the next page; null: there is none")


class LabelIn(BaseModel):
    """Name the case by `case` or by `input_hash`."""

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
        description="sent again with the same key, it is one label",
    )


class UndoIn(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"run": "my-run", "rater": "anna"}]})

    run: Annotated[str, Field(min_length=1, max_length=255)]
    rater: RaterName


class Undone(BaseModel):
    undone: LabelOut | None = Field(description="what no longer counts; null: there was nothing to take back")


class Next(BaseModel):
    """The case that this rater should label next; all null where the rater is through."""

    case: str | None = None
    input_hash: str | None = None
    why: QueueReason | None = None
    reason: str | None = Field(default=None, description="why, in words")
    random: bool | None = None


class Live(BaseModel):
    edition: int = Field(description="changes with every label")
    agreement: Agreement | None = Field(description="null while nothing can be compared; cases by `input_hash`")
    problem: str


@router.get("", responses=_ERRORS)
def labels(
    request: Request,
    desk: Desk,
    run: RunName,
    rater: Annotated[str | None, Query(max_length=LONGEST_RATER)] = None,
    depth: Depth | None = None,
    after: Annotated[int, Query(ge=0, le=2**31)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> LabelList:
    """The labels that count of the cases of a run, oldest first."""
    opened = _read_whole(desk, run)
    events = desk.store.current(Subject.of(opened.manifest), rater=normalize_rater(rater) if rater else None)
    found = [event for event in events if event.id > after and depth in (None, event.depth)]
    known = opened.cases.of_contents(event.place.input_hash for event in found)
    matching = [event for event in found if event.place.input_hash in known]
    page = matching[:limit]
    _note_said(request, opened, ((event.rater, event.place.input_hash, event.place.case_id) for event in page))
    return LabelList(labels=[_out(event) for event in page], next=page[-1].id if len(matching) > limit else None)


@router.post("", status_code=201, responses=_ERRORS)
def give(desk: Desk, label: LabelIn) -> LabelOut:
    """Give a label. When the answer comes, it is on disk."""
    looked = _looked(desk, label)
    with _told_of("body.rater"):
        rater = normalize_rater(label.rater)
    with _told_of("body.answer"):
        return _out(desk.save(looked, rater, label.depth, label.answer, note=label.note, key=label.key))


@router.post("/undo", responses=_ERRORS)
def undo(desk: Desk, wanted: UndoIn) -> Undone:
    """Take back the rater's last label or skip in this run; what stood before it counts again."""
    with _told_of("body.rater"):
        rater = normalize_rater(wanted.rater)
    undone = desk.undo(desk.open(wanted.run, "body.run"), rater)
    return Undone(undone=_out(undone) if undone else None)


@router.get("/next", responses=_ERRORS)
def next_case(
    desk: Desk,
    run: RunName,
    rater: Annotated[str, Query(min_length=1, max_length=LONGEST_RATER)],
    depth: Depth = "fields",
) -> Next:
    """Which case this rater should label next, and why. It says nothing of the verdict."""
    opened = desk.open(run)
    turn = desk.queue(opened, depth).next(normalize_rater(rater))
    if turn is None:
        return Next()
    place = desk.case(opened, turn.input_hash).place
    return Next(
        case=place.case_id, input_hash=place.input_hash, why=turn.why, reason=WORDS[turn.why], random=turn.random
    )


@router.get("/agreement", responses=_ERRORS)
def agreement(request: Request, desk: Desk, run: RunName, depth: DepthChoice = "both") -> Live:
    """How far raters agree with each other and with the judge at this moment."""
    opened = desk.open(run)
    found = desk.comparisons.of(opened, depth)
    note_seen(request, opened, named_in(found.found, found.ids))
    return Live(edition=found.edition, agreement=found.found, problem=found.problem)


@router.get(
    "/export",
    responses={
        **_ERRORS,
        200: {
            "description": "one row a case and rater, as `krino agree` reads it",
            "content": {"text/csv": {}, "application/x-ndjson": {}},
        },
    },
    response_class=Response,
)
def export(
    request: Request,
    desk: Desk,
    run: RunName,
    format: Literal["csv", "jsonl"] = "csv",  # noqa: A002 - the parameter's name in addresses
    depth: DepthChoice = "both",
) -> Response:
    """The labels of a run as a file; `label_random` says whether a case came by the random share."""
    opened = _read_whole(desk, run)
    subject = Subject.of(opened.manifest)
    events = desk.store.current(subject)
    found = opened.cases.of_contents(event.place.input_hash for event in events)
    ids = {digest: row.entry.id for digest, row in found.items()}
    rows = build_rows(events, ids, subject.version, depth)
    said = ((event.rater, event.place.input_hash) for event in events if event.place.input_hash in ids)
    _note_said(request, opened, ((rater, digest, ids[digest]) for rater, digest in said))
    text, kind = (_csv(rows), "text/csv") if format == "csv" else (_jsonl(rows), "application/x-ndjson")
    headers = {"content-disposition": f'attachment; filename="labels.{format}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)


def _read_whole(desk: Labelling, run: str) -> Opened:
    """Labels are given by the cases of a run: of one that is still being read, some would be missing."""
    opened = desk.open(run)
    if opened.behind:
        raise Problem(
            503,
            "the run is still being read",
            where="run",
            remedy="try again in a moment",
            headers={"Retry-After": "1"},
        )
    return opened


def _note_said(request: Request, opened: Opened, said: Iterable[tuple[str, str, str]]) -> None:
    """A rater's browser that is given labels: what others said of a case is hidden until one has judged it, as the
    verdict is."""
    own = rater_of(request)
    note_seen(request, opened, ((digest, name) for rater, digest, name in said if rater != own))


def _jsonl(rows: list[dict[str, Any]]) -> bytes:
    names = order_columns(rows)
    return b"".join(orjson.dumps({name: row[name] for name in names if name in row}) + b"\n" for row in rows)


def _csv(rows: list[dict[str, Any]]) -> str:
    """An empty cell is no label, `null` is the label null; a list is JSON."""
    names, text = order_columns(rows), io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(map(harmless, names))
    table.writerows([_cell(row[name]) if name in row else "" for name in names] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> str | int | float:
    if value is None:
        return "null"
    return cell(orjson.dumps(value).decode() if isinstance(value, list | dict) else value)


@contextmanager
def _told_of(where: str) -> Iterator[None]:
    """What is wrong is told of this field of the request."""
    try:
        yield
    except DatabaseUnavailable:  # nothing that the client wrote is to blame
        raise
    except UsageProblem as problem:
        told = "body.key" if isinstance(problem, KeyReused) else where
        raise Problem(422, str(problem), where=told, remedy="change it as the message says") from None


def _looked(desk: Labelling, label: LabelIn) -> Looked:
    opened = desk.open(label.run, "body.run")
    if label.input_hash is not None:
        return desk.case(opened, label.input_hash, "body.input_hash")
    if label.case is None:
        raise Problem(422, "no case is named", where="body.case", remedy="give `case` (its id) or `input_hash`")
    row = opened.cases.find(label.case)
    if row is None:
        raise no_case(label.case, "body.case", "GET /v1/runs/RUN/cases lists them")
    return desk.case(opened, row.entry.input_hash)


def _out(event: Event) -> LabelOut:
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
