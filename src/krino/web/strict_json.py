"""Bodies are read as strictly as files of cases: no NaN, no half characters, no key twice in one object."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import orjson
from fastapi import Request, Response
from fastapi.routing import APIRoute

from krino.cases.jsonl import explain
from krino.cases.twice import KeyTwice, check_keys
from krino.web.problems import Problem


class StrictRequest(Request):
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
