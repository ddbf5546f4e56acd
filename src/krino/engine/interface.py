"""What an engine is: it judges the cases of a run and hands back each judgement as it is finished.

The pool of this process (`engine.pool`) is one. A worker pool (`engine.worker_pool`) sends the work elsewhere: a judge
as its reference (`judges.reference`), a labeller without its secrets (`labellers.remote`), a case as its record.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from krino.cases.item import CaseItem
from krino.contract import AnyJudge, Judgement, Labeller
from krino.contract.code_limit import CASE_SECONDS
from krino.engine.case import Written, input_hash
from krino.engine.views import ViewKeeper
from krino.errors import RunStopped

YIELD_EVERY = 64
"""Cases that are skipped, or judged by facts alone, in a row before other tasks get a turn."""


class OpenCase(NamedTuple):
    """A case to be judged, with the hash of its content."""

    item: CaseItem
    digest: str

    @property
    def number(self) -> int:
        return self.item.index


class Returned(Protocol):
    """A case that comes back. A worker pool keeps it packed: reading `item` unpacks it."""

    @property
    def number(self) -> int: ...

    @property
    def item(self) -> CaseItem: ...


@dataclass(frozen=True, slots=True)
class Assignment:
    """What all cases of a run have in common: who judges and who labels."""

    judge: AnyJudge
    labeller: Labeller
    folder: Path | None = None
    """The run folder, for an engine that keeps state of its own there."""
    case_seconds: float = CASE_SECONDS
    """What the judge's code may take for a case, without the wait for a model; 0: no limit."""
    may_kill: bool = False
    """Whether one of these cases may kill its process: they ended in error before, or their session was killed."""
    views: ViewKeeper | None = None
    """Takes the views of the cases; None if no run folder is written."""


Finished = Judgement | Written
"""A judgement, or its line in the journal, which is what workers send."""
Receive = Callable[[Sequence[tuple[Returned, Judgement | None]]], Awaitable[None]]
"""Takes cases that are finished, mostly one. It may raise `RunStopped`: then no more are begun."""
ReceiveAny = Callable[[Sequence[tuple[Returned, Finished | None]]], Awaitable[None]]
"""The same for any engine, whether it gives judgements or lines."""


class Engine(Protocol):
    """Judges a stream of cases, many at a time, in memory that does not grow with the stream."""

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: ReceiveAny) -> None:
        """Judges the cases to their end, or until `stop`.

        Every case that was taken from the stream is handed to `receive` once: with its judgement, in any order, or with
        None if the run was stopped before it had one. Calls that are under way when the run stops are paid for: they
        finish and are handed over. Then the reason to stop (`RunStopped`) or the fault of the stream is raised.
        """

    def stop(self) -> None:
        """Begins no more cases and sends no more requests; what is under way finishes."""


async def opened(
    items: Iterable[CaseItem] | AsyncIterator[CaseItem],
    is_open: Callable[[CaseItem, str], bool],
    judge: AnyJudge | None = None,
) -> AsyncGenerator[OpenCase, None]:
    """Yields the items for which `is_open` returns true, each with its hash. Other tasks get a turn now and then,
    however many are skipped."""
    skipped = 0
    async for item in items if isinstance(items, AsyncIterator) else _one_by_one(iter(items)):
        digest = input_hash(item, judge)
        if is_open(item, digest):
            skipped = 0
            yield OpenCase(item, digest)
            continue
        skipped += 1
        if skipped % YIELD_EVERY == 0:
            await asyncio.sleep(0)


async def _one_by_one(items: Iterator[CaseItem]) -> AsyncGenerator[CaseItem, None]:
    for item in items:
        yield item


MOST_BROKEN = 3
"""Cases in a row on which the judge may break after they were paid for, before any has come out well."""


@dataclass(slots=True)
class Trial:
    """Watches the first judgements, until one is ok: a judge that breaks after that broke on an odd case."""

    passed: bool = False
    broken: int = 0

    def check(self, judgement: Judgement | Written) -> None:
        """Raises `RunStopped` if the judge's own code has now failed on `MOST_BROKEN` paid cases and none is ok yet."""
        self.passed = self.passed or judgement.status == "ok"
        if self.passed or not _broke_after_payment(judgement):
            return
        self.broken += 1
        if self.broken < MOST_BROKEN:
            return
        raise RunStopped(
            f"the judge's own code failed on each of the first {self.broken} labelled cases, so none has a verdict: "
            f"{judgement.error}. Fix it first: going on would only pay "
            "for more of them (replies that are in the cache are not paid again)",
            kind="judge",
        )


def has_broken(judgement: Judgement | Written) -> bool:
    """Did the judge's own code break? An error that has labels came from `settle` or what reads its result."""
    return judgement.status == "error" and judgement.labels is not None


def _broke_after_payment(judgement: Judgement | Written) -> bool:
    return has_broken(judgement) and judgement.usage.calls > 0


async def judged_in_order(
    engine: Engine, assignment: Assignment, items: Iterable[CaseItem], window: int
) -> AsyncGenerator[Judgement, None]:
    """Yields the judgements in the order of the items, which are numbered from 0; at most `window` cases are in memory.
    Cases that came back without a judgement are left out. At the end raises the reason to stop, if there is one."""
    finished: dict[int, Judgement | None] = {}
    room, news, trial = asyncio.Semaphore(window), asyncio.Event(), Trial()

    async def held_back() -> AsyncGenerator[OpenCase, None]:
        """Yields all cases to the engine, each as soon as the window has room."""
        async for case in opened(items, lambda item, digest: True, assignment.judge):
            await room.acquire()
            yield case

    async def receive(cases: Sequence[tuple[Returned, Finished | None]]) -> None:
        """Stores finished cases and wakes the loop that yields them in order. Raises `RunStopped` if the judge's own
        code broke on each of the first labelled cases."""
        for case, judgement in cases:
            finished[case.number] = judgement.read() if isinstance(judgement, Written) else judgement
        news.set()
        for _, judgement in cases:
            if judgement is not None:
                trial.check(judgement)

    work = asyncio.create_task(engine.run(assignment, held_back(), receive))
    work.add_done_callback(lambda _: news.set())
    place = 0
    try:
        while True:
            while place in finished:
                judgement = finished.pop(place)
                place += 1
                room.release()
                if judgement is not None:
                    yield judgement
            if work.done():
                break
            news.clear()
            await news.wait()
        await work  # raises the reason to stop, or a fault of the stream
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
