"""The engine of this process: a fixed number of tasks on one event loop take cases from one stream.

Before a case is begun, before its prompt is written and before it is sent (`labellers.llm.labeller`), a task lets the
others run. So many cases go through the same code in a row, which takes 9 % less CPU time than to take each case from
its start to its request in one go (1.97 instead of 2.17 ms a case on a busy machine, `benchmarks/client_cost.py`).
Once a reply is there, nothing waits: the case goes on to its record.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from krino.engine.case import carry
from krino.engine.interface import Assignment, OpenCase, Receive
from krino.errors import RunStopped


class LocalPool:
    """An `Engine`. It has as many workers as the labeller takes cases at a time."""

    def __init__(self) -> None:
        self._stopping = False
        self._reason: Exception | None = None
        """Why it ended early: a reason to stop the run, or a fault of the stream."""
        self._assignment: Assignment | None = None
        self._stream = asyncio.Lock()
        """Held while the stream is asked for its next case."""

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        """Runs as many tasks as the labeller can use, until the stream of cases ends; then raises why it ended early,
        if it did."""
        self._assignment = assignment
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

    @property
    def is_stopping(self) -> bool:
        """Whether no more cases are begun."""
        return self._stopping

    def stop(self) -> None:
        self._stopping = True
        if self._assignment is not None:
            self._assignment.labeller.stop()

    async def _work(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        """Takes cases from the stream, judges them and hands them on, one after another, until the stream ends or the
        run stops."""
        while (case := await self._next(cases)) is not None:
            if self._stopping:
                await receive([(case, None)])
                return
            try:
                judged = await carry(
                    assignment.judge, assignment.labeller, case.item, case.digest, assignment.case_seconds
                )
            except RunStopped as reason:
                self._end(reason)
                await receive([(case, None)])
                return
            stop = judged.stop
            try:
                await receive([(case, judged.judgement)])
            except RunStopped as reason:
                stop = stop or reason
            judged.keep_view(assignment.judge, assignment.views, assignment.case_seconds)
            if stop is not None:
                self._end(stop)
            await asyncio.sleep(0)  # cases that need no call must not keep the others from their replies

    async def _next(self, cases: AsyncIterator[OpenCase]) -> OpenCase | None:
        """Returns the next case; None at the end of the stream, when stopping, or if the stream breaks, which stops the
        pool."""
        async with self._stream:
            if self._stopping:
                return None
            try:
                return await anext(cases, None)
            except Exception as fault:  # the stream is broken; what is under way is paid for and may finish
                self._reason, self._stopping = self._reason or fault, True
                return None

    def _end(self, reason: RunStopped) -> None:
        self._reason = self._reason or reason
        self.stop()
