"""Counts money and tokens as they are spent, and stops the run before the limit is passed."""

from __future__ import annotations

from dataclasses import dataclass, field

from krino.contract import Usage
from krino.errors import RunStopped, UsageProblem


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
class Budget:
    """What may be spent in the whole run, counting what earlier sittings of it have spent."""

    max_cost: float | None = None
    max_tokens: int | None = None
    prices: Prices = field(default_factory=Prices)
    spent: Usage = field(default_factory=Usage)
    _pending_tokens: int = 0
    _replies: int = 0

    def __post_init__(self) -> None:
        if self.max_cost is not None and self.prices.cost(1, 1) is None:
            raise UsageProblem(
                "--max-cost needs prices: give --price-in and --price-out (money per million tokens), "
                "or [prices] in krino.toml"
            )

    @property
    def limited(self) -> bool:
        return self.max_cost is not None or self.max_tokens is not None

    def reserve(self, input_tokens: int) -> int:
        """Set aside what a request may take; raises `RunStopped` when that would pass a limit."""
        if not self.limited:
            return 0
        output = self.spent.output_tokens // self._replies if self._replies else 0
        asked = input_tokens + output
        pending = self._pending_tokens + asked
        if self.max_tokens is not None and self.spent.tokens + pending > self.max_tokens:
            raise RunStopped(f"the limit of {self.max_tokens:,} tokens (--max-tokens) is reached", kind="budget")
        if self.max_cost is not None:
            price = self.prices.cost(pending, 0) or 0.0
            if (self.spent.cost or 0.0) + price > self.max_cost:
                raise RunStopped(f"the limit of {self.max_cost:g} (--max-cost) is reached", kind="budget")
        self._pending_tokens += asked
        return asked

    def settle(self, reserved: int, usage: Usage | None) -> None:
        """The request is over: what it really took replaces what was set aside."""
        self._pending_tokens -= reserved
        if usage is not None:
            self._replies += 1
            self.spent.add(usage)
