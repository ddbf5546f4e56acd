"""Traces for tests of `krino watch`, and a server that takes the events with their scores."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

TOY = f"{Path(__file__).parent / 'toy_judge.py'}:ToyJudge"


def trace_id(number: int) -> str:
    return f"{number + 1:032x}"


def span(
    number: int, place: int, attributes: Mapping[str, str] | None = None, *, parent: int | None = None
) -> dict[str, Any]:
    """A span of a trace; times lie in the past."""
    found: dict[str, Any] = {
        "traceId": trace_id(number),
        "spanId": f"{(number + 1) * 100 + place:016x}",
        "name": f"step {place}",
        "startTimeUnixNano": str(1_700_000_000_000_000_000 + place),
        "endTimeUnixNano": str(1_700_000_001_000_000_000 + place),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in (attributes or {}).items()],
    }
    if parent is not None:
        found["parentSpanId"] = f"{(number + 1) * 100 + parent:016x}"
    return found


def root(number: int, text: str, **fields: Any) -> dict[str, Any]:
    """A root span whose input is a case of the toy judge."""
    return span(number, 0, {"input.value": json.dumps({"text": text, **fields})})


def export(*spans: dict[str, Any]) -> dict[str, Any]:
    """A request of an exporter, which is also a line of a file."""
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "test"}, "spans": list(spans)}]}]}


def add_to(file: Path, *exports: dict[str, Any]) -> None:
    with file.open("ab") as lines:
        lines.write(b"".join(json.dumps(each).encode() + b"\n" for each in exports))


class ScoreServer(ThreadingHTTPServer):
    """Keeps the events that it is sent, by their `log.record.uid`, and counts how often each came."""

    daemon_threads = True

    def __init__(self, latency: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: dict[str, dict[str, Any]] = {}
        self.deliveries: Counter[str] = Counter()
        self.status = 200
        self.reply = b"{}"
        self.latency = latency
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take(self, body: Any) -> None:
        for record in body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]:
            found = {item["key"]: next(iter(item["value"].values())) for item in record["attributes"]}
            event = {**found, "trace": record.get("traceId"), "span": record.get("spanId")}
            with self.lock:
                before = self.events.setdefault(found["log.record.uid"], event)
                assert before == event, "a score that is sent again must be the same"
                self.deliveries[found["log.record.uid"]] += 1

    def scores(self, name: str = "toy.score") -> Counter[str]:
        """How many scores of this name each trace has."""
        with self.lock:
            held = list(self.events.values())
        return Counter(str(event["trace"]) for event in held if event["gen_ai.evaluation.name"] == name)


class _Handler(BaseHTTPRequestHandler):
    server: ScoreServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status == 200:
            self.server.take(body)
        time.sleep(self.server.latency)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.reply)))
        self.end_headers()
        self.wfile.write(self.server.reply)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def score_server(latency: float = 0.0) -> Iterator[ScoreServer]:
    with ScoreServer(latency) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def judged(run: Path) -> Counter[str]:
    """How many lines of the journal each trace has."""
    path = run / "judgements.jsonl"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return Counter(json.loads(line)["id"] for line in lines)
