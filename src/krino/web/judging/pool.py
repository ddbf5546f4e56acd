"""The pool of workers that judge cases with the embedded labeller, usually one per core.

Clients take turns case by case. While few cases wait, a worker takes one at a time; while many wait, it takes several,
from any clients. Long cases have a worker of their own, so that they delay only each other.

When a worker's process dies (killed, or out of memory), the next process judges the same cases again, one by one. A
case that is alone when that process dies as well ends as an error.
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
from krino.web.judging.turns import RoundRobin
from krino.web.judging.workers import BATCH, CaseOutcome, CaseWorker, ThreadWorker, WorkerDied

LONG = 50_000
"""Bytes of JSON from which a case counts as long: several times the work of a usual one."""
PROCESS_DIED = (
    "the process that judged this case died, and the next one too (killed, or out of memory): send it again when the "
    "machine has more memory to spare, or send only what the case needs"
)
_log = logging.getLogger("krino.web")


@dataclass(frozen=True, slots=True)
class Job:
    """A case, and the future of its judgement."""

    judge: AnyJudge
    item: CaseItem
    done: Future[Written] = field(default_factory=Future)

    def finish(self, outcome: CaseOutcome) -> None:
        """Gives the outcome to the request that waits for it."""
        if isinstance(outcome, BaseException):
            self.done.set_exception(outcome)
        else:
            self.done.set_result(outcome)

    def make_error(self) -> Written:
        """Makes the judgement, with the status error, of a case whose process died twice."""
        digest = input_hash(self.item, self.judge)
        return written(self.judge, self.item, without_verdict(self.judge, self.item, digest, "error", PROCESS_DIED))


class JobQueue(RoundRobin[Job]):
    """Waiting jobs, with a condition that is notified of new ones."""

    def __init__(self, lock: threading.Lock) -> None:
        super().__init__()
        self.changed = threading.Condition(lock)


def choose_batch_size(waiting: int, workers: int) -> int:
    """Returns how many waiting cases one worker takes. Cases that are judged together are answered together.

    Two together cost a tenth less than two alone, which pays off once more cases wait than there are workers. Larger
    batches gain little more, and a case that arrives just after one has begun waits for all of it.
    """
    together = 2 if waiting > workers else 1
    return min(waiting, BATCH, max(together, waiting // (2 * workers)))


class JudgingPool:
    """Thread-safe. Closing it cancels waiting jobs."""

    def __init__(self, count: int, make_worker: Callable[[], CaseWorker] = ThreadWorker) -> None:
        self._count = count
        self._lock = threading.Lock()
        self._usual, self._long = JobQueue(self._lock), JobQueue(self._lock)
        self._closed = False
        self._workers = [make_worker() for _ in range(count + 1)]
        for number, worker in enumerate(self._workers):
            queue = self._usual if number < count else self._long
            threading.Thread(target=self._run, args=(worker, queue), name=f"krino-judge-{number}", daemon=True).start()

    def submit(self, client: Hashable, judge: AnyJudge, item: CaseItem) -> Future[Written]:
        """Queues a case and returns the future of its judgement, which is cancelled if the pool is closed. Cancelling
        it before its turn costs nothing."""
        job = Job(judge, item)
        queue = self._long if len(canonical(item.record)) >= LONG else self._usual
        with self._lock:
            if self._closed:
                job.done.cancel()
                return job.done
            queue.add(client, job)
            queue.changed.notify()
        return job.done

    def close(self) -> None:
        """Ends all workers, and cancels the jobs that still wait."""
        with self._lock:
            self._closed = True
            waiting = [queue.pop() for queue in (self._usual, self._long) for _ in range(len(queue))]
            self._usual.changed.notify_all()
            self._long.changed.notify_all()
        for job in waiting:
            job.done.cancel()
        for worker in self._workers:
            worker.stop()

    def _run(self, worker: CaseWorker, queue: JobQueue) -> None:
        """Gives a worker the jobs of a queue until the pool is closed."""
        with worker:
            if queue is self._usual:
                with suppress(Exception):  # the first case reports it
                    worker.warm_up()
            while jobs := self._take(queue):
                if wanted := [job for job in jobs if job.done.set_running_or_notify_cancel()]:
                    self._judge(worker, wanted)

    def _judge(self, worker: CaseWorker, jobs: list[Job]) -> None:
        """Judges several jobs at once and gives each its outcome; if that fails, or their process dies, each is judged
        alone."""
        try:
            outcomes = worker.judge([(job.judge, job.item) for job in jobs])
        except Exception as fault:
            if isinstance(fault, WorkerDied) and not self._closed:
                _log.error("a judging process died; its cases are judged again, one by one")
            for job in jobs:
                job.finish(self._retry(worker, job))
        else:
            for job, outcome in zip(jobs, outcomes, strict=True):
                job.finish(outcome)

    def _retry(self, worker: CaseWorker, job: Job) -> CaseOutcome:
        """Judges one job again, alone, after its batch failed; returns a fault as its outcome."""
        try:
            return worker.judge([(job.judge, job.item)])[0]
        except WorkerDied:
            return asyncio.CancelledError() if self._closed else job.make_error()
        except Exception as fault:  # for example a judge that cannot be pickled; the worker itself is fine
            return fault

    def _take(self, queue: JobQueue) -> list[Job]:
        """Waits for jobs and returns the next ones for a worker; none once the pool is closed and its queue empty."""
        with self._lock:
            while not queue and not self._closed:
                queue.changed.wait()
            size = choose_batch_size(len(queue), self._count) if queue is self._usual else min(1, len(queue))
            return [queue.pop() for _ in range(size)]
