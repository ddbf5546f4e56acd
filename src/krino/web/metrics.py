"""Prometheus metrics of the server: requests, their durations, and judged cases."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper bounds in seconds; 0.15 is the target for an online guard."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Thread-safe. Labels are always ours (a route, a method, a judge), never text from a client, or a client could
    create any number of series."""

    def __init__(self) -> None:
        # The extra `_created` series double the output, and no dashboard of ours uses them.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = own = CollectorRegistry()
        self._requests = Counter(
            "krino_requests",
            "Requests by method, route and status, including refused ones.",
            ("method", "route", "status"),
            registry=own,
        )
        self._seconds = Histogram(
            "krino_request_seconds", "Duration of requests by route.", ("route",), registry=own, buckets=BUCKETS
        )
        self._cases = Counter("krino_cases", "Judged cases by judge and status.", ("judge", "status"), registry=own)
        self._decisions = Counter(
            "krino_decisions", "Cases that a guard let pass or blocked.", ("judge", "decision"), registry=own
        )
        self._pending = Gauge("krino_cases_under_way", "Cases that are waiting or being judged.", registry=own)

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request and its duration; an unusual method is counted as `other`."""
        self._requests.labels(method if method in METHODS else "other", route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def count_case(self, judge: str, status: str) -> None:
        self._cases.labels(judge, status).inc()

    def count_decision(self, judge: str, decision: str) -> None:
        self._decisions.labels(judge, decision).inc()

    def to_text(self, pending: int) -> str:
        """Writes all metrics in Prometheus' text format. `pending`: cases that are waiting or being judged."""
        self._pending.set(pending)
        return generate_latest(self._registry).decode()


class RequestMetrics:
    """ASGI middleware that times every request, including refused ones."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, and counts it with its duration and status."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            """Notes the status, and sends the message on."""
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        finally:
            route = getattr(scope.get("route"), "path", None) or _name_unrouted(scope["path"])
            self._metrics.count_request(scope["method"], route, status, time.perf_counter() - started)


def _name_unrouted(path: str) -> str:
    """Returns the route to count for a path without one; never the path itself, which a client chooses."""
    return "/static" if path.startswith("/static/") else "none"
