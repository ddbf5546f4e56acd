"""The server that every emulated endpoint runs on: loopback HTTP, refusals, and a count of what is truly billed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

from fake_llm.replies import Dialect, ReceivedRequest

CHARS_PER_TOKEN = 4
KEY = "k"
"""The key that emulators accept unless told otherwise."""
_SHUTDOWN_SECONDS = 0.1
_BACKLOG = 1024


def count_tokens(text: str) -> int:
    """Four characters a token, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


class Refused(Exception):
    """An error that the endpoint answers with; `status` may be 200, where it hides errors in a success."""

    def __init__(self, status: int, payload: Any, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"HTTP {status}: {orjson.dumps(payload).decode()[:300]}")
        self.status = status
        self.payload = payload
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True)
class Bill:
    """What one reply costs; `cached` and `written` are parts of `input`, `reasoning` is a part of `output`."""

    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens; `read` and `write` are how many times the input price the prompt cache costs."""

    input: float
    output: float
    read: float = 0.1
    write: float = 1.25


@dataclass(frozen=True, slots=True)
class Served:
    """A reply that is billed: the body of the 200, and what it costs whatever its own usage fields say."""

    payload: Any
    bill: Bill
    finish: str | None = None
    cut_from: int = 0
    """The tokens of a prompt of which the model saw a part only; 0: it saw everything."""
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One request to a model and what came of it."""

    number: int
    status: int
    path: str
    body: dict[str, Any]
    bill: Bill = Bill()
    error: str | None = None
    finish: str | None = None
    cut_from: int = 0


@dataclass(frozen=True, slots=True)
class EndpointStats:
    """Everything that an endpoint has served so far, in true token counts."""

    requests: int = 0
    answered: int = 0
    refused: int = 0
    refused_before_first_answer: int = 0
    cut_prompts: int = 0
    """Answered although the model saw only a part of the prompt."""
    longest_cut: int = 0
    """The tokens of the longest prompt among them, before it was cut."""
    max_in_flight: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def cached_share(self) -> float:
        """The part of all input tokens that was read from the prompt cache."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0

    def cost(self, prices: Prices) -> float:
        """What all of it costs; reasoning is paid as output wherever a reply counts it."""
        plain = self.input_tokens - self.cached_tokens - self.cache_write_tokens
        weighted = plain + prices.read * self.cached_tokens + prices.write * self.cache_write_tokens
        return (weighted * prices.input + self.output_tokens * prices.output) / 1e6


@dataclass(slots=True)
class _Ledger:
    """Counters and log, written by the server's thread and read by the test's."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    stats: EndpointStats = field(default_factory=EndpointStats)
    log: list[LogEntry] = field(default_factory=list)
    in_flight: int = 0
    arrived: int = 0

    def arrive(self) -> int:
        """Counts a request that has come in, and returns its number."""
        with self.lock:
            self.in_flight += 1
            self.arrived += 1
            most = max(self.stats.max_in_flight, self.in_flight)
            self.stats = replace(self.stats, requests=self.stats.requests + 1, max_in_flight=most)
            return self.arrived

    def leave(self, entry: LogEntry) -> None:
        with self.lock:
            self.in_flight -= 1
            self.log.append(entry)
            old, bill = self.stats, entry.bill
            if entry.error is not None:
                early = old.refused_before_first_answer + (old.answered == 0)
                self.stats = replace(old, refused=old.refused + 1, refused_before_first_answer=early)
                return
            self.stats = replace(
                old,
                answered=old.answered + 1,
                cut_prompts=old.cut_prompts + (entry.cut_from > 0),
                longest_cut=max(old.longest_cut, entry.cut_from),
                input_tokens=old.input_tokens + bill.input,
                cached_tokens=old.cached_tokens + bill.cached,
                cache_write_tokens=old.cache_write_tokens + bill.written,
                output_tokens=old.output_tokens + bill.output,
                reasoning_tokens=old.reasoning_tokens + bill.reasoning,
            )

    def clear(self) -> None:
        with self.lock:
            self.stats = EndpointStats()
            self.log.clear()


class Emulator:
    """One family of endpoints on loopback: `with SomeEmulator() as endpoint: ... endpoint.url`.

    A subclass says which paths are models (`dialect_of`), what it refuses (`check`, which raises `Refused`) and how it
    answers (`serve`). `key` is the only one accepted (None: every key, and none). After `empty_after` answers the
    account is empty. `latency` is the time of each answer in seconds; refusals come at once.
    """

    base_path = ""
    """What follows the host in the base URL that clients are given."""

    def __init__(self, *, key: str | None = KEY, empty_after: int | None = None, latency: float = 0.0) -> None:
        self.key = key
        self.empty_after = empty_after
        self.latency = latency
        self._ledger = _Ledger()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._port: int | None = None
        self._failure: Exception | None = None

    # --- what a family defines ----------------------------------------------------------------------

    def dialect_of(self, path: str) -> Dialect | None:
        """The dialect that is spoken at a path; None where there is no model."""
        raise NotImplementedError

    def given_key(self, request: ReceivedRequest) -> str | None:
        """The key that a request carries, in the header that this endpoint reads."""
        return request.headers.get("authorization", "").removeprefix("Bearer ") or None

    def check(self, request: ReceivedRequest) -> None:
        """Raises `Refused` for what the endpoint does not take."""

    def serve(self, request: ReceivedRequest, number: int) -> Served:
        """The answer to a request that passed `check`."""
        raise NotImplementedError

    def wrong_key(self) -> Refused:
        raise NotImplementedError

    def empty_account(self) -> Refused:
        raise NotImplementedError(f"{type(self).__name__} has no account that could be empty")

    def not_found(self, method: str, path: str) -> Refused:
        return Refused(404, {"error": {"message": f"Invalid URL ({method} {path})", "type": "invalid_request_error"}})

    def look_up(self, method: str, path: str, body: Any) -> Any:
        """The body of a 200 for a path that is no model (a list of models, say); None: there is no such path."""
        return None

    # --- what tests read ----------------------------------------------------------------------------

    @property
    def root(self) -> str:
        if self._port is None:
            raise RuntimeError("the emulator is not running: use it in a `with` block")
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The base URL, as it would be set in PROVIDER_BASE_URL."""
        return self.root + self.base_path

    def stats(self) -> EndpointStats:
        with self._ledger.lock:
            return self._ledger.stats

    @property
    def requests(self) -> int:
        """Requests to a model so far, refused ones included."""
        return self.stats().requests

    @property
    def answered(self) -> int:
        return self.stats().answered

    @property
    def refused(self) -> int:
        """Requests that were answered with an error, whatever their HTTP status."""
        return self.stats().refused

    @property
    def longest_cut(self) -> int:
        """Tokens of the longest prompt that the model saw a part of only; 0: none was cut."""
        return self.stats().longest_cut

    @property
    def cached_share(self) -> float:
        """The part of all input tokens that was read from the prompt cache."""
        return self.stats().cached_share

    def bill(self, prices: Prices) -> float:
        """What the provider truly charges for everything answered so far, whatever the replies said about usage."""
        return self.stats().cost(prices)

    @property
    def errors(self) -> list[str]:
        """The bodies of all refusals, in the order in which they were sent."""
        return [entry.error for entry in self.log if entry.error is not None]

    @property
    def log(self) -> list[LogEntry]:
        """Every request to a model in the order in which they ended."""
        with self._ledger.lock:
            return list(self._ledger.log)

    def reset(self) -> None:
        """Forgets the counters and the log; prompt caches stay."""
        self._ledger.clear()

    # --- running ------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        ready: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="emulated-endpoint", daemon=True)
        self._thread.start()
        self._port = ready.result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None and self._loop is not None and self._closing is not None:
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()
        self._thread = self._loop = self._closing = self._port = None
        if error is None and self._failure is not None:
            raise self._failure

    def _run(self, ready: Future[int]) -> None:
        try:
            asyncio.run(self._listen(ready))
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)

    async def _listen(self, ready: Future[int]) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=_SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, backlog=_BACKLOG).start()
            ready.set_result(int(runner.addresses[0][1]))
            await self._closing.wait()
        finally:
            await runner.cleanup()

    # --- one request --------------------------------------------------------------------------------

    async def _handle(self, http: web.BaseRequest) -> web.Response:
        raw = await http.content.read()
        dialect = self.dialect_of(http.path)
        if dialect is None or http.method != "POST":
            found = self.look_up(http.method, http.path, _parse(raw))
            return _refuse(self.not_found(http.method, http.path)) if found is None else _respond(200, found)
        headers = {name.lower(): value for name, value in http.headers.items()}
        body = _parse(raw)
        request = ReceivedRequest(http.method, http.path, dict(http.query), headers, {}, dialect)
        request.body = body if isinstance(body, dict) else {}
        number = self._ledger.arrive()
        entry = LogEntry(number, 500, http.path, request.body, error="the emulator failed")
        try:
            served = await self._answer(request, number)
            entry = replace(
                entry, status=200, bill=served.bill, error=None, finish=served.finish, cut_from=served.cut_from
            )
            return _respond(200, served.payload, content_type=served.content_type)
        except Refused as refusal:
            entry = replace(entry, status=refusal.status, error=orjson.dumps(refusal.payload).decode())
            return _refuse(refusal)
        except Exception as error:
            self._failure = error
            raise
        finally:
            self._ledger.leave(entry)

    async def _answer(self, request: ReceivedRequest, number: int) -> Served:
        if self.key is not None and self.given_key(request) != self.key:
            raise self.wrong_key()
        if self.empty_after is not None and self.stats().answered >= self.empty_after:
            raise self.empty_account()
        self.check(request)
        # The prompt cache is read on arrival: what runs at the same time finds nothing there yet.
        served = self.serve(request, number)
        if self.latency:
            await asyncio.sleep(self.latency)
        self.finish(request)
        return served

    def finish(self, request: ReceivedRequest) -> None:
        """Called when an answer is sent: now its prompt is in the cache."""


def _parse(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def _respond(status: int, payload: Any, content_type: str = "application/json") -> web.Response:
    body = payload if isinstance(payload, bytes) else orjson.dumps(payload)
    return web.Response(status=status, body=body, content_type=content_type)


def _refuse(refusal: Refused) -> web.Response:
    response = _respond(refusal.status, refusal.payload)
    response.headers.update(refusal.headers)
    return response
