"""Serves the application with uvicorn, until it is told to end."""

from __future__ import annotations

import threading
import webbrowser

import uvicorn

from krino.web.app import create_app
from krino.web.settings import ServeSettings

MOST_CONNECTIONS = 1_000


def serve(settings: ServeSettings, open_at: str | None = None) -> None:
    """Blocks until SIGINT or SIGTERM. `open_at`: the address that a browser is sent to."""
    config = config_of(settings)
    if open_at is not None:
        threading.Timer(1.0, webbrowser.open, [open_at]).start()
    uvicorn.Server(config).run()


def config_of(settings: ServeSettings) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(settings),
        host=settings.host,
        port=settings.port,
        http="h11",
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=5,
    )
