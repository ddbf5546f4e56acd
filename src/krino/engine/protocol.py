"""What an engine is: it carries the cases of a run through a judge and hands every judgement back as it is finished.

The pool of this process (`engine.pool`) is one. A crew (`engine.crew`) sends the work elsewhere: a judge travels as its
reference (`judges.reference`), a labeller without what is secret (`labellers.remote`), a case as its record.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from krino.cases.item import CaseItem
from krino.contract import AnyJudge, Judgement, Labeller
from krino.contract.code_limit import CASE_SECONDS
from krino.engine.case import Written, input_hash
from krino.engine.rehearsal import Trial
from krino.engine.views import ViewKeeper

BREATH = 64
"""Cases that are passed over, or judged by facts alone, in a row before other tasks get a turn."""


class OpenCase(NamedTuple):
    """A case that is to be judged, with the hash of its content."""

    item: CaseItem
    digest: str

    @property
    def number(self) -> int:
        return self.item.index


class Returned(Protocol):
    """A case that comes back. Who sent it elsewhere has kept it packed: asking for the item opens it."""

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
    """Of the run, for an engine that keeps a state of its own there."""
    case_seconds: float = CASE_SECONDS
    """What the judge's code may take for a case, the wait for a model not counted; 0: as long as it likes."""
    may_kill: bool = False
    """Whether one of these cases may kill its process: they ended in error before, or the session was killed that had
    them."""
    views: ViewKeeper | None = None
    """Takes the views of the cases, for a run; whoever judges for nobody to look at makes none."""


Finished = Judgement | Written
"""A judgement, or the line that it is in the journal: workers send lines."""
Receive = Callable[[Sequence[tuple[Returned, Judgement | None]]], Awaitable[None]]
"""Takes cases back that are finished at one time, most often one. It may raise `RunStopped`: then no more are begun."""
ReceiveAny = Callable[[Sequence[tuple[Returned, Finished | None]]], Awaitable[None]]
"""The same of any engine, whether it gives judgements or lines."""


class Engine(Protocol):
    """Judges a stream of cases, many at a time, in memory that does not grow with the stream."""

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: ReceiveAny) -> None:
        """Judge the cases to their end, or until `stop`.

        Every case that was taken from the stream is handed to `receive` once: with its judgement, in whatever order
        they finish, or with None where the run was stopped before it had one. Calls that are under way when the run
        stops are paid for: they finish and are handed over. Then the reason to stop is raised (`RunStopped`), or the
        fault that broke the stream off.
        """

    def stop(self) -> None:
        """Begin no more cases and send no more requests; what is under way may finish."""


async def opened(
    items: Iterable[CaseItem], is_open: Callable[[CaseItem, str], bool], judge: AnyJudge | None = None
) -> AsyncGenerator[OpenCase, None]:
    """Those of the items that are to be judged; other tasks get a turn now and then, however many are passed over."""
    passed_over = 0
    for item in items:
        digest = input_hash(item, judge)
        if is_open(item, digest):
            passed_over = 0
            yield OpenCase(item, digest)
            continue
        passed_over += 1
        if passed_over % BREATH == 0:
            await asyncio.sleep(0)


async def judged_in_order(
    engine: Engine, assignment: Assignment, items: Iterable[CaseItem], window: int
) -> AsyncGenerator[Judgement, None]:
    """The judgements in the order of the items, which are numbered from 0; at most `window` cases are in memory."""
    finished: dict[int, Judgement | None] = {}
    room, news, trial = asyncio.Semaphore(window), asyncio.Event(), Trial()

    async def held_back() -> AsyncGenerator[OpenCase, None]:
        async for case in opened(items, lambda item, digest: True, assignment.judge):
            await room.acquire()
            yield case

    async def receive(cases: Sequence[tuple[Returned, Finished | None]]) -> None:
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
        await work  # a reason to stop, or a fault of the stream itself, is the caller's to see
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
