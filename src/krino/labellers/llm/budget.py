"""Counts money and tokens as they are spent, and stops the run before its limit is passed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace

from krino.contract import Usage
from krino.errors import Limit, RunStopped, UsageProblem

FIRST_REPLY = 800
"""Tokens expected of a reply before the first one has come back."""
MARGIN = 2
"""Where no reply limit is sent, the next reply may be this many times as long as the longest one so far."""
LAST_PART = 0.1
"""In the last tenth of a limit a request is sent only if it fits even with the longest reply so far."""
MOST_TOKENS = 10_000_000
"""No model takes or gives more in one call: a count above this is a mistake of the endpoint."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens, as the user states it: price lists age faster than releases."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    """Of input that the provider's cache held; None: the plain price."""
    cache_write: float | None = None
    """Of input that is written to the provider's cache; None: the plain price."""

    def __post_init__(self) -> None:
        if (self.input is None) != (self.output is None):
            given, missing = ("in", "out") if self.output is None else ("out", "in")
            raise UsageProblem(f"--price-{given} is given without --price-{missing}: a cost needs both (0 is a price)")
        if self.input is None and (self.cached is not None or self.cache_write is not None):
            raise UsageProblem("prices of cached input need --price-in and --price-out as well")

    def at(self, part: float) -> Prices:
        """The same at a discount: 0.5 is half the price."""
        if self.input is None or self.output is None:
            return self
        cached, write = (None if price is None else price * part for price in (self.cached, self.cache_write))
        return Prices(self.input * part, self.output * part, cached, write)

    def cost(self, input_tokens: int, output_tokens: int, read: int = 0, written: int = 0) -> float | None:
        """`read` and `written` are the parts of the input that the provider's cache held or took up."""
        if self.input is None or self.output is None:
            return None
        plain = max(0, input_tokens - read - written)
        cached = self.input if self.cached is None else self.cached
        write = self.input if self.cache_write is None else self.cache_write
        return (plain * self.input + read * cached + written * write + output_tokens * self.output) / 1e6

    def most(self, input_tokens: int, output_tokens: int) -> float:
        """The most that a request may cost, whatever the provider's cache does; 0 without prices."""
        return max(self.cost(input_tokens, output_tokens, written=part) or 0.0 for part in (0, input_tokens))

    def saved(self, read: int, written: int) -> float | None:
        """What the provider's cache has saved (less than 0: cost); None where its prices are not stated."""
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
class Estimate:
    """What the next request will take: with a usual reply, with the longest reply so far, and at the very most."""

    usual: Amount
    longest: Amount
    most: Amount | None
    """None while nobody can tell: then the request is sent only when no other is in flight."""


@dataclass(slots=True)
class SharedBudget:
    """The limits of the whole run and what has been spent of them. The members of a jury share one."""

    max_cost: float | None = None
    max_tokens: int | None = None
    earlier: Usage = field(default_factory=Usage)
    """Spent by earlier sessions of the same run."""
    spent: Usage = field(default_factory=Usage)
    lost: Usage = field(default_factory=Usage)
    """An estimate for requests whose reply never arrived: the endpoint may bill them all the same."""
    _reserved_requests: int = 0
    _reserved_tokens: int = 0
    _reserved_cost: float = 0.0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def limited(self) -> bool:
        return self.max_cost is not None or self.max_tokens is not None

    @asynccontextmanager
    async def reserve(self, estimate: Callable[[], Estimate]) -> AsyncIterator[None]:
        """Reserve the most that a request may take while it is in flight.

        It waits if only the reservations of others block it, and stops the run if it would not fit alone. Requests in
        flight together can therefore never pass the limit. A request that is alone goes by what requests took so far,
        so that the end of the limit is used too; at worst that one request takes more.
        """
        while (needed := self._fitting(estimate())) is None:
            await self._next_release()
        self.hold(1, needed.tokens, needed.cost)
        try:
            yield
        finally:
            self.hold(-1, -needed.tokens, -needed.cost)
            self._wake_all()

    def set_aside(self, estimate: Estimate) -> Amount | None:
        """For a request that leaves in a batch file, until `hold` gives it back; None where others must come back
        first. Raises the reason to stop the run where it would not fit alone."""
        needed = self._fitting(estimate)
        if needed is not None:
            self.hold(1, needed.tokens, needed.cost)
        return needed

    def count(self, usage: Usage) -> None:
        """Add what a request really took. Call it right after `reserve` has ended, without awaiting in between."""
        self.spent.add(usage)

    def begin(self, earlier: Usage) -> None:
        """A session begins. `earlier` holds all that the run has spent, also what was counted here before."""
        self.earlier, self.spent, self.lost = earlier, Usage(), Usage()

    def _fitting(self, estimate: Estimate) -> Amount | None:
        """What to reserve for a request that can be sent now; None if it has to wait for others."""
        if not self._reserved_requests:
            if stop := self._reached(estimate):
                raise stop
            return estimate.most or estimate.usual
        return estimate.most if estimate.most is not None and self._fits(estimate.most) else None

    def _fits(self, amount: Amount) -> bool:
        """Whether it fits beside everything that is reserved."""
        tokens, cost = self._used()
        within = self.max_tokens is None or tokens + self._reserved_tokens + amount.tokens <= self.max_tokens
        return within and (self.max_cost is None or cost + self._reserved_cost + amount.cost <= self.max_cost)

    def _used(self) -> tuple[int, float]:
        parts = (self.earlier, self.spent, self.lost)
        return sum(part.tokens for part in parts), math.fsum(part.cost or 0.0 for part in parts)

    def _reached(self, estimate: Estimate) -> RunStopped | None:
        """Why a request cannot be sent though no other is in flight."""
        tokens, cost = self._used()
        usual, longest = estimate.usual, estimate.longest
        if self.max_tokens is not None and not _may_go(tokens, self.max_tokens, usual.tokens, longest.tokens):
            more = f"{tokens:,} are spent, and the next request needs about {longest.tokens:,}"
            told = f"the limit of {self.max_tokens:,} tokens (--max-tokens) is reached: {more}"
            return RunStopped(told, kind="budget", limit=Limit("max_tokens", self.max_tokens))
        if self.max_cost is not None and not _may_go(cost, self.max_cost, usual.cost, longest.cost):
            more = f"{cost:.4g} is spent, and the next request needs about {longest.cost:.2g}"
            told = f"the limit of {self.max_cost:g} (--max-cost) is reached: {more}"
            return RunStopped(told, kind="budget", limit=Limit("max_cost", self.max_cost))
        return None

    def hold(self, requests: int, tokens: int, cost: float) -> None:
        """Set so much more aside for requests that are out; less where they have come back."""
        self._reserved_requests += requests
        self._reserved_tokens += tokens
        # With nothing reserved the sum is set to 0, so that rounding errors cannot add up.
        self._reserved_cost = self._reserved_cost + cost if self._reserved_requests else 0.0

    async def _next_release(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _wake_all(self) -> None:
        """Everybody who waits looks again, in order of arrival: a small request may fit where a large one does not."""
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


def _may_go(used: float, limit: float, usual: float, longest: float) -> bool:
    return used + longest <= limit or (used < (1 - LAST_PART) * limit and used + usual <= limit)


@dataclass(slots=True)
class Budget:
    """Estimates and counts the requests to one model, at its own prices, against the budget of the run."""

    prices: Prices = field(default_factory=Prices)
    shared: SharedBudget = field(default_factory=SharedBudget)
    so_far: Usage = field(default_factory=Usage)
    """What this model has taken in this session, lost requests included."""
    _in_flight: int = 0
    _replies: int = 0
    _estimated_input: int = 0
    _input: int = 0
    _output: int = 0
    _longest: int = 0
    _worst_ratio: float = 0.0
    """The most that an input took compared with its estimate: some languages need more tokens per character."""

    def __post_init__(self) -> None:
        if self.shared.max_cost is not None and self.prices.cost(1, 1) is None:
            raise UsageProblem(
                "--max-cost needs prices: give --price-in and --price-out (money per million tokens), "
                "or [prices] in krino.toml"
            )

    def begin(self, earlier: Usage) -> None:
        """A session begins. `earlier` is copied: the caller may go on adding the calls of this session to it."""
        known = replace(earlier)
        if known.cost is None:  # no price was stated then; the limit of now is for the whole run
            known.cost = self.prices.cost(
                known.input_tokens, known.output_tokens, known.cache_read_tokens, known.cache_write_tokens
            )
        self.shared.begin(known)
        self.so_far = Usage()

    def reserve(self, input_tokens: int, reply_limit: int | None = None) -> AbstractAsyncContextManager[None]:
        """While a request of about `input_tokens` is in flight: see `SharedBudget.reserve`.

        `reply_limit` is what the endpoint is told. The estimate is made anew while it waits, as replies come in.
        """
        return self._reserve(input_tokens, reply_limit) if self.shared.limited else nullcontext()

    @asynccontextmanager
    async def _reserve(self, input_tokens: int, reply_limit: int | None) -> AsyncIterator[None]:
        async with self.shared.reserve(lambda: self._estimate(input_tokens, reply_limit)):
            self._in_flight += 1
            try:
                yield
            finally:
                self._in_flight -= 1

    def set_aside(self, input_tokens: int, reply_limit: int | None) -> Amount | None:
        """For a request in a batch file: the most that it may take. As long as no reply is known that is the limit of
        its reply, which is far more than most take; later it goes by the longest reply so far, as calls do. Without a
        limit it is set aside as well: the next session may have one."""
        estimate = self._estimate(input_tokens, reply_limit)
        if self._replies and reply_limit is not None:
            worst = math.ceil(input_tokens * self._worst_ratio)
            estimate = replace(estimate, most=self._amount(worst, min(reply_limit, MARGIN * self._longest)))
        return self.shared.set_aside(estimate)

    def count(self, usage: Usage, input_tokens: int) -> None:
        """Add what a request really took; `input_tokens` is what its input was estimated at."""
        self.shared.count(usage)
        self.so_far.add(usage)
        self._replies += 1
        self._estimated_input += input_tokens
        self._input += usage.input_tokens
        self._output += usage.output_tokens
        self._longest = max(self._longest, usage.output_tokens)
        self._worst_ratio = max(self._worst_ratio, usage.input_tokens / max(input_tokens, 1))

    def count_lost(self, input_tokens: int, reply_limit: int | None = None) -> Usage:
        """Count a request whose reply never arrived, by estimate, and say what was counted."""
        if self._replies:
            given, taken = math.ceil(self._output / self._replies), self._likely_input(input_tokens)
        else:
            given, taken = min(FIRST_REPLY, reply_limit or FIRST_REPLY), input_tokens
        usage = Usage(calls=1, input_tokens=taken, output_tokens=given, cost=self.prices.cost(taken, given))
        self.shared.lost.add(usage)
        self.so_far.add(usage)
        return usage

    def price(self, usage: Usage, said: float | None) -> float | None:
        """Stated prices are the user's word and win; what the endpoint says counts where none are stated."""
        stated = self.prices.cost(
            usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
        )
        return said if stated is None and said is not None and math.isfinite(said) else stated

    def _likely_input(self, estimated: int) -> int:
        return math.ceil(estimated * self._input / max(self._estimated_input, 1))

    def _estimate(self, input_tokens: int, reply_limit: int | None) -> Estimate:
        if not self._replies:
            return self._first_estimate(input_tokens, reply_limit)
        worst_input = math.ceil(input_tokens * self._worst_ratio)
        usual = self._amount(self._likely_input(input_tokens), math.ceil(self._output / self._replies))
        longest = self._amount(worst_input, self._longest)
        if reply_limit is not None:  # some endpoints do not keep to it
            return Estimate(usual, longest, self._amount(worst_input, max(reply_limit, self._longest)))
        # Without a limit the longest reply is yet to be seen, so no more are in flight than have come back.
        known = self._in_flight < self._replies
        return Estimate(usual, longest, self._amount(worst_input, MARGIN * self._longest) if known else None)

    def _first_estimate(self, input_tokens: int, reply_limit: int | None) -> Estimate:
        """Before the first reply of this session: as replies went in earlier ones; else one goes to find out."""
        earlier = self.shared.earlier
        usual = math.ceil(earlier.output_tokens / earlier.calls) if earlier.calls else 0
        longest = usual or (FIRST_REPLY if reply_limit is None else min(FIRST_REPLY, reply_limit))
        most = None if reply_limit is None else self._amount(input_tokens, max(usual, reply_limit))
        return Estimate(self._amount(input_tokens, usual), self._amount(input_tokens, longest), most)

    def _amount(self, input_tokens: int, output_tokens: int) -> Amount:
        return Amount(input_tokens + output_tokens, self.prices.most(input_tokens, output_tokens))


def believable(claimed: int, otherwise: int) -> int:
    """A token count as the endpoint gives it, or ours where it gives none that can be true."""
    return claimed if 0 < claimed <= MOST_TOKENS else otherwise
