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
class Budget:
    """What may be spent in the whole run, counting what earlier sittings of it have spent."""

    max_cost: float | None = None
    max_tokens: int | None = None
    prices: Prices = field(default_factory=Prices)
    spent: Usage = field(default_factory=Usage)
    _pending_input: int = 0
    _pending_output: int = 0
    _replies: int = 0
    _output: int = 0

    def __post_init__(self) -> None:
        if self.max_cost is not None and self.prices.cost(1, 1) is None:
            raise UsageProblem(
                "--max-cost needs prices: give --price-in and --price-out (money per million tokens), "
                "or [prices] in krino.toml"
            )

    @property
    def limited(self) -> bool:
        return self.max_cost is not None or self.max_tokens is not None

    def reserve(self, input_tokens: int) -> tuple[int, int]:
        """Set aside what a request may take; raises `RunStopped` when that would pass a limit."""
        if not self.limited:
            return 0, 0
        output = self._output // self._replies if self._replies else FIRST_REPLY
        taken, given = self._pending_input + input_tokens, self._pending_output + output
        if self.max_tokens is not None and self.spent.tokens + taken + given > self.max_tokens:
            raise RunStopped(f"the limit of {self.max_tokens:,} tokens (--max-tokens) is reached", kind="budget")
        if self.max_cost is not None:
            price = self.prices.cost(taken, given) or 0.0
            if (self.spent.cost or 0.0) + price > self.max_cost:
                raise RunStopped(f"the limit of {self.max_cost:g} (--max-cost) is reached", kind="budget")
        self._pending_input, self._pending_output = taken, given
        return input_tokens, output

    def settle(self, reserved: tuple[int, int], usage: Usage | None) -> None:
        """The request is over: what it really took replaces what was set aside."""
        self._pending_input -= reserved[0]
        self._pending_output -= reserved[1]
        if usage is not None:
            self._replies += 1
            self._output += usage.output_tokens
            self.spent.add(usage)
