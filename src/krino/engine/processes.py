"""The engine of all cores: a crew (`engine.crew`) whose workers are processes of this machine."""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import signal
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
from krino.engine.crew import Crew, WorkerLost
from krino.engine.desk import LIFE, Desk, FromWorker, Kit, ToWorker
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, Engine, OpenCase, ReceiveAny
from krino.engine.started import environment_without
from krino.labellers.local import LocalLabeller
from krino.text.faults import named

FEW = 96
"""Fewer cases than that are judged by this process itself: they are done before other processes have started."""
AT_ONCE = 1.0
"""Seconds in which those must have been read. A stream that gives fewer is not kept waiting for more of them."""


def usable_cores() -> int:
    """The cores that this process may use, which can be fewer than the machine has."""
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
        self._current = Crew(1 if small else self._workers, ProcessLink.hire)
        await self._current.run(assignment, stream, receive)

    def stop(self) -> None:
        self._stopping = True
        self._current.stop()


def is_apart(judge: AnyJudge, seconds: float) -> bool:
    """Whether workers judge the cases of this judge, however few they are."""
    return seconds > 0 and type(judge).__module__.partition(".")[0] != "krino"


class _Ahead:
    """A stream of cases that can be looked at before it is used."""

    def __init__(self, cases: AsyncIterator[OpenCase]) -> None:
        self._cases = cases
        self._held: deque[OpenCase] = deque()
        self._end: Exception | None = None
        """How the stream ended, also where something broke it off: that is told after the cases before it."""

    def __aiter__(self) -> _Ahead:
        return self

    async def __anext__(self) -> OpenCase:
        if self._held:
            return self._held.popleft()
        if self._end is None:
            try:
                return await anext(self._cases)
            except Exception as end:
                self._end = end
        raise self._end

    async def has(self, count: int, seconds: float = math.inf) -> bool:
        """Whether so many cases are there, or come in this time."""
        begun = time.monotonic()
        try:
            while len(self._held) < count and self._end is None and time.monotonic() - begun < seconds:
                self._held.append(await anext(self._cases))
        except Exception as end:
            self._end = end
        return len(self._held) >= count

    @property
    def is_at_end(self) -> bool:
        """Whether nothing comes after what was looked at."""
        return self._end is not None

    async def first(self, count: int) -> AsyncGenerator[OpenCase, None]:
        for _ in range(count):
            try:
                yield await anext(self)
            except StopAsyncIteration:
                return

    async def give_back(self, receive: ReceiveAny) -> None:
        """The cases that were read, of a run that was stopped before anybody had them."""
        held, self._held = self._held, deque()
        await receive([(case, None) for case in held])


class ProcessLink:
    """A `Link` to a process, over a pipe. When either side is gone, the other one reads the end of the pipe."""

    def __init__(self, kit: Kit) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy the event loop and the threads of models
        self._pipe, theirs = context.Pipe()
        self._pulse = context.RawValue("Q", 0)
        self._patience = longest_silence(kit.case_seconds) + 2 * LIFE
        work = (theirs, kit, self._pulse)
        self._process = context.Process(target=_work, args=work, name="krino-worker", daemon=True)
        with environment_without(kit.keys_in):
            self._process.start()
        theirs.close()
        self._threads = ThreadPoolExecutor(2, "krino-link")  # one may send while the other waits

    @classmethod
    async def hire(cls, kit: Kit) -> ProcessLink:
        return cls(kit)

    async def send(self, messages: list[ToWorker]) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._pipe.send, messages)
        except OSError as error:
            raise WorkerLost(str(error)) from None

    async def receive(self) -> list[FromWorker]:
        hearing = asyncio.get_running_loop().run_in_executor(self._threads, self._pipe.recv)
        try:
            await self._heard_or_stopped(hearing)
            heard = hearing.result()
        except (EOFError, OSError):
            raise WorkerLost("its process has ended") from None
        except Exception as fault:  # a judge has written into the pipe
            raise WorkerLost(f"what it says cannot be read: {named(fault)}") from None
        finally:
            hearing.cancel()
        if not isinstance(heard, list) or not all(isinstance(message, FromWorker) for message in heard):
            raise WorkerLost("what it says makes no sense")
        return heard

    async def _heard_or_stopped(self, hearing: asyncio.Future[Any]) -> None:
        """Until a message is there; raises `WorkerLost` where there is no sign of life for longer than a case may take.
        Seconds are counted one by one: while this process itself is stopped, none goes by."""
        quiet, last = 0, self._pulse.value
        while not (await asyncio.wait({hearing}, timeout=1.0))[0]:
            quiet = quiet + 1 if self._pulse.value == last else 0
            last = self._pulse.value
            if last and quiet > self._patience:  # nothing was heard of it yet while its judge is loaded
                raise WorkerLost("its process was stopped")

    async def close(self) -> None:
        self._process.kill()  # it writes no files; all that counts has been said
        await asyncio.get_running_loop().run_in_executor(None, self._process.join)
        self._threads.shutdown(wait=True)
        self._pipe.close()
        self._process.close()


def _work(pipe: Connection[list[FromWorker], list[ToWorker]], kit: Kit, pulse: Any) -> None:
    """In the new process, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the starter alone decides
    kit.forget_keys()

    def say(messages: list[FromWorker]) -> None:
        try:
            pipe.send(messages)
        except OSError:  # the starter is gone, or a judge has closed our files: nobody hears us any more
            os._exit(1)

    def show_life() -> None:
        pulse.value += 1

    desk = Desk(kit, say, show_life)
    listening = threading.Thread(target=_listen, args=(pipe, desk))
    listening.start()
    desk.work()
    listening.join()


def _listen(pipe: Connection[list[FromWorker], list[ToWorker]], desk: Desk) -> None:
    try:
        while True:
            desk.take(pipe.recv())
    finally:
        os._exit(1)  # a worker whose starter is gone has nobody to work for
