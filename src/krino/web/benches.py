"""The benches at which the embedded labeller judges: one a core, from record to verdict.

A case that is taken is judged to its end at one bench, which hands nothing over and waits for nobody, so that each
client waits for those before it and no longer. Where few wait, a bench takes one case at a time; where many wait, it
takes two or more together, of whatever clients. Long cases have a bench of their own, one after the other: they hold
up only each other.

When whoever judges at a bench dies (a process that was killed, or out of memory), the next one judges what was under
way once more, one case at a time. A case that is alone at a bench when that happens again ends as an error.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from krino.cases.item import CaseItem
from krino.contract import AnyJudge
from krino.contract.judgement import canonical
from krino.engine.case import Written, input_hash, without_verdict, written
from krino.web.bench import BATCH, Bench, BenchDied, BenchHere, Outcome
from krino.web.fair_places import Turns

LONG = 50_000
"""Bytes of a case, as JSON, from which it is a long one: several times the work of a usual one."""
DIED = (
    "the process that judged this case died, and the next one too (killed, or out of memory): send it again when the "
    "machine has more memory to spare, or send only what the case needs"
)
_log = logging.getLogger("krino.web")


@dataclass(frozen=True, slots=True)
class Job:
    """One case, and the place where its judgement is awaited."""

    judge: AnyJudge
    item: CaseItem
    done: Future[Written] = field(default_factory=Future)

    def end(self, outcome: Outcome) -> None:
        if isinstance(outcome, BaseException):
            self.done.set_exception(outcome)
        else:
            self.done.set_result(outcome)

    def died(self) -> Written:
        digest = input_hash(self.item, self.judge)
        return written(self.judge, self.item, without_verdict(self.judge, self.item, digest, "error", DIED))


class Queue(Turns[Job]):
    """Jobs that wait, and a way to say that there is one."""

    def __init__(self, lock: threading.Lock) -> None:
        super().__init__()
        self.news = threading.Condition(lock)


def taken_together(waiting: int, benches: int) -> int:
    """How many of the cases that wait one bench takes: those that are judged together are answered together.

    A pair costs a tenth less than two alone, which outweighs that where more wait than there are benches. Larger
    batches gain little more, and whoever comes just after one has begun waits for all of it: they are for crowds.
    """
    together = 2 if waiting > benches else 1
    return min(waiting, BATCH, max(together, waiting // (2 * benches)))


class Benches:
    """Thread-safe. What waits when it is closed is given up."""

    def __init__(self, count: int, bench: Callable[[], Bench] = BenchHere) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._usual, self._long = Queue(self._lock), Queue(self._lock)
        self._closed = False
        self._benches = [bench() for _ in range(count + 1)]
        for number, one in enumerate(self._benches):
            queue = self._usual if number < count else self._long
            threading.Thread(target=self._sit, args=(one, queue), name=f"krino-bench-{number}", daemon=True).start()

    def submit(self, party: Hashable, judge: AnyJudge, item: CaseItem) -> Future[Written]:
        """The judgement to come; who cancels it before its turn costs nothing."""
        job = Job(judge, item)
        queue = self._long if len(canonical(item.record)) >= LONG else self._usual
        with self._lock:
            if self._closed:
                job.done.cancel()
                return job.done
            queue.add(party, job)
            queue.news.notify()
        return job.done

    def close(self) -> None:
        with self._lock:
            self._closed = True
            left = [queue.next() for queue in (self._usual, self._long) for _ in range(len(queue))]
            self._usual.news.notify_all()
            self._long.news.notify_all()
        for job in left:
            job.done.cancel()
        for bench in self._benches:
            bench.stop()

    def _sit(self, bench: Bench, queue: Queue) -> None:
        with bench:
            if queue is self._usual:
                with suppress(Exception):  # whoever brings the first case is told
                    bench.open()
            while jobs := self._take(queue):
                if asked := [job for job in jobs if job.done.set_running_or_notify_cancel()]:  # and not given up
                    self._judge(bench, asked)

    def _judge(self, bench: Bench, jobs: list[Job]) -> None:
        try:
            outcomes = bench.judged([(job.judge, job.item) for job in jobs])
        except Exception as fault:
            if isinstance(fault, BenchDied) and not self._closed:
                _log.error("a process that judges has died; the cases that it had are judged once more, one by one")
            for job in jobs:
                job.end(self._again(bench, job))
        else:
            for job, outcome in zip(jobs, outcomes, strict=True):
                job.end(outcome)

    def _again(self, bench: Bench, job: Job) -> Outcome:
        try:
            return bench.judged([(job.judge, job.item)])[0]
        except BenchDied:
            return asyncio.CancelledError() if self._closed else job.died()
        except Exception as fault:  # the judge cannot be sent, say; the bench is as good as before
            return fault

    def _take(self, queue: Queue) -> list[Job]:
        """The jobs to do next; none when all is over."""
        with self._lock:
            while not queue and not self._closed:
                queue.news.wait()
            together = taken_together(len(queue), self._count) if queue is self._usual else min(1, len(queue))
            return [queue.next() for _ in range(together)]
