"""What can be wrong with an expression: before it is used, and while it is evaluated."""

from __future__ import annotations


class ExpressionProblem(Exception):
    """An expression that cannot be used; `offset` is the place in its text."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class RuleFault(Exception):
    """An expression has no value for this case (a missing key, a division by zero)."""


class BudgetSpent(RuleFault):
    """An expression takes more steps than it may. No operator absorbs this one."""
