"""Errors as the workbench tells them: what is wrong, where, and what to do; JSON to programs, a page to people."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from starlette.types import Scope

from krino.errors import RunStopped, UsageProblem
from krino.people.database import DatabaseUnavailable
from krino.web.run_index import NoSuchRun, Opened
from krino.web.templating import page


class Told(BaseModel):
    """The one shape of an error."""

    error: str = Field(description="what is wrong")
    where: str = Field(description="the part of the request that is meant")
    remedy: str = Field(description="what to do about it")


class Problem(HTTPException):
    """Raise it anywhere in a route: the client is told, in the one shape.

    An `HTTPException`, because the framework lets only those through while it reads a body.
    """

    def __init__(
        self, status: int, error: str, *, where: str, remedy: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, error, headers)
        self.told = Told(error=error, where=where, remedy=remedy)


def refuse_damaged(opened: Opened, where: str) -> None:
    """Of a run that cannot be read to its end nobody is told figures: they would look like those of the whole."""
    if opened.state.problem:
        raise Problem(422, opened.state.problem, where=where, remedy="mend the run as the message says")


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Told} for status in (400, 401, 403, 408, 413, 421, 422, 500, 503)
}
"""For the document of the API: what any route may be answered with by those who stand before it."""
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": Told}}

_LABELS = "nothing was saved: try again; where it stays so, whoever runs the server looks at its database"
_log = logging.getLogger("krino.web")
_REMEDIES = {
    404: "the first page lists the runs that there are; GET /openapi.json lists the API",
    405: "GET /openapi.json lists what each path takes",
}
_DOCUMENT = "GET /openapi.json shows what is taken, with examples"
ONE_CASE, SEVERAL_CASES = "<one case>", "<several cases>"
"""The two forms of a request to judge, as the checker calls them: no client writes these names."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def takes(scope: Scope, method: str) -> bool:
    """Whether a route of the application takes this method at the path of a request."""
    asked = {key: scope[key] for key in ("type", "path", "root_path", "headers")}  # not what routing has noted there
    return any(route.matches({**asked, "method": method})[0] is Match.FULL for route in scope["app"].routes)


def wants_page(path: str, accept: str) -> bool:
    """Browsers are shown a page; programs, and everything below /v1, get JSON."""
    return "text/html" in accept and not path.startswith("/v1/")


def answer(request: Request, problem: Problem) -> Response:
    """The response that tells a problem."""
    if wants_page(request.url.path, request.headers.get("accept", "")):
        return page(request, "error.html", status=problem.status_code, headers=problem.headers, told=problem.told)
    return JSONResponse(problem.told.model_dump(), problem.status_code, problem.headers)


def add_handlers(app: FastAPI) -> None:
    """Whatever a route raises on purpose becomes an answer in the one shape."""

    async def told(request: Request, fault: Exception) -> Response:
        return answer(request, _problem_of(request, fault))

    for kind in (HTTPException, RequestValidationError, RunStopped, UsageProblem):
        app.add_exception_handler(kind, told)


def _problem_of(request: Request, fault: Exception) -> Problem:
    where = f"{request.method} {request.url.path}"
    if isinstance(fault, Problem):
        return fault
    if isinstance(fault, RequestValidationError):
        return _of_validation(fault)
    if isinstance(fault, HTTPException):
        headers = dict(fault.headers or {})
        if fault.status_code == 405:  # the router names only the methods of the first route of a path
            headers["Allow"] = ", ".join(method for method in METHODS if takes(request.scope, method))
        remedy = _REMEDIES.get(fault.status_code, _DOCUMENT)
        return Problem(fault.status_code, fault.detail, where=where, remedy=remedy, headers=headers)
    if isinstance(fault, RunStopped):
        remedy = "ask whoever runs the server; the embedded labeller (`local`) is not concerned"
        return Problem(503, f"the labeller cannot be asked: {fault}", where="labeller", remedy=remedy)
    if isinstance(fault, DatabaseUnavailable):
        _log.error("%s", fault)  # it names the database, which is nobody's business but the log's
        return Problem(503, "the labels cannot be read or written at the moment", where="labels", remedy=_LABELS)
    status = 404 if isinstance(fault, NoSuchRun) else 422
    return Problem(status, str(fault), where=where, remedy=_REMEDIES.get(status, "change it as the message says"))


def _of_validation(problem: RequestValidationError) -> Problem:
    faults = problem.errors()
    told = [f"{_written(fault, problem.body)}: {fault['msg']}" for fault in faults[:5]]
    where = _written(faults[0], problem.body) if faults else "the request"
    if any(fault["type"] == "too_long" for fault in faults):
        remedy = "send fewer at a time; for files there is `krino judge`"
        return Problem(413, "; ".join(told), where=where, remedy=remedy)
    return Problem(422, "; ".join(told), where=where, remedy=_DOCUMENT)


def _written(fault: Mapping[str, Any], body: Any) -> str:
    """Where a fault is, in the names that the client wrote: the checker also names the forms that it tried."""
    place, *names = (part for part in fault["loc"] if part not in (ONE_CASE, SEVERAL_CASES))
    if place != "body":
        return ".".join(map(str, (place, *names)))
    found, value = ["body"], body
    for name in names:
        held = range(len(value)) if isinstance(value, list) else value if isinstance(value, Mapping) else ()
        if name in held:
            found, value = [*found, str(name)], value[name]
        elif fault["type"] == "missing" and name == names[-1]:
            found.append(str(name))
    return ".".join(found)
