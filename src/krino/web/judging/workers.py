"""Workers that judge cases with the embedded labeller: on a thread of this process, or in a process of their own."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from multiprocessing.connection import Connection
from typing import Any, Self

from krino.cases.item import CaseItem
from krino.contract import AnyJudge
from krino.engine.case import Written, judge_item, written
from krino.engine.child_process import ChildProcess
from krino.engine.rehearsal import rehearse
from krino.errors import RunStopped, UsageProblem
from krino.examples import first_example
from krino.judges.reference import JudgeReference
from krino.judges.registry import OURS, load_judge
from krino.labellers.local import LocalLabeller
from krino.text.faults import describe_exception

BATCH = 8
"""Most cases that a worker judges together."""
MOST_JUDGES = 64
"""Judges with different options that are kept loaded."""
GC_THRESHOLD = 100_000
"""Allocations before Python's garbage collector runs by itself, which only long cases reach. With the default it ran in
the middle of cases and took longer the more was kept of earlier ones: 0.1 s after a thousand cases."""
FULL_GC_EVERY = 1_000
"""Batches between full collections, each of which takes up to 0.1 s."""

Sent = list[tuple[bytes, CaseItem]]
"""Cases on the pipe, each with its pickled `JudgeReference`; equal bytes mean the same judge."""

Case = tuple[AnyJudge, CaseItem]
CaseOutcome = Written | BaseException
"""A judgement, or the reason why there is none."""


class WorkerDied(Exception):
    """The worker's process died while it had cases. The next call starts a new process."""


class CaseWorker:
    """Used by one thread, except for `stop`. The context manager closes it for good."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        pass

    def warm_up(self) -> None:
        """Loads whatever the first case would have to wait for. Raises `WorkerDied`."""

    def judge(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        """Judges cases and returns one outcome per case, in order. Raises `WorkerDied`."""
        raise NotImplementedError

    def stop(self) -> None:
        """Judges no more, and abandons the current cases if possible. Safe to call from any thread."""


class ThreadWorker(CaseWorker):
    """Judges in this process. Models are loaded by the first case that needs them; a started batch is finished."""

    def __init__(self) -> None:
        self._labeller = LocalLabeller(BATCH, one_core=True)
        self._runner = asyncio.Runner()

    def __exit__(self, *fault: object) -> None:
        self._runner.close()

    def judge(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        return self._runner.run(self._judge_all(cases))

    async def _judge_all(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        return await asyncio.gather(*(self._judge_one(judge, item) for judge, item in cases))

    async def _judge_one(self, judge: AnyJudge, item: CaseItem) -> CaseOutcome:
        """Judges a case; faults are returned, since one client's judge must not end the worker."""
        try:
            rehearse(judge, item)
            return written(judge, item, await judge_item(judge, self._labeller, item))
        except (UsageProblem, RunStopped) as problem:
            return problem
        except BaseException as fault:  # includes a judge's SystemExit: only its own client sees it
            return RuntimeError(describe_exception(fault))


class ProcessWorker(CaseWorker):
    """Judges in a child process with a Python lock of its own, so that the server answers meanwhile.

    Cases go over a pipe and judgements come back. Each side notices the end of the other by the end of the pipe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._child: ChildProcess | None = None

    def __exit__(self, *fault: object) -> None:
        self.stop()
        self._end_child()

    def warm_up(self) -> None:
        self.judge([(load_judge(name), CaseItem(0, name, first_example(name))) for name in OURS])

    def judge(self, cases: Sequence[Case]) -> list[CaseOutcome]:
        """Sends cases to the process, which is started if need be, and returns the outcomes that came back. Raises
        `WorkerDied`."""
        sent = [(_pickle_judge(judge), item) for judge, item in cases]
        child = self._child or self._start_child()
        try:
            child.pipe.send(sent)
            outcomes: list[CaseOutcome] = child.pipe.recv()
        except (EOFError, OSError):
            self._end_child()
            raise WorkerDied from None
        return outcomes

    def stop(self) -> None:
        """Ends the process for good."""
        with self._lock:
            self._stopped = True
            if self._child is not None:
                self._child.kill()  # safe: it writes no files

    def _start_child(self) -> ChildProcess:
        """Starts the process; raises `WorkerDied` if the worker was stopped or the machine has no room."""
        with self._lock:
            if self._stopped:
                raise WorkerDied
            try:
                self._child = ChildProcess(serve_cases, name="krino-judge")
            except OSError:  # out of memory, or too many open files
                raise WorkerDied from None
            return self._child

    def _end_child(self) -> None:
        """Closes the process; the next case starts another."""
        with self._lock:
            child, self._child = self._child, None
        if child is not None:
            child.close()


@lru_cache(MOST_JUDGES)
def _pickle_judge(judge: AnyJudge) -> bytes:
    return pickle.dumps(JudgeReference.of(judge))


# --- in the child process ----------------------------------------------------------------------------


def serve_cases(pipe: Connection[list[CaseOutcome], Sent]) -> None:
    """Runs in the child process: judges what comes over the pipe, and sends the outcomes back, until the pipe ends."""
    os.environ["KRINO_THREADS"] = "1"
    with ThreadWorker() as worker:
        try:
            pipe.send(_judge_sent(worker, pipe.recv()))
            gc.collect()
            gc.freeze()  # what the first batch loaded stays, so that later collections skip it
            gc.set_threshold(GC_THRESHOLD)
            for batch in count(1):
                pipe.send(_judge_sent(worker, pipe.recv()))
                # What this batch left behind; now and then everything, so that leaks do not pile up.
                gc.collect(1 if batch % FULL_GC_EVERY else 2)
        except (EOFError, OSError):  # the server has ended
            return


def _judge_sent(worker: ThreadWorker, sent: Sent) -> list[CaseOutcome]:
    """Judges cases that were sent to this process, one by one if a judge cannot be loaded."""
    try:
        return worker.judge([(_load_judge(judge), item) for judge, item in sent])
    except Exception as fault:  # a judge that cannot be loaded here must not fail the cases of other clients
        if len(sent) == 1:
            return [RuntimeError(describe_exception(fault))]
        return [outcome for one in sent for outcome in _judge_sent(worker, [one])]


@lru_cache(MOST_JUDGES)
def _load_judge(judge: bytes) -> Any:
    return pickle.loads(judge).load()  # noqa: S301 - pickled by the server itself
