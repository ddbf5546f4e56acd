"""The engine of batch files: sends requests in files, waits for the replies, and asks again what was not answered.

Every case is judged as far as possible. Where its labeller has to wait for a file, the case is set aside on disk and
judged again from its start when the file is back: earlier replies are found in the ledger of the run, so the
conversation goes on where it was. After a kill at any moment, the same command judges the remaining cases in the same
way and reaches the same state.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import tempfile
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path

from krino.contract import Labeller
from krino.engine.case import Judged, carry
from krino.engine.interface import YIELD_EVERY, Assignment, OpenCase, Receive
from krino.errors import RunStopped, UsageProblem, Waiting
from krino.labellers.llm.batch.jobs import BatchJobs
from krino.labellers.llm.batch.ledger import FOLDER, Ledger
from krino.labellers.llm.batch.providers import refuse_without_batches
from krino.labellers.llm.batch.queue import LATER, Sizes
from krino.labellers.llm.labeller import LlmLabeller
from krino.labellers.panel import Panel
from krino.writing import write_failed

PILOT = 3
"""Cases of a new run that are asked one by one, at the full price, before files are written. So what the endpoint
refuses, how long replies are, and whether the judge breaks is known in seconds and not after a day."""
FIRST_LOOK, LONGEST_PAUSE = 0.25, 30.0
"""Seconds between two looks at the batches, at first and at most."""
SETTLE = 120.0
"""How long to look for a batch that may have been created, before it is created again."""
GROWTH, MOST_GROWTH = 1.3, 50


class BatchFiles:
    """An `Engine` for models behind OpenAI's or Anthropic's batch endpoints."""

    def __init__(self, *, pilot: int = PILOT, sizes: Sizes | None = None, longest_pause: float = LONGEST_PAUSE) -> None:
        self._pilot, self._sizes, self._longest_pause = pilot, sizes or Sizes(), longest_pause
        self._stopping = asyncio.Event()
        self._labeller: Labeller | None = None

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        """Asks a first few cases directly, then sends the rest in batch files until all are answered. When it ends
        early, the waiting cases are handed back without a judgement. Raises `UsageProblem` without a run folder."""
        models = models_of(assignment.labeller)
        if assignment.folder is None:
            raise UsageProblem("batch files need a run folder: the state of outstanding requests is kept there")
        self._labeller = assignment.labeller
        ledger = Ledger(assignment.folder / FOLDER)
        waiting = _WaitingCases(ledger.folder)
        try:
            if ledger.is_new:
                await self._ask_first(assignment, cases, receive)
            pause = min(FIRST_LOOK, self._longest_pause)
            settle = min(SETTLE, 4 * self._longest_pause)
            batch_jobs = [BatchJobs(model, ledger, self._sizes, pause, settle) for model in models]
            try:
                await _Round(self, assignment, batch_jobs, waiting, receive).run(cases)
            finally:
                for jobs in batch_jobs:
                    await jobs.aclose()
        finally:
            try:
                for case in waiting.all():
                    await receive([(case, None)])
            finally:
                self._end(ledger)

    @staticmethod
    def _end(ledger: Ledger) -> None:
        """Ends the session of the ledger. Replies that no case has used are kept: the next pass may need them. A
        finished run drops them (`forget_answered`)."""
        ledger.end(keep=ledger.is_out() or ledger.has_replies())

    def stop(self) -> None:
        self._stopping.set()
        if self._labeller is not None:
            self._labeller.stop()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    async def pause(self, looks: int) -> None:
        """Waits for the next look, or until the run is stopped."""
        seconds = min(self._longest_pause, FIRST_LOOK * GROWTH ** min(looks, MOST_GROWTH))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _ask_first(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        """Judges the first cases by direct calls, so that a wrong setting shows before a batch is paid for; raises the
        reason if one of them stops the run."""
        for _ in range(self._pilot):
            case = None if self.stopping else await anext(cases, None)
            if case is None:
                return
            try:
                judged = await _start_case(assignment, case)
            except RunStopped:
                await receive([(case, None)])
                raise
            await receive([(case, judged.judgement)])
            judged.keep_view(assignment.judge, assignment.views, assignment.case_seconds)
            if judged.stop is not None:
                raise judged.stop


class _Round:
    """The work of one session."""

    def __init__(
        self,
        engine: BatchFiles,
        assignment: Assignment,
        batch_jobs: list[BatchJobs],
        waiting: _WaitingCases,
        receive: Receive,
    ) -> None:
        self._engine, self._assignment, self._receive = engine, assignment, receive
        self._jobs, self._waiting = batch_jobs, waiting
        self._ledger = batch_jobs[0].ledger

    async def run(self, cases: AsyncIterator[OpenCase]) -> None:
        """Judges all cases; those whose replies are not here yet wait for their batch. Raises `RunStopped` when the
        user stops."""
        for jobs in self._jobs:
            jobs.resume()
        number = 0
        async for case in cases:
            number += 1
            await self._judge(case)
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
            if self._engine.stopping:
                self._stop()
        await self._finish_waiting()

    async def _finish_waiting(self) -> None:
        """Sends and polls batches, and judges the cases of those that are back, until no case waits any more."""
        looks = 0
        while self._waiting.numbers():
            if self._engine.stopping:
                self._stop()
            await self._send(whole=False)
            back = [number for jobs in self._jobs for number in await jobs.poll_all()]
            looks = 0 if back else looks + 1
            out = any(jobs.outstanding() for jobs in self._jobs)
            for number in [*back, *([LATER] if back or not out else [])]:
                for case in self._waiting.take(number):
                    await self._judge(case)
            if self._waiting.numbers() and not back and out:
                await self._engine.pause(looks)

    async def _judge(self, case: OpenCase) -> None:
        """Judges a case and hands it on, or sets it aside if its labeller waits for a file; raises `RunStopped` if the
        run must end."""
        assignment = self._assignment
        for jobs in self._jobs:
            jobs.queue.used_replies.clear()
        try:
            judged = await _start_case(assignment, case)
        except Waiting as waiting:
            self._waiting.add(waiting.batch, case)
            await self._send(whole=True)
            return
        except RunStopped:
            for key, turn in self._used_replies():
                self._ledger.allow_again(key, turn)
            await self._receive([(case, None)])
            raise
        stop = judged.stop
        try:
            await self._receive([(case, judged.judgement)])
        except RunStopped as reason:  # the judgement is on record all the same
            stop = reason
        judged.keep_view(assignment.judge, assignment.views, assignment.case_seconds)
        for key, turn in self._used_replies():
            self._ledger.use(key, turn)
        if stop is not None:
            raise stop

    def _used_replies(self) -> Iterator[tuple[bytes, int]]:
        """Yields the replies that the current case has used."""
        return (reply for jobs in self._jobs for reply in jobs.queue.used_replies)

    async def _send(self, *, whole: bool) -> None:
        """Sends the files that are written; `whole`: only those that are full."""
        for jobs in self._jobs:
            if not whole:
                jobs.queue.close_file()
            if not whole or jobs.queue.has_full_file:
                jobs.queue.has_full_file = False
                await jobs.submit_all()

    def _stop(self) -> None:
        """Raises `RunStopped`, with how many requests the same command will collect later."""
        out = [batch for jobs in self._jobs for batch in jobs.outstanding() if batch.state != "ready"]
        requests = sum(batch.requests for batch in out)
        files = "1 batch" if len(out) == 1 else f"{len(out)} batches"
        collected = f"; {requests:,} requests in {files} are at the provider, and this command collects them"
        raise RunStopped(f"stopped by the user{collected if out else ''}", kind="interrupt")


def _start_case(assignment: Assignment, case: OpenCase) -> Awaitable[Judged]:
    seconds = assignment.case_seconds
    return carry(assignment.judge, assignment.labeller, case.item, case.digest, seconds=seconds)


class _WaitingCases:
    """Waiting cases by batch, on disk. They are needed in this session only.

    The files have no name, so nobody else can write to them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[int, _CaseFile] = {}
        self._begun: Iterator[OpenCase] = iter(())
        """The remaining cases of the batch that is being taken."""

    def add(self, number: int, case: OpenCase) -> None:
        """Puts a case aside until its batch is back."""
        try:
            if number not in self._open:
                self._open[number] = _CaseFile(self._folder)
            self._open[number].add(case)
        except OSError as error:
            raise write_failed(self._folder, error) from None

    def numbers(self) -> list[int]:
        return sorted(self._open)

    def take(self, number: int) -> Iterator[OpenCase]:
        """Yields the cases of a batch and removes them; others may be added under the same number meanwhile."""
        if number in self._open:
            self._begun = self._open.pop(number).take()
            for case in self._begun:  # noqa: UP028 - `yield from` would close the inner iterator when its reader stops early
                yield case

    def all(self) -> Iterator[OpenCase]:
        """Yields and removes all waiting cases, beginning with the rest of a batch that was not taken to its end."""
        yield from self._begun
        for number in self.numbers():
            yield from self.take(number)


class _CaseFile:
    """The waiting cases of one batch."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed when all is taken
        self._odd: list[OpenCase] = []
        """Cases that cannot be pickled (nested too deep, or records of a program's own): they stay in memory."""

    def add(self, case: OpenCase) -> None:
        """Writes a case to the file; one that cannot be pickled stays in memory."""
        try:
            packed = pickle.dumps(case, pickle.HIGHEST_PROTOCOL)
        except Exception:
            self._odd.append(case)
            return
        self._file.write(packed)

    def take(self) -> Iterator[OpenCase]:
        """Yields all cases that were put aside, and closes the file."""
        yield from self._odd
        with self._file:
            try:
                self._file.seek(0)  # which writes the rest of it
            except OSError as error:
                raise write_failed(self._folder, error) from None
            with contextlib.suppress(EOFError):
                while True:
                    yield pickle.load(self._file)  # noqa: S301 - written above


def use_batch_prices(labeller: Labeller) -> None:
    """Makes the models of a labeller count with the prices of batch files, for an estimate."""
    for model in models_of(labeller):
        model.use_price_factor(model.settings["batch_price"])


def models_of(labeller: Labeller) -> list[LlmLabeller]:
    """Returns the models that a labeller asks; raises `UsageProblem` if there are none, or the provider of one has no
    batch files."""
    members = labeller.members.values() if isinstance(labeller, Panel) else [labeller]
    models = [member for member in members if isinstance(member, LlmLabeller)]
    for model in models:
        refuse_without_batches(model.endpoint)
    if not models:
        raise UsageProblem("--engine batch asks a model: name one with --labeller (gpt-…, claude-…)")
    return models
