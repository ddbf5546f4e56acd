"""HTTP with one retry layer: waits as the endpoint asks, backs off with jitter, stops a hopeless run."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

import aiohttp

from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm.address import clean_address
from krino.labellers.llm.pace import Pace
from krino.labellers.llm.wire import ApiError, HttpReply, read_error, retry_after

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 120.0  # an endpoint that asks for more is not waited for: the run stops and can be continued
BACKOFF_CAP = 30.0
PATIENCE = 3  # times as many waits as retries
SHORTEST_SECRET = 12  # shorter header values (a version) are no keys
Permit = Callable[[], contextlib.AbstractAsyncContextManager[None]]
HOPELESS = 10  # cases in a row that got nothing through before the run stops


@dataclass(slots=True)
class Transport:
    """Posts bodies to one address."""

    url: str
    headers: Mapping[str, str] = field(repr=False)  # they hold the key
    pace: Pace
    timeout: float = 120.0
    retries: int = 6
    backoff: float = 0.5
    reached: bool = False
    stopping: bool = False
    _lost_in_a_row: int = 0
    _sleepers: set[asyncio.Future[None]] = field(default_factory=set)
    _session: aiohttp.ClientSession | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _random: random.Random = field(default_factory=random.Random)
    _secrets: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        keys = (value.removeprefix("Bearer ") for value in self.headers.values())
        self._secrets = tuple(key for key in keys if len(key) >= SHORTEST_SECRET)

    async def post(self, body: bytes, tokens: int, permit: Permit = contextlib.nullcontext) -> HttpReply:
        """The endpoint's answer to one request (200 or a refusal that no retry would change).

        Each try is sent within a `permit` of its own, asked for when it has its place: a permit is never held by one
        that waits for a place, so those that have a place can wait for a permit.
        """
        faults = waits = 0
        while True:
            reply, trouble, started = await self._try(body, tokens, permit)
            if reply is not None and not self._worth_retrying(reply):
                if reply.status < 400:
                    self.pace.went_well()
                self.reached, self._lost_in_a_row = True, 0
                return reply
            asked = self._asked_wait(reply)
            # Being told to slow down is no fault of the request: it may be told so more often before it gives up.
            busy = reply is not None and reply.status == 429
            waits, faults = (waits + 1, faults) if busy else (waits, faults + 1)
            pause = self._wait(max(faults, waits) - 1, asked)
            self.pace.push_back(started, asked or (pause if busy else None))
            if faults > self.retries or waits > PATIENCE * self.retries:
                self._give_up(faults + waits, trouble)
            await self._pause(pause)

    def stop(self) -> None:
        """Send nothing more: what waits for its turn, or to be tried again, ends at once."""
        self.stopping = True
        self.pace.release_waiting()
        for sleeper in list(self._sleepers):
            if not sleeper.done():
                sleeper.set_result(None)

    def read_error(self, reply: HttpReply) -> ApiError:
        """What a refusal says, with our own secrets struck out should it quote them."""
        error = read_error(reply.status, reply.body)
        for secret in self._secrets:
            error = replace(error, message=error.message.replace(secret, "***"))
        return error

    async def _try(self, body: bytes, tokens: int, permit: Permit) -> tuple[HttpReply | None, str, float]:
        """One request: the reply, or what went wrong instead; and when it was sent."""
        self._check_stopping()
        started = await self.pace.acquire(tokens)
        try:
            async with permit():
                self._check_stopping()
                reply = await self._once(body)
        except (aiohttp.ClientError, TimeoutError) as error:
            return None, self._describe(error), started
        finally:
            self.pace.release()
        trouble = str(self._stop_if_final(reply)) if self._worth_retrying(reply) else ""
        return reply, trouble, started

    def _check_stopping(self) -> None:
        if self.stopping:
            raise RunStopped("stopped by the user", kind="interrupt")

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
            raise RunStopped(f"the endpoint asks to wait {asked:.0f} s", kind="rate-limit")
        return asked

    def _give_up(self, tries: int, trouble: str) -> NoReturn:
        self._lost_in_a_row += 1
        if not self.reached or self._lost_in_a_row >= HOPELESS:
            raise RunStopped(f"no answer from {clean_address(self.url)}: {trouble}", kind="endpoint")
        raise LabelFailed(f"no answer after {tries} tries; the last one: {trouble}")

    async def _once(self, body: bytes) -> HttpReply:
        session = self._session
        if session is None or session.closed or self._loop is not asyncio.get_running_loop():
            session = await self._open()
        async with session.post(self.url, data=body, allow_redirects=False) as response:
            content = await response.read()
            if response.status == 200:
                return HttpReply(200, body=content)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return HttpReply(response.status, headers, content)

    async def _open(self) -> aiohttp.ClientSession:
        """A session on the running loop; one left over from a loop that has ended is put away."""
        old, loop = self._session, asyncio.get_running_loop()
        self._loop = loop
        self._session = session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            headers={"Content-Type": "application/json", **self.headers},
        )
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
        # A wait of nothing, or a date gone by on another clock, must not burn all tries at once.
        return asked + self.backoff * 0.2 * jitter if asked else own

    def _describe(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return f"no reply within {self.timeout:g} s (--timeout)"
        return f"{type(error).__name__}: {error}"

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def __del__(self) -> None:
        """Synchronous callers have no loop of their own to close it on: a forgotten one gives its sockets back."""
        session, loop = self._session, self._loop
        if session is not None and not session.closed and loop is not None and loop.is_running():
            loop.call_soon_threadsafe(lambda: asyncio.ensure_future(session.close(), loop=loop))
