"""`/v1/runs`: the runs of the runs folder and their cases."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(prefix="/v1", tags=["runs"])
