"""`/try`: judge one case in the browser and see how the verdict came about; keep it as a case.

The judge and the labeller are those that the server offers (`web/desk.py`), as for programs that call the API.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Form, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import Response

from krino.contract import AnyJudge, Judgement, hash_record
from krino.contract.case_fields import field_kinds, names_of
from krino.errors import UsageProblem
from krino.judges.registry import OURS
from krino.people.store import CaseRef, Subject
from krino.render.at_hand import AtHand
from krino.runs.manifest import MANIFEST, JudgeCard
from krino.web.drawing import told_of
from krino.web.labels.labelling import rater_of
from krino.web.templating import page
from krino.web.workbench import Bench, Workbench
from krino.writing import OWNER_ONLY

router = APIRouter(include_in_schema=False)

CASES = "cases"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
_LONGEST_LINE = 5_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What the form holds."""

    judge: str = "rag"
    labeller: str = "local"
    options: str = ""
    case: str = ""
    """As JSON."""
    example: str = ""


@router.get("/try")
def try_page(
    request: Request, bench: Bench, judge: str = "rag", example: str = "", labeller: str = "local"
) -> Response:
    """The empty form, or one that an example of the package fills."""
    bench.desk.ready(judge)  # or else it is refused
    examples = _examples(judge)
    case = examples.get(example) or next(iter(examples.values()), {})
    asked = Asked(judge, labeller, case=_pretty(case), example=example)
    return _page(request, bench, asked)


@router.post("/try")
async def try_case(request: Request, bench: Bench) -> Response:
    form = await request.form()
    asked = Asked(*(str(form.get(name, "")) for name in ("judge", "labeller", "options", "case", "example")))
    try:
        asked, record = _record(asked, form, bench)
        options = _object(asked.options, "the options") if asked.options.strip() else {}
        (judgement, *_) = await bench.desk.judged(asked.judge, [record], options=options, labeller=asked.labeller)
        judge = await run_in_threadpool(bench.desk.ready, asked.judge, options)
    except UsageProblem as problem:
        return await run_in_threadpool(_page, request, bench, asked, str(problem), status=422)
    return await run_in_threadpool(_judged, request, bench, asked, record, judgement.read(), judge)


@router.post("/try/save")
def save_case(
    request: Request,
    bench: Bench,
    judge: Annotated[str, Form()],
    case: Annotated[str, Form()],
    file: Annotated[str, Form()] = "tried",
) -> Response:
    asked = Asked(judge, case=case)
    bench.desk.ready(judge)  # or else nothing is saved
    try:
        saved = save(bench.settings.runs, file, _object(case, "the case"))
    except UsageProblem as problem:
        return _page(request, bench, asked, str(problem), status=422)
    return _page(request, bench, asked, saved=saved)


def save(runs: Path, name: str, record: Mapping[str, Any]) -> str:
    """Appends the case to a file of cases; gives where that is, as seen from the folder of runs.

    One call writes the whole line, so that two people who save at once do not mix their lines.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageProblem(f"`{name[:80]}` cannot be the name of a file: take letters, digits, dots, - and _")
    if (runs / MANIFEST).is_file():
        raise UsageProblem("this server shows one run, and a run folder holds nothing else: serve the folder of runs")
    stem = name.removesuffix(".jsonl")
    home = runs.resolve() / CASES
    home.mkdir(exist_ok=True)
    if home.resolve() != home:
        raise UsageProblem(f"{CASES} is a link that leads elsewhere: nothing is written there")
    named = {"id": f"{stem}-{hash_record(record)[:8]}", **record} if not record.get("id") else record
    try:
        _append(home / f"{stem}.jsonl", orjson.dumps(named) + b"\n")
    except OSError as error:
        raise UsageProblem(f"{CASES}/{stem}.jsonl cannot be written: {error.strerror}") from None
    except TypeError as error:
        raise UsageProblem(f"the case cannot be written as JSON: {error}") from None
    return f"{CASES}/{stem}.jsonl"


def _append(path: Path, line: bytes) -> None:
    """The whole line or nothing. Somebody may have edited the file and left its last line without an end."""
    target = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, OWNER_ONLY)
    try:
        found = os.fstat(target)
        if not stat.S_ISREG(found.st_mode):  # a pipe would take the case and never give it back
            raise OSError(errno.EINVAL, "it is no plain file")
        if found.st_size and os.pread(target, 1, found.st_size - 1) != b"\n":
            line = b"\n" + line
        if os.write(target, line) < len(line):
            os.ftruncate(target, found.st_size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(target)


# --- the page --------------------------------------------------------------------------------------


def _page(
    request: Request, bench: Workbench, asked: Asked, problem: str = "", status: int = 200, **more: Any
) -> Response:
    judge = bench.desk.ready(asked.judge)
    context: dict[str, Any] = {
        "asked": asked,
        "judges": bench.desk.judges,
        "labellers": bench.desk.labellers,
        "examples": list(_examples(asked.judge)),
        "fields": _fields(judge, asked.case),
        "default_options": _pretty(judge.options.model_dump(mode="json")),
        "problem": problem,
        "judgement": None,
        "body": None,
        "cells": [],
        "saved": "",
        "may_save": not (bench.settings.runs / MANIFEST).is_file(),
        **more,
    }
    return page(request, "try.html", status=status, **context)


def _judged(
    request: Request,
    bench: Workbench,
    asked: Asked,
    record: Mapping[str, Any],
    judgement: Judgement,
    judge: AnyJudge,
) -> Response:
    if (rater := rater_of(request)) is not None:  # the same case may wait in the queue of a run
        subject = Subject.of_judge(judge.name, judge.version, judge.options.model_dump(mode="json"))
        bench.labels.mark_seen([CaseRef(subject, judgement.input_hash, judgement.id)], rater)
    plain = judgement.model_dump(mode="json")
    return _page(request, bench, asked, **told_of(plain, JudgeCard.of(judge), AtHand(judge).view(plain, record), ""))


def _fields(judge: AnyJudge, case: str) -> list[dict[str, Any]]:
    """The fields of the judge's case, with what the present case holds of each: text, paragraphs, or JSON."""
    try:
        record = _object(case, "the case")
    except UsageProblem:
        record = {}
    fields = []
    for name, kind in field_kinds(judge).items():
        value = next((record[known] for known in names_of(judge, name) if known in record), None)
        if kind == "text" and isinstance(value, str | None):
            fields.append({"name": name, "kind": "text", "value": value or ""})
        elif kind == "list" and (value is None or _is_texts(value)):
            fields.append({"name": name, "kind": "list", "value": "\n\n".join(value or ())})
        else:
            fields.append({"name": name, "kind": "json", "value": "" if value is None else _pretty(value)})
    return fields


def _is_texts(value: Any) -> bool:
    """Texts that a blank line can stand between."""
    return isinstance(value, list) and all(isinstance(item, str) and "\n\n" not in item for item in value)


def _record(asked: Asked, form: FormData, bench: Workbench) -> tuple[Asked, dict[str, Any]]:
    """The case that the form holds, as JSON or field by field; the form is shown again with what was understood."""
    if form.get("by") != "fields":
        return asked, _object(asked.case, "the case")
    record: dict[str, Any] = {}
    for name in field_kinds(bench.desk.ready(asked.judge)):
        text, kind = str(form.get(f"field.{name}", "")), str(form.get(f"kind.{name}", "text"))
        if not text.strip():
            continue
        if kind == "list":
            parts = re.split(r"\n\s*\n", text.replace("\r", ""))
            record[name] = [part.strip() for part in parts if part.strip()]
        else:
            record[name] = text.replace("\r\n", "\n") if kind == "text" else _json(text, name)
    return replace(asked, case=_pretty(record)), record


def _object(text: str, what: str) -> dict[str, Any]:
    value = _json(text, what)
    if not isinstance(value, dict):
        raise UsageProblem(f'{what}: a JSON object is needed, as {{"question": …}}, not a {type(value).__name__}')
    return value


def _json(text: str, what: str) -> Any:
    if len(text) > _LONGEST_LINE:
        raise UsageProblem(f"{what}: longer than {_LONGEST_LINE:,} characters; for long cases there is `krino judge`")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageProblem(f"{what}: not JSON, line {error.lineno}, column {error.colno}: {error.msg}") from None


@cache
def _examples(judge: str) -> dict[str, dict[str, Any]]:
    """The cases that come with the package, by their ids."""
    if judge not in OURS:
        return {}
    lines = (resources.files("krino.examples") / f"{judge}.jsonl").read_bytes().splitlines()
    cases = [orjson.loads(line) for line in lines if line.strip()]
    return {str(case.get("id", place + 1)): case for place, case in enumerate(cases)}


def _pretty(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
