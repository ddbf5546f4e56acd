"""Runs the application with uvicorn until it is stopped."""

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
"""How long a judging thread may keep other threads waiting: a tenth of Python's default."""
HEADER_SECONDS = 10.0
"""Time limit for a request's headers, from its first byte."""


class HeaderTimeoutProtocol(H11Protocol):
    """Closes connections whose next request does not complete its headers in time.

    Uvicorn closes idle connections, but not those that send a byte now and then to stay open (slow loris).
    """

    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Starts the time limit for headers at the first byte, and ends it when they are complete."""
        before = self.cycle
        if self.deadline is None and (before is None or before.response_complete):
            self._start_timer()
        super().data_received(data)
        if self.cycle is not before:
            self._cancel_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        """Starts the time limit, after which the connection is closed."""
        self.deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _cancel_timer(self) -> None:
        """Cancels the time limit, if one is running."""
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


class AnnouncingServer(uvicorn.Server):
    """Calls back once the server listens."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts serving, and announces the address once the port is open."""
        await super().startup(sockets)
        if self.started:
            gc.collect()
            gc.freeze()  # loaded modules stay anyway: leaving them out makes every later collection shorter
            self._listening()


def serve(settings: ServeSettings, listening: Callable[[], None]) -> None:
    """Serves until SIGINT or SIGTERM. `listening` is called once requests are accepted. Raises `UsageProblem` if the
    address cannot be bound."""
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        AnnouncingServer(make_config(settings), listening).run()
    except SystemExit as ended:  # uvicorn exits the process if it cannot bind
        raise UsageProblem(
            f"cannot listen on {settings.host}:{settings.port}: another program probably uses it; try another --port"
        ) from ended


def make_config(settings: ServeSettings) -> uvicorn.Config:
    """Makes the application, and the configuration that uvicorn runs it with."""
    return uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        http=HeaderTimeoutProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_graceful_shutdown=5,
    )
