"""Counts what the server does, and writes it as Prometheus reads it."""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends of the classes of seconds, in the middle of them the mark for an online guard (0.15)."""
MEANINGS = {
    "krino_requests_total": "Requests by method, route and status; those that were refused among them.",
    "krino_request_seconds": "How long requests took, by route.",
    "krino_cases_total": "Cases of clients that were judged, by judge and status.",
    "krino_cases_under_way": "Cases that are being judged or wait for it.",
}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Meters:
    """Thread-safe. What stands in a label is ours (a route, a method, a judge), never a client's text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._classes: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}
        self._cases: Counter[tuple[str, str]] = Counter()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method if method in METHODS else "other", route, status] += 1
            classes = self._classes.setdefault(route, [0] * (len(BOUNDS) + 1))
            classes[bisect_left(BOUNDS, seconds)] += 1
            self._seconds[route] = self._seconds.get(route, 0.0) + seconds

    def case(self, judge: str, status: str) -> None:
        with self._lock:
            self._cases[judge, status] += 1

    def text(self, under_way: int) -> str:
        """`under_way`: cases that are being judged or wait for it."""
        with self._lock:
            return "\n".join(
                (*self._told(), *_head("krino_cases_under_way", "gauge"), f"krino_cases_under_way {under_way}", "")
            )

    def _told(self) -> Iterator[str]:
        yield from _head("krino_requests_total", "counter")
        for (method, route, status), count in sorted(self._requests.items()):
            yield f'krino_requests_total{{method="{method}",route="{_safe(route)}",status="{status}"}} {count}'
        yield from _head("krino_request_seconds", "histogram")
        for route, classes in sorted(self._classes.items()):
            below = 0
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), classes, strict=True):
                below += count
                yield f'krino_request_seconds_bucket{{route="{_safe(route)}",le="{bound}"}} {below}'
            yield f'krino_request_seconds_sum{{route="{_safe(route)}"}} {self._seconds[route]:.6f}'
            yield f'krino_request_seconds_count{{route="{_safe(route)}"}} {below}'
        yield from _head("krino_cases_total", "counter")
        for (judge, ended), count in sorted(self._cases.items()):
            yield f'krino_cases_total{{judge="{_safe(judge)}",status="{ended}"}} {count}'


def _head(name: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {MEANINGS[name]}", f"# TYPE {name} {kind}"


def _safe(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _group(path: str) -> str:
    """Of a request that no route took: our style sheets and scripts, or nothing that there is."""
    return "/static" if path.startswith("/static/") else "none"


class Metered:
    """Times every request, those that are refused among them."""

    def __init__(self, app: ASGIApp, meters: Meters) -> None:
        self.app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", None) or _group(scope["path"])
            self._meters.request(scope["method"], route, status, time.perf_counter() - started)
