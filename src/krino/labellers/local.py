"""The embedded labeller: no key, no network. Gathers the cases that wait at the same moment into one batch."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from krino import __version__
from krino.contract import AnyJudge, CaseT, FactsT, Labelled, Labeller, LabelsT, Task, Usage
from krino.contract.code_limit import CodeLimit
from krino.errors import CannotJudge, LabelFailed

BATCH = 32
ONE_CORE_BATCH = 8
"""Batch size on the event loop itself, which handles nothing else while a batch is labelled."""


class LocalLabeller(Labeller):
    """Hands batches to `Judge.label_locally` on a worker thread, or on the loop itself to keep to one core."""

    reads_questions = False

    def __init__(self, batch: int = BATCH, *, one_core: bool = False) -> None:
        """`one_core`: label on the event loop instead of a thread; the loop must have nothing else to do."""
        self.batch = min(batch, ONE_CORE_BATCH) if one_core else batch
        self._one_core = one_core
        self._waiting: list[tuple[Task[Any, Any, Any], asyncio.Future[Any]]] = []
        self._running: set[asyncio.Task[None]] = set()
        self._scheduled = False

    def describe(self) -> dict[str, Any]:
        return {"kind": "local", "krino": __version__}

    async def label(self, task: Task[CaseT, FactsT, LabelsT]) -> Labelled[LabelsT]:
        """Labels a case together with the others that wait in the same turn of the event loop."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[tuple[LabelsT, float]] = loop.create_future()
        self._waiting.append((task, answer))
        if len(self._waiting) >= self.batch:
            self._flush()
        elif not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._flush)
        labels, seconds = await answer
        return Labelled(labels, self.describe(), Usage(seconds=seconds))

    def _flush(self) -> None:
        """Starts a task for each batch of the waiting cases."""
        self._scheduled = False
        # A cancelled case has an answer that is done.
        self._waiting = [(task, answer) for task, answer in self._waiting if not answer.done()]
        while self._waiting:
            batch, self._waiting = self._waiting[: self.batch], self._waiting[self.batch :]
            running = asyncio.get_running_loop().create_task(self._label_and_answer(batch))
            self._running.add(running)
            running.add_done_callback(self._running.discard)

    async def _label_and_answer(self, batch: list[tuple[Task[Any, Any, Any], asyncio.Future[Any]]]) -> None:
        """Labels one batch, and sets the future of every case in it."""
        started = time.perf_counter()
        tasks = [task for task, _ in batch]
        results = _label_batch(tasks) if self._one_core else await asyncio.to_thread(_label_batch, tasks)
        share = (time.perf_counter() - started) / len(batch)
        for (_, answer), result in zip(batch, results, strict=True):
            if answer.done():  # cancelled in the meantime
                continue
            if isinstance(result, BaseException):
                answer.set_exception(result)
            else:
                answer.set_result((result, share))

    async def aclose(self) -> None:
        """Drops the waiting cases and cancels the batches that are running."""
        self._waiting.clear()
        for running in list(self._running):
            running.cancel()


def _label_batch(tasks: list[Task[Any, Any, Any]]) -> list[Any]:
    """Returns the labels of each case, or its exception for one that cannot be labelled: one bad case never spoils its
    batch."""
    refused = [_find_refusal(task) for task in tasks]
    readable = [task for task, problem in zip(tasks, refused, strict=True) if problem is None]
    labels = iter(_label_together(readable) if readable else ())
    return [next(labels) if problem is None else problem for problem in refused]


def _find_refusal(task: Task[Any, Any, Any]) -> Exception | None:
    """Returns why a case cannot be labelled locally, as an exception: the judge's reason or its fault; None if it
    can."""
    try:
        with CodeLimit(task.seconds):
            reason = task.judge.unreadable_locally(task.case, task.facts)
    except Exception as fault:
        return fault
    return None if reason is None else CannotJudge(reason)


def _label_together(tasks: list[Task[Any, Any, Any]]) -> list[Any]:
    """Returns the labels of each task, from one call of the judge. After an exception, and for tasks of different
    judges, it makes one call per task; a task that fails by itself gets its exception instead of labels."""
    judge: AnyJudge = tasks[0].judge
    if all(task.judge is judge for task in tasks):
        try:
            with CodeLimit(tasks[0].seconds):  # one that takes too long is found when each is tried alone
                labels = judge.label_locally([(task.case, task.facts) for task in tasks])
                return [_check_labels(task, item) for task, item in zip(tasks, labels, strict=True)]
        except Exception as error:
            if len(tasks) == 1:
                return [error]
    return [result for task in tasks for result in _label_together([task])]


def _check_labels(task: Task[Any, Any, Any], labels: Any) -> Any:
    """Returns the labels, or a `LabelFailed` (not raised) if they fail the checks that a model's labels must pass
    too."""
    if problems := task.judge.check(task.case, task.facts, labels):
        return LabelFailed(f"the embedded labeller gave labels that do not fit the case: {'; '.join(problems)}")
    return labels
