"""Counts money and tokens as they are spent, and stops the run before the limit is passed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from krino.contract import Usage
from krino.errors import Limit, RunStopped, UsageProblem

FIRST_REPLY = 800
"""Tokens set aside for a reply while none has come back to go by."""
MARGIN = 2
"""Where no reply limit is sent, the next reply is taken to be at most so many times as long as the longest so far."""
LAST_PART = 0.1
"""In the last tenth of a limit a request goes only if it fits even with the longest reply so far."""
MOST_TOKENS = 10_000_000
"""More than any model takes or gives: a reply that claims more has not counted."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens, as the user states it: price lists age faster than releases."""

    input: float | None = None
    output: float | None = None

    def __post_init__(self) -> None:
        if (self.input is None) != (self.output is None):
            given, missing = ("in", "out") if self.output is None else ("out", "in")
            raise UsageProblem(f"--price-{given} is given without --price-{missing}: a cost needs both (0 is a price)")

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        if self.input is None or self.output is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class Need:
    """What a request takes, or may take."""

    tokens: int
    cost: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the next request takes: as replies go on the whole, as the longest one went, and at the very most."""

    likely: Need
    long: Need
    most: Need | None
    """None: nobody can tell yet, so it goes alone."""


@dataclass(slots=True)
class SharedBudget:
    """What may be spent in the whole run, and what has been. The members of a jury share one."""

    max_cost: float | None = None
    max_tokens: int | None = None
    earlier: Usage = field(default_factory=Usage)
    """By earlier sittings of the same run."""
    spent: Usage = field(default_factory=Usage)
    lost: Usage = field(default_factory=Usage)
    """By estimate, for requests whose reply was lost on its way: the endpoint may well have written it."""
    _held: int = 0
    """Requests that are on their way with something set aside."""
    _held_tokens: int = 0
    _held_cost: float = 0.0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def limited(self) -> bool:
        return self.max_cost is not None or self.max_tokens is not None

    @asynccontextmanager
    async def hold(self, outlook: Callable[[], Outlook]) -> AsyncIterator[None]:
        """Set aside the most that a request may take, for as long as it is on its way.

        Those on their way are set aside in full, so that together they cannot pass the limit; one that does not fit
        beside them waits until they have settled, and most settle for less. With nobody on the way one goes by what
        requests took so far, so that the end of a limit is used too: at worst that one takes more.
        """
        while (needed := self._place_for(outlook())) is None:
            await self._next_settling()
        self._change(1, needed.tokens, needed.cost)
        try:
            yield
        finally:
            self._change(-1, -needed.tokens, -needed.cost)
            self._wake()

    def pay(self, usage: Usage) -> None:
        """Called before anyone else has a turn after `hold` has ended."""
        self.spent.add(usage)

    def begin(self, earlier: Usage) -> None:
        """A session begins: what the run has taken so far is all in `earlier`, also what was counted here."""
        self.earlier, self.spent, self.lost = earlier, Usage(), Usage()

    def _place_for(self, outlook: Outlook) -> Need | None:
        """What to set aside for a request that can go now; None if it has to wait for others."""
        if not self._held:
            if stop := self._reached(outlook):
                raise stop
            return outlook.most or outlook.likely
        return outlook.most if outlook.most is not None and self._fits(outlook.most) else None

    def _fits(self, need: Need) -> bool:
        """Beside everything that is set aside."""
        tokens, cost = self._used()
        within = self.max_tokens is None or tokens + self._held_tokens + need.tokens <= self.max_tokens
        return within and (self.max_cost is None or cost + self._held_cost + need.cost <= self.max_cost)

    def _used(self) -> tuple[int, float]:
        parts = (self.earlier, self.spent, self.lost)
        return sum(part.tokens for part in parts), math.fsum(part.cost or 0.0 for part in parts)

    def _reached(self, outlook: Outlook) -> RunStopped | None:
        """Why a request cannot go though nobody is on the way."""
        tokens, cost = self._used()
        if self.max_tokens is not None and not _goes(
            tokens, self.max_tokens, outlook.likely.tokens, outlook.long.tokens
        ):
            more = f"{tokens:,} are spent, and the next request needs about {outlook.long.tokens:,}"
            told = f"the limit of {self.max_tokens:,} tokens (--max-tokens) is reached: {more}"
            return RunStopped(told, kind="budget", limit=Limit("max_tokens", self.max_tokens))
        if self.max_cost is not None and not _goes(cost, self.max_cost, outlook.likely.cost, outlook.long.cost):
            more = f"{cost:.4g} is spent, and the next request needs about {outlook.long.cost:.2g}"
            told = f"the limit of {self.max_cost:g} (--max-cost) is reached: {more}"
            return RunStopped(told, kind="budget", limit=Limit("max_cost", self.max_cost))
        return None

    def _change(self, requests: int, tokens: int, cost: float) -> None:
        self._held += requests
        self._held_tokens += tokens
        self._held_cost = self._held_cost + cost if self._held else 0.0  # no crumbs of rounding stay behind

    async def _next_settling(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _wake(self) -> None:
        """All look again, in the order in which they came: what one of them needs may fit where another's does not."""
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)


def _goes(used: float, limit: float, likely: float, long: float) -> bool:
    return used + long <= limit or (used < (1 - LAST_PART) * limit and used + likely <= limit)


@dataclass(slots=True)
class Budget:
    """What one model's requests take from the budget of the run, at its own prices."""

    prices: Prices = field(default_factory=Prices)
    shared: SharedBudget = field(default_factory=SharedBudget)
    _flying: int = 0
    _replies: int = 0
    _estimated: int = 0
    _input: int = 0
    _output: int = 0
    _longest: int = 0
    _most_dense: float = 0.0
    """The most that an input took of its estimate: some languages need more tokens than characters let expect."""

    def __post_init__(self) -> None:
        if self.shared.max_cost is not None and self.prices.cost(1, 1) is None:
            raise UsageProblem(
                "--max-cost needs prices: give --price-in and --price-out (money per million tokens), "
                "or [prices] in krino.toml"
            )

    def begin(self, earlier: Usage) -> None:
        """What earlier sittings have spent, as it is now: `earlier` may go on growing with every call of this one."""
        known = replace(earlier)
        if known.cost is None:  # no price was stated then; the limit of now is for the whole run
            known.cost = self.prices.cost(known.input_tokens, known.output_tokens)
        self.shared.begin(known)

    @asynccontextmanager
    async def hold(self, estimate: int, reply_limit: int | None = None) -> AsyncIterator[None]:
        """While a request of about `estimate` input tokens is on its way: see `SharedBudget.hold`.

        `reply_limit` is what the endpoint is told. What the request needs is judged anew as replies come in.
        """
        if not self.shared.limited:
            yield
            return
        async with self.shared.hold(lambda: self._outlook(estimate, reply_limit)):
            self._flying += 1
            try:
                yield
            finally:
                self._flying -= 1

    def settle(self, usage: Usage, estimate: int) -> None:
        """What a request really took, and what its input was estimated at."""
        self.shared.pay(usage)
        self._replies += 1
        self._estimated += estimate
        self._input += usage.input_tokens
        self._output += usage.output_tokens
        self._longest = max(self._longest, usage.output_tokens)
        self._most_dense = max(self._most_dense, usage.input_tokens / max(estimate, 1))

    def lose(self, estimate: int) -> None:
        """A request was sent and no whole reply came back: it may be billed all the same."""
        likely = self._outlook(estimate, None).likely
        self.shared.lost.add(Usage(input_tokens=likely.tokens, cost=likely.cost))

    def cost(self, input_tokens: int, output_tokens: int, said: float | None) -> float | None:
        """Stated prices are the user's word and win; what the endpoint says counts where none are stated."""
        stated = self.prices.cost(input_tokens, output_tokens)
        return said if stated is None and said is not None and math.isfinite(said) else stated

    def _outlook(self, estimate: int, reply_limit: int | None) -> Outlook:
        if not self._replies:
            return self._first_outlook(estimate, reply_limit)
        dense = math.ceil(estimate * self._most_dense)
        likely = self._need(
            math.ceil(estimate * self._input / max(self._estimated, 1)), math.ceil(self._output / self._replies)
        )
        long = self._need(dense, self._longest)
        if reply_limit is not None:  # some endpoints do not keep to it
            return Outlook(likely, long, self._need(dense, max(reply_limit, self._longest)))
        # Nobody was told a limit, so the longest reply is yet to be seen: no more are sent than have come back.
        known = self._flying < self._replies
        return Outlook(likely, long, self._need(dense, MARGIN * self._longest) if known else None)

    def _first_outlook(self, estimate: int, reply_limit: int | None) -> Outlook:
        """Before any reply of this sitting: as replies went in earlier ones; else one goes to find out."""
        earlier = self.shared.earlier
        usual = math.ceil(earlier.output_tokens / earlier.calls) if earlier.calls else 0
        long = usual or (FIRST_REPLY if reply_limit is None else min(FIRST_REPLY, reply_limit))
        most = None if reply_limit is None else self._need(estimate, max(usual, reply_limit))
        return Outlook(self._need(estimate, usual), self._need(estimate, long), most)

    def _need(self, input_tokens: int, output_tokens: int) -> Need:
        return Need(input_tokens + output_tokens, self.prices.cost(input_tokens, output_tokens) or 0.0)


def believable(claimed: int, otherwise: int) -> int:
    """A token count as the endpoint gives it, or ours where it gives none that can be true."""
    return claimed if 0 < claimed <= MOST_TOKENS else otherwise
