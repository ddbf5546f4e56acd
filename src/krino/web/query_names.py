"""A name in an address that means nothing there is refused: left out in silence, it would look as if it was heeded."""

from __future__ import annotations

from fastapi import Request
from fastapi.dependencies.models import Dependant

from krino.text.clean import clean_line
from krino.text.guessing import guessed
from krino.web.problems import Problem

ASK_OF_A_RUN = frozenset({"/runs/{run}", "/runs/{run}/cases/{case:path}", "/v1/runs/{run}/cases"})
"""Routes that are asked by the names of a run's fields: they read every name themselves (`web.index.question`); the API
refuses what it cannot read, the pages tell it."""


async def only_known_names(request: Request) -> None:
    """For every route but those of watching, which probes may call with anything.

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
