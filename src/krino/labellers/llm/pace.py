"""One limiter for all requests of a run: how many may be in flight, how many a minute, when to hold still.

Concurrency is found, not guessed: it doubles each round trip until the endpoint first pushes back (429, 5xx,
a time-out), then grows by one a round trip and is cut by a third at each push-back, as TCP does.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

CUT = 0.67
BURST_SECONDS = 5.0  # a minute's allowance is given out in slices of this length
NAP = 0.5  # seconds after which one that holds still looks whether it still has to


@dataclass(slots=True)
class Bucket:
    """An allowance per minute that refills steadily; may go into debt once, so that big requests get through."""

    per_minute: float
    level: float = 0.0
    at: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.burst

    @property
    def burst(self) -> float:
        return max(1.0, self.per_minute * BURST_SECONDS / 60.0)

    def wait(self, now: float) -> float:
        """Seconds until something may be taken."""
        self._refill(now)
        return 0.0 if self.level > 0 else (1e-3 - self.level) * 60.0 / self.per_minute

    def take(self, amount: float, now: float) -> None:
        self._refill(now)
        self.level -= amount

    def _refill(self, now: float) -> None:
        if self.at:
            self.level = min(self.burst, self.level + (now - self.at) * self.per_minute / 60.0)
        self.at = now


@dataclass(slots=True)
class Pace:
    """`acquire` before a request, `release` after it, and say how it went."""

    most: int
    rpm: float | None = None
    tpm: float | None = None
    clock: Callable[[], float] = time.monotonic
    limit: float = 0.0
    in_flight: int = 0
    pushed_back: int = 0
    _requests: Bucket | None = None
    _tokens: Bucket | None = None
    _slow_start: bool = True
    _cut_at: float = -1.0
    _hold_until: float = 0.0
    _bad_run: int = 0
    _ending: bool = False
    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.limit = float(max(min(self.most, 16), self.most // 2))
        self._requests = Bucket(self.rpm) if self.rpm else None
        self._tokens = Bucket(self.tpm) if self.tpm else None

    async def acquire(self, tokens: int) -> float:
        """Wait for a place; gives the moment at which the request starts."""
        if self._ending or self.in_flight < int(self.limit):
            self.in_flight += 1
        else:
            await self._queue()
        try:
            while (delay := self._delay()) > 0:  # noqa: ASYNC110 - waits for a moment, not for an event
                await asyncio.sleep(min(delay, NAP))
        except asyncio.CancelledError:
            self.release()
            raise
        now = self.clock()
        if self._requests:
            self._requests.take(1, now)
        if self._tokens:
            self._tokens.take(tokens, now)
        return now

    def release(self) -> None:
        self.in_flight -= 1
        self._wake()

    def correct(self, estimated: int, real: int) -> None:
        """The reply says what the request really took: settle the difference."""
        if self._tokens:
            self._tokens.take(real - estimated, self.clock())

    def went_well(self) -> None:
        self._bad_run = 0
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + (1.0 if self._slow_start else 1.0 / self.limit))
            self._wake()

    def push_back(self, started: float, hold: float | None = None) -> None:
        """The endpoint is too busy. One cut a round trip: requests sent before the last cut do not count.

        A lone 429 holds up its own request only; a second one with no success between holds everybody.
        """
        self.pushed_back += 1
        self._bad_run += 1
        now = self.clock()
        if started > self._cut_at:
            self._cut_at = now
            self._slow_start = False
            self.limit = max(1.0, self.limit * CUT)
        if hold and self._bad_run > 1:
            self._hold_until = max(self._hold_until, now + hold)

    def release_waiting(self) -> None:
        """Let everyone through who waits for a place or a moment: the run is stopping, and they will find that out."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)
        self._ending = True

    def _delay(self) -> float:
        if self._ending:
            return 0.0
        now = self.clock()
        waits = [bucket.wait(now) for bucket in (self._requests, self._tokens) if bucket]
        return max([self._hold_until - now, *waits])

    async def _queue(self) -> None:
        """Wait until `_wake` hands over a place; one that is cancelled with a place in hand gives it back."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.release()
            elif turn in self._waiting:
                self._waiting.remove(turn)
            raise

    def _wake(self) -> None:
        """Free places go to the longest waiting. They count as taken at once, so that nobody can slip in between."""
        while self._waiting and self.in_flight < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)
