"""Ctrl-C and SIGTERM while cases are judged: what is in flight is finished first, and a read that waits is broken off.

Cases are read on the thread that also runs the event loop. A handler of the loop would never be called while a read
waits for a pipe that gives nothing; an ordinary one is, and may raise: it does so only in the middle of a read.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krino.cases.item import CaseItem

if TYPE_CHECKING:
    from rich.console import Console

    from krino.runs.manifest import Manifest
    from krino.runs.session import Session

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _BrokenOff(BaseException):
    """Leaves a read that waits. No `Exception`: readers and judges may catch those."""


@dataclass(slots=True)
class Interrupting:
    """Once: finish what is in flight. Twice: leave at once. Nothing finished is lost either way."""

    session: Session
    console: Console
    _reading: bool = False
    _signals: int = 0
    _task: asyncio.Future[Manifest] | None = field(default=None)

    async def run(self, cases: Callable[[], Iterator[CaseItem]]) -> Manifest:
        """The session to its end, or until it is told to stop."""
        self._task = asyncio.ensure_future(self.session.run(lambda: self._breakable(cases())))
        with self._handling(asyncio.get_running_loop()):
            return await self._task

    def _breakable(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """The items, until a signal breaks off the reading of the next one."""
        while True:
            try:
                try:
                    self._reading = True  # from here on a signal raises; one that came before has been counted
                    item = None if self._signals else next(items, None)
                finally:
                    self._reading = False
            except _BrokenOff:
                self._reading = False
                self.session.interrupt()
                return
            if item is None:
                if self._signals:
                    self.session.interrupt()
                return
            yield item

    @contextlib.contextmanager
    def _handling(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        def on_signal(number: int, frame: Any) -> None:
            self._signals += 1
            loop.call_soon_threadsafe(self._stop if self._signals == 1 else self._leave)
            if self._reading:
                self._reading = False
                raise _BrokenOff

        before = {number: signal.signal(number, on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)  # None: not set by Python

    def _stop(self) -> None:
        self.console.print("stopping: waiting for replies in flight (Ctrl-C again to leave them)")
        self.session.interrupt()

    def _leave(self) -> None:
        if self._task is not None:
            self._task.cancel()
