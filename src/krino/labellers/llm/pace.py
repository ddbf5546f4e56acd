"""When requests may be sent: how many at once, how many a minute, and when an endpoint counts as dead.

The useful number of requests in flight is found by trying: it doubles each round trip until the endpoint first pushes
back (429, 5xx, a time-out), then grows by one a round trip and is cut by a third at each push-back, as TCP does.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

CUT = 0.67
BURST_SECONDS = 5.0  # a minute's allowance of tokens is given out in slices of this length
EVEN_SECONDS = 0.04  # and one of requests in these: an endpoint that allows fifty a second means each second
NAP = 0.5  # seconds after which a waiting request looks again whether it still has to wait


@dataclass(slots=True)
class Bucket:
    """An allowance per minute that refills steadily. It may go below zero once, so that big requests get through."""

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
    """Call `acquire` before a request, `release` after it, and report how it went."""

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
        """Wait for a free slot and the right time; returns the time at which the request starts."""
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
        self.in_flight -= 1
        self._wake()

    def correct(self, estimated: int, real: int) -> None:
        """Book the difference once the reply says what the request really took."""
        if self._tokens:
            self._tokens.take(real - estimated, self.clock())

    def went_well(self) -> None:
        self._bad_run = 0
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + (1.0 if self._slow_start else 1.0 / self.limit))
            self._wake()

    def push_back(self, started: float, hold: float | None = None) -> None:
        """The endpoint is too busy: lower the limit, at most once per round trip (older requests do not count).

        A single 429 delays its own request only; a second one without a success in between delays all of them.
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
        """The run is stopping: wake everyone who waits for a slot or for a time. They check for the stop themselves."""
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
        return max(self._hold_until - now, *waits, 0.0)

    async def _queue(self) -> None:
        """Wait until `_wake` hands over a slot; a caller that is cancelled with a slot in hand gives it back."""
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
        """Give free slots to those who wait longest; they count as taken at once, so that nobody slips in between."""
        while self._waiting and self.in_flight < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


# --- dead or alive ---------------------------------------------------------------------------------

PATIENCE = 290.0
"""Seconds without anything getting through before the run stops: somewhat less than five minutes."""
LONE = 0.8
"""The part of the patience after which a request that alone is in trouble is given up: another request can then show
whether the endpoint or the case is to blame."""
SHORTEST_TRY = 5.0
"""Seconds that a try gets at least, however little of the patience is left."""
LONGEST_WAIT = 120.0
"""The longest wait in seconds that an endpoint may ask for; if it asks for more, the run stops."""
IDLE = 60.0
"""Seconds without any request after which old trouble is forgotten."""


def patience_with_silence(timeout: float) -> float:
    """Long enough for one time-out and a short try after it."""
    return max(PATIENCE, timeout + 50.0)


@dataclass(slots=True)
class Liveness:
    """Whether anything gets through to an endpoint at all. Everybody who asks it shares one, so that a dead endpoint
    is found dead in minutes however many are waiting. It is told of every try; times are those of one clock."""

    heard_patience: float = PATIENCE
    """Seconds of errors before the endpoint counts as dead."""
    silent_patience: float = PATIENCE
    """The same once a try has timed out: a model that reasons for minutes is silent for that long."""
    since: float | None = None
    """When the trouble began; None while requests get through."""
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
        return self.silent_patience if self._timed_out else self.heard_patience

    def begin(self, now: float) -> None:
        """One request begins its tries; `end` must follow. Trouble from before a long idle time is forgotten."""
        if not self._under_way and now - self._idle_since > IDLE:
            self.got_through(now)
        self._under_way += 1

    def end(self, now: float) -> None:
        """One request is through with its tries, however they ended."""
        self._under_way -= 1
        self._idle_since = now

    def got_through(self, now: float) -> None:
        self.since, self.trouble, self.tries, self._last_success = None, "", 0, now
        self._timed_out = False
        self._failing.clear()

    def failed(self, request: int, started: float, trouble: str, *, timed_out: bool = False) -> None:
        """A try has failed. A wait that the endpoint asked for counts as trouble; waiting for our own pace does not."""
        if self.since is None:
            self.since = max(self._last_success, started - LONGEST_WAIT)
        self.trouble = trouble
        self._timed_out |= timed_out
        self.tries += 1
        self._failing.add(request)

    def lasted(self, now: float) -> float:
        """Seconds since anything got through, while it was tried."""
        return 0.0 if self.since is None else now - self.since

    def is_dead(self, now: float) -> bool:
        """Whether the run should stop. A single failed try proves nothing, however long it took."""
        return self.tries > 1 and self.lasted(now) >= self.patience

    def lone_is_lost(self, now: float) -> bool:
        """Whether the only request in trouble should be given up, so that others can show if the endpoint works."""
        return self.tries > 1 and len(self._failing) == 1 and self.lasted(now) >= LONE * self.patience

    def left(self, now: float) -> float:
        """Seconds until the endpoint counts as dead."""
        return self.patience - self.lasted(now)

    def time_for_a_try(self, timeout: float, now: float) -> float:
        """The time-out of the next try: in trouble it is cut, so that it does not outlast the patience by much. The
        only request in trouble leaves half of the time to others, who can show whether the endpoint works."""
        if self.since is None:
            return timeout
        left = self.left(now) / 2 if len(self._failing) == 1 else self.left(now)
        return min(timeout, max(SHORTEST_TRY, left))
