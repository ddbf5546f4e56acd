"""The verdict of the efficiency judge, as the rubric's output asks for it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class EfficiencyVerdict(BaseModel):
    """Exactly what the rubric returns."""

    model_config = ConfigDict(extra="forbid")

    score: Annotated[float, Field(ge=0.0, le=1.0)]
    reason: str
