"""`/try`: judge a case in the browser, see how the verdict came about, and save the case.

Judges and labellers are those of the API (`web/judging/service.py`).
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
from krino.contract.record_fields import field_kinds, names_of
from krino.errors import UsageProblem
from krino.judges.registry import OURS
from krino.people.store import CaseRef, Subject
from krino.render.live_views import LiveJudge
from krino.runs.manifest import MANIFEST, JudgeCard
from krino.web.labels.service import get_rater
from krino.web.rendering import describe_case, render_page
from krino.web.workbench import Workbench, WorkbenchDep
from krino.writing import OWNER_ONLY

router = APIRouter(include_in_schema=False)

CASES = "cases"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
_LONGEST_LINE = 5_000_000


@dataclass(frozen=True, slots=True)
class TryForm:
    """The contents of the form."""

    judge: str = "rag"
    labeller: str = "local"
    options: str = ""
    case: str = ""
    """As JSON."""
    example: str = ""


@router.get("/try")
def try_page(
    request: Request, workbench: WorkbenchDep, judge: str = "rag", example: str = "", labeller: str = "local"
) -> Response:
    """Shows the form, filled with an example."""
    workbench.judging.get_judge(judge)  # raises if there is no such judge
    examples = _load_examples(judge)
    case = examples.get(example) or next(iter(examples.values()), {})
    asked = TryForm(judge, labeller, case=_format_json(case), example=example)
    return _render_form_page(request, workbench, asked)


@router.post("/try")
async def try_case(request: Request, workbench: WorkbenchDep) -> Response:
    """Judges the case of the form and shows the verdict."""
    form = await request.form()
    asked = TryForm(*(str(form.get(name, "")) for name in ("judge", "labeller", "options", "case", "example")))
    try:
        asked, record = _read_record(asked, form, workbench)
        options = _parse_object(asked.options, "the options") if asked.options.strip() else {}
        (judgement, *_) = await workbench.judging.judge_cases(
            asked.judge, [record], options=options, labeller=asked.labeller
        )
        judge = await run_in_threadpool(workbench.judging.get_judge, asked.judge, options)
    except UsageProblem as problem:
        return await run_in_threadpool(_render_form_page, request, workbench, asked, str(problem), status=422)
    return await run_in_threadpool(_render_verdict_page, request, workbench, asked, record, judgement.read(), judge)


@router.post("/try/save")
def save_case(
    request: Request,
    workbench: WorkbenchDep,
    judge: Annotated[str, Form()],
    case: Annotated[str, Form()],
    file: Annotated[str, Form()] = "tried",
) -> Response:
    """Appends the case of the form to a file in the folder of runs."""
    asked = TryForm(judge, case=case)
    workbench.judging.get_judge(judge)  # raises if there is no such judge
    try:
        saved = append_case(workbench.settings.runs, file, _parse_object(case, "the case"))
    except UsageProblem as problem:
        return _render_form_page(request, workbench, asked, str(problem), status=422)
    return _render_form_page(request, workbench, asked, saved=saved)


def append_case(runs: Path, name: str, record: Mapping[str, Any]) -> str:
    """Appends the case to a file of cases and returns its path relative to the runs folder; `UsageProblem` if that
    cannot be. A case without an id gets one.

    The line is written in one call, so that two people who save at once do not mix their lines.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageProblem(f"`{name[:80]}` is not a valid file name: use letters, digits, dots, - and _")
    if (runs / MANIFEST).is_file():
        raise UsageProblem(
            "this server shows a single run, and cases are not saved inside it; serve the folder of runs"
        )
    stem = name.removesuffix(".jsonl")
    home = runs.resolve() / CASES
    home.mkdir(exist_ok=True)
    if home.resolve() != home:
        raise UsageProblem(f"{CASES} is a link that leads elsewhere, so nothing is written there")
    named = {"id": f"{stem}-{hash_record(record)[:8]}", **record} if not record.get("id") else record
    try:
        _append(home / f"{stem}.jsonl", orjson.dumps(named) + b"\n")
    except OSError as error:
        raise UsageProblem(f"{CASES}/{stem}.jsonl cannot be written: {error.strerror}") from None
    except TypeError as error:
        raise UsageProblem(f"the case cannot be written as JSON: {error}") from None
    return f"{CASES}/{stem}.jsonl"


def _append(path: Path, line: bytes) -> None:
    """Appends the whole line or nothing; if the last line has no newline (after an edit), adds one first. Raises
    `OSError` also for what is no regular file."""
    target = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, OWNER_ONLY)
    try:
        found = os.fstat(target)
        if not stat.S_ISREG(found.st_mode):  # a pipe would block, or swallow the case
            raise OSError(errno.EINVAL, "not a regular file")
        if found.st_size and os.pread(target, 1, found.st_size - 1) != b"\n":
            line = b"\n" + line
        if os.write(target, line) < len(line):
            os.ftruncate(target, found.st_size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(target)


# --- the page --------------------------------------------------------------------------------------


def _render_form_page(
    request: Request, workbench: Workbench, asked: TryForm, problem: str = "", status: int = 200, **more: Any
) -> Response:
    """Renders the form, with what was filled in and the problem with it. `more`: template variables to replace."""
    judge = workbench.judging.get_judge(asked.judge)
    context: dict[str, Any] = {
        "asked": asked,
        "judges": workbench.judging.judges,
        "labellers": workbench.judging.labellers,
        "examples": list(_load_examples(asked.judge)),
        "fields": _list_fields(judge, asked.case),
        "default_options": _format_json(judge.options.model_dump(mode="json")),
        "problem": problem,
        "judgement": None,
        "body": None,
        "cells": [],
        "saved": "",
        "may_save": not (workbench.settings.runs / MANIFEST).is_file(),
        **more,
    }
    return render_page(request, "try.html", status=status, **context)


def _render_verdict_page(
    request: Request,
    workbench: Workbench,
    asked: TryForm,
    record: Mapping[str, Any],
    judgement: Judgement,
    judge: AnyJudge,
) -> Response:
    """Renders the form with the verdict of its case, which counts as seen by the current rater."""
    if (rater := get_rater(request)) is not None:  # the same case may wait in the queue of a run
        subject = Subject.of_judge(judge.name, judge.version, judge.options.model_dump(mode="json"))
        workbench.labels.mark_seen([CaseRef(subject, judgement.input_hash, judgement.id)], rater)
    plain = judgement.model_dump(mode="json")
    return _render_form_page(
        request, workbench, asked, **describe_case(plain, JudgeCard.of(judge), LiveJudge(judge).view(plain, record), "")
    )


def _list_fields(judge: AnyJudge, case: str) -> list[dict[str, Any]]:
    """Lists the form fields for the judge's case, with the current values: text, paragraphs, or JSON."""
    try:
        record = _parse_object(case, "the case")
    except UsageProblem:
        record = {}
    fields = []
    for name, kind in field_kinds(judge).items():
        value = next((record[known] for known in names_of(judge, name) if known in record), None)
        if kind == "text" and isinstance(value, str | None):
            fields.append({"name": name, "kind": "text", "value": value or ""})
        elif kind == "list" and (value is None or _are_paragraphs(value)):
            fields.append({"name": name, "kind": "list", "value": "\n\n".join(value or ())})
        else:
            fields.append({"name": name, "kind": "json", "value": "" if value is None else _format_json(value)})
    return fields


def _are_paragraphs(value: Any) -> bool:
    """Whether `value` is a list of texts that blank lines can separate."""
    return isinstance(value, list) and all(isinstance(item, str) and "\n\n" not in item for item in value)


def _read_record(asked: TryForm, form: FormData, workbench: Workbench) -> tuple[TryForm, dict[str, Any]]:
    """Reads the case in the form, from its fields or its JSON; returns the form as it was understood, and the case."""
    if form.get("by") != "fields":
        return asked, _parse_object(asked.case, "the case")
    record: dict[str, Any] = {}
    for name in field_kinds(workbench.judging.get_judge(asked.judge)):
        text, kind = str(form.get(f"field.{name}", "")), str(form.get(f"kind.{name}", "text"))
        if not text.strip():
            continue
        if kind == "list":
            parts = re.split(r"\n\s*\n", text.replace("\r", ""))
            record[name] = [part.strip() for part in parts if part.strip()]
        else:
            record[name] = text.replace("\r\n", "\n") if kind == "text" else _parse_json(text, name)
    return replace(asked, case=_format_json(record)), record


def _parse_object(text: str, what: str) -> dict[str, Any]:
    """Parses a JSON object from a field of the form; `UsageProblem` for anything else."""
    value = _parse_json(text, what)
    if not isinstance(value, dict):
        raise UsageProblem(f'{what} must be a JSON object such as {{"question": …}}, not a {type(value).__name__}')
    return value


def _parse_json(text: str, what: str) -> Any:
    """Parses JSON from a field of the form; `UsageProblem` for what is invalid or too long."""
    if len(text) > _LONGEST_LINE:
        raise UsageProblem(f"{what}: longer than {_LONGEST_LINE:,} characters; use `krino judge` for long cases")
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageProblem(f"{what}: invalid JSON, line {error.lineno}, column {error.colno}: {error.msg}") from None


@cache
def _load_examples(judge: str) -> dict[str, dict[str, Any]]:
    """Loads the bundled example cases of a judge, by id; none for a judge that is not Krino's own."""
    if judge not in OURS:
        return {}
    lines = (resources.files("krino.examples") / f"{judge}.jsonl").read_bytes().splitlines()
    cases = [orjson.loads(line) for line in lines if line.strip()]
    return {str(case.get("id", place + 1)): case for place, case in enumerate(cases)}


def _format_json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()
