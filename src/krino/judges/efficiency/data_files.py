"""Loads this judge's data files and texts, each once. `rubric.py` looks the score up in `data/score.toml`."""

from __future__ import annotations

from functools import cache

from krino.text.package_data import PackageData

_DATA = PackageData(__name__.rpartition(".")[0])
table = _DATA.table
package_text = _DATA.text


@cache
def words(name: str, key: str) -> frozenset[str]:
    """Returns one word list of a table, as a set."""
    return frozenset(table(name)[key])
