"""Workbenches made up for the tests: settings, a client that talks to the application, and what pages put in forms."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.testclient import TestClient

from krino.web.app import create_app
from krino.web.server import make_config
from krino.web.settings import ServeSettings

TOKEN = "a-token-that-nobody-guesses"
HOST = "http://localhost:8321"


def settings_of(runs: Path, **changes: Any) -> ServeSettings:
    return ServeSettings(runs=runs, **changes)


@contextmanager
def serving(runs: Path, **changes: Any) -> Iterator[TestClient]:
    """A client of a workbench over `runs`; `changes` are settings. Redirects are not followed."""
    with TestClient(create_app(settings_of(runs, **changes)), base_url=HOST, follow_redirects=False) as client:
        yield client


def routes_of(app: FastAPI) -> list[tuple[str, str]]:
    """Every method and path of the application, with something in the place of each parameter."""
    found = [
        (method, re.sub(r"{[^}]*}", "1", route.path))
        for route in _api_routes(app.routes)
        for method in sorted(route.methods or ())
    ]
    assert len(found) > 5, "the framework keeps its routes elsewhere now"
    return [*found, ("GET", "/openapi.json"), ("GET", "/static/workbench.css"), ("GET", "/no-such-page")]


def paths_with_parameters(app: FastAPI, value: str) -> list[tuple[str, str]]:
    """Every method and path that takes something from the address, with this value in each place."""
    return [
        (method, re.sub(r"{[^}]*}", lambda _: value, route.path))
        for route in _api_routes(app.routes)
        for method in sorted(route.methods or ())
        if "{" in route.path
    ]


def _api_routes(routes: Iterable[BaseRoute]) -> Iterator[APIRoute]:
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        elif (router := getattr(route, "original_router", None)) is not None:  # what was included
            yield from _api_routes(router.routes)


def app_of(client: TestClient) -> FastAPI:
    assert isinstance(client.app, FastAPI)
    return client.app


@contextmanager
def running(runs: Path, **changes: Any) -> Iterator[tuple[str, int]]:
    """A uvicorn server in a thread, as `krino serve` runs it."""
    port = free_port()
    config = make_config(settings_of(runs, port=port, **changes))
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        yield "127.0.0.1", port
    finally:
        server.should_exit = True
        thread.join()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def until(met: Callable[[], bool], seconds: float = 60) -> None:
    ends = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < ends, "it never came to that"
        time.sleep(0.02)


def csrf_of(page: str) -> str:
    """The token that a page puts into its forms."""
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found, "the page has no form"
    return found[1]


def log_in(client: TestClient, token: str = TOKEN) -> None:
    """As a browser does it."""
    page = client.get("/login", headers={"accept": "text/html"})
    sent = client.post("/login", data={"token": token, "csrf": csrf_of(page.text)})
    assert sent.status_code == 303, sent.text
