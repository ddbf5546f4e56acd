"""The worker's side of a crew: a judge and a labeller, built once, and the cases that come in over a link.

A desk judges on one thread and is told what comes in on another, so that it hears its link while it judges. What it
does with a case is what the engine of one process does (`engine.pool`); only where cases come from and judgements go is
different.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import itertools
import os
import pickle
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple

from krino.cases.item import CaseItem
from krino.contract import Judgement, Source, Usage
from krino.contract.code_limit import CASE_SECONDS, end_if_stuck, is_alive
from krino.engine.case import Written, written
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, OpenCase, Returned
from krino.engine.views import ViewKeeper
from krino.errors import LabelFailed, RunStopped, UsageProblem
from krino.judges.reference import JudgeReference
from krino.labellers.remote import Call, PortableLabeller
from krino.text.faults import named

GATHER = 0.1
"""Seconds for which news is gathered before it goes out: messages cost more than what is in them."""
GATHER_CALLS = 0.005
"""The same while a call waits for its answer."""
LIFE = 2.0
"""Seconds between two signs that the worker is not stuck in a step, though it may have nothing to do."""
LOT = 8
"""Cases that are packed together, and that a worker makes objects of at a time."""
KEPT = 16 * 1024 * 1024
"""Bytes of freed memory that a process on either side of a link keeps for the next message."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of malloc.h
_FIGURES = attrgetter(*Usage.__slots__)


def keep_to_one_core() -> None:
    """From now on models are loaded for one thread, unless the user has set another number."""
    os.environ.setdefault("KRINO_THREADS", "1")


def keep_freed_memory() -> None:
    """What a message took is used for the next one. Given back to the system in between, as the C library would by
    itself, its pages are cleared and mapped anew each time, which takes longer than all else that is done to it."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # a C library that has no such setting
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM_THRESHOLD, KEPT)
        library.mallopt(_MMAP_THRESHOLD, KEPT)


@dataclass(frozen=True, slots=True)
class Kit:
    """All that a worker needs to begin. Loading it runs the judge's code: it goes only to workers of one's own."""

    judge: JudgeReference
    labeller: PortableLabeller
    keys_in: frozenset[str] = frozenset()
    """Variables of the starter's environment that hold keys."""
    gather: float = GATHER
    case_seconds: float = CASE_SECONDS
    with_views: bool = False
    """Whether the views of cases are wanted."""

    def forget_keys(self) -> None:
        """For a process that was started for the work: it has inherited keys that a worker never needs, and the judge's
        code, which is loaded next, is not to find them."""
        for name in self.keys_in:
            os.environ.pop(name, None)


# --- what is said over a link ------------------------------------------------------------------------


class Cases(NamedTuple):
    """To a worker: judge these. They come in lots, packed as soon as they are read and opened one lot after another: a
    record that was made long before it is used is far away in memory by then."""

    how_many: int
    lots: list[bytes]


def packed_lot(cases: Sequence[OpenCase]) -> bytes:
    """As bare tuples, which cost the starter half of what objects do."""
    return pickle.dumps([bare_case(item, digest) for item, digest in cases], pickle.HIGHEST_PROTOCOL)


def opened(lot: bytes) -> Iterator[OpenCase]:
    yield from map(case_of, pickle.loads(lot))  # noqa: S301 - from the starter


def case_of(bare: Sequence[Any]) -> OpenCase:
    index, name, record, source, problem, raw, place, digest = bare
    source = None if source is None else Source(*source)
    return OpenCase(CaseItem(index, name, record, source, problem, raw, place), digest)


def bare_case(item: CaseItem, digest: str) -> tuple[Any, ...]:
    """A case as plain values."""
    source = None if item.source is None else (item.source.file, item.source.line)
    return item.index, item.id, item.record, source, item.problem, item.raw, item.place, digest


class Answer(NamedTuple):
    """To a worker: what came of its call."""

    number: int
    value: Any
    fault: RunStopped | LabelFailed | UsageProblem | None = None


class Stop(NamedTuple):
    """To a worker: there are no more cases. `now`: begin none of those that it has either."""

    now: bool


class Ready(NamedTuple):
    """From a worker, first of all: judge and labeller are built."""


class Done(NamedTuple):
    """From a worker: cases by their places, each with None where the run was stopped before it had a judgement. They
    are sent bare as well."""

    bare: list[tuple[int, tuple[Any, ...] | None]]

    @classmethod
    def of(cls, cases: list[tuple[int, Written | None]]) -> Done:
        return cls([(place, None if line is None else _bare_line(line)) for place, line in cases])

    def opened(self) -> Iterator[tuple[int, Written | None]]:
        for place, bare in self.bare:
            if bare is None:
                yield place, None
            else:
                line, digest, status, figures, error, labels = bare
                yield place, Written(line, digest, status, Usage(*figures), error, labels)


def _bare_line(line: Written) -> tuple[Any, ...]:
    return line.line, line.input_hash, line.status, _FIGURES(line.usage), line.error, line.labels


class Views(NamedTuple):
    """From a worker: views of cases that it has sent back, as the lines in which they are kept."""

    lines: list[bytes]


class Calling(NamedTuple):
    """From a worker: its labeller wants something of its line."""

    number: int
    call: Call


class Ended(NamedTuple):
    """From a worker, last of all."""

    reason: RunStopped | UsageProblem | None


ToWorker = Cases | Answer | Stop
FromWorker = Ready | Done | Views | Calling | Ended


class Desk:
    """`take` is called from any thread; `say` is called on the one that is in `work`."""

    def __init__(
        self, kit: Kit, say: Callable[[list[FromWorker]], None], show_life: Callable[[], None] = lambda: None
    ) -> None:
        self._kit = kit
        self._tell_of_life = show_life
        self._say = say
        self._loop = asyncio.new_event_loop()
        self._lots: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._numbers = itertools.count()
        self._in_hand = 0
        self._began = False
        self._pool = LocalPool()
        self._done: list[tuple[int, Written | None]] = []
        self._calling: list[Calling] = []
        self._views: list[bytes] = []
        self._going_out: asyncio.TimerHandle | None = None

    def take(self, messages: list[ToWorker]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: all is said, and nobody waits for it
            self._loop.call_soon_threadsafe(self._read, messages)

    def work(self) -> None:
        """To the end of the cases."""
        keep_to_one_core()
        keep_freed_memory()
        gc.freeze()
        gc.set_threshold(100_000, 50, 50)
        reason: RunStopped | UsageProblem | None = None
        try:
            self._loop.run_until_complete(self._judge_all())
        except (RunStopped, UsageProblem) as told:
            reason = told
        except BaseException as fault:
            if self._began:  # a case has broken it (closed its files, say): which one is found out when it is dead
                os._exit(1)
            reason = UsageProblem(f"a worker cannot go on: {named(fault)}; --workers 1 uses none")
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._send_news()
        self._say([Ended(reason)])
        self._loop.close()

    # --- what goes out -------------------------------------------------------------------------------

    def _gather(self, *, paid: bool = False) -> None:
        """See to it that news goes out in time: at once where nothing is left to be done, with the next turn of the
        loop if it was paid for (the journal has it only when it has arrived), soon if a call waits."""
        now, going_out = self._loop.time(), self._going_out
        due = now if paid else now + (GATHER_CALLS if self._calls else self._kit.gather)
        if not self._in_hand or (going_out is not None and now >= going_out.when()):  # the loop may be late: it judges
            self._send_news()
        elif going_out is None or due < going_out.when():
            self._forget_timer()
            self._going_out = self._loop.call_at(due, self._send_news)

    def _send_news(self) -> None:
        self._forget_timer()
        done, self._done = self._done, []
        calling, self._calling = self._calling, []
        views, self._views = self._views, []
        if done or calling or views:
            self._say([Done.of(done), *([Views(views)] if views else []), *calling])

    def _forget_timer(self) -> None:
        if self._going_out is not None:
            self._going_out.cancel()
            self._going_out = None

    # --- what it does --------------------------------------------------------------------------------

    async def _judge_all(self) -> None:
        judge, labeller = self._kit.judge.load(), self._kit.labeller.unpack(self._call)
        self._say([Ready()])
        self._began = True
        seconds = self._kit.case_seconds
        end_if_stuck(seconds, self._tell_of_life)
        self._show_life()

        async def receive(cases: Sequence[tuple[Returned, Judgement | None]]) -> None:
            for case, judgement in cases:
                line = None if judgement is None else written(judge, case.item, judgement)
                self._in_hand -= 1
                self._done.append((case.number, line))
            self._gather(paid=any(judgement and judgement.usage.calls for _, judgement in cases))

        try:
            work = Assignment(judge, labeller, case_seconds=seconds, views=self._view_keeper())
            await self._pool.run(work, self._stream(), receive)
        finally:
            await labeller.aclose()

    def _view_keeper(self) -> ViewKeeper | None:
        """Views go out with the next news, which a view alone does not hurry."""
        return ViewKeeper(lambda line: self._views.append(line)) if self._kit.with_views else None

    def _show_life(self) -> None:
        is_alive()
        self._loop.call_later(LIFE, self._show_life)

    async def _stream(self) -> AsyncGenerator[OpenCase, None]:
        while (lot := await self._lots.get()) is not None:
            for case in opened(lot):
                yield case

    def _read(self, messages: list[ToWorker]) -> None:
        for message in messages:
            if isinstance(message, Cases):
                self._in_hand += message.how_many
                for lot in message.lots:
                    self._lots.put_nowait(lot)
            elif isinstance(message, Answer):
                self._answer(message)
            else:
                if message.now:
                    self._pool.stop()
                self._lots.put_nowait(None)

    async def _call(self, call: Call) -> Any:
        number = next(self._numbers)
        self._calls[number] = waiting = self._loop.create_future()
        self._calling.append(Calling(number, call))
        self._gather()
        return await waiting

    def _answer(self, answer: Answer) -> None:
        waiting = self._calls.pop(answer.number, None)
        if waiting is None or waiting.done():
            return
        if answer.fault is not None:
            waiting.set_exception(answer.fault)
        else:
            waiting.set_result(answer.value)
