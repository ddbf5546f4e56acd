"""Loads the judge's own tables and texts, each once: ceilings, ranges, cues and wording are data."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The TOML file `data/<name>.toml` of this judge. Callers must not change what they are given."""
    return tomllib.loads(package_text(f"data/{name}.toml"))


def package_text(path: str) -> str:
    """A text file that ships beside this module."""
    return files(__package__).joinpath(path).read_text("utf-8")
