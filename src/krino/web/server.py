"""Serves the application with uvicorn, until it is told to end."""

from __future__ import annotations

import asyncio
import gc
import socket
import sys
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from krino.errors import UsageProblem
from krino.web.app import create_app
from krino.web.settings import ServeSettings

MOST_CONNECTIONS = 1_000
HEADER_BYTES = 32_768
SWITCH_SECONDS = 0.0005
"""How long a thread that judges may keep the others from running: a tenth of what Python allows by itself."""
HEADER_SECONDS = 10.0
"""Within so many seconds of its first byte a request must have told its headers."""


class Punctual(H11Protocol):
    """Closes a connection whose next request does not come to the end of its headers in time.

    Uvicorn closes connections that are idle between two requests; one that sends a byte now and then is not idle.
    """

    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        before = self.cycle
        if self.deadline is None and (before is None or before.response_complete):
            self._expect()
        super().data_received(data)
        if self.cycle is not before:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect(self) -> None:
        self.deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


class Announced(uvicorn.Server):
    """Says when it listens, and not before."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # what is loaded stays: looking through it again and again would hold up everybody
            self._listening()


def serve(settings: ServeSettings, listening: Callable[[], None]) -> None:
    """Blocks until SIGINT or SIGTERM. `listening` is called once requests are taken."""
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        Announced(config_of(settings), listening).run()
    except SystemExit as ended:  # uvicorn ends the process where it cannot begin
        raise UsageProblem(
            f"cannot listen at {settings.host}:{settings.port}: another program probably listens there; try another "
            "--port"
        ) from ended


def config_of(settings: ServeSettings) -> uvicorn.Config:
    """How uvicorn is run."""
    return uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        http=Punctual,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_graceful_shutdown=5,
    )
