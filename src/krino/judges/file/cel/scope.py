"""What an expression sees while it is evaluated: the values of its names, and how much it may still do."""

from __future__ import annotations

from typing import Any

from krino.judges.file.cel.faults import BudgetSpent

MOST_STEPS = 200_000
"""For all rules of a case together: some tens of milliseconds at the very most."""
_CHARACTERS_A_STEP = 64
_MOST_BUILT = 1_000_000
"""Characters of a text that an expression puts together."""


class StepBudget:
    """The names of one case and the steps that are left. Not for two threads at once."""

    __slots__ = ("left", "values")

    def __init__(self, values: dict[str, Any], steps: int = MOST_STEPS) -> None:
        self.values = values
        self.left = steps

    def spend(self, steps: int) -> None:
        """Takes steps from what is left; raises `BudgetSpent` if there are too few."""
        self.left -= steps
        if self.left < 0:
            raise BudgetSpent(f"the rules of this case take more than {MOST_STEPS:,} steps")

    def read(self, text: str) -> None:
        """Spends the steps for a look through a text."""
        self.spend(1 + len(text) // _CHARACTERS_A_STEP)

    def build(self, length: int) -> None:
        """Spends the steps for a text or list before it is put together; refuses one that is too long."""
        if length > _MOST_BUILT:
            raise BudgetSpent(f"a rule puts together a text of {length:,} characters; {_MOST_BUILT:,} at most")
        self.spend(1 + length // _CHARACTERS_A_STEP)
