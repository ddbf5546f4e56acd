"""What the pages of a run have in common: the run that an address names, and the question that it asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from krino.errors import UsageProblem
from krino.web.index.question import Question
from krino.web.problems import Problem
from krino.web.run_index import NoSuchRun, Opened, Shelved
from krino.web.workbench import Workbench, workbench

Bench = Annotated[Workbench, Depends(workbench)]


def opened_or_404(bench: Workbench, run: str) -> tuple[Opened, Shelved]:
    try:
        return bench.runs.open(run), bench.runs.shelved(run)
    except NoSuchRun as missing:
        raise no_such(str(missing)) from None
    except UsageProblem as problem:
        raise Problem(
            422, str(problem), where=f"run {run}", remedy="the message says what is wrong with the folder"
        ) from None


def no_such(told: str, remedy: str = "the list of runs shows those that there are") -> Problem:
    return Problem(404, told, where="the address", remedy=remedy)


def question_of(request: Request) -> Question:
    return Question.read(request.query_params.multi_items())
