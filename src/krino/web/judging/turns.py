"""Fair scheduling: clients take turns, so that a long list of cases does not delay a single one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

Item = TypeVar("Item")


class RoundRobin(Generic[Item]):
    """A queue that serves its clients in turn. A client is one request, however many cases it holds."""

    def __init__(self) -> None:
        self._clients: dict[Hashable, deque[Item]] = {}
        """In the order in which they are served next."""

    def __len__(self) -> int:
        return sum(map(len, self._clients.values()))

    def add(self, client: Hashable, item: Item) -> None:
        self._clients.setdefault(client, deque()).append(item)

    def pop(self) -> Item:
        """Returns the next item of the client whose turn it is."""
        client, waiting = next(iter(self._clients.items()))
        del self._clients[client]
        item = waiting.popleft()
        if waiting:
            self._clients[client] = waiting  # to the end of the line
        return item


class FairSemaphore:
    """A semaphore whose waiters are woken client by client. For one event loop."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._waiters: RoundRobin[asyncio.Future[None]] = RoundRobin()

    @asynccontextmanager
    async def acquire(self, client: Hashable) -> AsyncIterator[None]:
        """Holds a slot for this client as long as the context lasts."""
        await self._take(client)
        try:
            yield
        finally:
            self._release()

    async def _take(self, client: Hashable) -> None:
        """Waits for a free slot."""
        if self._free:  # implies that nobody waits: a released slot goes straight to a waiter
            self._free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(client, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():  # given the slot and cancelled in the same step
                self._release()
            raise

    def _release(self) -> None:
        """Passes the slot on to the next waiter, or frees it."""
        while self._waiters:
            waiter = self._waiters.pop()
            if not waiter.done():  # a cancelled waiter is skipped
                waiter.set_result(None)
                return
        self._free += 1
