"""The worker's side of a crew: a judge and a labeller, built once, and the cases that come in over a link.

A desk works on a thread of its own, so that it hears and answers its link while it judges. What it does with a case is
what the engine of one process does (`engine.pool`); only where cases come from and judgements go is different.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import queue
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from krino.cases.item import CaseItem
from krino.contract import Judgement, Source
from krino.engine.case import Written, written
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, OpenCase
from krino.errors import LabelFailed, RunStopped, UsageProblem
from krino.judges.reference import JudgeReference
from krino.labellers.travel import Call, Packed

GATHER = 0.1
"""Seconds for which news is gathered before it goes out: messages cost more than what is in them."""
GATHER_CALLS = 0.005
"""The same while a call waits for its answer."""
GLANCE = 0.02
"""Seconds until a worker that gathers looks whether there is anything to gather at all."""


def keep_to_one_core() -> None:
    """From now on models are loaded for one thread, unless the user has set another number."""
    os.environ.setdefault("KRINO_THREADS", "1")


@dataclass(frozen=True, slots=True)
class Kit:
    """All that a worker needs to begin. Loading it runs the judge's code: it goes only to workers of one's own."""

    judge: JudgeReference
    labeller: Packed
    keys_in: frozenset[str] = frozenset()
    """Variables of the starter's environment that hold keys."""
    gather: float = GATHER

    def forget_keys(self) -> None:
        """For a process that was started for the work: it has inherited keys that a worker never needs, and the judge's
        code, which is loaded next, is not to find them."""
        for name in self.keys_in:
            os.environ.pop(name, None)


# --- what is said over a link ------------------------------------------------------------------------


class Cases(NamedTuple):
    """To a worker: judge these. They are sent as bare tuples, which cost the starter half of what objects do."""

    bare: list[tuple[Any, ...]]

    @classmethod
    def of(cls, cases: list[OpenCase]) -> Cases:
        return cls([_bare(item, digest) for item, digest in cases])

    def opened(self) -> Iterator[OpenCase]:
        for index, name, record, source, problem, raw, place, digest in self.bare:
            source = None if source is None else Source(*source)
            yield OpenCase(CaseItem(index, name, record, source, problem, raw, place), digest)


def _bare(item: CaseItem, digest: str) -> tuple[Any, ...]:
    source = None if item.source is None else (item.source.file, item.source.line)
    return item.index, item.id, item.record, source, item.problem, item.raw, item.place, digest


class Answer(NamedTuple):
    """To a worker: what came of its call."""

    number: int
    value: Any
    fault: RunStopped | LabelFailed | UsageProblem | None = None


class Stop(NamedTuple):
    """To a worker: there are no more cases. `now`: begin none of those that it has either."""

    now: bool


class Ready(NamedTuple):
    """From a worker, first of all: judge and labeller are built."""


class Done(NamedTuple):
    """From a worker: a case, with None where the run was stopped before it had a judgement."""

    place: int
    judgement: Written | None


class Calling(NamedTuple):
    """From a worker: its labeller wants something of its line."""

    number: int
    call: Call


class Ended(NamedTuple):
    """From a worker, last of all."""

    reason: RunStopped | UsageProblem | None


ToWorker = Cases | Answer | Stop
FromWorker = Ready | Done | Calling | Ended


class Desk:
    """`take` and `hear` are called from any thread."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._news: queue.SimpleQueue[FromWorker] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._cases: asyncio.Queue[OpenCase | None] = asyncio.Queue()
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count()
        self._in_hand = 0
        self._pool = LocalPool()
        threading.Thread(target=self._work, name="krino-desk", daemon=True).start()

    def take(self, messages: list[ToWorker]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: all is said, and nobody waits for it
            self._loop.call_soon_threadsafe(self._read, messages)

    def hear(self) -> list[FromWorker]:
        """Waits for news."""
        heard = [self._news.get()]
        if not isinstance(heard[0], Ready | Ended):
            self._gather()
        with contextlib.suppress(queue.Empty):
            while True:
                heard.append(self._news.get_nowait())
        return heard

    def _gather(self) -> None:
        """Let more news come, unless nothing is left to be done or a call waits."""
        until = time.monotonic() + self._kit.gather
        while self._in_hand and not self._calls and time.monotonic() < until:
            time.sleep(GLANCE)
        if self._calls:
            time.sleep(GATHER_CALLS)

    # --- on the thread of the desk -------------------------------------------------------------------

    def _work(self) -> None:
        keep_to_one_core()
        gc.freeze()
        gc.set_threshold(20_000, 50, 50)
        reason: RunStopped | UsageProblem | None = None
        try:
            self._loop.run_until_complete(self._judge_all())
        except (RunStopped, UsageProblem) as told:
            reason = told
        except (Exception, asyncio.CancelledError, SystemExit) as fault:
            reason = UsageProblem(f"a worker cannot go on: {type(fault).__name__}: {fault}; --workers 1 uses none")
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._news.put(Ended(reason))
        self._loop.close()

    async def _judge_all(self) -> None:
        judge, labeller = self._kit.judge.load(), self._kit.labeller.unpacked(self._call)
        self._news.put(Ready())

        async def receive(item: CaseItem, judgement: Judgement | None) -> None:
            line = None if judgement is None else written(judge, item, judgement)
            self._in_hand -= 1
            self._news.put(Done(item.index, line))

        try:
            await self._pool.run(Assignment(judge, labeller), self._stream(), receive)
        finally:
            await labeller.aclose()

    async def _stream(self) -> AsyncGenerator[OpenCase, None]:
        while (case := await self._cases.get()) is not None:
            yield case

    def _read(self, messages: list[ToWorker]) -> None:
        for message in messages:
            if isinstance(message, Cases):
                self._in_hand += len(message.bare)
                for case in message.opened():
                    self._cases.put_nowait(case)
            elif isinstance(message, Answer):
                self._answer(message)
            else:
                if message.now:
                    self._pool.stop()
                self._cases.put_nowait(None)

    async def _call(self, call: Call) -> Any:
        number = next(self._numbers)
        self._calls[number] = waiting = self._loop.create_future()
        self._news.put(Calling(number, call))
        return await waiting

    def _answer(self, answer: Answer) -> None:
        waiting = self._calls.pop(answer.number, None)
        if waiting is None or waiting.done():
            return
        if answer.fault is not None:
            waiting.set_exception(answer.fault)
        else:
            waiting.set_result(answer.value)
