"""The batch endpoints of the fake server: files, OpenAI's batches and Anthropic's, with faults at every step.

A batch is worked off when it is looked at. Each of its requests is answered, counted and paid as a call would be.
`faults` maps a step to what goes wrong there, one entry each time it is taken (None: nothing):

    upload    500, 429, 401, reset
    create    500, 429, 401, reset (nothing is made); 500-made, reset-made (it is made, and nobody says so); failed,
              too-much (the provider refuses it later)
    list      500, 429, 401, reset, late (what was made a moment ago is not listed yet)
    look      500, 429, 401, reset, slow (still going on)
    work      expire, cancel (every other request has no reply and costs nothing), error (the first one breaks)
    results   500, 404, cut, missing, doubled, turned (last line first), unknown, broken
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from aiohttp import web

from fake_llm.faults import HTTP_FAULTS
from fake_llm.hanging_up import cut_body, reset_connection
from fake_llm.replies import Dialect

if TYPE_CHECKING:
    from fake_llm.server import FakeServer

HEAD, TAIL = b'{"requests":[', b"]}"
PIECE = 1 << 20


@dataclass(slots=True)
class FakeBatch:
    """One batch with what was asked and what came of it."""

    id: str
    dialect: Dialect
    created: float
    source: Path
    headers: dict[str, str] = field(default_factory=dict)
    """Of the call that made it."""
    metadata: dict[str, str] = field(default_factory=dict)
    requests: int = 0
    fault: str | None = None
    results: dict[str, Path] = field(default_factory=dict)
    """`output` and `error`, or `all` (Anthropic), once it has been worked off."""
    counts: dict[str, int] = field(default_factory=dict)
    work: str | None = None
    listed: int = 0


class FakeBatches:
    """Kept by a `FakeServer`; files lie on disk."""

    def __init__(self, server: FakeServer) -> None:
        self._server = server
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self.faults: dict[str, list[str | None]] = {}
        self.batches: dict[str, FakeBatch] = {}
        self.files: dict[str, Path] = {}
        self.uploads: list[dict[str, Any]] = []
        """What came with each upload: its fields, the file's name, and its first bytes."""
        self.creations: list[Any] = []
        """The bodies of the calls that made batches, where they are small."""
        self.calls: list[tuple[str, str]] = []
        """Step and path of every call, in order."""
        self._number = 0

    @property
    def _folder(self) -> Path:
        """Made when it is needed first: most servers never see a batch."""
        if self._home is None:
            self._home = tempfile.TemporaryDirectory(prefix="fake-batches-")
        return Path(self._home.name)

    def close(self) -> None:
        if self._home is not None:
            self._home.cleanup()

    def sizes(self) -> list[dict[str, int]]:
        """How many requests and bytes each batch had, in the order in which they were made."""
        made = self.batches.values()
        return [{"requests": batch.requests, "bytes": batch.source.stat().st_size} for batch in made]

    async def handle(self, http: web.BaseRequest) -> web.StreamResponse | None:
        """The answer to a call of a batch endpoint; None for any other path."""
        match [http.method, *http.path.strip("/").split("/")]:
            case ["POST", "v1", "files"]:
                return await self._step(http, "upload", self._upload)
            case ["POST", "v1", "batches"] | ["POST", "v1", "messages", "batches"]:
                return await self._step(http, "create", self._create)
            case ["GET", "v1", "batches"] | ["GET", "v1", "messages", "batches"]:
                return await self._step(http, "list", self._list)
            case ["GET", "v1", "batches", _] | ["GET", "v1", "messages", "batches", _]:
                return await self._step(http, "look", self._look)
            case ["GET", "v1", "files", name, "content"]:
                return await self._step(http, "results", self._content(name))
            case ["GET", "v1", "messages", "batches", name, "results"]:
                return await self._step(http, "results", self._content(f"{name}-all"))
        return None

    # --- faults ------------------------------------------------------------------------------------

    def _fault(self, step: str) -> str | None:
        waiting = self.faults.get(step)
        return waiting.pop(0) if waiting else None

    async def _step(self, http: web.BaseRequest, step: str, action: Any) -> web.StreamResponse:
        self.calls.append((step, http.path))
        fault = self._fault(step)
        dialect: Dialect = "anthropic" if "/messages/" in http.path else "openai"
        if fault in {"500-made", "reset-made"}:
            await action(http, dialect, None)
            fault = fault.removesuffix("-made")
        elif fault in {"500", "429", "401", "404", "reset"}:
            await http.content.read()
        if fault == "reset":
            return reset_connection(http)
        if fault in {"500", "429", "401", "404"}:
            error = HTTP_FAULTS[fault]
            wait = {"retry-after": "0.05"} if fault == "429" else {}
            return web.Response(status=int(fault), body=error.body_for(dialect, "req_1"), headers=wait)
        answer: web.StreamResponse = await action(http, dialect, fault)
        return answer

    # --- making ------------------------------------------------------------------------------------

    async def _upload(self, http: web.BaseRequest, dialect: Dialect, fault: str | None) -> web.Response:
        came: dict[str, Any] = {"type": http.content_type}
        name = self._new("file")
        async for part in await http.multipart():
            if part.name != "file":  # type: ignore[union-attr]
                came[str(part.name)] = await part.text()  # type: ignore[union-attr]
                continue
            came["filename"] = part.filename  # type: ignore[union-attr]
            self.files[name] = self._folder / name
            with self.files[name].open("wb") as sink:
                while piece := await part.read_chunk(PIECE):  # type: ignore[union-attr]
                    sink.write(piece)
        came["bytes"] = self.files[name].stat().st_size
        came["start"] = _start(self.files[name])
        self.uploads.append(came)
        told = {"id": name, "object": "file", "bytes": came["bytes"], "created_at": int(time.time())}
        return _json({**told, "filename": came["filename"], "purpose": came.get("purpose"), "status": "processed"})

    async def _create(self, http: web.BaseRequest, dialect: Dialect, fault: str | None) -> web.Response:
        batch = FakeBatch(self._new("batch" if dialect == "openai" else "msgbatch"), dialect, time.time(), Path())
        batch.headers = {name.lower(): value for name, value in http.headers.items()}
        if dialect == "openai":
            wanted = orjson.loads(await http.content.read())
            self.creations.append(wanted)
            batch.metadata, batch.source = wanted.get("metadata") or {}, self.files[wanted["input_file_id"]]
        else:
            batch.source = self._folder / f"{batch.id}-source"
            with batch.source.open("wb") as sink:
                async for piece in http.content.iter_chunked(PIECE):
                    sink.write(piece)
            self.creations.append({"type": http.content_type, "start": _start(batch.source)})
        batch.requests = sum(1 for _ in _entries(batch.source, dialect))
        batch.fault = fault
        self.batches[batch.id] = batch
        return _json(self._told(batch))

    # --- working -----------------------------------------------------------------------------------

    def _work_off(self, batch: FakeBatch) -> None:
        """Answer every request; `results` has the outcomes after that."""
        batch.work = self._fault("work")
        kinds = ("output", "error") if batch.dialect == "openai" else ("all",)
        paths = {kind: self._folder / f"{batch.id}-{kind}" for kind in kinds}
        sinks = {kind: path.open("wb") for kind, path in paths.items()}
        for number, entry in enumerate(_entries(batch.source, batch.dialect)):
            left_out = batch.work in {"expire", "cancel"} and number % 2 == 1
            broken = batch.work == "error" and number == 0
            kind, line = self._outcome(batch, entry, "left out" if left_out else "broken" if broken else None)
            batch.counts[kind] = batch.counts.get(kind, 0) + 1
            good = "output" if kind == "succeeded" else "error"
            sinks[good if batch.dialect == "openai" else "all"].write(line + b"\n")
        for sink in sinks.values():
            sink.close()
        batch.results = paths
        self.files.update({f"{batch.id}-{kind}": path for kind, path in paths.items()})

    def _outcome(self, batch: FakeBatch, entry: dict[str, Any], fault: str | None) -> tuple[str, bytes]:
        name, anthropic = entry["custom_id"], batch.dialect == "anthropic"
        if fault == "left out":
            kind = "expired" if batch.work == "expire" else "canceled"
            error = {"code": "batch_expired" if kind == "expired" else "batch_cancelled", "message": kind}
            told: dict[str, Any] = {"custom_id": name, "response": None, "error": error}
            return kind, orjson.dumps({"custom_id": name, "result": {"type": kind}} if anthropic else told)
        if fault == "broken":
            error = {"type": "api_error", "message": "Internal server error"}
            status, body = 500, orjson.dumps({"type": "error", "error": error} if anthropic else {"error": error})
        else:
            asked = entry["params" if anthropic else "body"]
            status, body = self._server.answer_in_batch(asked, batch.dialect, batch.headers)
        data = orjson.Fragment(body)
        kind = "succeeded" if status == 200 else "errored"
        if anthropic:
            result = {"message": data} if status == 200 else {"error": data}
            return kind, orjson.dumps({"custom_id": name, "result": {"type": kind, **result}})
        response = {"status_code": status, "request_id": "req_1", "body": data}
        return kind, orjson.dumps({"id": f"batch_req_{name}", "custom_id": name, "response": response, "error": None})

    # --- looking -----------------------------------------------------------------------------------

    async def _look(self, http: web.BaseRequest, dialect: Dialect, fault: str | None) -> web.Response:
        batch = self.batches[http.path.rsplit("/", 1)[-1]]
        if not batch.results and fault != "slow" and batch.fault is None:
            self._work_off(batch)
        return _json(self._told(batch))

    async def _list(self, http: web.BaseRequest, dialect: Dialect, fault: str | None) -> web.Response:
        """Newest first, two a page, so that whoever does not turn pages is found out."""
        mine = [batch for batch in reversed(self.batches.values()) if batch.dialect == dialect and fault != "late"]
        after = http.query.get("after") or http.query.get("after_id")
        start = 1 + [batch.id for batch in mine].index(after) if after else 0
        page = mine[start : start + 2]
        for batch in page:
            batch.listed += 1
            if batch.listed > 1 and not batch.results and batch.fault is None:  # it goes on without being looked at
                self._work_off(batch)
        ends = {"first_id": page[0].id, "last_id": page[-1].id} if page else {}
        told = {"object": "list", "data": [self._told(batch) for batch in page], **ends}
        return _json({**told, "has_more": len(mine) > start + 2})

    def _told(self, batch: FakeBatch) -> dict[str, Any]:
        if batch.dialect == "anthropic":
            return self._told_by_anthropic(batch)
        counts, done = batch.counts, bool(batch.results)
        status = (
            {"expire": "expired", "cancel": "cancelled"}.get(batch.work or "", "completed") if done else "in_progress"
        )
        errors = None
        if batch.fault in {"failed", "too-much"}:
            status, code = "failed", "token_limit_exceeded" if batch.fault == "too-much" else "invalid_json_line"
            errors = {"object": "list", "data": [{"code": code, "message": "no", "line": 1, "param": None}]}
        good = counts.get("succeeded", 0)
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": errors,
            "input_file_id": batch.source.name,
            "completion_window": "24h",
            "status": status,
            "output_file_id": f"{batch.id}-output" if good else None,
            "error_file_id": f"{batch.id}-error" if done and good < batch.requests else None,
            "created_at": int(batch.created),
            "request_counts": {"total": batch.requests, "completed": good, "failed": counts.get("errored", 0)},
            "metadata": batch.metadata,
        }

    def _told_by_anthropic(self, batch: FakeBatch) -> dict[str, Any]:
        done = bool(batch.results)
        kinds = ("succeeded", "errored", "canceled", "expired")
        counts = {"processing": 0 if done else batch.requests, **{kind: batch.counts.get(kind, 0) for kind in kinds}}
        made = datetime.fromtimestamp(batch.created, UTC).isoformat()
        elsewhere = "http://results.invalid/not-to-be-called"
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if done else "in_progress",
            "request_counts": counts,
            "created_at": made,
            "expires_at": made,
            "ended_at": made if done else None,
            "cancel_initiated_at": None,
            "archived_at": None,
            "results_url": elsewhere if done else None,
        }

    # --- results -----------------------------------------------------------------------------------

    def _content(self, name: str) -> Any:
        async def give(http: web.BaseRequest, dialect: Dialect, fault: str | None) -> web.StreamResponse:
            path = self.files[name]
            if fault is None:
                return web.FileResponse(path)
            body = b"\n".join(_spoilt(path.read_bytes().splitlines(), fault)) + b"\n"
            if fault != "cut":
                return web.Response(body=body)
            return await cut_body(http, web.Response(body=body))

        return give

    def _new(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._number:06d}"


def _start(path: Path) -> bytes:
    with path.open("rb") as source:
        return source.read(4_000)


def _spoilt(lines: list[bytes], fault: str) -> list[bytes]:
    match fault:
        case "missing":
            return lines[1:]
        case "doubled":
            return [line for line in lines for _ in range(2)]
        case "turned":
            return lines[::-1]
        case "unknown":
            known = orjson.loads(lines[0])
            return [orjson.dumps({**known, "custom_id": "somebody-else"}), *lines]
        case "broken":
            return [lines[0][:-5], *lines[1:]]
    return lines


def _entries(path: Path, dialect: Dialect) -> Iterator[dict[str, Any]]:
    """One by one: a file of requests may be larger than what this machine wants to hold."""
    with path.open("rb") as lines:
        if dialect == "openai":
            yield from map(orjson.loads, lines)
            return
        first = next(lines)
        if not first.startswith(HEAD) or first.endswith(TAIL):
            yield from orjson.loads(path.read_bytes())["requests"]
            return
        yield from map(_entry, _with(first.removeprefix(HEAD), lines))


def _with(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _entry(line: bytes) -> dict[str, Any]:
    text = line.rstrip(b"\n")
    entry: dict[str, Any] = orjson.loads(text[:-1] if text.endswith(b",") else text.removesuffix(TAIL))
    return entry


def _json(data: dict[str, Any]) -> web.Response:
    return web.json_response(body=orjson.dumps(data))
