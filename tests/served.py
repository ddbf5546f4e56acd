"""A workbench in a process of its own, as `krino serve` starts it, for tests that talk to it or kill it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx

_SERVER = """
import sys, uvicorn
from pathlib import Path
from krino.web.server import make_config
from krino.web.settings import ServeSettings
runs, port, database = sys.argv[1:]
uvicorn.Server(make_config(ServeSettings(runs=Path(runs), port=int(port), database=database or None))).run()
"""
"""As the command starts it, but for the models, which nobody needs who only labels."""


@dataclass(frozen=True, slots=True)
class Served:
    address: str
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """Without a warning, as the machine's memory killer does it."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def served(runs: Path, database: str = "", count: int = 1) -> Iterator[list[Served]]:
    """So many servers, started at the same moment; they keep their indexes beside the runs."""
    own = {**os.environ, "XDG_CACHE_HOME": str(runs.parent / "cache")}
    found = []
    try:
        for _ in range(count):
            port = free_port()
            command = [sys.executable, "-c", _SERVER, str(runs), str(port), database]
            process = subprocess.Popen(command, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            found.append(Served(f"http://127.0.0.1:{port}", process))
        for one in found:
            _wait(one.address, one.process)
        yield found
    finally:
        for one in found:
            one.process.kill()
            one.process.communicate(timeout=30)


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(1_200):
        if process.poll() is not None:
            assert process.stderr is not None
            raise RuntimeError(process.stderr.read().decode())
        try:
            if httpx.get(f"{address}/health", timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError("the workbench did not start")
