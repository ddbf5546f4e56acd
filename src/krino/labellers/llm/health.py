"""Whether anything gets through to an endpoint at all: one clock for everybody who asks it, so that a dead one is
found dead in minutes however many are waiting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

PATIENCE = 290.0
"""Seconds without anything getting through before the run stops: somewhat less than five minutes."""
LONE = 0.8
"""The part of it after which a request that alone is in trouble is given up, so that another can show whether the
endpoint or the case is to blame."""
SHORTEST_TRY = 5.0
"""Seconds that a try has at least, however little of the patience is left."""
LONGEST_WAIT = 120.0
"""Seconds that an endpoint may ask to be left alone; while it is, nobody can tell whether it lives."""
IDLE = 60.0
"""Seconds without any request after which old trouble says nothing."""


def usual_patience(timeout: float) -> float:
    """Time for two replies that never come, and for another request to be tried after them."""
    return max(PATIENCE, 2 * timeout + 50.0)


@dataclass(slots=True)
class Health:
    """Told of every try; moments are those of one clock."""

    patience: float
    since: float | None = None
    """When the trouble began: when something last got through, or the first try that failed since (see `failed`)."""
    trouble: str = ""
    """What went wrong last."""
    tries: int = 0
    _victims: set[int] = field(default_factory=set)
    _watched: int = 0
    _calm_at: float = 0.0
    _left_at: float = -math.inf

    @contextmanager
    def watching(self, clock: Callable[[], float]) -> Iterator[None]:
        """While a request is made, with all its tries. Trouble from before a long rest says nothing."""
        if not self._watched and clock() - self._left_at > IDLE:
            self.got_through(clock())
        self._watched += 1
        try:
            yield
        finally:
            self._watched -= 1
            self._left_at = clock()

    def got_through(self, now: float) -> None:
        self.since, self.trouble, self.tries, self._calm_at = None, "", 0, now
        self._victims.clear()

    def failed(self, request: int, started: float, trouble: str) -> None:
        """A wait that the endpoint asked for before is part of the trouble; a pace of our own is not."""
        if self.since is None:
            self.since = max(self._calm_at, started - LONGEST_WAIT)
        self.trouble = trouble
        self.tries += 1
        self._victims.add(request)

    def lasted(self, now: float) -> float:
        """Seconds since anything got through, while it was tried."""
        return 0.0 if self.since is None else now - self.since

    def is_dead(self, now: float) -> bool:
        """One lost request proves nothing, however long it took."""
        return self.tries > 1 and self.lasted(now) >= self.patience

    def lone_is_lost(self, now: float) -> bool:
        """Whether the one request that is in trouble has had its time."""
        return self.tries > 1 and len(self._victims) == 1 and self.lasted(now) >= LONE * self.patience

    def left(self, now: float) -> float:
        """Seconds until the endpoint counts as dead."""
        return self.patience - self.lasted(now)

    def time_for_a_try(self, timeout: float, now: float) -> float:
        """While there is trouble a try may not outlast the patience by much."""
        return timeout if self.since is None else min(timeout, max(SHORTEST_TRY, self.left(now)))
