"""The benches at which the embedded labeller judges: one thread a core, from record to verdict.

A case that is taken is judged to its end by one thread, which hands nothing over and waits for nobody, so that each
client waits for those before it and no longer. Where few wait, a bench takes one case at a time; where many wait, it
takes several together, of whatever clients. Long cases have a bench of their own: they hold up only each other.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Hashable
from concurrent.futures import Future
from dataclasses import dataclass, field

from krino.cases.item import CaseItem
from krino.contract import Judgement
from krino.contract.judgement import canonical
from krino.engine.case import AnyJudge, judge_item
from krino.engine.rehearsal import rehearse
from krino.labellers.local import LocalLabeller

BATCH = 8
"""Cases that one bench takes together, at most."""
LONG = 50_000
"""Bytes of a case, as JSON, from which it is a long one: several times the work of a usual one."""


@dataclass(frozen=True, slots=True)
class Job:
    """One case, and the place where its judgement is awaited."""

    judge: AnyJudge
    item: CaseItem
    done: Future[Judgement] = field(default_factory=Future)

    async def work(self, labeller: LocalLabeller) -> None:
        if not self.done.set_running_or_notify_cancel():  # whoever asked has gone
            return
        try:
            rehearse(self.judge, self.item)
            self.done.set_result(await judge_item(self.judge, labeller, self.item))
        except BaseException as fault:
            self.done.set_exception(fault)


class Queue:
    """Jobs that wait: parties take turns, and a party is one request, whatever number of cases it brings."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, deque[Job]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, party: Hashable, job: Job) -> None:
        self._waiting.setdefault(party, deque()).append(job)
        self._count += 1

    def next(self) -> Job:
        party, jobs = self._waiting.popitem(last=False)
        job = jobs.popleft()
        if jobs:
            self._waiting[party] = jobs  # behind all the others
        self._count -= 1
        return job


class Benches:
    """Thread-safe. What waits when it is closed is given up."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._usual, self._long = Queue(), Queue()
        self._news = threading.Condition()
        self._closed = False
        for number, queue in enumerate([*[self._usual] * count, self._long]):
            threading.Thread(target=self._sit, args=(queue,), name=f"krino-bench-{number}", daemon=True).start()

    def submit(self, party: Hashable, judge: AnyJudge, item: CaseItem) -> Future[Judgement]:
        """The judgement to come; who cancels it before its turn costs nothing."""
        job = Job(judge, item)
        queue = self._long if len(canonical(item.record)) >= LONG else self._usual
        with self._news:
            if self._closed:
                job.done.cancel()
                return job.done
            queue.add(party, job)
            self._news.notify_all()
        return job.done

    def close(self) -> None:
        with self._news:
            self._closed = True
            left = [queue.next() for queue in (self._usual, self._long) for _ in range(len(queue))]
            self._news.notify_all()
        for job in left:
            job.done.cancel()

    def _sit(self, queue: Queue) -> None:
        labeller = LocalLabeller(BATCH, one_core=True)
        with asyncio.Runner() as runner:
            while jobs := self._take(queue):
                runner.run(_work(jobs, labeller))

    def _take(self, queue: Queue) -> list[Job]:
        """The jobs to do next; none when all is over."""
        with self._news:
            while not queue and not self._closed:
                self._news.wait()
            together = max(1, min(BATCH, len(queue) // (2 * self._count)))
            return [queue.next() for _ in range(min(together, len(queue)))]


async def _work(jobs: list[Job], labeller: LocalLabeller) -> None:
    await asyncio.gather(*(job.work(labeller) for job in jobs))
