"""Counts money and tokens, and stops the run before a limit is exceeded.

The limit is kept in the process that started the run; workers reach it through the gateway (`labellers.remote`).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace

from krino.contract import Usage
from krino.errors import Limit, RunStopped, UsageProblem

FIRST_REPLY = 800
"""Tokens expected of a reply before the first one has arrived."""
MARGIN = 2
"""Without a reply limit, the next reply is assumed to be at most this many times as long as the longest so far."""
FINAL_PART = 0.1
"""In the last tenth of a limit, a request is sent only if it fits even with the longest reply so far."""
MOST_TOKENS = 10_000_000
"""Larger token counts in a reply are mistakes of the endpoint."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens, as the user states it: price lists age faster than releases."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    """For input read from the provider's cache; None: the plain price."""
    cache_write: float | None = None
    """For input written to the provider's cache; None: the plain price."""

    def __post_init__(self) -> None:
        if (self.input is None) != (self.output is None):
            given, missing = ("in", "out") if self.output is None else ("out", "in")
            raise UsageProblem(f"--price-{given} is given without --price-{missing}: a cost needs both (0 is a price)")
        if self.input is None and (self.cached is not None or self.cache_write is not None):
            raise UsageProblem("prices of cached input need --price-in and --price-out as well")

    def at(self, part: float) -> Prices:
        """Returns these prices multiplied by `part`."""
        if self.input is None or self.output is None:
            return self
        cached, write = (None if price is None else price * part for price in (self.cached, self.cache_write))
        return Prices(self.input * part, self.output * part, cached, write)

    def cost(self, input_tokens: int, output_tokens: int, read: int = 0, written: int = 0) -> float | None:
        """Returns the price of these tokens, or None if it is not known. `read` and `written`: the input tokens that
        were read from and written to the provider's cache."""
        if self.input is None or self.output is None:
            return None
        plain = max(0, input_tokens - read - written)
        cached = self.input if self.cached is None else self.cached
        write = self.input if self.cache_write is None else self.cache_write
        return (plain * self.input + read * cached + written * write + output_tokens * self.output) / 1e6

    def most(self, input_tokens: int, output_tokens: int) -> float:
        """Returns the most that a request may cost, whatever the provider's cache does; 0 without prices."""
        return max(self.cost(input_tokens, output_tokens, written=part) or 0.0 for part in (0, input_tokens))

    def saved(self, read: int, written: int) -> float | None:
        """Returns the money that the provider's cache has saved (negative: cost); None if its prices are not stated."""
        if self.input is None or (self.cached is None and self.cache_write is None):
            return None
        cached = self.input if self.cached is None else self.cached
        write = self.input if self.cache_write is None else self.cache_write
        return (read * (self.input - cached) + written * (self.input - write)) / 1e6


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and money of one request."""

    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What the next request will take: with an average reply, with the longest so far, and at most."""

    usual: Amount
    longest: Amount
    most: Amount | None
    """None if it is unknown: then the request is sent only when no other is in flight."""


@dataclass(slots=True)
class SharedBudget:
    """The limits of the run and what has been spent; shared by the members of a jury."""

    max_cost: float | None = None
    max_tokens: int | None = None
    earlier: Usage = field(default_factory=Usage)
    """Spent by earlier sessions of the same run."""
    spent: Usage = field(default_factory=Usage)
    lost: Usage = field(default_factory=Usage)
    """An estimate for requests whose reply was lost: the endpoint may still bill them."""
    _reserved_requests: int = 0
    _reserved_tokens: int = 0
    _reserved_cost: float = 0.0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def limited(self) -> bool:
        return self.max_cost is not None or self.max_tokens is not None

    @asynccontextmanager
    async def reserve(self, estimate: Callable[[], CostEstimate]) -> AsyncIterator[None]:
        """Reserves the most that a request may take while it is in flight.

        Waits while only the reservations of others block it, and stops the run if it would not fit alone. So requests
        in flight together never exceed the limit. A single request is judged by what requests took so far, or the
        end of the limit would never be used; at worst, that one request exceeds it.
        """
        while (needed := self._find_fitting(estimate())) is None:
            await self._wait_for_release()
        self.hold(1, needed.tokens, needed.cost)
        try:
            yield
        finally:
            self.hold(-1, -needed.tokens, -needed.cost)
            self._wake_all()

    def reserve_for_batch(self, estimate: CostEstimate) -> Amount | None:
        """Reserves for a request in a batch file, until `hold` releases it; None if others must come back first. Raises
        `RunStopped` if it would not fit alone."""
        needed = self._find_fitting(estimate)
        if needed is not None:
            self.hold(1, needed.tokens, needed.cost)
        return needed

    def count(self, usage: Usage) -> None:
        """Adds what a request really took.

        Call it right after `reserve` has ended: with an `await` in between, another request could reserve the amount
        that is then neither reserved nor counted.
        """
        self.spent.add(usage)

    def begin(self, earlier: Usage) -> None:
        """Begins a session: sets the counts to 0. `earlier` holds all that the run has spent, including what was
        counted here before."""
        self.earlier, self.spent, self.lost = earlier, Usage(), Usage()

    def _find_fitting(self, estimate: CostEstimate) -> Amount | None:
        """Returns what to reserve for a request that can be sent now; None if it must wait for others. Raises
        `RunStopped` if it would not fit even alone."""
        if not self._reserved_requests:
            if stop := self._find_reached_limit(estimate):
                raise stop
            return estimate.most or estimate.usual
        return estimate.most if estimate.most is not None and self._fits(estimate.most) else None

    def _fits(self, amount: Amount) -> bool:
        """Whether it fits beside what is spent and reserved."""
        tokens, cost = self._used()
        within = self.max_tokens is None or tokens + self._reserved_tokens + amount.tokens <= self.max_tokens
        return within and (self.max_cost is None or cost + self._reserved_cost + amount.cost <= self.max_cost)

    def _used(self) -> tuple[int, float]:
        parts = (self.earlier, self.spent, self.lost)
        return sum(part.tokens for part in parts), math.fsum(part.cost or 0.0 for part in parts)

    def _find_reached_limit(self, estimate: CostEstimate) -> RunStopped | None:
        """Returns the error that stops the run if a request does not fit into a limit; None if it does."""
        tokens, cost = self._used()
        usual, longest = estimate.usual, estimate.longest
        if self.max_tokens is not None and not _is_within(tokens, self.max_tokens, usual.tokens, longest.tokens):
            more = f"{tokens:,} are spent, and the next request needs about {longest.tokens:,}"
            message = f"the limit of {self.max_tokens:,} tokens (--max-tokens) is reached: {more}"
            return RunStopped(message, kind="budget", limit=Limit("max_tokens", self.max_tokens))
        if self.max_cost is not None and not _is_within(cost, self.max_cost, usual.cost, longest.cost):
            more = f"{cost:.4g} is spent, and the next request needs about {longest.cost:.2g}"
            message = f"the limit of {self.max_cost:g} (--max-cost) is reached: {more}"
            return RunStopped(message, kind="budget", limit=Limit("max_cost", self.max_cost))
        return None

    def hold(self, requests: int, tokens: int, cost: float) -> None:
        """Adds to the reservations; negative numbers release them."""
        self._reserved_requests += requests
        self._reserved_tokens += tokens
        # Reset to 0 when nothing is reserved, so that rounding errors cannot accumulate.
        self._reserved_cost = self._reserved_cost + cost if self._reserved_requests else 0.0

    async def _wait_for_release(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _wake_all(self) -> None:
        """Wakes all waiting requests, in order of arrival: a small one may fit where a large one does not."""
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


def _is_within(used: float, limit: float, usual: float, longest: float) -> bool:
    """Whether the longest reply so far still fits, or, before the final part of the limit, an average one."""
    return used + longest <= limit or (used < (1 - FINAL_PART) * limit and used + usual <= limit)


@dataclass(slots=True)
class Budget:
    """Estimates and counts the requests to one model, at its prices, against the shared budget."""

    prices: Prices = field(default_factory=Prices)
    shared: SharedBudget = field(default_factory=SharedBudget)
    so_far: Usage = field(default_factory=Usage)
    """What this model has used in this session, including lost requests."""
    _in_flight: int = 0
    _replies: int = 0
    _estimated_input: int = 0
    _input: int = 0
    _output: int = 0
    _longest: int = 0
    _worst_ratio: float = 0.0
    """The largest ratio of real to estimated input tokens: some languages need more tokens per character."""

    def __post_init__(self) -> None:
        if self.shared.max_cost is not None and self.prices.cost(1, 1) is None:
            raise UsageProblem(
                "--max-cost needs prices: give --price-in and --price-out (money per million tokens), "
                "or [prices] in krino.toml"
            )

    def begin(self, earlier: Usage) -> None:
        """Begins a session after `earlier` was spent, priced now if it has no cost. It is copied, since the caller may
        go on adding to it."""
        known = replace(earlier)
        if known.cost is None:  # no price was stated then, but the limit is for the whole run
            known.cost = self.prices.cost(
                known.input_tokens, known.output_tokens, known.cache_read_tokens, known.cache_write_tokens
            )
        self.shared.begin(known)
        self.so_far = Usage()

    def reserve(self, input_tokens: int, reply_limit: int | None = None) -> AbstractAsyncContextManager[None]:
        """Reserves for a request while it is in flight: see `SharedBudget.reserve`.

        `input_tokens` is an estimate. `reply_limit` is the limit that the user set, None if Krino computed the one that
        is sent. Nothing is reserved without a budget. The estimate is updated while it waits, as replies come in.
        """
        return self._reserve(input_tokens, reply_limit) if self.shared.limited else nullcontext()

    @asynccontextmanager
    async def _reserve(self, input_tokens: int, reply_limit: int | None) -> AsyncIterator[None]:
        """Reserves the estimated cost of a request, and counts it as in flight."""
        async with self.shared.reserve(lambda: self._estimate(input_tokens, reply_limit)):
            self._in_flight += 1
            try:
                yield
            finally:
                self._in_flight -= 1

    def reserve_for_batch(self, input_tokens: int, reply_limit: int | None) -> Amount | None:
        """Reserves the most that a request in a batch file may take.

        Before the first reply that is its reply limit, far more than most replies need; later it follows the longest
        reply so far. It is reserved even without a budget limit, since the next session may have one.
        """
        estimate = self._estimate(input_tokens, reply_limit)
        if self._replies and reply_limit is not None:
            worst = math.ceil(input_tokens * self._worst_ratio)
            estimate = replace(estimate, most=self._amount(worst, min(reply_limit, MARGIN * self._longest)))
        return self.shared.reserve_for_batch(estimate)

    def count(self, usage: Usage, input_tokens: int) -> None:
        """Adds what a request really took; `input_tokens` is the estimate of its input."""
        self.shared.count(usage)
        self.so_far.add(usage)
        self._replies += 1
        self._estimated_input += input_tokens
        self._input += usage.input_tokens
        self._output += usage.output_tokens
        self._longest = max(self._longest, usage.output_tokens)
        self._worst_ratio = max(self._worst_ratio, usage.input_tokens / max(input_tokens, 1))

    def count_lost(self, input_tokens: int, reply_limit: int | None = None) -> Usage:
        """Counts a request whose reply was lost, by estimate; returns what was counted."""
        if self._replies:
            given, taken = math.ceil(self._output / self._replies), self._likely_input(input_tokens)
        else:
            given, taken = min(FIRST_REPLY, reply_limit or FIRST_REPLY), input_tokens
        usage = Usage(calls=1, input_tokens=taken, output_tokens=given, cost=self.prices.cost(taken, given))
        self.shared.lost.add(usage)
        self.so_far.add(usage)
        return usage

    def price(self, usage: Usage, said: float | None) -> float | None:
        """Returns the cost of a reply by the prices that the user states, else the cost that the endpoint `said`; None
        if neither is known."""
        stated = self.prices.cost(
            usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        )
        return said if stated is None and said is not None and math.isfinite(said) else stated

    def _likely_input(self, estimated: int) -> int:
        """Corrects an estimate of input tokens by how far the estimates were off so far."""
        return math.ceil(estimated * self._input / max(self._estimated_input, 1))

    def _estimate(self, input_tokens: int, reply_limit: int | None) -> CostEstimate:
        """Estimates the usual, the longest and the worst cost of a request from the replies so far."""
        if not self._replies:
            return self._first_estimate(input_tokens, reply_limit)
        worst_input = math.ceil(input_tokens * self._worst_ratio)
        usual = self._amount(self._likely_input(input_tokens), math.ceil(self._output / self._replies))
        longest = self._amount(worst_input, self._longest)
        if reply_limit is not None:  # some endpoints exceed it
            return CostEstimate(usual, longest, self._amount(worst_input, max(reply_limit, self._longest)))
        # Without a limit a longer reply may still come, so no more are in flight than have been answered.
        known = self._in_flight < self._replies
        return CostEstimate(usual, longest, self._amount(worst_input, MARGIN * self._longest) if known else None)

    def _first_estimate(self, input_tokens: int, reply_limit: int | None) -> CostEstimate:
        """Estimates before the first reply of this session: by the average reply of earlier sessions, else by the limit
        of the reply. Without such a limit the most is unknown, so one request is sent alone."""
        earlier = self.shared.earlier
        usual = math.ceil(earlier.output_tokens / earlier.calls) if earlier.calls else 0
        longest = usual or (FIRST_REPLY if reply_limit is None else min(FIRST_REPLY, reply_limit))
        most = None if reply_limit is None else self._amount(input_tokens, max(usual, reply_limit))
        return CostEstimate(self._amount(input_tokens, usual), self._amount(input_tokens, longest), most)

    def _amount(self, input_tokens: int, output_tokens: int) -> Amount:
        return Amount(input_tokens + output_tokens, self.prices.most(input_tokens, output_tokens))


def plausible_count(claimed: int, otherwise: int) -> int:
    """Returns the endpoint's token count, or ours (`otherwise`) if that is missing or impossible."""
    return claimed if 0 < claimed <= MOST_TOKENS else otherwise
