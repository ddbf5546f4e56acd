"""`/v1/judge`: one case or a list, judged while the client waits."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(prefix="/v1", tags=["judging"])
