"""What the pages of a run have in common: the run that an address names, and the question that it asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from krino.web.index.question import Question
from krino.web.problems import Problem
from krino.web.run_index import Opened, Shelved
from krino.web.workbench import Workbench, workbench

Bench = Annotated[Workbench, Depends(workbench)]


def opened_run(bench: Workbench, run: str) -> tuple[Opened, Shelved]:
    """With its index, and as the list of runs shows it."""
    return bench.runs.open(run), bench.runs.shelved(run)


def no_such(told: str, remedy: str) -> Problem:
    return Problem(404, told, where="the address", remedy=remedy)


def question_of(request: Request, *besides: str) -> Question:
    """`besides`: names that mean something else on this page. A form sends what was left empty, too."""
    return Question.read((pair for pair in request.query_params.multi_items() if pair[1]), besides)
