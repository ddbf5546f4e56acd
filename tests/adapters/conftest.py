"""Every kind of judge, with a model on loopback that cannot make sense of one sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter_cases import KINDS, Kind, make_kind, reply
from fake_llm import FakeServer


@pytest.fixture(scope="session")
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, server: FakeServer, tmp_path: Path) -> Kind:
    return make_kind(request.param, server, tmp_path)
