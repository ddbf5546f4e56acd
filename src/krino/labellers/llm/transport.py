"""HTTP with one retry layer: waits as the endpoint asks, backs off with jitter, and stops a hopeless run."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import weakref
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NoReturn

import aiohttp

from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm.endpoint import clean_address
from krino.labellers.llm.pace import LONGEST_WAIT, Liveness, Pace, usual_patience
from krino.labellers.llm.secrets import Secrets, secrets_of
from krino.labellers.llm.wire import ApiError, HttpReply, read_error, retry_after

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
BACKOFF_CAP = 30.0
BUSY_RETRIES = 3  # a request may be told to wait this many times as often as it may fail
HOPELESS = 10  # cases in a row without any answer before the run stops
MESSAGE_KEPT = 1_000  # characters of what a refusal says
CODE_KEPT = 100
QUIET = 1.0  # seconds without a reply before the progress display mentions it
CONNECT_SECONDS = 30.0
MOST_BYTES = 4 * 1024 * 1024
"""Of a reply, unpacked. The longest useful answer is a small part of it."""
MOST_ERROR_BYTES = 64 * 1024
"""Of a refusal, which nobody reads further than its first sentences."""
PIECE = 64 * 1024
ENCODINGS = "gzip, deflate"
"""What we say we can unpack. We unpack it ourselves, piece by piece: the HTTP library may unpack a bomb in one go."""


class TimedOut(Exception):
    """No reply came in time. The endpoint may still be writing it, so the same request is not sent again."""


class BadBody(Exception):
    """The body cannot be unpacked."""


LOST = (aiohttp.ClientError, TimeoutError, BadBody)
"""What is raised when no whole reply came back."""
MAYBE_BILLED = (aiohttp.ClientPayloadError, TimeoutError, BadBody)
"""The endpoint had the request, and may have written and billed the reply that was lost."""
Permit = Callable[[], contextlib.AbstractAsyncContextManager[None]]


@dataclass(slots=True, weakref_slot=True)
class Transport:
    """Posts bodies to one address."""

    url: str
    headers: Mapping[str, str] = field(repr=False)  # they hold the key
    pace: Pace
    timeout: float = 120.0
    retries: int = 6
    backoff: float = 0.5
    patience: float | None = None
    """Seconds without anything getting through before the endpoint counts as dead; None: as the time-out makes it."""
    reached: bool = False
    stopping: bool = False
    liveness: Liveness = field(init=False)
    secrets: Secrets = field(init=False, repr=False)
    in_flight: int = 0
    """Requests that are sent and not answered."""
    retried: int = 0
    timeouts: int = 0
    _heard_at: float = 0.0
    _told_until: tuple[float, float] = (0.0, 0.0)
    """How long the endpoint last asked to wait, and until when that is."""
    _lost_in_a_row: int = 0
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _sleepers: set[asyncio.Future[None]] = field(default_factory=set)
    _session: aiohttp.ClientSession | None = None
    _retired: list[aiohttp.ClientSession] = field(default_factory=list)
    """Sessions with a key of before: requests may still be on their way in them."""
    _loop: asyncio.AbstractEventLoop | None = None
    _random: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        self.liveness = Liveness(usual_patience(self.timeout) if self.patience is None else self.patience)
        self.secrets = secrets_of(self.url, self.headers)

    async def post(self, body: bytes, tokens: int, permit: Permit = contextlib.nullcontext) -> HttpReply:
        """The endpoint's answer to one request: 200, or a refusal that no retry would change.

        Each try takes its slot of the pace first and its `permit` (of the budget) after that. The other way round, one
        that holds a permit could wait for a slot while those with a slot wait for a permit, and nothing would move.
        Raises `TimedOut` at the first time-out; `give_up` says what that means for the run.
        """
        self.liveness.begin(self.pace.clock())
        try:
            return await self._until_answered(body, tokens, permit)
        finally:
            self.liveness.end(self.pace.clock())

    async def _until_answered(self, body: bytes, tokens: int, permit: Permit) -> HttpReply:
        faults = waits = 0
        request = next(self._numbers)
        while True:
            reply, trouble, started, timed_out = await self._try(body, tokens, permit)
            now = self.pace.clock()
            if reply is not None and not self._worth_retrying(reply):
                if reply.status < 400:
                    self.pace.went_well()
                self.liveness.got_through(now)
                self.reached, self._lost_in_a_row = True, 0
                return reply
            self.liveness.failed(request, started, trouble)
            if timed_out:
                self.timeouts += 1
                self.pace.push_back(started)
                self._stop_if_dead()
                raise TimedOut(trouble)
            asked = self._asked_wait(reply)
            # Being told to slow down is no failure of the request, so it may happen more often.
            busy = reply is not None and reply.status == 429
            waits, faults = (waits + 1, faults) if busy else (waits, faults + 1)
            pause = self._wait(max(faults, waits) - 1, asked)
            self.pace.push_back(started, asked or (pause if busy else None))
            self._stop_if_dead()
            if faults > self.retries or waits > BUSY_RETRIES * self.retries or self.liveness.lone_is_lost(now):
                self.give_up(faults + waits, trouble)
            self.retried += 1
            await self._pause(min(pause, max(0.0, self.liveness.left(now))))
            self._stop_if_dead()

    def stop(self) -> None:
        """Send nothing more: whatever waits for its turn or for a retry ends at once."""
        self.stopping = True
        self.pace.release_waiting()
        for sleeper in list(self._sleepers):
            if not sleeper.done():
                sleeper.set_result(None)

    def waiting_for(self) -> str | None:
        """What keeps the endpoint's answers from coming, in a few words; None while they come."""
        now, host = self.pace.clock(), clean_address(self.url).split("/")[2]
        if self.liveness.since is not None:
            asked, until = self._told_until
            wish = f", asked to wait {asked:.0f} s" if until > now else ""
            lasted = f"nothing for {self.liveness.lasted(now):.0f} s, stops at {self.liveness.patience:.0f}"
            return f"waiting for {host}: {self.liveness.trouble[:80]}{wish} ({lasted})"
        quiet = now - self._heard_at
        if self.in_flight and quiet >= QUIET:
            return f"waiting for {host}: {self.in_flight} in flight, no reply yet for {quiet:.0f} s"
        return None

    def read_error(self, reply: HttpReply) -> ApiError:
        """What a refusal says, cut to what a person reads."""
        error = read_error(reply.status, reply.body)
        return replace(
            error,
            message=_cut(error.message, MESSAGE_KEPT),
            code=error.code and _cut(error.code, CODE_KEPT),
            param=error.param and _cut(error.param, CODE_KEPT),
            kind=error.kind and _cut(error.kind, CODE_KEPT),
        )

    async def _try(self, body: bytes, tokens: int, permit: Permit) -> tuple[HttpReply | None, str, float, bool]:
        """One request: the reply, or what went wrong instead; when it was sent; whether it timed out."""
        self._check_stopping()
        started = await self._slot(tokens)
        try:
            async with permit():
                self._check_stopping()
                reply = await self._send(body)
        except LOST as error:
            return None, self._describe(error), started, isinstance(error, TimeoutError)
        finally:
            self.pace.release()
        trouble = str(self._stop_if_final(reply)) if self._worth_retrying(reply) else ""
        return reply, trouble, started, False

    async def _slot(self, tokens: int) -> float:
        """Wait for a slot of the pace; while nothing gets through, no longer than until the endpoint counts as dead."""
        now = self.pace.clock()
        if self.liveness.tries < 2:
            return await self.pace.acquire(tokens)
        try:
            async with asyncio.timeout(max(0.0, self.liveness.left(now))):
                return await self.pace.acquire(tokens)
        except TimeoutError:
            self._stop_if_dead()  # something may have got through meanwhile
            return await self.pace.acquire(tokens)

    async def _send(self, body: bytes) -> HttpReply:
        """Send it once, with a time-out, and note that it is in flight."""
        self._stop_if_dead()
        now = self.pace.clock()
        seconds = self.liveness.time_for_a_try(self.timeout, now)
        if not self.in_flight:
            self._heard_at = now
        self.in_flight += 1
        try:
            return await self._once(body, seconds)
        except aiohttp.ServerTimeoutError:  # nothing was sent yet, so this is like a refused connection
            raise aiohttp.ClientConnectionError(f"no connection within {CONNECT_SECONDS:.3g} s") from None
        except TimeoutError:
            raise TimeoutError(f"no reply within {seconds:.3g} s (--timeout)") from None
        finally:
            self.in_flight -= 1
            self._heard_at = self.pace.clock()

    def _check_stopping(self) -> None:
        if self.stopping:
            raise RunStopped("stopped by the user", kind="interrupt")

    def _stop_if_dead(self) -> None:
        now = self.pace.clock()
        if self.liveness.is_dead(now):
            lasted = f"nothing has got through to {clean_address(self.url)} for {self.liveness.lasted(now):.0f} s"
            raise RunStopped(f"{lasted} (--patience): {self.liveness.trouble}", kind="endpoint")

    async def _pause(self, seconds: float) -> None:
        """A sleep that `stop` can end."""
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            await asyncio.wait({sleeper}, timeout=seconds)
        finally:
            self._sleepers.discard(sleeper)
            sleeper.cancel()

    def _asked_wait(self, reply: HttpReply | None) -> float | None:
        asked = None if reply is None else retry_after(reply.headers)
        if asked is not None and asked > LONGEST_WAIT:
            # Too long to wait: the run stops and can be continued later.
            raise RunStopped(f"the endpoint asks to wait {asked:.0f} s", kind="rate-limit")
        self._told_until = (asked or 0.0, self.pace.clock() + (asked or 0.0))
        return asked

    def give_up(self, tries: int, trouble: str, *, may_be_slow: bool = False) -> NoReturn:
        """A case got no answer: it fails, or the run stops if nothing ever worked or many in a row got none.

        `may_be_slow`: it timed out, which proves less: a model may still be loading.
        """
        self._lost_in_a_row += 1
        if (not self.reached and not may_be_slow) or self._lost_in_a_row >= HOPELESS:
            raise RunStopped(f"no answer from {clean_address(self.url)}: {trouble}", kind="endpoint")
        raise LabelFailed(f"no answer after {tries} tries; the last one: {trouble}")

    async def _once(self, body: bytes, seconds: float) -> HttpReply:
        """What comes back, with our own secrets struck out before anybody reads it."""
        session = self._session
        if session is None or session.closed or self._loop is not asyncio.get_running_loop():
            session = await self._open()
        limit = _time_limit(seconds)
        async with session.post(self.url, data=body, allow_redirects=False, timeout=limit) as response:
            ok = response.status == 200
            content, whole = await read_bounded(
                response.content.iter_chunked(PIECE),
                response.headers.get("Content-Encoding"),
                MOST_BYTES if ok else MOST_ERROR_BYTES,
            )
            content = self.secrets.strike(content)
            if ok:
                return HttpReply(200, body=content, whole=whole)
            strike = self.secrets.strike_text
            headers = {strike(name.lower()): strike(value) for name, value in response.headers.items()}
            return HttpReply(response.status, headers, content, whole=whole)

    async def _open(self) -> aiohttp.ClientSession:
        """A session on the running loop; one that is left over from a loop that has ended is closed."""
        old, loop = self._session, asyncio.get_running_loop()
        self._loop = loop
        self._session = session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            headers={"Content-Type": "application/json", "Accept-Encoding": ENCODINGS, **self.headers},
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),  # a model's endpoint has no use for them, and looking for them costs
        )
        weakref.finalize(self, _close_forgotten, session, loop).atexit = False
        if old is not None and not old.closed:
            with contextlib.suppress(RuntimeError):
                await old.close()
        return session

    def _worth_retrying(self, reply: HttpReply) -> bool:
        said = reply.headers.get("x-should-retry")
        if said in {"true", "false"}:
            return said == "true"
        return reply.status in RETRIED or reply.status >= 500

    def _stop_if_final(self, reply: HttpReply) -> ApiError:
        """An empty account answers 429 like a busy one, but no waiting helps."""
        error = self.read_error(reply)
        if error.code == "insufficient_quota" or error.kind == "insufficient_quota":
            raise RunStopped(f"the endpoint says that the quota is used up: {error}", kind="quota")
        return error

    def _wait(self, attempt: int, asked: float | None) -> float:
        jitter = 0.5 + self._random.random() / 2
        own = min(BACKOFF_CAP, self.backoff * 2.0 ** min(attempt, 10)) * jitter
        # An asked wait of 0 (or a date in the past) must not use up all tries at once.
        return asked + self.backoff * 0.2 * jitter if asked else own

    def _describe(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return str(error)
        return _cut(self.secrets.strike_text(f"{type(error).__name__}: {error}"), MESSAGE_KEPT)

    def use_headers(self, headers: Mapping[str, str]) -> None:
        """Send these from now on (they hold a new key); what is on its way ends with the old ones."""
        self.headers = headers
        self.secrets = self.secrets.with_more(secrets_of(self.url, headers))
        session, self._session = self._session, None
        if session is not None:
            self._retired.append(session)

    async def aclose(self) -> None:
        for retired in self._retired:
            await retired.close()
        self._retired.clear()
        session, self._session = self._session, None
        if session is not None:
            await session.close()


def _close_forgotten(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
    """Synchronous callers have no event loop to close a transport on: this is called when nobody has it any more. It is
    no `__del__`, which Python may call after the session has complained of being left open."""
    if not session.closed and loop.is_running():
        loop.call_soon_threadsafe(lambda: asyncio.ensure_future(session.close(), loop=loop))


@lru_cache(maxsize=16)
def _time_limit(seconds: float) -> aiohttp.ClientTimeout:
    """Nearly every request has the same one."""
    return aiohttp.ClientTimeout(total=seconds, sock_connect=min(seconds, CONNECT_SECONDS))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


async def read_bounded(pieces: AsyncIterator[bytes], encoding: str | None, most: int) -> tuple[bytes, bool]:
    """The body as far as `most` bytes, and whether that is all of it. Nothing is unpacked beyond the bound."""
    named = (encoding or "identity").strip().lower()
    if named not in {"identity", "gzip", "deflate"}:
        raise BadBody(f"the reply is packed as {named[:40]!r}, which was not asked for")
    kept = bytearray()
    unpack = None
    async for packed in pieces:
        if named == "identity":
            kept += packed
        else:
            unpack = unpack or _unpacker(named, packed)
            try:
                kept += unpack.decompress(packed, most + 1 - len(kept))
            except zlib.error as error:
                raise BadBody(f"the reply cannot be unpacked: {error}") from None
        if len(kept) > most:
            return bytes(kept[:most]), False
    if unpack is not None and not unpack.eof:
        raise BadBody("the reply ends before it is unpacked")
    return bytes(kept), True


def _unpacker(named: str, first: bytes) -> zlib._Decompress:
    """`deflate` means a zlib stream, but some servers send a bare one: the low half of its first byte tells."""
    if named == "gzip":
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    return zlib.decompressobj(wbits=zlib.MAX_WBITS if first[:1] and first[0] & 0x0F == 8 else -zlib.MAX_WBITS)
