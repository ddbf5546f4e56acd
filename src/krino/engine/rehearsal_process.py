"""The rehearsal in a process of its own, for judges whose cases go to workers.

The code of such a judge may end its process or close its files. Here that costs the rehearsal and nothing else: the
workers find out which case it was, and record an error for it.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any

from krino.cases.item import CaseItem
from krino.contract import AnyJudge, Labeller
from krino.contract.code_limit import end_if_stuck, longest_silence
from krino.engine.desk import keep_to_one_core, opened, packed_lot
from krino.engine.processes import AllCores, is_apart
from krino.engine.protocol import Engine, OpenCase
from krino.engine.ray_cluster import RayEngine
from krino.engine.rehearsal import MOST_TRIED, lacks_labeller, refuse_without_labeller, rehearse_first
from krino.engine.started import environment_without, follow_the_starter
from krino.errors import UsageProblem
from krino.judges.reference import JudgeReference
from krino.labellers.local import LocalLabeller
from krino.labellers.remote import key_variables_of

START = 60.0
"""Seconds that a process and its judge may take to be there; after them nobody waits for the rehearsal."""
ALIVE, DONE = "alive", "done"


@dataclass(frozen=True, slots=True)
class _Work:
    judge: JudgeReference
    lots: list[bytes]
    seconds: float
    lacks_labeller: bool

    def items(self) -> Iterator[CaseItem]:
        return (case.item for lot in self.lots for case in opened(lot))


def goes_to_workers(engine: Engine, judge: AnyJudge, seconds: float) -> bool:
    """Whether this engine leaves every case of this judge to processes that may die."""
    return isinstance(engine, AllCores | RayEngine) and is_apart(judge, seconds)


def rehearse_apart(judge: AnyJudge, labeller: Labeller, items: Iterator[CaseItem], seconds: float) -> None:
    """Try the judge on the first of these cases. Raises the `UsageProblem` that was found, if one was."""
    lots = [packed_lot([OpenCase(item, "")]) for item in islice(items, MOST_TRIED)]
    work = _Work(JudgeReference.of(judge), lots, seconds, lacks_labeller(judge, labeller))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_rehearse, args=(theirs, work), name="krino-rehearsal", daemon=True)
    try:
        with environment_without(key_variables_of(labeller)):
            process.start()
        theirs.close()
        _listen(ours, longest_silence(seconds))
    finally:
        if process.pid is not None:
            process.kill()
            process.join()
        ours.close()


def _listen(pipe: Connection[Any, Any], patience: float) -> None:
    """Until the rehearsal is over, its process is dead or silent for too long, or what it says makes no sense."""
    for number in range(2 * MOST_TRIED + 2):
        try:
            heard = pipe.recv() if pipe.poll(patience + (0.0 if number else START)) else DONE
        except Exception:  # the judge has closed its files or written into them
            return
        if isinstance(heard, UsageProblem):
            raise heard
        if heard != ALIVE:
            return


def _rehearse(pipe: Connection[Any, Any], work: _Work) -> None:
    """In the new process."""
    follow_the_starter()
    keep_to_one_core()
    try:
        judge = work.judge.load()
    except Exception:  # a worker cannot load it either, and says so
        pipe.send(DONE)
        return
    end_if_stuck(work.seconds)

    def each() -> Iterator[CaseItem]:
        for item in work.items():
            pipe.send(ALIVE)
            yield item

    try:
        rehearse_first(judge, each(), work.seconds)
        if work.lacks_labeller:
            refuse_without_labeller(judge, LocalLabeller(), each(), work.seconds)
        pipe.send(DONE)
    except UsageProblem as problem:
        pipe.send(UsageProblem(str(problem)))
