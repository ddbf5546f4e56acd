"""Sends requests to one endpoint and retries them: waits as asked, backs off with jitter, stops a hopeless run.

After a time-out nothing is sent again here: the labeller may ask for a shorter reply (`LlmLabeller._ask_for_less`).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NoReturn

import aiohttp

from krino.contract import Usage
from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm.endpoint import clean_address, missing_version
from krino.labellers.llm.endpoint_refusals import find_final_reason, is_larger_than_a_minute, is_quota, out_of_money
from krino.labellers.llm.sending.budget import Budget
from krino.labellers.llm.sending.http import LOST, MAYBE_BILLED, HttpClient, backoff_seconds, describe_connection_fault
from krino.labellers.llm.sending.pace import LONGEST_WAIT, PATIENCE, Liveness, Pace, patience_for_timeouts
from krino.labellers.llm.sending.secrets import Secrets, secrets_of
from krino.labellers.llm.wire import ApiError, HttpReply, read_error, retry_after, retry_delay, status_of

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
BUSY_RETRIES = 3
"""A request that the endpoint slows down (429) is retried this many times as often as one that fails."""
MOST_LOST_CASES = 10
"""Cases in a row without any reply before the run stops."""
QUOTA_SECONDS = 75.0
"""Google words the quota of a minute and of a day alike. One that still refuses after this time is not per minute."""
MESSAGE_KEPT = 1_000  # characters of an error message
CODE_KEPT = 100
TROUBLE_SHOWN = 100  # characters of an error in the progress display
QUIET = 1.0  # seconds without a reply before the progress display mentions it


class TimedOut(Exception):
    """No reply came in time. The endpoint may still be writing it, so the same request is not sent again.

    The labeller may send one with a lower reply limit.
    """


class _Try(NamedTuple):
    """One try of a request: the reply, or what went wrong."""

    started: float
    reply: HttpReply | None = None
    trouble: str = ""
    timed_out: bool = False


@dataclass(slots=True, weakref_slot=True)
class Transport:
    """Posts bodies to one address, within its pace and its budget."""

    url: str
    headers: Mapping[str, str] = field(repr=False)  # they hold the key
    pace: Pace
    timeout: float = 120.0
    retries: int = 6
    backoff: float = 0.5
    patience: float | None = None
    """Seconds without any reply before the endpoint counts as dead; None: the default, longer after time-outs."""
    budget: Budget = field(default_factory=Budget)
    user_limit: int | None = None
    """The reply limit set by the user, for which the budget reserves. A limit that Krino computed is not used for
    that: the endpoint may ignore it."""
    reached: bool = False
    stopping: bool = False
    liveness: Liveness = field(init=False)
    secrets: Secrets = field(init=False, repr=False)
    in_flight: int = 0
    """Requests that are sent and not answered."""
    retried: int = 0
    timeouts: int = 0
    _last_reply_at: float = 0.0
    _asked_wait: tuple[float, float] = (0.0, 0.0)
    """How long the endpoint last asked to wait, and until when that is."""
    _lost_in_a_row: int = 0
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _sleepers: set[asyncio.Future[None]] = field(default_factory=set)
    _client: HttpClient | None = None
    _retired: list[HttpClient] = field(default_factory=list)
    """Clients with an earlier key, which may still have requests in flight."""
    _loop: asyncio.AbstractEventLoop | None = None

    def __post_init__(self) -> None:
        if self.patience is None:
            self.liveness = Liveness(PATIENCE, patience_for_timeouts(self.timeout))
        else:
            self.liveness = Liveness(self.patience, self.patience)
        self.secrets = secrets_of(self.url, self.headers)

    # --- sending -----------------------------------------------------------------------------------

    async def post(
        self, body: bytes, tokens: int, usage: Usage | None = None, reply_limit: int | None = None
    ) -> HttpReply:
        """Posts one request and returns the endpoint's answer: 200, or a refusal that no retry would change.

        `tokens` is the estimated size of the input. `usage` receives the time in flight, and the estimated cost of
        replies that were lost to a time-out. Raises `TimedOut` at the first time-out (the labeller asks for less or
        gives up), `LabelFailed` when the retries are used up, `RunStopped` when the endpoint is dead.
        """
        usage = Usage() if usage is None else usage
        self.liveness.begin(self.pace.clock())
        try:
            return await self._retry_until_answered(body, tokens, usage, reply_limit)
        finally:
            self.liveness.end(self.pace.clock())

    async def _retry_until_answered(self, body: bytes, tokens: int, usage: Usage, reply_limit: int | None) -> HttpReply:
        """Sends a request until it is answered, a time-out occurs, or further attempts are hopeless."""
        faults = waits = 0
        request = next(self._numbers)
        while True:
            started, reply, trouble, timed_out = await self._try_once(body, tokens, usage, reply_limit)
            now = self.pace.clock()
            if reply is not None and not self._is_worth_retrying(reply):
                if reply.status < 400:
                    self.pace.succeeded()
                self.liveness.note_success(now)
                self.reached, self._lost_in_a_row = True, 0
                return reply
            self.liveness.failed(request, started, trouble, timed_out=timed_out)
            if timed_out:
                self.timeouts += 1
                self.pace.slowed_down(started)
                self._stop_if_dead()
                raise TimedOut(trouble)
            asked = self._read_asked_wait(reply)
            # A reply that asks to slow down is no failure of the request, so it may happen more often.
            busy = reply is not None and reply.status == 429
            waits, faults = (waits + 1, faults) if busy else (waits, faults + 1)
            pause = backoff_seconds(max(faults, waits) - 1, self.backoff, asked)
            self.pace.slowed_down(started, asked or (pause if busy else None))
            self._stop_if_dead()
            only_failing = self.reached and self.liveness.should_drop_only_failing(now)
            if faults > self.retries or waits > BUSY_RETRIES * self.retries or only_failing:
                self.give_up(faults + waits, trouble)
            self.retried += 1
            await self._pause(min(pause, max(0.0, self.liveness.left(now))))
            self._stop_if_dead()

    async def _try_once(self, body: bytes, tokens: int, usage: Usage, reply_limit: int | None) -> _Try:
        """Sends once, when pace and budget allow it. A lost connection or a time-out is returned as trouble, not
        raised.

        The pace slot is taken first. The other way round, a request with a reservation could wait for a slot while
        those with a slot wait for the budget, and none would go on.
        """
        self._stop_if_asked()
        started = await self._take_slot(tokens)
        try:
            async with self.budget.reserve(tokens, self.user_limit):
                reply = await self._send(body, tokens, usage, reply_limit)
        except LOST as error:
            trouble = _cut(self.secrets.redact_text(describe_connection_fault(error)), MESSAGE_KEPT)
            return _Try(started, None, trouble, isinstance(error, TimeoutError))
        finally:
            self.pace.release()
        return _Try(started, reply, str(self._stop_if_final(reply)) if self._is_worth_retrying(reply) else "")

    async def _take_slot(self, tokens: int) -> float:
        """Waits for a slot of the pace and returns the start time. During trouble it stops the run if the endpoint
        counts as dead meanwhile."""
        now = self.pace.clock()
        if self.liveness.tries < 2:
            return await self.pace.acquire(tokens)
        try:
            async with asyncio.timeout(max(0.0, self.liveness.left(now))):
                return await self.pace.acquire(tokens)
        except TimeoutError:
            self._stop_if_dead()  # another request may have succeeded meanwhile
            return await self.pace.acquire(tokens)

    async def _send(self, body: bytes, tokens: int, usage: Usage, reply_limit: int | None) -> HttpReply:
        """Sends once, with a time-out; counts the time in flight, and replies that may be billed though they were lost.
        Time spent waiting in our own queues is not counted."""
        self._stop_if_asked()
        self._stop_if_dead()
        now, started = self.pace.clock(), time.perf_counter()
        seconds = self.liveness.timeout_of_next_try(self.timeout, now)
        if not self.in_flight:
            self._last_reply_at = now
        self.in_flight += 1
        try:
            return await self._exchange(body, seconds)
        except MAYBE_BILLED as lost:
            billed = self.budget.count_lost(tokens, reply_limit)
            if not isinstance(lost, TimeoutError):
                raise  # it is sent again, and the reply that comes then is counted
            usage.add(billed)
            raise TimeoutError(f"no reply within {seconds:.3g} s (--timeout)") from None
        finally:
            usage.seconds += time.perf_counter() - started
            self.in_flight -= 1
            self._last_reply_at = self.pace.clock()

    async def _exchange(self, body: bytes, seconds: float) -> HttpReply:
        """Makes one HTTP exchange. Our own secrets are redacted from the reply before anything reads it; an error that
        came as 200 gets the status that it states."""
        client = self._client
        if client is None or client.session.closed or self._loop is not asyncio.get_running_loop():
            client = await self._open()
        status, sent_headers, content, whole = await client.post(body, seconds)
        content = self.secrets.redact(content)
        if status == 200 and (status := status_of(content)) == 200:
            return HttpReply(200, body=content, whole=whole)
        redact = self.secrets.redact_text
        headers = {redact(name.lower()): redact(value) for name, value in sent_headers.items()}
        return HttpReply(status, headers, content, whole=whole)

    # --- what a failure means ------------------------------------------------------------------------

    def read_error(self, reply: HttpReply) -> ApiError:
        """Parses the error in a refusal, its texts cut to a readable length."""
        error = read_error(reply.status, reply.body)
        return replace(
            error,
            message=_cut(error.message, MESSAGE_KEPT) + (missing_version(self.url) if error.status == 404 else ""),
            code=error.code and _cut(error.code, CODE_KEPT),
            param=error.param and _cut(error.param, CODE_KEPT),
            kind=error.kind and _cut(error.kind, CODE_KEPT),
        )

    def give_up(self, tries: int, trouble: str, *, may_be_slow: bool = False) -> NoReturn:
        """Always raises: fails a case that got no answer, or stops the run if no case ever got one, or many in a row
        got none.

        `may_be_slow`: the case timed out. That alone does not stop a run at its start: a model may still be loading.
        """
        self._lost_in_a_row += 1
        if (not self.reached and not may_be_slow) or self._lost_in_a_row >= MOST_LOST_CASES:
            raise RunStopped(f"no answer from {clean_address(self.url)}: {trouble}", kind="endpoint")
        raise LabelFailed(f"no answer after {tries} tries; the last one: {trouble}")

    def _is_worth_retrying(self, reply: HttpReply) -> bool:
        """Whether to send the request again after this reply. What the endpoint itself states comes first."""
        said = reply.headers.get("x-should-retry")
        if said in {"true", "false"}:
            return said == "true"
        if reply.status == 402:  # no money; with a wait asked for it is a limit by the minute
            return retry_after(reply.headers) is not None
        if reply.status == 429 and is_larger_than_a_minute(self.read_error(reply)):
            return False
        return reply.status in RETRIED or reply.status >= 500

    def _read_asked_wait(self, reply: HttpReply | None) -> float | None:
        """Returns the seconds that a reply asks to wait, None without such a wish; a wait that is too long stops the
        run."""
        asked = None if reply is None else retry_after(reply.headers)
        if asked is None and reply is not None and reply.status >= 429:
            asked = retry_delay(reply.body)
        if asked is not None and asked > LONGEST_WAIT:  # the run can be continued later
            raise RunStopped(f"the endpoint asks to wait {asked:.0f} s", kind="rate-limit")
        self._asked_wait = (asked or 0.0, self.pace.clock() + (asked or 0.0))
        return asked

    def _stop_if_final(self, reply: HttpReply) -> ApiError:
        """Returns the error of a reply; stops the run if the account is empty, which may be answered with 429 just like
        a busy endpoint."""
        error = self.read_error(reply)
        if error.status == 429 and find_final_reason(error) == "quota":
            raise out_of_money(error)
        if is_quota(error) and self.liveness.trouble_seconds(self.pace.clock()) > QUOTA_SECONDS:
            raise out_of_money(error)
        return error

    def _stop_if_dead(self) -> None:
        """Stops the run if nothing has got through for longer than the user's patience."""
        now = self.pace.clock()
        if self.liveness.is_dead(now):
            silence = (
                f"nothing has got through to {clean_address(self.url)} for {self.liveness.trouble_seconds(now):.0f} s"
            )
            raise RunStopped(f"{silence} (--patience): {self.liveness.trouble}", kind="endpoint")

    def _stop_if_asked(self) -> None:
        if self.stopping:
            raise RunStopped("stopped by the user", kind="interrupt")

    # --- stopping and progress -----------------------------------------------------------------------

    def stop(self) -> None:
        """Ends every wait for a slot or a retry at once; nothing more is sent."""
        self.stopping = True
        self.pace.release_waiting()
        for sleeper in list(self._sleepers):
            if not sleeper.done():
                sleeper.set_result(None)

    async def _pause(self, seconds: float) -> None:
        """Sleeps this long, or until `stop` is called."""
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            await asyncio.wait({sleeper}, timeout=seconds)
        finally:
            self._sleepers.discard(sleeper)
            sleeper.cancel()

    def waiting_for(self) -> str | None:
        """Returns why no replies are coming, for the progress display; None while they come."""
        now, host = self.pace.clock(), clean_address(self.url).split("/")[2]
        if self.liveness.since is not None:
            asked, until = self._asked_wait
            wish = f", asked to wait {asked:.0f} s" if until > now else ""
            silence = f"nothing for {self.liveness.trouble_seconds(now):.0f} s, stops at {self.liveness.patience:.0f}"
            return f"waiting for {host}: {_cut(self.liveness.trouble, TROUBLE_SHOWN)}{wish} ({silence})"
        quiet = now - self._last_reply_at
        if self.in_flight and quiet >= QUIET:
            return f"waiting for {host}: {self.in_flight} in flight, no reply yet for {quiet:.0f} s"
        return None

    # --- connections ---------------------------------------------------------------------------------

    async def _open(self) -> HttpClient:
        """Opens a client on the running loop; one left over from a loop that has ended is closed."""
        old, loop = self._client, asyncio.get_running_loop()
        self._loop = loop
        self._client = client = HttpClient(self.url, self.headers)
        weakref.finalize(self, _close_forgotten, client.session, loop).atexit = False
        if old is not None and not old.session.closed:
            with contextlib.suppress(RuntimeError):
                await old.session.close()
        return client

    def use_headers(self, headers: Mapping[str, str]) -> None:
        """Sends these from now on (they hold a new key); requests in flight keep the old ones."""
        self.headers = headers
        self.secrets = self.secrets.with_more(secrets_of(self.url, headers))
        client, self._client = self._client, None
        if client is not None:
            self._retired.append(client)

    async def aclose(self) -> None:
        """Closes the current connection and those that were replaced by a new key."""
        client, self._client = self._client, None
        for open_client in (*self._retired, *([] if client is None else [client])):
            await open_client.session.close()
        self._retired.clear()


def _close_forgotten(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
    """Closes the session of a transport that was never closed, as synchronous callers cannot. It is a finalizer and not
    `__del__`, which Python may call after the session has warned that it was left open."""
    if not session.closed and loop.is_running():
        loop.call_soon_threadsafe(lambda: asyncio.ensure_future(session.close(), loop=loop))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
