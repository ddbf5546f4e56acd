"""Builds the ASGI application: routes, pages, guards and the services that they use."""

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
from krino.web.api import runs as runs_api
from krino.web.api.guard import guard_router
from krino.web.api.judge import judge_router
from krino.web.labels import api as labels_api
from krino.web.labels import pages as label_pages
from krino.web.labels.service import LabellingService
from krino.web.metrics import RequestMetrics
from krino.web.pages import case, compare, login, run, runs, trend, try_it, verify
from krino.web.problems import REFUSALS, add_handlers
from krino.web.security import add_guards
from krino.web.settings import ServeSettings
from krino.web.strict_requests import refuse_unknown_parameters
from krino.web.workbench import Workbench, WorkbenchDep

ROUTED = (login, runs_api, labels_api, label_pages, runs, run, case, compare, trend, try_it, verify)
"""Modules with a `router`. The order matters: the first route that matches a path wins."""

monitoring = APIRouter(tags=["monitoring"])
"""Routes for monitoring: is the server alive, and what has it done?"""


def create_app(settings: ServeSettings) -> FastAPI:
    """Builds the ASGI application. Its services are closed when its lifespan ends."""
    if not settings.runs.is_dir():
        raise UsageProblem(f"{settings.runs} is not a folder; name the folder that `krino judge` writes its runs to")
    opened = Workbench(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        """Closes what the application opened when the server stops."""
        try:
            yield
        finally:
            opened.close()

    app = FastAPI(
        title="Krino workbench",
        version=__version__,
        description="Evaluation by judges whose verdicts can be checked: models label, code scores.",
        docs_url=None,  # these two pages load scripts from a CDN
        redoc_url=None,
        lifespan=lifespan,
        separate_input_output_schemas=False,
        responses=REFUSALS,
    )
    app.state.workbench = opened
    app.state.labelling = LabellingService(opened)
    add_handlers(app)
    add_guards(app, settings, opened.auth)
    app.add_middleware(RequestMetrics, metrics=opened.metrics)
    app.include_router(monitoring)
    judging = judge_router(opened.judging, settings.max_cases)
    guard = guard_router(opened.judging, opened.metrics, settings.guards, settings.max_cases)
    for router in (judging, guard, *(module.router for module in ROUTED)):
        app.include_router(router, dependencies=[Depends(refuse_unknown_parameters)])
    app.mount("/static", Static(directory=Path(__file__).parent / "static"), name="static")
    return app


class Static(StaticFiles):
    """Style sheets and scripts. Browsers keep them but revalidate every time (ETag), so that an upgrade shows at
    once."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "no-cache"
        return response


class Health(BaseModel):
    status: str
    version: str


@monitoring.get("/health")
def health() -> Health:
    """Whether the server answers. Needs no token."""
    return Health(status="ok", version=__version__)


@monitoring.get("/metrics", response_class=PlainTextResponse)
def metrics(workbench: WorkbenchDep) -> PlainTextResponse:
    """Requests, durations and cases in Prometheus' text format. Needs the token if one is set."""
    text = workbench.metrics.to_text(workbench.judging.pending)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
