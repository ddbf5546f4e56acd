"""`/runs/{run}/verify`: whether every verdict of a run follows from its labels and cases, computed here and now."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from krino.api.verifying import verify
from krino.errors import UsageProblem
from krino.judges.registry import is_ours
from krino.render.verification import verification_blocks
from krino.results.verification import Verification
from krino.runs.manifest import MANIFEST
from krino.web.index.case_view import find_inputs, why_not_at_hand
from krino.web.index.run_index import stamp_file
from krino.web.labels.service import get_rater, record_seen
from krino.web.rendering import render_blocks, render_page, run_address
from krino.web.runs_folder import OpenRun
from krino.web.workbench import WorkbenchDep

router = APIRouter(include_in_schema=False)

_MOST_CASES = 20_000
"""Of citation these take some 20 seconds; more are for the command."""
_MOST_KEPT = 32
_kept: OrderedDict[tuple[Any, ...], Verification] = OrderedDict()
_lock = threading.Lock()
"""One verification at a time: each keeps a core busy."""


@router.get("/runs/{run}/verify")
def verify_page(request: Request, run: str, workbench: WorkbenchDep) -> Response:
    """Verifies a run, or says why that is not done here. Nothing of a stranger's is run or opened."""
    opened = workbench.runs.open(run)
    context: dict[str, Any] = {"run": run, "base": run_address(run), "found": None, "problem": "", "rater": None}
    served = workbench.settings.runs
    try:
        _refuse_what_is_not_verified_here(opened, served)
        found = _verify_once(opened, served)
    except UsageProblem as problem:
        context["problem"] = str(problem).replace(f"{served.resolve()}/", "").replace(f"{served}/", "")
        return render_page(request, "verify.html", **context)
    shown = found.model_copy(update={"run": run})
    if (rater := get_rater(request)) is not None and found.cases:
        record_seen(request, opened, opened.cases.find_by_ids([case.id for case in found.cases]))
        context["rater"] = rater
    return render_page(request, "verify.html", **context, blocks=render_blocks(verification_blocks(shown), run))


def known_verification(opened: OpenRun) -> Verification | None:
    """Returns the result if the run, as it is now, was verified since the server started; else None."""
    return _kept.get(_key(opened))


def _refuse_what_is_not_verified_here(opened: OpenRun, served: Path) -> None:
    """Raises `UsageProblem` if the run is damaged, of another's judge, too long for a page, or without its input."""
    if opened.state.problem:
        raise UsageProblem(opened.state.problem)
    manifest = opened.manifest
    if not is_ours(str(manifest.plan.judge.get("name"))):
        raise UsageProblem(
            "its judge is none of Krino's own, and the workbench runs no other code: use "
            f"`krino verify RUN INPUT --judge {manifest.plan.judge.get('name')}`"
        )
    if (cases := manifest.counts.total) > _MOST_CASES:
        raise UsageProblem(f"it has {cases:,} cases, more than a page verifies: use `krino verify`")
    if find_inputs(opened.run, served) is None:
        raise UsageProblem(why_not_at_hand(opened.run, served))


def _verify_once(opened: OpenRun, served: Path) -> Verification:
    """Verifies a run, one at a time; the result is kept until the run changes."""
    key = _key(opened)
    with _lock:
        if key not in _kept:
            _kept[key] = verify(opened.run.folder, find_inputs(opened.run, served))
            while len(_kept) > _MOST_KEPT:
                _kept.popitem(last=False)
        return _kept[key]


def _key(opened: OpenRun) -> tuple[Any, ...]:
    """Returns what identifies a run in its present state: folder, and time and size of its files."""
    folder = opened.run.folder
    return folder, stamp_file(folder / MANIFEST), stamp_file(opened.run.journal)
