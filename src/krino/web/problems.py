"""Error responses: what is wrong, where, and what to do. JSON for programs, a page for people."""

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
from krino.web.rendering import render_page
from krino.web.runs_folder import NoSuchRun, OpenRun


class ErrorBody(BaseModel):
    """The shape of every error response."""

    error: str = Field(description="what is wrong")
    where: str = Field(description="the part of the request that is meant")
    remedy: str = Field(description="what to do about it")


class Problem(HTTPException):
    """Raise it anywhere in a route or middleware to send an error response.

    An `HTTPException`, because FastAPI lets only those through while it reads a body.
    """

    def __init__(
        self, status: int, error: str, *, where: str, remedy: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(status, error, headers)
        self.body = ErrorBody(error=error, where=where, remedy=remedy)


def refuse_damaged(opened: OpenRun, where: str) -> None:
    """Raises `Problem` if the run is damaged. Statistics of a part would look like those of the whole run."""
    if opened.state.problem:
        raise Problem(422, opened.state.problem, where=where, remedy="repair the run as the message says")


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorBody} for status in (400, 401, 403, 408, 413, 421, 422, 500, 503)
}
"""For the OpenAPI document: responses that the middleware may send for any route."""
NOT_FOUND: dict[int | str, dict[str, Any]] = {404: {"model": ErrorBody}}

_LABELS_REMEDY = "nothing was saved; try again, and if it keeps failing, ask whoever runs the server"
_log = logging.getLogger("krino.web")
_REMEDIES = {
    404: "the first page lists the runs; GET /openapi.json lists the API",
    405: "GET /openapi.json lists the methods of each path",
}
_DOCUMENT = "GET /openapi.json shows what each request takes, with examples"
ONE_CASE, SEVERAL_CASES = "<one case>", "<several cases>"
"""Tags of the two request forms. They appear in pydantic's error locations, but clients never write them."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


def route_accepts(scope: Scope, method: str) -> bool:
    """Whether any route accepts this method at the request's path."""
    asked = {key: scope[key] for key in ("type", "path", "root_path", "headers")}  # without what routing has added
    return any(route.matches({**asked, "method": method})[0] is Match.FULL for route in scope["app"].routes)


def wants_html(path: str, accept: str) -> bool:
    """Whether to respond with a page: to browsers, except below /v1."""
    return "text/html" in accept and not path.startswith("/v1/")


def problem_response(request: Request, problem: Problem) -> Response:
    """Renders the problem as a response: a page for browsers, else JSON."""
    if wants_html(request.url.path, request.headers.get("accept", "")):
        return render_page(
            request, "error.html", status=problem.status_code, headers=problem.headers, problem=problem.body
        )
    return JSONResponse(problem.body.model_dump(), problem.status_code, problem.headers)


def add_handlers(app: FastAPI) -> None:
    """Registers handlers, so that errors raised by routes get the same shape."""

    async def respond(request: Request, fault: Exception) -> Response:
        return problem_response(request, _problem_of(request, fault))

    for kind in (HTTPException, RequestValidationError, RunStopped, UsageProblem):
        app.add_exception_handler(kind, respond)


def _problem_of(request: Request, fault: Exception) -> Problem:
    """Returns the problem that describes a fault; details of the server stay in its log."""
    where = f"{request.method} {request.url.path}"
    if isinstance(fault, Problem):
        return fault
    if isinstance(fault, RequestValidationError):
        return _validation_problem(fault)
    if isinstance(fault, HTTPException):
        headers = dict(fault.headers or {})
        if fault.status_code == 405:  # the router only knows the methods of the first matching route
            headers["Allow"] = ", ".join(method for method in METHODS if route_accepts(request.scope, method))
        remedy = _REMEDIES.get(fault.status_code, _DOCUMENT)
        return Problem(fault.status_code, fault.detail, where=where, remedy=remedy, headers=headers)
    if isinstance(fault, RunStopped):
        remedy = "ask whoever runs the server; the embedded labeller (`local`) still works"
        return Problem(503, f"the labeller is not available: {fault}", where="labeller", remedy=remedy)
    if isinstance(fault, DatabaseUnavailable):
        _log.error("%s", fault)  # names the database, so it goes to the log only
        return Problem(503, "labels cannot be read or written at the moment", where="labels", remedy=_LABELS_REMEDY)
    status = 404 if isinstance(fault, NoSuchRun) else 422
    return Problem(status, str(fault), where=where, remedy=_REMEDIES.get(status, "change it as the message says"))


def _validation_problem(problem: RequestValidationError) -> Problem:
    """Returns the problem for a request that does not fit its schema: 413 if a list is too long, else 422."""
    faults = problem.errors()
    messages = [f"{_client_path(fault, problem.body)}: {fault['msg']}" for fault in faults[:5]]
    where = _client_path(faults[0], problem.body) if faults else "the request"
    if any(fault["type"] == "too_long" for fault in faults):
        remedy = "send fewer at a time; for files there is `krino judge`"
        return Problem(413, "; ".join(messages), where=where, remedy=remedy)
    return Problem(422, "; ".join(messages), where=where, remedy=_DOCUMENT)


def _client_path(fault: Mapping[str, Any], body: Any) -> str:
    """Returns the location of an error in the client's own terms; pydantic's location also contains the tags of the
    forms it tried."""
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
