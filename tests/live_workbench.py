"""A workbench that really listens, on a port of loopback, for tests with a browser."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from krino.web.server import make_config
from workbench_making import settings_of


@contextmanager
def live(runs: Path, **changes: Any) -> Iterator[str]:
    """Gives its address, without a slash at the end."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        server = uvicorn.Server(make_config(settings_of(runs, port=port, **changes)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                time.sleep(0.02)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def address(runs: Path) -> Iterator[str]:
    """Of a workbench over the `runs` of a module."""
    with live(runs) as found:
        yield found
