"""The line to a model: one request goes out within budget and pace, and what came of it comes back with its cost.

Whoever holds the line pays: it has the key, the connections, the limits and the cache. The labeller that writes the
questions and reads the answers may sit in another process (`labellers.travel`); there its line is one that hands
everything to this one, so that the limits of a run stay one however many workers it has.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, NoReturn, Protocol

from krino.contract import Usage
from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm import prompt
from krino.labellers.llm.budget import Budget, believable
from krino.labellers.llm.cache import ReplyCache
from krino.labellers.llm.endpoint import Endpoint, read_key
from krino.labellers.llm.exchange import MOST_BYTES
from krino.labellers.llm.transport import MAYBE_BILLED, Send, TimedOut, Transport
from krino.labellers.llm.wire import ApiError, HttpReply, Reply, UnreadableReply

CHARS_PER_TOKEN = 4  # a rule of thumb for estimates only; real counts come from the endpoint


@dataclass(frozen=True, slots=True)
class Letter:
    """One request, ready to be sent."""

    body: bytes
    estimate: int
    """About how many tokens its input takes."""
    reply_limit: int | None
    """What the endpoint is told about the length of its reply."""
    case: str = ""
    """The hash of the case that it is about."""
    turn: int = 0
    """How many replies came before it in its conversation: the same words asked again are another request."""


class Outcome(NamedTuple):
    """What came of a letter: exactly one of the last four is there. Whichever it is, `usage` is what it took."""

    usage: Usage
    reply: Reply | None = None
    refusal: ApiError | None = None
    late: str | None = None
    """No reply came in time."""
    fault: RunStopped | LabelFailed | None = None


class Line(Protocol):
    """What a labeller needs of whoever sends its requests."""

    async def send(self, letter: Letter) -> Outcome: ...

    async def known(self, key: bytes) -> bytes | None:
        """An answer that was paid for before."""

    async def keep(self, key: bytes, answer: bytes) -> None:
        """Remember an accepted answer."""

    async def learnt(self, key: bytes) -> bytes | None:
        """What is known of the endpoint, from this run or an earlier one."""

    async def learn(self, key: bytes, found: bytes) -> None:
        """Keep what was found out about the endpoint."""

    async def give_up(self, tries: int, trouble: str) -> NoReturn:
        """A case got no answer in time: it fails, or the run stops; see `Transport.give_up`."""


@dataclass(slots=True)
class OwnLine:
    """The line of this process."""

    endpoint: Endpoint
    transport: Transport
    budget: Budget
    cache: ReplyCache | None
    stated_limit: int | None
    """The limit of a reply that the user has set. One that was worked out is new to the endpoint, which may not keep
    to it: the budget goes by this one alone."""
    _learnt: dict[bytes, bytes] = field(default_factory=dict)

    async def send(self, letter: Letter) -> Outcome:
        usage = Usage()
        try:
            http = await self._post(letter, usage)
        except TimedOut as late:
            return Outcome(usage, late=str(late))
        except (RunStopped, LabelFailed) as fault:
            return Outcome(usage, fault=fault)
        if http.status != 200:
            return Outcome(usage, refusal=self.transport.read_error(http))
        reply, spent = self.read(http, letter.estimate)
        self.budget.count(spent, letter.estimate)
        usage.add(spent)
        return Outcome(usage, reply)

    async def known(self, key: bytes) -> bytes | None:
        return self._opened().get(key) if self.cache is not None else None

    async def keep(self, key: bytes, answer: bytes) -> None:
        if self.cache is not None:
            self._opened().put(key, answer)

    async def learnt(self, key: bytes) -> bytes | None:
        if key not in self._learnt and self.cache is not None:
            return self._opened().get_learnt(key)
        return self._learnt.get(key)

    async def learn(self, key: bytes, found: bytes) -> None:
        self._learnt[key] = found
        if self.cache is not None:
            self._opened().put_learnt(key, found)

    async def give_up(self, tries: int, trouble: str) -> NoReturn:
        self.transport.give_up(tries, trouble, may_be_slow=True)

    def read(self, http: HttpReply, estimate: int) -> tuple[Reply, Usage]:
        """A reply and what it took. The pace is told how many tokens it really were."""
        try:
            reply = _without_separators(self.endpoint.dialect.read(http.body))
        except UnreadableReply as error:
            fault = str(error) if http.whole else f"the endpoint's reply is longer than {MOST_BYTES:,} bytes"
            reply = Reply(text=http.body.decode("utf-8", "replace"), broken=fault)
        # An endpoint that does not count, or not in earnest: the budget goes by what was sent and what came.
        taken = believable(reply.input_tokens, estimate)
        given = believable(reply.output_tokens, len(http.body if reply.broken else reply.raw()) // CHARS_PER_TOKEN)
        self.transport.pace.correct(estimate, taken + given)
        read, written = min(reply.cached_tokens, taken), min(reply.cache_write_tokens, taken)
        usage = Usage(
            calls=1, input_tokens=taken, output_tokens=given, cache_read_tokens=read, cache_write_tokens=written
        )
        usage.cost = self.budget.price(usage, reply.cost)
        usage.unpriced = int(usage.cost is None)
        usage.cache_saved = self.budget.prices.saved(read, written)
        return reply, usage

    async def _post(self, letter: Letter, usage: Usage) -> HttpReply:
        while True:
            sent_with = self.transport.headers
            http = await self.transport.post(letter.body, letter.estimate, partial(self._sending, letter, usage))
            if http.status != 401 or not await self.has_new_key(sent_with):
                return http

    async def _sending(self, letter: Letter, usage: Usage, send: Send) -> HttpReply:
        """Around one request in flight: the time that it waits in our own queues is not the endpoint's."""
        async with self.budget.reserve(letter.estimate, self.stated_limit):
            started = time.perf_counter()
            try:
                return await send(letter.body)
            except MAYBE_BILLED as lost:
                taken = self.budget.count_lost(letter.estimate, letter.reply_limit)
                if isinstance(lost, TimeoutError):  # the others are tried again, and the reply that comes is counted
                    usage.add(taken)
                raise
            finally:
                usage.seconds += time.perf_counter() - started

    async def has_new_key(self, refused: Mapping[str, str]) -> bool:
        """Whether there is a newer key than the refused one; asks the function that gave it, if it was a function."""
        source = self.endpoint.key_source
        if source is not None and self.transport.headers is refused:
            headers = self.endpoint.dialect.headers(await asyncio.to_thread(read_key, source))
            if self.transport.headers is refused and headers != refused:  # else another request was quicker
                self.transport.use_headers(headers)
        return self.transport.headers is not refused

    def _opened(self) -> ReplyCache:
        """A labeller that was closed and is used again opens its cache again."""
        assert self.cache is not None
        if self.cache.closed:
            self.cache.open()
        return self.cache


def _without_separators(reply: Reply) -> Reply:
    """Quotes from the case come back with the marks that took its control tokens apart: take them out."""
    if prompt.SEPARATOR not in reply.raw():
        return reply
    calls = tuple(replace(call, arguments=call.arguments.replace(prompt.SEPARATOR, "")) for call in reply.tool_calls)
    return replace(reply, text=(reply.text or "").replace(prompt.SEPARATOR, ""), tool_calls=calls)
