"""Sends one request to a model within budget and rate limits, and returns the reply with its cost.

The gateway holds the key, the connections, the limits and the cache. The labeller that writes the questions and reads
the answers may run in another process (`labellers.remote`); its gateway forwards every call to the one here, so the
limits of a run are shared by all its workers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, NoReturn, Protocol

from krino.contract import Usage
from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm import prompt
from krino.labellers.llm.cache import ReplyCache
from krino.labellers.llm.endpoint import Endpoint, read_key
from krino.labellers.llm.sending.budget import Budget, plausible_count
from krino.labellers.llm.sending.http import MOST_BYTES
from krino.labellers.llm.sending.retrying import TimedOut, Transport
from krino.labellers.llm.wire import ApiError, HttpReply, Reply, UnreadableReply

CHARS_PER_TOKEN = 4  # a rule of thumb for estimates only; real counts come from the endpoint


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request, ready to be sent."""

    body: bytes
    estimate: int
    """Roughly how many tokens its input has."""
    reply_limit: int | None
    """The reply limit that the body states."""
    case: str = ""
    """The hash of the case."""
    turn: int = 0
    """How many replies precede it in its conversation: the same body sent again later is another request."""


class SendResult(NamedTuple):
    """The result of sending a request. Exactly one of the last four fields is set; `usage` is what it cost."""

    usage: Usage
    reply: Reply | None = None
    refusal: ApiError | None = None
    timed_out: str | None = None
    failure: RunStopped | LabelFailed | None = None


class Gateway(Protocol):
    """What a labeller needs in order to reach its model."""

    async def send(self, message: ModelRequest) -> SendResult:
        """Sends one request; time-outs, refusals and stops are returned, not raised."""

    async def cached_answer(self, key: bytes) -> bytes | None:
        """Returns the answer that was paid for earlier under this key; None without one."""

    async def cache_answer(self, key: bytes, answer: bytes) -> None:
        """Keeps an accepted answer."""

    async def load_abilities(self, key: bytes) -> bytes | None:
        """Returns what this run or an earlier one found out about the endpoint; None if nothing is known."""

    async def save_abilities(self, key: bytes, found: bytes) -> None:
        """Keeps what was found out about the endpoint."""

    async def give_up(self, tries: int, trouble: str) -> NoReturn:
        """Fails a case that timed out, or stops the run; see `Transport.give_up`."""


@dataclass(slots=True)
class LocalGateway:
    """Sends requests from this process."""

    endpoint: Endpoint
    transport: Transport
    budget: Budget
    cache: ReplyCache | None
    _abilities: dict[bytes, bytes] = field(default_factory=dict)

    async def send(self, message: ModelRequest) -> SendResult:
        """Sends one request; time-outs, refusals and stops are returned, since what was spent must be counted."""
        usage = Usage()
        try:
            http = await self._post(message, usage)
        except TimedOut as error:
            return SendResult(usage, timed_out=str(error))
        except (RunStopped, LabelFailed) as failure:
            return SendResult(usage, failure=failure)
        if http.status != 200:
            return SendResult(usage, refusal=self.transport.read_error(http))
        reply, spent = self.read(http, message.estimate)
        self.budget.count(spent, message.estimate)
        usage.add(spent)
        return SendResult(usage, reply)

    async def _post(self, message: ModelRequest, usage: Usage) -> HttpReply:
        """Posts until the endpoint accepts a key, or has refused the newest one; returns the last reply."""
        while True:
            headers = self.transport.headers
            http = await self.transport.post(message.body, message.estimate, usage, message.reply_limit)
            if http.status != 401 or not await self.has_new_key(headers):
                return http

    async def has_new_key(self, refused: Mapping[str, str]) -> bool:
        """Fetches a refused key again if a function gave it, and uses a newer one from now on; returns whether another
        key than the refused one is in use."""
        source = self.endpoint.key_source
        if source is not None and self.transport.headers is refused:
            headers = self.endpoint.dialect.headers(await asyncio.to_thread(read_key, source))
            if self.transport.headers is refused and headers != refused:  # no other request was quicker
                self.transport.use_headers(headers)
        return self.transport.headers is not refused

    def read(self, http: HttpReply, estimate: int) -> tuple[Reply, Usage]:
        """Parses a reply and computes its usage; corrects the token rate by the real count. A body that cannot be
        parsed gives a reply that is marked as broken."""
        try:
            reply = _remove_separators(self.endpoint.dialect.read(http.body))
        except UnreadableReply as error:
            fault = str(error) if http.whole else f"the endpoint's reply is longer than {MOST_BYTES:,} bytes"
            reply = Reply(text=http.body.decode("utf-8", "replace"), broken=fault)
        # Some endpoints report no token counts, or impossible ones: then we estimate from what was sent and received.
        given = plausible_count(reply.input_tokens, estimate)
        written = plausible_count(
            reply.output_tokens, len(http.body if reply.broken else reply.raw()) // CHARS_PER_TOKEN
        )
        self.transport.pace.correct(estimate, given + written)
        usage = Usage(
            calls=1,
            input_tokens=given,
            output_tokens=written,
            cache_read_tokens=min(reply.cached_tokens, given),
            cache_write_tokens=min(reply.cache_write_tokens, given),
        )
        usage.cost = self.budget.price(usage, reply.cost)
        usage.unpriced = int(usage.cost is None)
        usage.cache_saved = self.budget.prices.saved(usage.cache_read_tokens, usage.cache_write_tokens)
        return reply, usage

    async def cached_answer(self, key: bytes) -> bytes | None:
        return self._open_cache().get(key) if self.cache is not None else None

    async def cache_answer(self, key: bytes, answer: bytes) -> None:
        if self.cache is not None:
            self._open_cache().put(key, answer)

    async def load_abilities(self, key: bytes) -> bytes | None:
        """Returns what this process found out about the endpoint, else what the cache holds; None if nothing is
        known."""
        if key not in self._abilities and self.cache is not None:
            return self._open_cache().get_learnt(key)
        return self._abilities.get(key)

    async def save_abilities(self, key: bytes, found: bytes) -> None:
        self._abilities[key] = found
        if self.cache is not None:
            self._open_cache().put_learnt(key, found)

    async def give_up(self, tries: int, trouble: str) -> NoReturn:
        self.transport.give_up(tries, trouble, may_be_slow=True)

    def _open_cache(self) -> ReplyCache:
        """Returns the cache, opened again if the labeller was closed and is now used again."""
        assert self.cache is not None
        if self.cache.closed:
            self.cache.open()
        return self.cache


def _remove_separators(reply: Reply) -> Reply:
    """Removes the characters that `prompt.neutralise` inserted: models copy them when they quote the case."""
    if prompt.SEPARATOR not in reply.raw():
        return reply
    calls = tuple(replace(call, arguments=call.arguments.replace(prompt.SEPARATOR, "")) for call in reply.tool_calls)
    return replace(reply, text=(reply.text or "").replace(prompt.SEPARATOR, ""), tool_calls=calls)
