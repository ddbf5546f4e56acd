"""The two addresses of Langfuse that its client is used for here: it gives observations and keeps scores."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class Platform(ThreadingHTTPServer):
    """The two addresses of Langfuse that batched evaluation uses: it gives observations and keeps scores."""

    daemon_threads = True

    def __init__(self, observations: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.observations = observations
        self.scores: list[dict[str, Any]] = []
        """Every score that was sent, also one that was sent twice."""
        self.latency = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def held(self) -> dict[str, dict[str, Any]]:
        """The scores by their id: Langfuse replaces a score that has the id of an earlier one."""
        return {score["id"]: score for score in list(self.scores)}


class Handler(BaseHTTPRequestHandler):
    server: Platform

    def do_GET(self) -> None:
        assert self.path.startswith("/api/public/v2/observations")
        asked = parse_qs(urlsplit(self.path).query)
        start = asked.get("fromStartTime", [""])[0].replace("Z", "+00:00")
        found = [one for one in list(self.server.observations) if is_from(one["startTime"], start)]
        self._send(200, {"data": found, "meta": {}})

    def do_POST(self) -> None:
        assert self.path.startswith("/api/public/scores")
        scores = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.scores += scores
        time.sleep(self.server.latency)
        self._send(207, {"accepted": len(scores), "rejected": 0, "errors": []})

    def _send(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args: Any) -> None:
        pass


def is_from(time: str, start: str) -> bool:
    """Whether a time is not before the start; no start is before every time."""
    return not start or datetime.fromisoformat(time) >= datetime.fromisoformat(start)


@contextmanager
def serving(observations: list[dict[str, Any]]) -> Iterator[Platform]:
    with Platform(observations) as platform:
        threading.Thread(target=platform.serve_forever, daemon=True).start()
        yield platform
        platform.shutdown()
