"""What a run says: its table, and summary, slices, comparison, agreement with people and gates that stand on it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """Of everything that results are handed out as."""

    model_config = ConfigDict(frozen=True, extra="forbid")
