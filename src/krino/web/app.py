"""Puts the workbench together: guards, routers, pages, and what they work with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, Depends, FastAPI
from pydantic import BaseModel
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from krino import __version__
from krino.errors import UsageProblem
from krino.web import login
from krino.web.api import runs as runs_api
from krino.web.api.judge import judge_router
from krino.web.labels import api as labels_api
from krino.web.labels import pages as label_pages
from krino.web.labels.labelling import Labelling
from krino.web.meters import Metered
from krino.web.pages import case, compare, run, runs, try_it
from krino.web.problems import REFUSALS, add_handlers
from krino.web.security import add_guards
from krino.web.settings import ServeSettings
from krino.web.strict import only_known_names
from krino.web.workbench import Bench, Workbench

PARTS = (login, runs_api, labels_api, label_pages, runs, run, case, compare, try_it)
"""Modules with a `router`. The order matters where two paths could mean the same request: the first wins."""

watching = APIRouter(tags=["watching"])
"""For whoever watches the server: is it alive, and what has it done."""


def create_app(settings: ServeSettings) -> FastAPI:
    """The ASGI application. What it opened is closed when its lifespan ends."""
    if not settings.runs.is_dir():
        raise UsageProblem(f"{settings.runs} is no folder of runs: name the one that `krino judge` writes its runs to")
    opened = Workbench(settings)

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
        responses=REFUSALS,
    )
    app.state.workbench = opened
    app.state.labelling = Labelling(opened)
    add_handlers(app)
    add_guards(app, settings, opened.doorkeeper)
    app.add_middleware(Metered, meters=opened.meters)
    app.include_router(watching)
    for router in (judge_router(opened.desk, settings.max_cases), *(part.router for part in PARTS)):
        app.include_router(router, dependencies=[Depends(only_known_names)])
    app.mount("/static", Static(directory=Path(__file__).parent / "static"), name="static")
    return app


class Static(StaticFiles):
    """Our own style sheets and scripts: kept by the browser, and asked after each time (ETag)."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response


class Health(BaseModel):
    status: str
    version: str


@watching.get("/health")
def health() -> Health:
    """Whether the server answers. Needs no token."""
    return Health(status="ok", version=__version__)


@watching.get("/metrics", response_class=PlainTextResponse)
def metrics(bench: Bench) -> PlainTextResponse:
    """Requests, seconds and cases, as Prometheus reads them. Needs the token, where there is one."""
    text = bench.meters.text(bench.desk.under_way)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
