"""HTTP with one retry layer: waits as the endpoint asks, backs off with jitter, and stops a hopeless run."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

import aiohttp

from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm.endpoint import clean_address, missing_version
from krino.labellers.llm.exchange import BadBody, Exchange
from krino.labellers.llm.pace import LONGEST_WAIT, PATIENCE, Liveness, Pace, patience_with_silence
from krino.labellers.llm.refusals import is_final, is_quota, no_money
from krino.labellers.llm.secrets import Secrets, secrets_of
from krino.labellers.llm.wire import ApiError, HttpReply, read_error, retry_after, retry_delay, status_of

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
BACKOFF_CAP = 30.0
BUSY_RETRIES = 3  # a request may be told to wait this many times as often as it may fail
HOPELESS = 10  # cases in a row without any answer before the run stops
QUOTA_SECONDS = 75.0  # without anything getting through, after which a quota that is used up is not that of a minute
MESSAGE_KEPT = 1_000  # characters of what a refusal says
CODE_KEPT = 100
TROUBLE_SHOWN = 100  # characters of it in a line of progress
QUIET = 1.0  # seconds without a reply before the progress display mentions it


class TimedOut(Exception):
    """No reply came in time. The endpoint may still be writing it, so the same request is not sent again."""


LOST = (aiohttp.ClientError, TimeoutError, BadBody)
"""What is raised when no whole reply came back."""
MAYBE_BILLED = (aiohttp.ClientPayloadError, TimeoutError, BadBody)
"""The endpoint had the request, and may have written and billed the reply that was lost."""
Send = Callable[[bytes], Awaitable[HttpReply]]
"""Sends a body once."""
Permit = Callable[[Send], Awaitable[HttpReply]]
"""Waits for its permit to send (of a budget), then sends."""


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
    """Seconds without anything getting through before the endpoint counts as dead; None: the usual, and longer where
    tries time out."""
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
    _exchange: Exchange | None = None
    _retired: list[Exchange] = field(default_factory=list)
    """Those with a key of before: requests may still be on their way in them."""
    _loop: asyncio.AbstractEventLoop | None = None
    _random: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        if self.patience is None:
            self.liveness = Liveness(PATIENCE, patience_with_silence(self.timeout))
        else:
            self.liveness = Liveness(self.patience, self.patience)
        self.secrets = secrets_of(self.url, self.headers)

    async def post(self, body: bytes, tokens: int, permit: Permit | None = None) -> HttpReply:
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

    async def _until_answered(self, body: bytes, tokens: int, permit: Permit | None) -> HttpReply:
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
            self.liveness.failed(request, started, trouble, timed_out=timed_out)
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
            lone = self.reached and self.liveness.lone_is_lost(now)
            if faults > self.retries or waits > BUSY_RETRIES * self.retries or lone:
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
            return f"waiting for {host}: {_cut(self.liveness.trouble, TROUBLE_SHOWN)}{wish} ({lasted})"
        quiet = now - self._heard_at
        if self.in_flight and quiet >= QUIET:
            return f"waiting for {host}: {self.in_flight} in flight, no reply yet for {quiet:.0f} s"
        return None

    def read_error(self, reply: HttpReply) -> ApiError:
        """What a refusal says, cut to what a person reads."""
        error = read_error(reply.status, reply.body)
        return replace(
            error,
            message=_cut(error.message, MESSAGE_KEPT) + (missing_version(self.url) if error.status == 404 else ""),
            code=error.code and _cut(error.code, CODE_KEPT),
            param=error.param and _cut(error.param, CODE_KEPT),
            kind=error.kind and _cut(error.kind, CODE_KEPT),
        )

    async def _try(self, body: bytes, tokens: int, permit: Permit | None) -> tuple[HttpReply | None, str, float, bool]:
        """One request: the reply, or what went wrong instead; when it was sent; whether it timed out."""
        self._check_stopping()
        started = await self._slot(tokens)
        try:
            reply = await (self._send(body) if permit is None else permit(self._send))
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
        self._check_stopping()
        self._stop_if_dead()
        now = self.pace.clock()
        seconds = self.liveness.time_for_a_try(self.timeout, now)
        if not self.in_flight:
            self._heard_at = now
        self.in_flight += 1
        try:
            return await self._once(body, seconds)
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
        if asked is None and reply is not None and reply.status >= 429:
            asked = retry_delay(reply.body)
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
        exchange = self._exchange
        if exchange is None or exchange.session.closed or self._loop is not asyncio.get_running_loop():
            exchange = await self._open()
        status, told, content, whole = await exchange.post(body, seconds)
        content = self.secrets.strike(content)
        if status == 200 and (status := status_of(content)) == 200:
            return HttpReply(200, body=content, whole=whole)
        strike = self.secrets.strike_text
        headers = {strike(name.lower()): strike(value) for name, value in told.items()}
        return HttpReply(status, headers, content, whole=whole)

    async def _open(self) -> Exchange:
        """An exchange on the running loop; one that is left over from a loop that has ended is closed."""
        old, loop = self._exchange, asyncio.get_running_loop()
        self._loop = loop
        self._exchange = exchange = Exchange(self.url, self.headers)
        weakref.finalize(self, _close_forgotten, exchange.session, loop).atexit = False
        if old is not None and not old.session.closed:
            with contextlib.suppress(RuntimeError):
                await old.session.close()
        return exchange

    def _worth_retrying(self, reply: HttpReply) -> bool:
        said = reply.headers.get("x-should-retry")
        if said in {"true", "false"}:
            return said == "true"
        if reply.status == 402:  # no money; with a wait asked for it is a limit by the minute
            return retry_after(reply.headers) is not None
        return reply.status in RETRIED or reply.status >= 500

    def _stop_if_final(self, reply: HttpReply) -> ApiError:
        """An empty account may answer 429 like a busy one, but no waiting helps."""
        error = self.read_error(reply)
        if error.status == 429 and is_final(error) == "quota":
            raise no_money(error)
        # The quota of a minute has the same words as that of a day or of an account, and is there again in a minute.
        if is_quota(error) and self.liveness.lasted(self.pace.clock()) > QUOTA_SECONDS:
            raise no_money(error)
        return error

    def _wait(self, attempt: int, asked: float | None) -> float:
        jitter = 0.5 + self._random.random() / 2
        own = min(BACKOFF_CAP, self.backoff * 2.0 ** min(attempt, 10)) * jitter
        # An asked wait of 0 (or a date in the past) must not use up all tries at once.
        return asked + self.backoff * 0.2 * jitter if asked else own

    def _describe(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return str(error)
        if isinstance(error, aiohttp.ClientConnectorError) and not isinstance(error, aiohttp.ClientSSLError):
            return f"cannot connect to {error.host}:{error.port} ({_reason(error.os_error)})"
        return _cut(self.secrets.strike_text(f"{type(error).__name__}: {error}"), MESSAGE_KEPT)

    def use_headers(self, headers: Mapping[str, str]) -> None:
        """Send these from now on (they hold a new key); what is on its way ends with the old ones."""
        self.headers = headers
        self.secrets = self.secrets.with_more(secrets_of(self.url, headers))
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            self._retired.append(exchange)

    async def aclose(self) -> None:
        for retired in self._retired:
            await retired.session.close()
        self._retired.clear()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            await exchange.session.close()


def _close_forgotten(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
    """Synchronous callers have no event loop to close a transport on: this is called when nobody has it any more. It is
    no `__del__`, which Python may call after the session has complained of being left open."""
    if not session.closed and loop.is_running():
        loop.call_soon_threadsafe(lambda: asyncio.ensure_future(session.close(), loop=loop))


def _reason(error: OSError) -> str:
    """In the system's words; asyncio's own repeat the address in the form of a Python tuple."""
    number = error.errno or 0  # below 0 it is one of the resolver's, which says it well itself
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
