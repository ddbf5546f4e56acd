"""The tables and texts that ship in a judge's folder: rules, cues, scales and prompts are data, loaded once."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any


class PackageData:
    """The data files in the folder of a package."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.table = lru_cache(maxsize=None)(self._table)

    def text(self, path: str) -> str:
        """A text file of the folder."""
        return files(self._package).joinpath(path).read_text("utf-8")

    def _table(self, name: str) -> dict[str, Any]:
        """The TOML file `data/<name>.toml`. Callers must not change what they are given."""
        return tomllib.loads(self.text(f"data/{name}.toml"))
