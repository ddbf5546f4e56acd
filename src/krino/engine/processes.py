"""The engine of all cores: a crew (`engine.crew`) whose workers are processes of this machine."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import cast

from krino.engine.crew import Crew, WorkerLost
from krino.engine.desk import Desk, FromWorker, Kit, ToWorker
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, Engine, OpenCase, Receive
from krino.labellers.local import LocalLabeller

FEW = 96
"""Cases that this process judges by itself first: a small run is over before other processes have started."""


def usable_cores() -> int:
    """The cores that this process may use, which can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class AllCores:
    """An `Engine`: this process alone for a small run or a single worker, else worker processes."""

    def __init__(self, workers: int | None = None) -> None:
        self._workers = workers or usable_cores()
        self._current: Engine = LocalPool()
        self._stopping = False

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        alone = self._workers == 1
        if alone or isinstance(assignment.labeller, LocalLabeller):
            await self._current.run(assignment, cases if alone else _first(cases, FEW), receive)
        if not alone and not self._stopping:
            self._current = Crew(self._workers, ProcessLink.hire)
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


class ProcessLink:
    """A `Link` to a process, over a pipe. When either side is gone, the other one reads the end of the pipe."""

    def __init__(self, kit: Kit) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy the event loop and the threads of models
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, kit), name="krino-worker", daemon=True)
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
        try:
            heard = await asyncio.get_running_loop().run_in_executor(self._threads, self._pipe.recv)
        except (EOFError, OSError):
            raise WorkerLost("its process has ended") from None
        return cast(list[FromWorker], heard)

    async def close(self) -> None:
        self._process.kill()  # it writes no files; all that counts has been said
        await asyncio.get_running_loop().run_in_executor(None, self._process.join)
        self._threads.shutdown(wait=True)
        self._pipe.close()
        self._process.close()


def _work(pipe: Connection[list[FromWorker], list[ToWorker]], kit: Kit) -> None:
    """In the new process, until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the starter alone decides
    kit.forget_keys()
    desk = Desk(kit)
    threading.Thread(target=_listen, args=(pipe, desk), daemon=True).start()
    while True:
        pipe.send(desk.hear())


def _listen(pipe: Connection[list[FromWorker], list[ToWorker]], desk: Desk) -> None:
    try:
        while True:
            desk.take(pipe.recv())
    finally:
        os._exit(1)  # a worker whose starter is gone has nobody to work for
