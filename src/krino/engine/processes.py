"""The engine of all cores: a worker pool (`engine.worker_pool`) whose workers are processes of this machine."""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from krino.contract import AnyJudge
from krino.contract.code_limit import longest_silence
from krino.engine.child_process import ChildProcess
from krino.engine.interface import Assignment, Engine, OpenCase, ReceiveAny
from krino.engine.pool import LocalPool
from krino.engine.worker import HEARTBEAT, Worker
from krino.engine.worker_messages import FromWorker, ToWorker, WorkerSetup
from krino.engine.worker_pool import WorkerLost, WorkerPool
from krino.labellers.local import LocalLabeller
from krino.text.faults import describe_exception

FEW = 96
"""Fewer cases than this are judged in this process: they are done before other processes have started."""
AT_ONCE = 1.0
"""Seconds in which those must have been read. A slower stream is not waited for."""


def usable_cores() -> int:
    """Returns how many cores this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class AllCores:
    """An `Engine`: this process alone for a small run or a single worker, else worker processes.

    A judge that is not Krino's own is given to workers, however small the run: it may close files, end its process or
    never come to an end, and then the case is an error and not the run. Without a limit of time (`case_seconds`) it is
    treated as Krino's are: a case that kills its process kills a small run, but once only: given again, its cases go to
    workers.

    A worker keeps to one core. Embedded labelling in this process uses all of them for a small run, and one if a
    single worker was asked for.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or usable_cores()
        self._current: Engine = LocalPool()
        self._stopping = False

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: ReceiveAny) -> None:
        """Judges few cases in this process, and many or dangerous ones in worker processes. Cases that were read ahead
        when the run is stopped are handed back without a judgement."""
        labeller = assignment.labeller
        apart = assignment.may_kill or is_apart(assignment.judge, assignment.case_seconds)
        if self._workers == 1 and not apart:
            if isinstance(labeller, LocalLabeller):
                assignment = replace(assignment, labeller=LocalLabeller(labeller.batch, one_core=True))
            await self._current.run(assignment, cases, receive)
            return
        stream = _Ahead(cases)
        small = False
        if isinstance(labeller, LocalLabeller):
            few = not await stream.has(FEW, AT_ONCE)
            small = few and stream.is_at_end
            # What may kill its process is given to workers, however little it is.
            if few and not apart:
                await self._current.run(assignment, stream.first(FEW), receive)
            if not await stream.has(1):
                return
        if self._stopping:
            await stream.give_back(receive)
            return
        self._current = WorkerPool(1 if small else self._workers, ProcessLink.start)
        await self._current.run(assignment, stream, receive)

    def stop(self) -> None:
        self._stopping = True
        self._current.stop()


def is_apart(judge: AnyJudge, seconds: float) -> bool:
    """Whether workers judge the cases of this judge, however few they are."""
    return seconds > 0 and type(judge).__module__.partition(".")[0] != "krino"


class _Ahead:
    """A stream of cases with a look ahead."""

    def __init__(self, cases: AsyncIterator[OpenCase]) -> None:
        self._cases = cases
        self._held: deque[OpenCase] = deque()
        self._end: Exception | None = None
        """How the stream ended, or the fault that broke it off; raised after the cases before it."""

    def __aiter__(self) -> _Ahead:
        return self

    async def __anext__(self) -> OpenCase:
        """Returns the next case: one that was read ahead, or one from the stream."""
        if self._held:
            return self._held.popleft()
        if self._end is None:
            try:
                return await anext(self._cases)
            except Exception as end:
                self._end = end
        raise self._end

    async def has(self, count: int, seconds: float = math.inf) -> bool:
        """Reads ahead until this many cases are held, and returns true; false if the stream ends or the time is over
        first."""
        begun = time.monotonic()
        try:
            while len(self._held) < count and self._end is None and time.monotonic() - begun < seconds:
                self._held.append(await anext(self._cases))
        except Exception as end:
            self._end = end
        return len(self._held) >= count

    @property
    def is_at_end(self) -> bool:
        """Whether no case follows those that were read ahead."""
        return self._end is not None

    async def first(self, count: int) -> AsyncGenerator[OpenCase, None]:
        """Yields at most `count` cases."""
        for _ in range(count):
            try:
                yield await anext(self)
            except StopAsyncIteration:
                return

    async def give_back(self, receive: ReceiveAny) -> None:
        """Hands back the cases that were read ahead, without judgements: the run was stopped before they were begun."""
        held, self._held = self._held, deque()
        await receive([(case, None) for case in held])


class ProcessLink:
    """A `Link` to a process of this machine."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._pulse = multiprocessing.get_context("spawn").RawValue("Q", 0)
        """Counts the signs of life of the worker."""
        self._patience = longest_silence(setup.case_seconds) + 2 * HEARTBEAT
        self._child = ChildProcess(_serve_pool, setup, self._pulse, name="krino-worker", without=setup.keys_in)
        self._threads = ThreadPoolExecutor(2, "krino-link")  # one may send while the other waits

    @classmethod
    async def start(cls, setup: WorkerSetup) -> ProcessLink:
        return cls(setup)

    async def send(self, messages: list[ToWorker]) -> None:
        """Sends messages to the worker process; raises `WorkerLost` if its pipe is broken."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._child.pipe.send, messages)
        except OSError as error:
            raise WorkerLost(str(error)) from None

    async def receive(self) -> list[FromWorker]:
        """Returns the next messages of the worker process; a broken pipe or message raises `WorkerLost`."""
        receiving = asyncio.get_running_loop().run_in_executor(self._threads, self._child.pipe.recv)
        try:
            await self._wait_while_alive(receiving)
            messages = receiving.result()
        except (EOFError, OSError):
            raise WorkerLost("its process has ended") from None
        except Exception as fault:  # a judge has written into the pipe
            raise WorkerLost(f"its message cannot be read: {describe_exception(fault)}") from None
        finally:
            receiving.cancel()
        if not isinstance(messages, list) or not all(isinstance(message, FromWorker) for message in messages):
            raise WorkerLost("its message makes no sense")
        return messages

    async def _wait_while_alive(self, receiving: asyncio.Future[Any]) -> None:
        """Waits for the next messages; raises `WorkerLost` without a sign of life for longer than a case may take.
        Seconds are counted one by one: while this process itself is stopped, none goes by."""
        quiet, last = 0, self._pulse.value
        while not (await asyncio.wait({receiving}, timeout=1.0))[0]:
            quiet = quiet + 1 if self._pulse.value == last else 0
            last = self._pulse.value
            if last and quiet > self._patience:  # there is no sign of life yet while the judge is loaded
                raise WorkerLost("its process was stopped")

    async def close(self) -> None:
        """Kills the worker process, and waits until it has ended."""
        self._child.kill()  # it writes no files; everything that counts was sent
        await asyncio.get_running_loop().run_in_executor(None, self._child.join)
        self._threads.shutdown(wait=True)


def _serve_pool(pipe: Connection[list[FromWorker], list[ToWorker]], setup: WorkerSetup, pulse: Any) -> None:
    """Runs the worker in its new process until the pipe ends."""
    setup.forget_keys()

    def send(messages: list[FromWorker]) -> None:
        """Sends messages to the parent, and ends this process if that is impossible."""
        try:
            pipe.send(messages)
        except OSError:  # the parent is gone, or a judge has closed our files: nobody can be reached any more
            os._exit(1)

    def show_life() -> None:
        pulse.value += 1

    worker = Worker(setup, send, show_life)
    receiving = threading.Thread(target=_receive, args=(pipe, worker))
    receiving.start()
    worker.work()
    receiving.join()


def _receive(pipe: Connection[list[FromWorker], list[ToWorker]], worker: Worker) -> None:
    """Gives the parent's messages to the worker, and ends the process when the pipe closes."""
    try:
        while True:
            worker.receive(pipe.recv())
    finally:
        os._exit(1)  # the parent is gone
