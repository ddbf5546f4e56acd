"""The databases that labels are kept in, as fixtures: SQLite in a file, and PostgreSQL where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    if postgres.BINARIES is None:
        pytest.skip(postgres.MISSING)
    with postgres.postgres() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a `LabelStore` can be opened: new and empty."""
    if request.param == "sqlite":
        return str(tmp_path / "labels.sqlite")
    return postgres.fresh_database(request.getfixturevalue("postgres_server"))
