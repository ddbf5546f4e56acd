"""Limits when requests are sent: how many at once, how many per minute, and when an endpoint counts as dead.

The number of requests in flight adapts as in TCP: it doubles each round trip until the endpoint first slows us down
(429, 5xx, a time-out), then grows by one per round trip and is cut by a third each time it slows us down again.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

CUT = 0.67
BURST_SECONDS = 5.0  # how much of the allowance of tokens may be used at once
EVEN_SECONDS = 0.04  # the same for requests: endpoints enforce their limits per second, not per minute
NAP = 0.5  # seconds between checks whether a request may be sent


@dataclass(slots=True)
class Bucket:
    """A token bucket: an allowance per minute that refills steadily. It may go below zero once, or requests larger than
    the bucket would never be sent."""

    per_minute: float
    slice: float = BURST_SECONDS
    level: float = 0.0
    at: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.burst

    @property
    def burst(self) -> float:
        return max(1.0, self.per_minute * self.slice / 60.0)

    def wait(self, now: float) -> float:
        """Returns the seconds until the level is positive."""
        self._refill(now)
        return 0.0 if self.level > 0 else (1e-3 - self.level) * 60.0 / self.per_minute

    def take(self, amount: float, now: float) -> None:
        """Takes an amount out of the bucket, even below zero; a negative one is given back."""
        self._refill(now)
        self.level -= amount

    def _refill(self, now: float) -> None:
        if self.at:
            self.level = min(self.burst, self.level + (now - self.at) * self.per_minute / 60.0)
        self.at = now


@dataclass(slots=True)
class Pace:
    """Call `acquire` before a request and `release` after it; report how it went by `succeeded` or `slowed_down`."""

    most: int
    rpm: float | None = None
    tpm: float | None = None
    clock: Callable[[], float] = time.monotonic
    limit: float = 0.0
    in_flight: int = 0
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
        self._requests = Bucket(self.rpm, EVEN_SECONDS) if self.rpm else None
        self._tokens = Bucket(self.tpm) if self.tpm else None

    async def acquire(self, tokens: int) -> float:
        """Waits for a free slot and for the rate limits; returns the start time of the request."""
        if self._ending or self.in_flight < int(self.limit):
            self.in_flight += 1
        else:
            await self._queue()
        try:
            while (delay := self._delay()) > 0:  # noqa: ASYNC110 - waits for a time, not for an event
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
        """Gives back the slot of a request, and lets a waiting one have it."""
        self.in_flight -= 1
        self._wake()

    def correct(self, estimated: int, real: int) -> None:
        """Corrects the token rate once the reply states the real count."""
        if self._tokens:
            self._tokens.take(real - estimated, self.clock())

    def succeeded(self) -> None:
        """Counts a success: the row of failures ends, and the limit of requests in flight grows by a step."""
        self._bad_run = 0
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + (1.0 if self._slow_start else 1.0 / self.limit))
            self._wake()

    def slowed_down(self, started: float, hold: float | None = None) -> None:
        """Lowers the limit, at most once per round trip: a request that started before the last cut proves nothing new.

        A first 429 delays only its own request; a second one without a success in between delays all of them.
        """
        self._bad_run += 1
        now = self.clock()
        if started > self._cut_at:
            self._cut_at = now
            self._slow_start = False
            self.limit = max(1.0, self.limit * CUT)
        if hold and self._bad_run > 1:
            self._hold_until = max(self._hold_until, now + hold)

    def release_waiting(self) -> None:
        """Lets all requests through, waiting or to come, since the run is stopping: each checks for the stop itself."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)
        self._ending = True

    def _delay(self) -> float:
        """Returns how many seconds the next request has to wait."""
        if self._ending:
            return 0.0
        now = self.clock()
        waits = [bucket.wait(now) for bucket in (self._requests, self._tokens) if bucket]
        return max(self._hold_until - now, *waits, 0.0)

    async def _queue(self) -> None:
        """Waits until `_wake` grants a slot; a caller that is cancelled with a slot returns it."""
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
        """Grants free slots in order of arrival. They count as taken at once, or a new request could overtake."""
        while self._waiting and self.in_flight < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


# --- dead or alive ---------------------------------------------------------------------------------

PATIENCE = 290.0
"""Seconds without any reply before the run stops."""
ONLY_FAILING_PART = 0.8
"""The part of the patience after which the only failing request is given up, so that another one can show whether the
endpoint or the case is to blame."""
SHORTEST_TIMEOUT = 5.0
"""The shortest time-out of a try, however little of the patience is left."""
LONGEST_WAIT = 120.0
"""Seconds. If an endpoint asks to wait longer, the run stops."""
IDLE = 60.0
"""Seconds without requests after which earlier trouble no longer counts."""


def patience_for_timeouts(timeout: float) -> float:
    """Returns the patience once a try has timed out: long enough for one time-out and a short try after it."""
    return max(PATIENCE, timeout + 50.0)


@dataclass(slots=True)
class Liveness:
    """Decides whether an endpoint is dead, from the result of every try.

    All requests share one, so a dead endpoint is detected within minutes however many are waiting.
    """

    error_patience: float = PATIENCE
    """Seconds of errors before the endpoint counts as dead."""
    timeout_patience: float = PATIENCE
    """The same once a try has timed out: a model may reason for minutes before it answers."""
    since: float | None = None
    """When the trouble began; None while requests succeed."""
    trouble: str = ""
    """What went wrong last."""
    tries: int = 0
    _timed_out: bool = False
    _failing: set[int] = field(default_factory=set)
    _under_way: int = 0
    _last_success: float = 0.0
    _idle_since: float = -math.inf

    @property
    def patience(self) -> float:
        return self.timeout_patience if self._timed_out else self.error_patience

    def begin(self, now: float) -> None:
        """Records that a request begins its tries; `end` must follow. Trouble from before a long idle time is
        forgotten."""
        if not self._under_way and now - self._idle_since > IDLE:
            self.note_success(now)
        self._under_way += 1

    def end(self, now: float) -> None:
        """Records that a request has ended its tries, with or without success."""
        self._under_way -= 1
        self._idle_since = now

    def note_success(self, now: float) -> None:
        """Records a success: earlier trouble no longer counts."""
        self.since, self.trouble, self.tries, self._last_success = None, "", 0, now
        self._timed_out = False
        self._failing.clear()

    def failed(self, request: int, started: float, trouble: str, *, timed_out: bool = False) -> None:
        """Records a failed try. Waits that the endpoint asks for count as trouble, our own pace does not."""
        if self.since is None:
            self.since = max(self._last_success, started - LONGEST_WAIT)
        self.trouble = trouble
        self._timed_out |= timed_out
        self.tries += 1
        self._failing.add(request)

    def trouble_seconds(self, now: float) -> float:
        """Returns the seconds since the trouble began; 0 without trouble."""
        return 0.0 if self.since is None else now - self.since

    def is_dead(self, now: float) -> bool:
        """Whether the run should stop. A single failed try proves nothing, however long it took."""
        return self.tries > 1 and self.trouble_seconds(now) >= self.patience

    def should_drop_only_failing(self, now: float) -> bool:
        """Whether to give up the only failing request, so that others can show whether the endpoint works."""
        return (
            self.tries > 1
            and len(self._failing) == 1
            and self.trouble_seconds(now) >= ONLY_FAILING_PART * self.patience
        )

    def left(self, now: float) -> float:
        """Returns the seconds until the endpoint counts as dead."""
        return self.patience - self.trouble_seconds(now)

    def timeout_of_next_try(self, timeout: float, now: float) -> float:
        """Returns the time-out of the next try, cut during trouble so that it hardly outlasts the patience. The only
        failing request leaves half of the time to others, which can show whether the endpoint works."""
        if self.since is None:
            return timeout
        left = self.left(now) / 2 if len(self._failing) == 1 else self.left(now)
        return min(timeout, max(SHORTEST_TIMEOUT, left))
