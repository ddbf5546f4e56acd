"""Who goes next: a few places, and parties that take turns at them, so that a long list holds up no single case."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

Waiting = TypeVar("Waiting")


class Turns(Generic[Waiting]):
    """What waits. Parties take turns, and a party is one request, whatever number of cases it brings."""

    def __init__(self) -> None:
        self._parties: dict[Hashable, deque[Waiting]] = {}
        """In the order in which they are served next."""

    def __len__(self) -> int:
        return sum(map(len, self._parties.values()))

    def add(self, party: Hashable, waiting: Waiting) -> None:
        self._parties.setdefault(party, deque()).append(waiting)

    def next(self) -> Waiting:
        party, first = next(iter(self._parties.items()))
        del self._parties[party]
        waiting = first.popleft()
        if first:
            self._parties[party] = first  # behind all the others
        return waiting


class FairPlaces:
    """For one event loop."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._turns: Turns[asyncio.Future[None]] = Turns()

    @asynccontextmanager
    async def place(self, party: Hashable) -> AsyncIterator[None]:
        await self._taken(party)
        try:
            yield
        finally:
            self._give_back()

    async def _taken(self, party: Hashable) -> None:
        if self._free:  # then nobody waits: a place that is given back goes to one who does
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._turns.add(party, turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # called up and cancelled in the same moment
                self._give_back()
            raise

    def _give_back(self) -> None:
        while self._turns:
            turn = self._turns.next()
            if not turn.done():  # else the one who waited has gone
                turn.set_result(None)
                return
        self._free += 1
