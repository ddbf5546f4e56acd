"""Loads the judge's tables, each once: the score table, cue words and the words a reason may not hold are data."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The TOML file `data/<name>.toml` of this judge. Callers must not change what they are given."""
    return tomllib.loads(package_text(f"data/{name}.toml"))


@cache
def words(name: str, key: str) -> frozenset[str]:
    """One word list of a table."""
    return frozenset(table(name)[key])


def package_text(path: str) -> str:
    """A text file that ships beside this module."""
    return files(__package__).joinpath(path).read_text("utf-8")
