"""The engine of all cores: worker processes, each with a judge and an embedded labeller of its own.

Cases go out in batches and judgements come back; the journal, the roll and the budget stay with the process that
started it. A worker that dies costs nothing but time: its cases are judged again, one by one in a process apart, and
only a case that kills that one too is an error.
"""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import NamedTuple

from krino.engine.case import AnyJudge, Judged, carry, without_verdict
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, Engine, OpenCase, Receive
from krino.errors import RunStopped, UsageProblem
from krino.judges.reference import JudgeReference
from krino.labellers.local import LocalLabeller

BATCH = 16
FEW = 96
"""Cases that this process judges by itself first: a small run is over before other processes have started."""
DIED = (
    "the worker process that judged this case died twice (killed, or out of memory); the same command tries it again, "
    "--workers 1 judges in one process"
)


def usable_cores() -> int:
    """The cores that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class AllCores:
    """An `Engine` for runs that are labelled on this machine."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or usable_cores()
        self._current: Engine = LocalPool()
        self._stopping = False

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        if not isinstance(assignment.labeller, LocalLabeller):
            raise UsageProblem("--workers is for the embedded labeller; a model is asked by one process: leave it out")
        alone = self._workers == 1
        await self._current.run(assignment, cases if alone else _first(cases, FEW), receive)
        if not alone and not self._stopping:
            self._current = _Processes(self._workers)
            await self._current.run(assignment, cases, receive)

    def stop(self) -> None:
        self._stopping = True
        self._current.stop()


async def _first(cases: AsyncIterator[OpenCase], count: int) -> AsyncGenerator[OpenCase, None]:
    for _ in range(count):
        try:
            yield await anext(cases)
        except StopAsyncIteration:
            return


class _Processes:
    """As many worker processes as asked for; two batches a worker are under way, so that none waits for the next."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._stopping = False
        self._reason: Exception | None = None

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        reading = asyncio.Lock()
        with _Crew(self._workers, assignment.judge) as crew:
            feeders = [asyncio.create_task(self._feed(crew, cases, reading, receive)) for _ in range(2 * self._workers)]
            try:
                await asyncio.gather(*feeders)
            except BaseException:
                for feeder in feeders:
                    feeder.cancel()
                await asyncio.gather(*feeders, return_exceptions=True)
                raise
        if self._reason is not None:
            raise self._reason

    def stop(self) -> None:
        self._stopping = True

    async def _feed(self, crew: _Crew, cases: AsyncIterator[OpenCase], reading: asyncio.Lock, receive: Receive) -> None:
        while batch := await self._next(cases, reading):
            if self._stopping:
                for case in batch:
                    await receive(case.item, None)
                return
            for case, judged in zip(batch, await crew.judge(batch), strict=True):
                await self._hand_over(case, judged, receive)

    async def _hand_over(self, case: OpenCase, judged: Judged, receive: Receive) -> None:
        stop = judged.stop
        try:
            await receive(case.item, judged.judgement)
        except RunStopped as reason:
            stop = stop or reason
        if stop is not None:
            self._reason, self._stopping = self._reason or stop, True

    async def _next(self, cases: AsyncIterator[OpenCase], reading: asyncio.Lock) -> list[OpenCase]:
        batch: list[OpenCase] = []
        async with reading:
            try:
                while len(batch) < BATCH and not self._stopping:
                    batch.append(await anext(cases))
            except StopAsyncIteration:
                pass
            except Exception as fault:  # the stream is broken; what was read before it is judged
                self._reason, self._stopping = self._reason or fault, True
        return batch


# --- the processes -----------------------------------------------------------------------------------


class _Crew:
    """Worker processes that can be replaced when one of them dies."""

    def __init__(self, workers: int, judge: AnyJudge) -> None:
        self._judge = judge
        self._reference = JudgeReference.of(judge)
        self._workers = workers
        self._pool = self._started(workers)
        self._apart = asyncio.Lock()

    def __enter__(self) -> _Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def judge(self, batch: list[OpenCase]) -> list[Judged]:
        pool = self._pool
        try:
            return await _judged_by(pool, batch)
        except BrokenProcessPool:
            if self._pool is pool:  # the first to notice replaces it
                pool.shutdown(wait=False)
                self._pool = self._started(self._workers)
        return [await self._judge_apart(case) for case in batch]

    async def _judge_apart(self, case: OpenCase) -> Judged:
        """When a process dies, nobody can say on which of the cases that were out: each is tried by itself."""
        async with self._apart:
            with self._started(1) as pool:
                try:
                    return (await _judged_by(pool, [case]))[0]
                except BrokenProcessPool:
                    return Judged(without_verdict(self._judge, case.item, case.digest, "error", DIED))

    def _started(self, workers: int) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # a fork would copy the event loop and the threads of models
        return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(self._reference,))


async def _judged_by(pool: ProcessPoolExecutor, batch: list[OpenCase]) -> list[Judged]:
    return await asyncio.get_running_loop().run_in_executor(pool, _judge_batch, batch)


class _Worker(NamedTuple):
    """What a worker process holds from its start to its end."""

    judge: AnyJudge
    labeller: LocalLabeller
    loop: asyncio.AbstractEventLoop


_worker: _Worker | Exception | None = None


def _begin(reference: JudgeReference) -> None:
    """In the new process. A judge that cannot be built is told when the first case comes: dying would tell nothing."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the starter alone decides
    threading.Thread(target=_end_with_starter, daemon=True).start()
    os.environ["KRINO_THREADS"] = "1"  # the processes share the cores already
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)
    try:
        _worker = _Worker(reference.load(), LocalLabeller(), asyncio.new_event_loop())
    except Exception as fault:
        _worker = fault


def _end_with_starter() -> None:
    """A worker whose starter was killed has nobody to work for, and would wait for ever."""
    starter = multiprocessing.parent_process()
    if starter is not None:
        wait([starter.sentinel])
        os._exit(1)


def _judge_batch(batch: list[OpenCase]) -> list[Judged]:
    if not isinstance(_worker, _Worker):
        raise UsageProblem(f"a worker process could not build the judge: {_worker}; --workers 1 judges in one process")
    judge, labeller, loop = _worker
    return loop.run_until_complete(_carried(judge, labeller, batch))


async def _carried(judge: AnyJudge, labeller: LocalLabeller, batch: list[OpenCase]) -> list[Judged]:
    return list(await asyncio.gather(*(carry(judge, labeller, case.item, case.digest) for case in batch)))
