"""Puts the workbench together: guards, routers, pages, and what they work with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import Depends, FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from krino import __version__
from krino.errors import UsageProblem
from krino.web import watch
from krino.web.api.judge import judge_router
from krino.web.meters import Metered
from krino.web.problems import add_handlers, refusals
from krino.web.query_names import only_known_names
from krino.web.routers import routers
from krino.web.security import add_guards
from krino.web.sessions import Doorkeeper
from krino.web.settings import ServeSettings
from krino.web.workbench import Workbench


def create_app(settings: ServeSettings) -> FastAPI:
    """The ASGI application. What it opened is closed when its lifespan ends."""
    if not settings.runs.is_dir():
        raise UsageProblem(f"{settings.runs} is no folder of runs: name the one that `krino judge` writes its runs to")
    opened = Workbench.opened(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            opened.close()

    app = FastAPI(
        title="Krino workbench",
        version=__version__,
        description="Evaluation by judges whose verdicts can be checked: models label, code scores.",
        docs_url=None,  # these two load their scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        separate_input_output_schemas=False,
        responses=refusals(),
    )
    app.state.workbench = opened
    app.state.doorkeeper = Doorkeeper(settings.token)
    add_handlers(app)
    add_guards(app, settings, app.state.doorkeeper)
    app.add_middleware(Metered, meters=opened.meters)
    app.include_router(watch.router)
    for router in (judge_router(opened.desk, settings.max_cases), *routers()):
        app.include_router(router, dependencies=[Depends(only_known_names)])
    app.mount("/static", Static(directory=Path(__file__).parent / "static"), name="static")
    return app


class Static(StaticFiles):
    """Our own style sheets and scripts: kept by the browser, and asked after each time (ETag)."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response
