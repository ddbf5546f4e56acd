"""For whoever watches the server: is it alive, and what has it done."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel

from krino import __version__

router = APIRouter(tags=["watching"])


class Health(BaseModel):
    status: str
    version: str


@router.get("/health")
def health() -> Health:
    """Whether the server answers. Needs no token."""
    return Health(status="ok", version=__version__)
