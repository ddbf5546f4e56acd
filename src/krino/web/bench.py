"""One bench: it judges cases with the embedded labeller, from record to verdict, for the thread that sits at it."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import pickle
import threading
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Self

from krino.cases.item import CaseItem
from krino.contract import AnyJudge
from krino.engine.case import Written, judge_item, written
from krino.engine.rehearsal import rehearse
from krino.engine.started import follow_the_starter
from krino.errors import RunStopped, UsageProblem
from krino.examples import first_example
from krino.judges.reference import JudgeReference
from krino.judges.registry import OURS, load_judge
from krino.labellers.local import LocalLabeller
from krino.text.faults import named

BATCH = 8
"""Cases that one bench takes together, at most."""
MOST_JUDGES = 64
"""Judges with different options that are kept ready."""
SELDOM = 100_000
"""Objects that one batch may make before Python's collector comes by itself, which only long cases do. Left to its own
count it came in the middle of a case, and the more was remembered of earlier ones, the longer it took: a tenth of a
second after a thousand of them, while others waited."""
THOROUGH = 1_000
"""Batches between two looks at everything, which take up to a tenth of a second."""

Sent = list[tuple[bytes, CaseItem]]
"""Cases on their way, each with the reference of its judge, pickled: the same bytes are the same judge."""

Case = tuple[AnyJudge, CaseItem]
Outcome = Written | BaseException
"""A judgement, or why there is none."""


class BenchDied(Exception):
    """Whoever judged is gone, and nothing is known of the cases that it had. The next ones find another there."""


class Bench:
    """Used by one thread, but for `stop`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        """For good."""

    def open(self) -> None:
        """Get ready for the first cases, if that takes long. Raises `BenchDied`."""

    def judged(self, cases: Sequence[Case]) -> list[Outcome]:
        """An outcome for each case, in their order. Raises `BenchDied`."""
        raise NotImplementedError

    def stop(self) -> None:
        """Judge nothing more, and give up what is under way where that can be done. Any thread may call it."""


class BenchHere(Bench):
    """A bench in this process: models are loaded with the first case that needs them, and what is begun is finished."""

    def __init__(self) -> None:
        self._labeller = LocalLabeller(BATCH, one_core=True)
        self._runner = asyncio.Runner()

    def __exit__(self, *fault: object) -> None:
        self._runner.close()

    def judged(self, cases: Sequence[Case]) -> list[Outcome]:
        return self._runner.run(self._together(cases))

    async def _together(self, cases: Sequence[Case]) -> list[Outcome]:
        return await asyncio.gather(*(self._one(judge, item) for judge, item in cases))

    async def _one(self, judge: AnyJudge, item: CaseItem) -> Outcome:
        try:
            rehearse(judge, item)
            return written(judge, item, await judge_item(judge, self._labeller, item))
        except (UsageProblem, RunStopped) as told:
            return told
        except BaseException as fault:  # a judge's SystemExit among them: told to its client, and nobody else
            return RuntimeError(named(fault))


class BenchApart(Bench):
    """A bench in a process, which has Python's lock to itself: while it judges, the server reads and answers.

    Cases go to it over a pipe, and lines come back. When either side is gone, the other one reads the end of the pipe.
    Where its process has died, the next cases start another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._process: BaseProcess | None = None
        self._pipe: Connection[Sent, list[Outcome]] | None = None

    def __exit__(self, *fault: object) -> None:
        self.stop()
        self._bury()

    def open(self) -> None:
        self.judged([(load_judge(name), CaseItem(0, name, first_example(name))) for name in OURS])

    def judged(self, cases: Sequence[Case]) -> list[Outcome]:
        sent = [(_packed(judge), item) for judge, item in cases]
        pipe = self._pipe or self._start()
        try:
            pipe.send(sent)
            return pipe.recv()
        except (EOFError, OSError):
            self._bury()
            raise BenchDied from None

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()  # it writes no files; all that counts has been said

    def _start(self) -> Connection[Sent, list[Outcome]]:
        context = multiprocessing.get_context("spawn")  # a fork would copy the server's sockets and locks
        with self._lock:
            if self._stopped:
                raise BenchDied
            try:
                self._pipe, theirs = context.Pipe()
                self._process = context.Process(target=work, args=(theirs,), name="krino-bench", daemon=True)
                self._process.start()
            except OSError:  # no memory for another process, or too many open files
                self._process = self._pipe = None
                raise BenchDied from None
        theirs.close()
        return self._pipe

    def _bury(self) -> None:
        with self._lock:
            process, pipe, self._process, self._pipe = self._process, self._pipe, None, None
        if process is not None and pipe is not None:
            process.kill()
            process.join()
            process.close()
            pipe.close()


@lru_cache(MOST_JUDGES)
def _packed(judge: AnyJudge) -> bytes:
    return pickle.dumps(JudgeReference.of(judge))


# --- in the process ----------------------------------------------------------------------------------


def work(pipe: Connection[list[Outcome], Sent]) -> None:
    """Until the pipe ends."""
    follow_the_starter()
    os.environ["KRINO_THREADS"] = "1"
    with BenchHere() as bench:
        try:
            pipe.send(_outcomes(bench, pipe.recv()))
            gc.collect()
            gc.freeze()  # what the first cases have loaded stays: looking through it takes time from the next ones
            gc.set_threshold(SELDOM)
            for batch in count(1):
                pipe.send(_outcomes(bench, pipe.recv()))
                # What these cases left behind, and nothing older; seldom everything, or a little would pile up.
                gc.collect(1 if batch % THOROUGH else 2)
        except (EOFError, OSError):  # the server is gone, and nobody waits
            return


def _outcomes(bench: BenchHere, sent: Sent) -> list[Outcome]:
    try:
        return bench.judged([(_unpacked(judge), item) for judge, item in sent])
    except Exception as fault:  # a judge that cannot be loaded here must not spoil the cases of others
        if len(sent) == 1:
            return [RuntimeError(named(fault))]
        return [outcome for one in sent for outcome in _outcomes(bench, [one])]


@lru_cache(MOST_JUDGES)
def _unpacked(judge: bytes) -> Any:
    return pickle.loads(judge).load()  # noqa: S301 - the server's own
