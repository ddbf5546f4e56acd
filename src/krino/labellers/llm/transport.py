"""HTTP with one retry layer: waits as the endpoint asks, backs off with jitter, stops a hopeless run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import aiohttp

from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm.pace import Pace
from krino.labellers.llm.wire import ApiError, HttpReply, read_error, retry_after

RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
LONGEST_WAIT = 120.0  # an endpoint that asks for more is not waited for: the run stops and can be continued
BACKOFF_CAP = 30.0
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
    _lost_in_a_row: int = 0
    _session: aiohttp.ClientSession | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _random: random.Random = field(default_factory=random.Random)

    async def post(self, body: bytes, tokens: int) -> HttpReply:
        """The endpoint's answer to one request (200 or a refusal that no retry would change)."""
        trouble = ""
        for attempt in range(self.retries + 1):
            started = await self.pace.acquire(tokens)
            try:
                reply = await self._once(body)
            except (aiohttp.ClientError, TimeoutError) as error:
                reply, trouble = None, self._describe(error)
            finally:
                self.pace.release()
            if reply is not None and not self._worth_retrying(reply):
                if reply.status < 400:
                    self.pace.went_well()
                self.reached, self._lost_in_a_row = True, 0
                return reply
            asked = None
            if reply is not None:
                trouble = str(self._stop_if_final(reply))
                asked = retry_after(reply.headers)
            if asked is not None and asked > LONGEST_WAIT:
                raise RunStopped(f"the endpoint asks to wait {asked:.0f} s ({trouble})", kind="rate-limit")
            self.pace.push_back(started, asked)
            if attempt < self.retries:
                await asyncio.sleep(self._wait(attempt, asked))
        self._lost_in_a_row += 1
        if not self.reached or self._lost_in_a_row >= HOPELESS:
            raise RunStopped(f"no answer from {self.url}: {trouble}", kind="endpoint")
        raise LabelFailed(f"no answer after {self.retries + 1} tries; the last one: {trouble}")

    async def _once(self, body: bytes) -> HttpReply:
        session = self._session
        if session is None or session.closed:
            self._loop = asyncio.get_running_loop()
            session = self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60),
                timeout=aiohttp.ClientTimeout(total=self.timeout),
                headers={"Content-Type": "application/json", **self.headers},
            )
        async with session.post(self.url, data=body, allow_redirects=False) as response:
            content = await response.read()
            if response.status == 200:
                return HttpReply(200, body=content)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return HttpReply(response.status, headers, content)

    def _worth_retrying(self, reply: HttpReply) -> bool:
        said = reply.headers.get("x-should-retry")
        if said in {"true", "false"}:
            return said == "true"
        return reply.status in RETRIED or reply.status >= 500

    def _stop_if_final(self, reply: HttpReply) -> ApiError:
        """An empty account answers 429 like a busy one, but no waiting helps."""
        error = read_error(reply.status, reply.body)
        if error.code == "insufficient_quota" or error.kind == "insufficient_quota":
            raise RunStopped(f"the endpoint says that the quota is used up: {error}", kind="quota")
        return error

    def _wait(self, attempt: int, asked: float | None) -> float:
        jitter = 0.5 + self._random.random() / 2
        own = min(BACKOFF_CAP, self.backoff * 2**attempt) * jitter
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
