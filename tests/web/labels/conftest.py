"""Runs to label, and a client of a workbench over them with labels of its own; and the databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from databases import database, postgres_server
from label_making import make_rag_run, make_toy_run
from workbench_making import serving

__all__ = ["database", "postgres_server"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    make_rag_run(folder / "rag", 3)
    make_toy_run(folder / "toy", 8, bad=[1, 2])
    return folder


@pytest.fixture
def client(runs: Path, tmp_path: Path) -> Iterator[TestClient]:
    with serving(runs, database=f"sqlite:///{tmp_path / 'labels.sqlite'}") as opened:
        yield opened
