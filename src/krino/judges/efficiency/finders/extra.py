"""What is said of a step that is beside the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Extra:
    """Why a step is beside the task; `of` is the step it works over, if there is one."""

    label: Literal["speculative", "enrichment", "indirect", "redundant"]
    why: str
    of: int | None = None
    undoes: bool = False
    """Whether it takes `of` back, so that both came to nothing."""
