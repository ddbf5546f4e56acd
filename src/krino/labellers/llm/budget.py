"""Counts money and tokens as they are spent, and stops the run before the limit is passed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from krino.contract import Usage
from krino.errors import RunStopped, UsageProblem

FIRST_REPLY = 800  # tokens set aside for a reply while none has come back to go by


@dataclass(frozen=True, slots=True)
class Prices:
    """Money per million tokens, as the user states it: price lists age faster than releases."""

    input: float | None = None
    output: float | None = None

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        if self.input is None or self.output is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(slots=True)
class Purse:
    """What may be spent in the whole run, and what has been. The members of a jury pay from one purse."""

    max_cost: float | None = None
    max_tokens: int | None = None
    earlier: Usage = field(default_factory=Usage)
    """By earlier sittings of the same run."""
    spent: Usage = field(default_factory=Usage)
    _held: int = 0
    """Requests that are on their way with something set aside."""
    _held_tokens: int = 0
    _held_cost: float = 0.0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def limited(self) -> bool:
        return self.max_cost is not None or self.max_tokens is not None

    @asynccontextmanager
    async def hold(self, need: Callable[[], tuple[int, float]]) -> AsyncIterator[None]:
        """Set aside the tokens and the cost that a request may take, for as long as it is on its way.

        What would fit without those on their way waits for them: they are set aside by an estimate, and most take
        less. Only what does not fit with nobody on the way stops the run, so that one can always go.
        """
        while problem := self._problem(*(needed := need())):
            if not self._held:
                raise RunStopped(problem, kind="budget")
            await self._next_settling()
        self._change(1, *needed)
        try:
            yield
        finally:
            tokens, cost = needed
            self._change(-1, -tokens, -cost)
            self._wake()

    def pay(self, usage: Usage) -> None:
        """Called before anyone else has a turn after `hold` has ended."""
        self.spent.add(usage)

    def _problem(self, tokens: int, cost: float) -> str | None:
        """Why so much more cannot be set aside."""
        used = self.earlier.tokens + self.spent.tokens
        if self.max_tokens is not None and used + self._held_tokens + tokens > self.max_tokens:
            more = f"{used:,} are spent, and the next request needs about {tokens:,}"
            return f"the limit of {self.max_tokens:,} tokens (--max-tokens) is reached: {more}"
        paid = (self.earlier.cost or 0.0) + (self.spent.cost or 0.0)
        if self.max_cost is not None and paid + self._held_cost + cost > self.max_cost:
            more = f"{paid:.4g} is spent, and the next request needs about {cost:.2g}"
            return f"the limit of {self.max_cost:g} (--max-cost) is reached: {more}"
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


@dataclass(slots=True)
class Budget:
    """What one model's requests take from the purse, at its own prices."""

    prices: Prices = field(default_factory=Prices)
    purse: Purse = field(default_factory=Purse)
    _replies: int = 0
    _output: int = 0

    def __post_init__(self) -> None:
        if self.purse.max_cost is not None and self.prices.cost(1, 1) is None:
            raise UsageProblem(
                "--max-cost needs prices: give --price-in and --price-out (money per million tokens), "
                "or [prices] in krino.toml"
            )

    @asynccontextmanager
    async def hold(self, input_tokens: int) -> AsyncIterator[None]:
        """While a request is on its way: see `Purse.hold`. What it needs is estimated anew as replies come in."""
        if not self.purse.limited:
            yield
            return
        async with self.purse.hold(lambda: self._need(input_tokens)):
            yield

    def settle(self, usage: Usage) -> None:
        """What a request really took."""
        self.purse.pay(usage)
        self._replies += 1
        self._output += usage.output_tokens

    def _need(self, input_tokens: int) -> tuple[int, float]:
        output = self._output // self._replies if self._replies else FIRST_REPLY
        return input_tokens + output, self.prices.cost(input_tokens, output) or 0.0
