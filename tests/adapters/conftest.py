"""Every kind of judge, with a model on loopback that cannot make sense of one sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter_cases import KINDS, OFFLINE, Kind, make_kind, reply
from fake_llm import FakeServer


@pytest.fixture(scope="session")
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, server: FakeServer, tmp_path: Path) -> Kind:
    return make_kind(request.param, server, tmp_path)


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Frameworks keep their files in the folder of the test, and send nothing anywhere."""
    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
