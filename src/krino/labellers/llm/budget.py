"""Counts money and tokens as they are spent, and stops the run before the limit is passed."""

from __future__ import annotations

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
    _pending_tokens: int = 0
    _pending_cost: float = 0.0

    @property
    def limited(self) -> bool:
        return self.max_cost is not None or self.max_tokens is not None

    def set_aside(self, tokens: int, cost: float) -> None:
        """Raises `RunStopped` when that would pass a limit."""
        used = self.earlier.tokens + self.spent.tokens + self._pending_tokens
        if self.max_tokens is not None and used + tokens > self.max_tokens:
            raise RunStopped(f"the limit of {self.max_tokens:,} tokens (--max-tokens) is reached", kind="budget")
        paid = (self.earlier.cost or 0.0) + (self.spent.cost or 0.0) + self._pending_cost
        if self.max_cost is not None and paid + cost > self.max_cost:
            raise RunStopped(f"the limit of {self.max_cost:g} (--max-cost) is reached", kind="budget")
        self._pending_tokens += tokens
        self._pending_cost += cost

    def pay(self, tokens: int, cost: float, usage: Usage | None) -> None:
        """The request is over: what it really took replaces what was set aside."""
        self._pending_tokens -= tokens
        self._pending_cost -= cost
        if usage is not None:
            self.spent.add(usage)


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

    def reserve(self, input_tokens: int) -> tuple[int, float]:
        """Set aside what a request may take, tokens and cost; raises `RunStopped` when that would pass a limit."""
        if not self.purse.limited:
            return 0, 0.0
        output = self._output // self._replies if self._replies else FIRST_REPLY
        tokens, cost = input_tokens + output, self.prices.cost(input_tokens, output) or 0.0
        self.purse.set_aside(tokens, cost)
        return tokens, cost

    def settle(self, reserved: tuple[int, float], usage: Usage | None) -> None:
        self.purse.pay(*reserved, usage)
        if usage is not None:
            self._replies += 1
            self._output += usage.output_tokens
