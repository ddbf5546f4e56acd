"""Lets replies that come in one by one go on in company, a lot at a time.

What becomes of a reply takes many steps, and a step costs far less in a row with the same one of other cases (see
`contract.in_step`). Replies arrive a few at a time; each few would go its own way, always a step behind the few before.
Here they wait for each other. Meanwhile other requests take their places at the endpoint, so it is kept as busy.
"""

from __future__ import annotations

import asyncio

LONGEST = 0.05
"""Seconds that the first reply of a lot waits for the others."""


class Gathering:
    """Entered (`with`) while a reply is awaited, and joined with the reply.

    `most`: replies that make a lot. Where nothing else is awaited, a reply waits for nobody.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._awaited = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        self._awaited += 1

    def __exit__(self, *_: object) -> None:
        self._awaited -= 1

    async def join(self) -> None:
        """Until the lot goes on. The reply is paid for: one that is cancelled meanwhile goes on alone, and is told
        when it waits for the next time."""
        if not self._awaited or len(self._waiting) + 1 >= self._most:
            self._go_on()
            return
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            self._timer = loop.call_later(LONGEST, self._go_on)
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError as cancelled:
            _cancel_later(cancelled)
        finally:
            if turn in self._waiting:  # its loop may have ended: those who come next must not take it for company
                self._waiting.remove(turn)

    def _go_on(self) -> None:
        lot, self._waiting = self._waiting, []
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for turn in lot:
            if not turn.done():
                turn.set_result(None)


def _cancel_later(cancelled: asyncio.CancelledError) -> None:
    """Cancel the running task again at the next place where it waits."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()  # or it would count as cancelled twice, and no `asyncio.timeout` would know its own cancelling
    task.cancel(*cancelled.args)
