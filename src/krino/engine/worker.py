"""A worker: judges the cases that its pool sends, with a judge and a labeller that it builds once.

It judges on one thread and receives on another, so that messages are read while it judges. A case goes the same way as
in the pool of one process (`engine.pool`); only where cases come from and where judgements go is different.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from krino.contract import Judgement
from krino.contract.code_limit import end_if_stuck, is_alive
from krino.engine.case import Written, written
from krino.engine.child_process import keep_to_one_core
from krino.engine.interface import Assignment, OpenCase, Returned
from krino.engine.pool import LocalPool
from krino.engine.views import ViewKeeper
from krino.engine.worker_messages import (
    CallAnswer,
    Cases,
    Done,
    Ended,
    FromWorker,
    GatewayCall,
    Ready,
    ToWorker,
    Views,
    WorkerSetup,
    unpack_cases,
)
from krino.errors import RunStopped, UsageProblem
from krino.labellers.remote import Call
from krino.text.faults import describe_exception

CALL_SECONDS = 0.005
"""How long results are collected while a gateway call waits to be sent."""
HEARTBEAT = 2.0
"""Seconds between two signs of life, also while there is nothing to do."""


class Worker:
    """`receive` may be called from any thread; `send` is called on the thread that runs `work`."""

    def __init__(
        self,
        setup: WorkerSetup,
        send: Callable[[list[FromWorker]], None],
        show_life: Callable[[], None] = lambda: None,
    ) -> None:
        self._setup = setup
        self._send = send
        self._show_life = show_life
        self._loop = asyncio.new_event_loop()
        self._batches: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count()
        self._assigned = 0
        self._began = False
        self._pool = LocalPool()
        self._done: list[tuple[int, Written | None]] = []
        self._new_calls: list[GatewayCall] = []
        self._views: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None

    def receive(self, messages: list[ToWorker]) -> None:
        """Passes messages on to the thread that judges; dropped once its loop is closed."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: everything was sent
            self._loop.call_soon_threadsafe(self._handle_messages, messages)

    def work(self) -> None:
        """Judges to the end of the cases, and then sends `Ended` with the reason to stop, if there is one. If a case
        has broken the process, ends it instead."""
        keep_to_one_core()
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)  # judging makes many objects and hardly any cycles: see `cli.runner`
        reason: RunStopped | UsageProblem | None = None
        try:
            self._loop.run_until_complete(self._judge_all())
        except (RunStopped, UsageProblem) as stop:
            reason = stop
        except BaseException as fault:
            if self._began:  # a case has broken the process (closed its files, say): the pool finds out which
                os._exit(1)
            reason = UsageProblem(f"a worker cannot go on: {describe_exception(fault)}; --workers 1 uses none")
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._report()
        self._send([Ended(reason)])
        self._loop.close()

    # --- reporting -----------------------------------------------------------------------------------

    def _report_soon(self, *, paid: bool = False) -> None:
        """Reports at once if nothing is left to do, in the next turn of the loop what was paid for (the journal has it
        only when it has arrived), otherwise when more results were collected."""
        now, timer = self._loop.time(), self._timer
        due = now if paid else now + (CALL_SECONDS if self._calls else self._setup.report_seconds)
        if not self._assigned or (timer is not None and now >= timer.when()):  # judging may have delayed the timer
            self._report()
        elif timer is None or due < timer.when():
            self._cancel_timer()
            self._timer = self._loop.call_at(due, self._report)

    def _report(self) -> None:
        """Sends finished cases, views and new calls in one message."""
        self._cancel_timer()
        done, self._done = self._done, []
        calls, self._new_calls = self._new_calls, []
        views, self._views = self._views, []
        if done or calls or views:
            self._send([Done(done), *([Views(views)] if views else []), *calls])

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- judging -------------------------------------------------------------------------------------

    async def _judge_all(self) -> None:
        """Loads judge and labeller, and judges what the pool sends until it sends no more."""
        judge, labeller = self._setup.judge.load(), self._setup.labeller.unpack(self._call)
        self._send([Ready()])
        self._began = True
        seconds = self._setup.case_seconds
        end_if_stuck(seconds, self._show_life)
        self._beat()

        async def receive(cases: Sequence[tuple[Returned, Judgement | None]]) -> None:
            """Keeps finished cases as lines for the next report, and plans that report."""
            for case, judgement in cases:
                line = None if judgement is None else written(judge, case.item, judgement)
                self._assigned -= 1
                self._done.append((case.number, line))
            self._report_soon(paid=any(judgement and judgement.usage.calls for _, judgement in cases))

        # A view goes out with the next report, and does not make it come sooner.
        views = ViewKeeper(lambda line: self._views.append(line)) if self._setup.with_views else None
        try:
            work = Assignment(judge, labeller, case_seconds=seconds, views=views)
            await self._pool.run(work, self._stream(), receive)
        finally:
            await labeller.aclose()

    def _beat(self) -> None:
        """Shows that the process is alive, now and every `HEARTBEAT` seconds."""
        is_alive()
        self._loop.call_later(HEARTBEAT, self._beat)

    async def _stream(self) -> AsyncGenerator[OpenCase, None]:
        """Yields the cases of the batches that the pool sends, until it sends no more."""
        while (batch := await self._batches.get()) is not None:
            for case in unpack_cases(batch):
                yield case

    def _handle_messages(self, messages: list[ToWorker]) -> None:
        """Acts on messages: queues new cases, passes on replies to calls, or stops."""
        for message in messages:
            if isinstance(message, Cases):
                self._assigned += message.how_many
                for batch in message.batches:
                    self._batches.put_nowait(batch)
            elif isinstance(message, CallAnswer):
                self._take_answer(message)
            else:
                if message.now:
                    self._pool.stop()
                self._batches.put_nowait(None)

    async def _call(self, call: Call) -> Any:
        """Passes a model call on to the pool, and waits for its answer."""
        number = next(self._numbers)
        self._calls[number] = waiting = self._loop.create_future()
        self._new_calls.append(GatewayCall(number, call))
        self._report_soon()
        return await waiting

    def _take_answer(self, answer: CallAnswer) -> None:
        """Gives the answer of a call to the case that waits for it."""
        waiting = self._calls.pop(answer.number, None)
        if waiting is None or waiting.done():
            return
        if answer.fault is not None:
            waiting.set_exception(answer.fault)
        else:
            waiting.set_result(answer.value)
