"""Small examples that come with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

EXAMPLES = Path(__file__).resolve().parent


def first_example(judge: str) -> dict[str, Any]:
    """The first of those for one of our judges."""
    with files(__name__).joinpath(f"{judge}.jsonl").open("rb") as lines:
        found: dict[str, Any] = orjson.loads(lines.readline())
    return found
