"""Lets the cases that are under way at the same time take each step of their way together.

A processor keeps near at hand the code that it ran last. Cases that each go their whole way in one go push each other's
code out of there, which costs as much as the work itself. Where a case waits before each step until the others had
their turn, those that became ready together run the same code one after the other. Nothing is delayed by it: no case
waits for one that is not ready.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import Generator
from types import coroutine


@coroutine
def in_step() -> Generator[None, None, None]:
    """Let the other tasks that are ready run first: `asyncio.sleep(0)`, made cheap for several turns a case."""
    yield


class Turns:
    """The turns of one case among others. A case that is carried `alone` waits for nobody.

    From `finish` on the case goes to its end, though it be cancelled meanwhile: it may be paid for.
    """

    __slots__ = ("_alone", "_cancelled")

    def __init__(self, *, alone: bool = False) -> None:
        self._alone = alone
        self._cancelled: CancelledError | None = None

    async def take(self) -> None:
        """Before a step of a case that has cost nothing yet."""
        if not self._alone:
            await in_step()

    async def finish(self) -> None:
        """Before a step of a case that is labelled. One that is cancelled makes haste."""
        if self._alone or self._cancelled is not None:
            return
        try:
            await in_step()
        except CancelledError as cancelled:
            self._cancelled = cancelled

    def hurry(self) -> None:
        """From now on the case waits for nobody: it was paid for, and until it is on record a kill would lose that."""
        self._alone = True

    def end(self) -> None:
        """The case is on record: now the cancelling may have its way."""
        if self._cancelled is not None:
            raise self._cancelled


ALONE = Turns(alone=True)
