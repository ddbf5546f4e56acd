"""The receiver takes spans as exporters send them, keeps them before it says so, and listens on this machine only."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from command_line import begun
from command_line import krino as krino_command
from live_traces import TOY, export, judged, root, score_server, trace_id
from served import free_port
from waiting import until


@contextmanager
def listening(folder: Path, *more: str) -> Iterator[str]:
    """The address of a watch that was killed in the end."""
    url = f"http://127.0.0.1:{free_port()}"
    with begun("watch", TOY, url, "--run", "run", *more, cwd=folder):
        until(lambda: is_open(url))
        yield f"{url}/v1/traces"


def is_open(url: str) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) == 0


def post(url: str, body: bytes, kind: str = "application/json", **headers: str) -> bytes:
    with urlopen(Request(url, body, {"Content-Type": kind, **headers}), timeout=10) as reply:
        return bytes(reply.read())


def as_protobuf(data: dict[str, object]) -> bytes:
    """As an exporter sends it; protobuf's own JSON has ids as base64."""
    text = json.dumps(data)
    request = ExportTraceServiceRequest()
    ParseDict(json.loads(text), request)
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for found, given in zip(scope.spans, data["resourceSpans"][0]["scopeSpans"][0]["spans"], strict=True):  # type: ignore[index]
                found.trace_id = bytes.fromhex(given["traceId"])
                found.span_id = bytes.fromhex(given["spanId"])
    return bytes(request.SerializeToString())


def test_json_packed_json_and_protobuf_are_judged(tmp_path: Path) -> None:
    with score_server() as scores, listening(tmp_path, "--endpoint", scores.url) as url:
        assert post(url, json.dumps(export(root(0, "fine"))).encode()) == b"{}"
        packed = gzip.compress(json.dumps(export(root(1, "bad"))).encode())
        assert post(url, packed, **{"Content-Encoding": "gzip"}) == b"{}"
        assert post(url, as_protobuf(export(root(2, "fine"))), "application/x-protobuf") == b""
        until(lambda: len(scores.scores()) == 3)
        assert scores.scores() == {trace_id(number): 1 for number in range(3)}
    assert judged(tmp_path / "run") == {trace_id(number): 1 for number in range(3)}


def test_what_was_acknowledged_is_judged_after_a_kill(tmp_path: Path) -> None:
    with listening(tmp_path) as url:
        post(url, json.dumps(export(root(0, "fine"))).encode())
    assert judged(tmp_path / "run")[trace_id(0)] == 0
    with listening(tmp_path):
        until(lambda: judged(tmp_path / "run")[trace_id(0)] == 1)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"\xff\xff", "application/x-protobuf", 400),
        (b"{}", "text/plain", 415),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, body: bytes, kind: str, status: int) -> None:
    with listening(tmp_path) as url, pytest.raises(HTTPError) as refused:
        post(url, body, kind)
    assert refused.value.code == status
    refused.value.close()


def test_it_listens_on_this_machine_only(tmp_path: Path) -> None:
    done = krino_command("watch", TOY, "http://0.0.0.0:4318", cwd=tmp_path)
    assert done.returncode == 2
    assert "this machine only" in done.stderr


def test_a_port_in_use_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = krino_command("watch", TOY, address, "--run", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot listen" in done.stderr
    assert not (tmp_path / "run").exists()
