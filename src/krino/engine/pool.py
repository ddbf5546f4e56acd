"""The engine of this machine: a fixed number of workers on one event loop take cases from one stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from krino.contract.in_step import Turns, in_step
from krino.engine.case import carry
from krino.engine.protocol import Assignment, OpenCase, Receive
from krino.errors import RunStopped


class LocalPool:
    """An `Engine`. It has as many workers as the labeller takes cases at a time."""

    def __init__(self) -> None:
        self._stopping = False
        self._reason: Exception | None = None
        """Why it ended early: a reason to stop the run, or a fault of the stream."""
        self._assignment: Assignment | None = None
        self._free = asyncio.Event()
        """Set while no worker asks the stream for a case: it can be asked for one at a time. A lock would let those who
        waited go on one by one, a turn of the loop apart, and no two of them would take a step together ever after."""

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        self._assignment = assignment
        self._free.set()
        workers = [
            asyncio.create_task(self._work(assignment, cases, receive)) for _ in range(assignment.labeller.workers)
        ]
        try:
            await asyncio.gather(*workers)
        except BaseException:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            raise
        if self._reason is not None:
            raise self._reason

    def stop(self) -> None:
        self._stopping = True
        if self._assignment is not None:
            self._assignment.labeller.stop()

    async def _work(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        while (case := await self._next(cases)) is not None:
            if self._stopping:
                await receive([(case, None)])
                return
            turns = Turns()
            try:
                judged = await carry(
                    assignment.judge, assignment.labeller, case.item, case.digest, turns, assignment.case_seconds
                )
            except RunStopped as reason:
                self._end(reason)
                await receive([(case, None)])
                return
            stop = judged.stop
            try:
                await turns.finish()
                await receive([(case, judged.judgement)])
            except RunStopped as reason:
                stop = stop or reason
            judged.keep_view(assignment.judge, assignment.views, assignment.case_seconds)
            if stop is not None:
                self._end(stop)
            turns.end()
            await in_step()  # not while the stream is held: the other workers would queue for it ever after

    async def _next(self, cases: AsyncIterator[OpenCase]) -> OpenCase | None:
        while not self._free.is_set():
            await self._free.wait()
        if self._stopping:
            return None
        self._free.clear()
        try:
            return await anext(cases, None)
        except Exception as fault:  # the stream is broken; what is under way is paid for and may finish
            self._reason, self._stopping = self._reason or fault, True
            return None
        finally:
            self._free.set()

    def _end(self, reason: RunStopped) -> None:
        self._reason = self._reason or reason
        self.stop()
