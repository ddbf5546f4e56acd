"""Who goes next: a few places, and parties that take turns at them, so that a long list holds up no single case."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class FairPlaces:
    """For one event loop. A party is one request, whatever number of cases it brings."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: dict[Hashable, deque[asyncio.Future[None]]] = {}
        """Parties in the order in which they are served next."""

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
        self._waiting.setdefault(party, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # called up and cancelled in the same moment
                self._give_back()
            raise

    def _give_back(self) -> None:
        while self._waiting:
            party, turns = next(iter(self._waiting.items()))
            del self._waiting[party]
            turn = turns.popleft()
            if turns:
                self._waiting[party] = turns  # behind all the others
            if not turn.done():  # else the one who waited has gone
                turn.set_result(None)
                return
        self._free += 1
