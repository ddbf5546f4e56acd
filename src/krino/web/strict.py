"""Requests are read strictly: a name in an address must mean something there, and JSON is read as in files of cases."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from krino.cases.jsonl import explain
from krino.cases.twice import KeyTwice, check_keys
from krino.text.clean import clean_line
from krino.text.guessing import guessed
from krino.web.problems import Problem

ASK_OF_A_RUN = frozenset({"/runs/{run}", "/runs/{run}/cases/{case:path}", "/v1/runs/{run}/cases"})
"""Routes that are asked by the names of a run's fields: they read every name themselves (`web.index.question`); the API
refuses what it cannot read, the pages tell it."""


async def only_known_names(request: Request) -> None:
    """For every route but those of watching, which probes may call with anything. A name that was left out in silence
    would look as if it was heeded.

    A coroutine that waits for nothing: FastAPI would send a plain function to a thread and back with each request.
    """
    route = request.scope["route"]
    if route.path in ASK_OF_A_RUN:
        return
    known = sorted(_names(route.dependant))
    for name in request.query_params:
        if name not in known:
            shown = clean_line(name, 60)
            told = f"there are {', '.join(known)}" if known else "it takes none"
            raise Problem(
                422,
                f"`{shown}` means nothing here{guessed(shown, known)}",
                where=f"query.{shown}",
                remedy=f"leave it out of the address, or write it as it is called: {told}",
            )


def _names(dependant: Dependant) -> set[str]:
    return {field.alias for field in dependant.query_params}.union(*map(_names, dependant.dependencies))


class StrictRequest(Request):
    """A body is read as strictly as files of cases: no NaN, no half characters, no key twice in one object."""

    async def json(self) -> Any:
        body = await self.body()
        try:
            value = orjson.loads(body)
            check_keys(body, value)
        except orjson.JSONDecodeError:
            raise _refused(f"the body is not valid JSON: {explain(body)}") from None
        except KeyTwice as ambiguous:
            raise _refused(str(ambiguous)) from None
        return value


def _refused(error: str) -> Problem:
    return Problem(422, error, where="body", remedy="send one JSON object; GET /openapi.json shows examples")


class StrictRoute(APIRoute):
    """For `APIRouter(route_class=StrictRoute)`: what every router whose routes take JSON should have."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        usual = super().get_route_handler()

        async def strict(request: Request) -> Response:
            return await usual(StrictRequest(request.scope, request.receive))

        return strict
