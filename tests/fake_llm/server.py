"""An LLM endpoint on loopback: real HTTP, made-up answers, chosen faults, and a record of every request."""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

from fake_llm.batches import FakeBatches
from fake_llm.faults import (
    FEATURES,
    PAGE_FAULTS,
    PLENTY,
    FaultPlan,
    Faults,
    HttpError,
    http_fault,
    rejection,
    retry_headers,
    spoil_answer,
)
from fake_llm.hanging_up import cut_body, reset_connection
from fake_llm.replies import (
    Dialect,
    PromptCache,
    ReceivedRequest,
    answer_from,
    default_answer,
    reply_body,
    what_is_asked,
)
from krino.errors import UsageProblem

Given = Mapping[str, Any] | str | bytes
Reply = Callable[[ReceivedRequest], Given] | Given
Key = Callable[[ReceivedRequest], str | None] | str

_MODEL_PATHS: dict[str, Dialect] = {
    "/v1/chat/completions": "openai",
    "/openai/v1/chat/completions": "azure",
    "/v1/messages": "anthropic",
}
_AZURE_DEPLOYMENT = re.compile(r"/openai/deployments/[^/]+/chat/completions")
_BACKLOG = 4096
_SHUTDOWN_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Stats:
    """What a server has done so far; `completed` counts the replies sent whole and without any fault."""

    calls: int = 0
    completed: int = 0
    rejected: int = 0
    in_flight: int = 0
    max_in_flight: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    calls_by_key: dict[str, int] = field(default_factory=dict)
    completed_by_key: dict[str, int] = field(default_factory=dict)


class _Ledger:
    """Counters and recent requests, shared between the server's thread and the one that reads them."""

    def __init__(self, keep: int) -> None:
        self.lock = threading.Lock()
        self.requests: deque[ReceivedRequest] = deque(maxlen=keep)
        self.in_flight = 0
        self.clear()

    def clear(self) -> None:
        with self.lock:
            self.requests.clear()
            self.calls = self.completed = self.rejected = 0
            self.input_tokens = self.output_tokens = 0
            self.max_in_flight = self.in_flight
            self.faults: Counter[str] = Counter()
            self.calls_by_key: Counter[str] = Counter()
            self.completed_by_key: Counter[str] = Counter()

    def opened(self) -> None:
        with self.lock:
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def closed(self) -> None:
        with self.lock:
            self.in_flight -= 1

    def called(self, request: ReceivedRequest, key: str | None) -> None:
        with self.lock:
            self.requests.append(request)
            self.calls += 1
            if key is not None:
                self.calls_by_key[key] += 1

    def faulted(self, name: str) -> None:
        with self.lock:
            self.faults[name] += 1

    def refused(self) -> None:
        with self.lock:
            self.rejected += 1

    def replied(self, key: str | None, *, prompt: int, completion: int, whole: bool) -> None:
        with self.lock:
            self.input_tokens += prompt
            self.output_tokens += completion
            if whole:
                self.completed += 1
                if key is not None:
                    self.completed_by_key[key] += 1

    def stats(self) -> Stats:
        with self.lock:
            return Stats(
                self.calls,
                self.completed,
                self.rejected,
                self.in_flight,
                self.max_in_flight,
                self.input_tokens,
                self.output_tokens,
                dict(self.faults),
                dict(self.calls_by_key),
                dict(self.completed_by_key),
            )


class FakeServer:
    """An OpenAI, Azure OpenAI and Anthropic endpoint for tests: `with FakeServer() as server: ... server.url`.

    `reply` gives the labels (an object), the raw text or (bytes) the whole body of each answer, or is one; without
    it every answer is a valid instance of the schema the request states. `latency` is seconds before
    each answer. `unsupported` names features that are refused with a 400; such requests use up no fault.
    `keep` bounds `requests`. `key` (a regular expression searched in the raw body, or a function) says
    which case a request belongs to, so that calls and completed replies are also counted by case.
    """

    def __init__(
        self,
        reply: Reply | None = None,
        *,
        latency: float = 0.0,
        faults: Faults | None = None,
        unsupported: Iterable[str] = (),
        key: Key | None = None,
        keep: int = 1000,
        port: int = 0,
    ) -> None:
        self._ledger = _Ledger(keep)
        self.batches = FakeBatches(self)
        self._cache = PromptCache()
        self._serial = 0
        self._wanted_port = port
        self._port: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._reply_error: Exception | None = None
        self._reply = reply
        self._latency = latency
        self.configure(faults=faults or Faults(), unsupported=unsupported)
        self._key = _key_finder(key)

    # --- control -----------------------------------------------------------------------------------

    def configure(
        self,
        *,
        reply: Reply | None = None,
        latency: float | None = None,
        faults: Faults | None = None,
        unsupported: Iterable[str] | None = None,
        key: Key | None = None,
    ) -> None:
        """Change what is given; the fault schedule starts anew only where faults are given."""
        if reply is not None:
            self._reply = reply
        if latency is not None:
            self._latency = latency
        if faults is not None:
            self._plan = FaultPlan(faults)
        if key is not None:
            self._key = _key_finder(key)
        if unsupported is not None:
            features = frozenset(unsupported)
            if unknown := features - FEATURES:
                raise UsageProblem(f"unknown features {sorted(unknown)}; known: {sorted(FEATURES)}")
            self._unsupported = features

    def reset(self) -> None:
        """Forget every request and counter and start the faults from the beginning."""
        self._ledger.clear()
        self._plan = FaultPlan(self._plan.faults)
        self._cache = PromptCache()

    @property
    def port(self) -> int:
        if self._port is None:
            raise UsageProblem("the fake server is not running: use it in a `with` block")
        return self._port

    @property
    def anthropic_url(self) -> str:
        """The base URL for Anthropic clients (and for Azure ones), which add the path themselves."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base URL for OpenAI clients."""
        return f"{self.anthropic_url}/v1"

    @property
    def requests(self) -> list[ReceivedRequest]:
        """The latest requests to a model, oldest first."""
        with self._ledger.lock:
            return list(self._ledger.requests)

    def stats(self) -> Stats:
        return self._ledger.stats()

    # --- life --------------------------------------------------------------------------------------

    def start(self) -> Self:
        if self._thread is not None:
            raise UsageProblem("the fake server is already running")
        ready: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="krino-fake-server", daemon=True)
        self._thread.start()
        try:
            self._port = ready.result()
        except OSError:
            self._thread.join()
            self._thread = None
            raise
        return self

    def stop(self) -> None:
        """Stop at once; whoever still waits for an answer is cut off."""
        if self._thread is None or self._loop is None or self._closing is None:
            return
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()
        self._thread = self._loop = self._closing = self._port = None
        self.batches.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None and self._reply_error is not None:
            raise self._reply_error

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.__exit__, kind, error, trace)

    def _run(self, ready: Future[int]) -> None:
        try:
            asyncio.run(self._serve(ready))
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def _serve(self, ready: Future[int]) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        # the bare server: routing and middleware of a full application would double the cost of a request
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", self._wanted_port, backlog=_BACKLOG).start()
            ready.set_result(int(runner.addresses[0][1]))
            await self._closing.wait()
        finally:
            await runner.cleanup()

    # --- one request -------------------------------------------------------------------------------

    async def _handle(self, http: web.BaseRequest) -> web.StreamResponse:
        path = http.path
        dialect = _MODEL_PATHS.get(path)
        if dialect is None and _AZURE_DEPLOYMENT.fullmatch(path):
            dialect = "azure"
        if dialect is None:
            return await self._handle_other(http)
        if http.method != "POST":
            return self._error(HttpError(405, f"Not allowed: {http.method} {path}"), dialect)
        self._ledger.opened()
        try:
            return await self._handle_model(http, dialect)
        finally:
            self._ledger.closed()

    async def _handle_model(self, http: web.BaseRequest, dialect: Dialect) -> web.StreamResponse:
        raw = await http.content.read()
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            body = None
        request = ReceivedRequest(
            http.method,
            http.path,
            dict(http.query),
            {name.lower(): value for name, value in http.headers.items()},
            body if isinstance(body, dict) else {},
            dialect,
        )
        key = self._key(request, raw)
        self._ledger.called(request, key)
        if not isinstance(body, dict):
            refused: HttpError | None = HttpError(400, "The body of the request is not a JSON object.")
        else:
            refused = rejection(request, self._unsupported)
        if refused is not None:
            self._ledger.refused()
            return self._error(refused, dialect, request)
        request.fault = self._plan.next()
        if self._latency:
            await asyncio.sleep(self._latency)
        return await self._respond(http, request, key, len(raw))

    def answer_in_batch(self, body: dict[str, Any], dialect: Dialect, headers: dict[str, str]) -> tuple[int, bytes]:
        """Status and body for one request of a batch: counted, spoilt and paid as a call is."""
        raw = orjson.dumps(body)
        path = next(path for path, speaks in _MODEL_PATHS.items() if speaks == dialect)
        request = ReceivedRequest("POST", path, {}, headers, body, dialect)
        key = self._key(request, raw)
        self._ledger.called(request, key)
        response: web.Response | None = None
        if (refused := rejection(request, self._unsupported)) is not None:
            self._ledger.refused()
            response = self._error(refused, dialect, request)
        else:
            request.fault = self._plan.next()
            if request.fault is not None and (error := http_fault(request.fault, dialect)):
                self._ledger.faulted(request.fault)
                response = self._error(error, dialect, request)
        response = response or self._reply_response(request, key, len(raw))
        assert isinstance(response.body, bytes)
        return response.status, response.body

    async def _respond(
        self, http: web.BaseRequest, request: ReceivedRequest, key: str | None, size: int
    ) -> web.StreamResponse:
        fault, dialect = request.fault, request.dialect
        if fault is None:
            return self._reply_response(request, key, size)
        if fault in ("hang", "reset"):
            self._ledger.faulted(fault)
            return await self._hang(http) if fault == "hang" else reset_connection(http)
        if page := PAGE_FAULTS.get(fault):
            self._ledger.faulted(fault)
            request.status = page.status
            return web.Response(status=page.status, body=page.body, content_type=page.content_type)
        if error := http_fault(fault, dialect):
            self._ledger.faulted(fault)
            wait = self._plan.faults.retry_after
            return self._error(error, dialect, request, retry_headers(fault, dialect, wait))
        response = self._reply_response(request, key, size)
        return await cut_body(http, response) if fault == "cut" else response

    def _reply_response(self, request: ReceivedRequest, key: str | None, size: int) -> web.Response:
        """A 200 with the model's answer, spoiled where the fault says so."""
        asked = what_is_asked(request)
        try:
            given = self._reply(request) if callable(self._reply) else self._reply
            answer = default_answer(asked) if given is None else answer_from(given)
        except Exception as error:
            self._reply_error = error
            return self._error(HttpError(500, f"no reply could be made: {error!r}"), request.dialect, request)
        if request.fault is not None and request.fault != "cut":
            spoiled = spoil_answer(request.fault, answer, asked, request)
            if spoiled is None:
                request.fault = None
            else:
                answer = spoiled
        if request.fault is not None:
            self._ledger.faulted(request.fault)
        self._serial += 1
        tokens = self._cache.count(request, size, answer)
        body = given if isinstance(given, bytes) else reply_body(request, asked, answer, tokens, self._serial)
        request.status = 200
        self._ledger.replied(key, prompt=tokens.prompt, completion=tokens.completion, whole=request.fault is None)
        return self._response(200, body, request.dialect, PLENTY)

    def _error(
        self,
        error: HttpError,
        dialect: Dialect,
        request: ReceivedRequest | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> web.Response:
        self._serial += 1
        status = error.status_for(dialect)
        if request is not None:
            request.status = status
        body = error.body_for(dialect, f"req_{self._serial:024d}")
        family = "anthropic" if dialect == "anthropic" else "openai"
        return self._response(status, body, dialect, {family: dict(headers or {})})

    def _response(
        self, status: int, body: bytes, dialect: Dialect, headers: Mapping[str, Mapping[str, str]]
    ) -> web.Response:
        if dialect == "anthropic":
            own = {**headers["anthropic"], "request-id": f"req_{self._serial:024d}"}
        else:
            own = {**headers["openai"], "x-request-id": f"req_{self._serial:024d}"}
        own["content-type"] = "application/json"
        return web.Response(status=status, body=body, headers=own)

    async def _hang(self, http: web.BaseRequest) -> web.StreamResponse:
        """Answer nothing for as long as the client waits; it is cancelled when the client goes."""
        if self._closing is not None:
            await self._closing.wait()
        return reset_connection(http)

    # --- other paths -------------------------------------------------------------------------------

    async def _handle_other(self, http: web.BaseRequest) -> web.StreamResponse:
        if (answer := await self.batches.handle(http)) is not None:
            return answer
        called = (http.method, http.path)
        if called == ("GET", "/v1/models"):
            return web.json_response(body=orjson.dumps(_models("anthropic-version" in http.headers)))
        if called == ("GET", "/__stats"):
            return web.json_response(body=orjson.dumps(self.stats()))
        if called == ("GET", "/__batches"):
            return web.json_response(body=orjson.dumps(self.batches.sizes()))
        if called == ("POST", "/__reset"):
            self.reset()
            return web.json_response({})
        if called == ("POST", "/__configure"):
            return self._configure_from(await http.content.read())
        message = f"Invalid URL ({http.method} {http.path})"
        return self._error(HttpError(404, message, "invalid_request_error"), "openai")

    def _configure_from(self, raw: bytes) -> web.Response:
        """`configure` from another process: the same names, latency as `latency_ms`."""
        try:
            wanted = orjson.loads(raw)
            latency = wanted.pop("latency_ms", None)
            if "faults" in wanted:
                wanted["faults"] = Faults(**wanted["faults"])
            self.configure(latency=None if latency is None else latency / 1000, **wanted)
        except (ValueError, TypeError, AttributeError, UsageProblem) as error:
            return self._error(HttpError(400, f"not understood: {error}"), "openai")
        return web.json_response({})


# --- parts that need no server ---------------------------------------------------------------------


def _key_finder(key: Key | None) -> Callable[[ReceivedRequest, bytes], str | None]:
    if key is None:
        return lambda request, raw: None
    if not isinstance(key, str):
        own = key
        return lambda request, raw: own(request)
    pattern = re.compile(key.encode())

    def search(request: ReceivedRequest, raw: bytes) -> str | None:
        found = pattern.search(raw)
        return found.group().decode("utf-8", "replace") if found else None

    return search


def _models(as_anthropic: bool) -> dict[str, Any]:
    model: dict[str, Any] = {"id": "fake-model", "object": "model", "created": 1_700_000_000, "owned_by": "krino"}
    if not as_anthropic:
        return {"object": "list", "data": [model]}
    model = {
        "type": "model",
        "id": "fake-model",
        "display_name": "Fake model",
        "created_at": "2024-01-01T00:00:00Z",
    }
    return {"data": [model], "has_more": False, "first_id": "fake-model", "last_id": "fake-model"}
