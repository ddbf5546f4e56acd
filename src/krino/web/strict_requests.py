"""Strict reading of requests: unknown query parameters are refused, and JSON is parsed as in case files."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from krino.cases.strict_json import DuplicateKey, check_keys, explain
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean
from krino.web.problems import Problem

FILTERED_ROUTES = frozenset({"/runs/{run}", "/runs/{run}/cases/{case:path}", "/v1/runs/{run}/cases"})
"""Routes whose parameters include names of a run's fields. They parse the query themselves
(`web.index.case_filter`)."""


async def refuse_unknown_parameters(request: Request) -> None:
    """Raises `Problem` for unknown query parameters: ignoring one silently would look as if it was applied.

    Applies to all routes except monitoring, which probes may call with any parameter. It is a coroutine although it
    awaits nothing, because FastAPI would run a plain function in a thread for every request.
    """
    route = request.scope["route"]
    if route.path in FILTERED_ROUTES:
        return
    known = sorted(_parameter_names(route.dependant))
    for name in request.query_params:
        if name not in known:
            shown = clean_line(name, 60)
            accepted = f"the parameters are {', '.join(known)}" if known else "there are no parameters"
            raise Problem(
                422,
                f"unknown parameter `{shown}`{did_you_mean(shown, known)}",
                where=f"query.{shown}",
                remedy=f"leave it out or correct its name: {accepted}",
            )


def _parameter_names(dependant: Dependant) -> set[str]:
    """Collects the query parameters of a route and of all that it depends on."""
    return {field.alias for field in dependant.query_params}.union(*map(_parameter_names, dependant.dependencies))


class StrictRequest(Request):
    """Parses JSON bodies as strictly as case files: no NaN, no lone surrogates, no duplicate keys."""

    async def json(self) -> Any:
        """Parses the body as strictly as case files are parsed; raises `Problem` (422)."""
        body = await self.body()
        try:
            value = orjson.loads(body)
            check_keys(body, value)
        except orjson.JSONDecodeError:
            raise _invalid_body(f"the body is not valid JSON: {explain(body)}") from None
        except DuplicateKey as ambiguous:
            raise _invalid_body(str(ambiguous)) from None
        return value


def _invalid_body(error: str) -> Problem:
    return Problem(422, error, where="body", remedy="send one JSON object; GET /openapi.json shows examples")


class StrictRoute(APIRoute):
    """Route class for routers that take JSON: `APIRouter(route_class=StrictRoute)`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Returns a handler that receives a `StrictRequest`."""
        handle = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strict
