"""The engine of one machine: a fixed crew of workers draws cases from a stream, so memory does not grow with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field

from krino.cases.item import CaseItem
from krino.contract import Judgement, Labeller
from krino.engine.case import AnyJudge, input_hash, judge_item
from krino.engine.trial import Trial
from krino.errors import RunStopped

BREATH = 64  # cases settled without waiting for anything before other tasks get a turn


@dataclass(slots=True)
class Crew:
    """Judges a stream of cases with so many workers; results go out as they finish."""

    judge: AnyJudge
    labeller: Labeller
    workers: int
    on_judgement: Callable[[Judgement, CaseItem], None]
    is_done: Callable[[CaseItem, str], bool]
    trial: Trial = field(default_factory=Trial)
    stopping: bool = False
    stopped: RunStopped | None = field(default=None)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def run(self, items: Iterator[CaseItem]) -> None:
        """Until the stream ends, `stop` is called, or a `RunStopped` says that going on is pointless."""
        self._tasks = [asyncio.create_task(self._work(items)) for _ in range(self.workers)]
        try:
            await asyncio.gather(*self._tasks)
        except BaseException:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            raise
        if self.stopped is not None:
            raise self.stopped

    def stop(self) -> None:
        """Begin no more cases and send no more requests; those in flight are paid for and may finish."""
        self.stopping = True
        self.labeller.stop()

    async def _work(self, items: Iterator[CaseItem]) -> None:
        since_breath = 0
        for item in items:
            if self.stopping:
                return
            digest = input_hash(item)
            if not self.is_done(item, digest):
                try:
                    judgement = await judge_item(self.judge, self.labeller, item, digest)
                except RunStopped as reason:
                    self.stopped = self.stopped or reason
                    self.stop()
                    return
                self.on_judgement(judgement, item)
                if (broken := self.trial.ended_by(judgement)) is not None:
                    self.stopped = self.stopped or broken
                    self.stop()
                    return
            since_breath += 1
            if since_breath >= BREATH:
                since_breath = 0
                await asyncio.sleep(0)


async def in_order(
    judge: AnyJudge, labeller: Labeller, items: Iterator[CaseItem], workers: int
) -> AsyncGenerator[Judgement, None]:
    """Judgements in the order of their cases; at most a window of cases is in memory at a time."""
    window: asyncio.Queue[asyncio.Task[Judgement] | None] = asyncio.Queue(maxsize=4 * workers)
    places = asyncio.Semaphore(workers)

    async def one(item: CaseItem) -> Judgement:
        try:
            return await judge_item(judge, labeller, item)
        finally:
            places.release()

    async def feed() -> None:
        try:
            for item in items:
                await places.acquire()
                task = asyncio.create_task(one(item))
                try:
                    await window.put(task)
                except asyncio.CancelledError:
                    task.cancel()
                    raise
        finally:
            await window.put(None)

    feeder = asyncio.create_task(feed())
    stopped: RunStopped | None = None
    trial = Trial()
    try:
        while (task := await window.get()) is not None:
            try:
                judgement = await task
            except RunStopped as reason:  # what else is in flight is paid for: it is handed out first
                stopped = stopped or reason
                feeder.cancel()
                labeller.stop()
                continue
            yield judgement
            if (broken := trial.ended_by(judgement)) is not None:
                stopped = stopped or broken
                feeder.cancel()
                labeller.stop()
        if (owed := stopped or labeller.take_owed()) is not None:
            raise owed
        await feeder  # a fault of the stream itself is the caller's to see
    finally:
        feeder.cancel()
        left = [task for task in _drain(window) if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(feeder, *left, return_exceptions=True)


def _drain(window: asyncio.Queue[asyncio.Task[Judgement] | None]) -> Iterator[asyncio.Task[Judgement] | None]:
    while not window.empty():
        yield window.get_nowait()
