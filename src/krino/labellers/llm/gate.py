"""Lets one request out at a time until it is known how the endpoint wants them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

LONGEST_WAIT = 30.0
"""Seconds. Refusals come at once: a request that takes longer was accepted, and the others need not wait for it."""


@dataclass(slots=True)
class Gate:
    """Each lesson about an endpoint would otherwise cost as many refused requests as may be in flight."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def closed_unless(self, is_open: Callable[[], bool]) -> AsyncIterator[None]:
        """Alone, as long as it is not open; waits no longer than `LONGEST_WAIT`."""
        if is_open() or not await self._take(is_open):
            yield
            return
        try:
            yield
        finally:
            self._lock.release()

    async def _take(self, is_open: Callable[[], bool]) -> bool:
        """Whether the caller must give the lock back."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # a labeller may be used on one loop after the other
            self._loop, self._lock = loop, asyncio.Lock()
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                await self._lock.acquire()
        except TimeoutError:
            return False
        if is_open():
            self._lock.release()
            return False
        return True
