"""For whoever watches the server: is it alive, and what has it done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel
from starlette.responses import PlainTextResponse

from krino import __version__
from krino.web.workbench import Workbench, workbench

router = APIRouter(tags=["watching"])


class Health(BaseModel):
    status: str
    version: str


@router.get("/health")
def health() -> Health:
    """Whether the server answers. Needs no token."""
    return Health(status="ok", version=__version__)


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(bench: Annotated[Workbench, Depends(workbench)]) -> PlainTextResponse:
    """Requests, seconds and cases, as Prometheus reads them. Needs the token, where there is one."""
    text = bench.meters.text(bench.desk.under_way)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
