"""A small OTLP/HTTP receiver on loopback: POST /v1/traces, as JSON or protobuf.

What it takes is written to a file in the folder of the watch before it is acknowledged, so spans that a sender was told
are accepted are judged after a restart too.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from aiohttp import web

from krino.errors import UsageProblem
from krino.live.interfaces import WatchedTrace
from krino.live.lines import AppendedLines
from krino.live.otlp_file import OtlpFile
from krino.runs.folder import SPOOL

MOST_BYTES = 20_000_000
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_IDS = ("traceId", "spanId", "parentSpanId")


class Receiver:
    """A `TraceSource` that others send their spans to."""

    def __init__(
        self, address: str, folder: Path, quiet: float, is_known: Callable[[str], bool], notify: Callable[[str], None]
    ) -> None:
        parts = urlsplit(address)
        if parts.hostname not in _LOOPBACK or parts.port is None or parts.path.strip("/"):
            raise UsageProblem(f"{address}: Krino listens on this machine only; write it as http://127.0.0.1:4318")
        self.host, self.port = parts.hostname, parts.port
        self._spool_path = folder / SPOOL
        self._spool: AppendedLines | None = None
        self._runner: web.AppRunner | None = None
        self._file = OtlpFile(self._spool_path, quiet, is_known, notify)
        self._notify = notify

    @property
    def at_end(self) -> bool:
        return self._file.at_end

    async def look(self) -> list[WatchedTrace]:
        """Returns the traces that are complete. The first look starts the server."""
        if self._runner is None:
            await self._start()
        return await self._file.look()

    async def _start(self) -> None:
        """Opens the file for the spans and starts the server; `UsageProblem` if it cannot listen at the address."""
        self._spool = AppendedLines(self._spool_path)
        app = web.Application(client_max_size=MOST_BYTES)
        app.router.add_post("/v1/traces", self._take)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self.host, self.port).start()
        except OSError as error:
            raise UsageProblem(f"cannot listen at {self.host}:{self.port}: {error.strerror}") from None
        self._notify(f"listening at http://{self.host}:{self.port}/v1/traces")

    async def _take(self, request: web.Request) -> web.Response:
        """Stores the spans of a request, then acknowledges them; a request that is no export is refused."""
        assert self._spool is not None
        body, kind = await request.read(), request.content_type
        if kind not in ("application/json", "application/x-protobuf"):
            raise web.HTTPUnsupportedMediaType(text="send application/json or application/x-protobuf")
        try:
            data = orjson.loads(body) if kind == "application/json" else _from_protobuf(body)
        except ValueError as error:
            raise web.HTTPBadRequest(text=f"the body cannot be read: {error}") from None
        if not isinstance(data, dict) or not isinstance(data.get("resourceSpans", []), list):
            raise web.HTTPBadRequest(text="the body must be an object with resourceSpans")
        if data.get("resourceSpans"):
            self._spool.add(data)
        empty = b"{}" if kind == "application/json" else b""
        return web.Response(body=empty, content_type=kind)

    async def aclose(self) -> None:
        """Ends the server and closes the file that keeps the spans."""
        if self._runner is not None:
            await self._runner.cleanup()
        if self._spool is not None:
            self._spool.close()


def _from_protobuf(body: bytes) -> dict[str, Any]:
    """Converts an export request from protobuf to OTLP/JSON. Raises `ValueError` for anything else, and refuses the
    request (415) if the package for it is missing."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.proto") is None:
        raise web.HTTPUnsupportedMediaType(text="for protobuf install opentelemetry-proto, or send application/json")
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    try:
        data: dict[str, Any] = MessageToDict(ExportTraceServiceRequest.FromString(body))
    except DecodeError as error:
        raise ValueError(str(error)) from None
    for resource in data.get("resourceSpans", ()):
        for scope in resource.get("scopeSpans", ()):
            for span in scope.get("spans", ()):
                for found in (span, *span.get("links", ())):
                    _write_ids_as_hex(found)
    return data


def _write_ids_as_hex(found: dict[str, Any]) -> None:
    """Rewrites the ids of a span or link in place: OTLP/JSON has them as hex, protobuf's own JSON as base64."""
    for name in _IDS:
        if name in found:
            found[name] = base64.b64decode(found[name]).hex()
