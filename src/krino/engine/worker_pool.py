"""The engine of several workers: sends them cases, answers their model calls, collects judgements, replaces the dead.

Journal, budget, pace and cache stay in this process, whatever the workers are (processes of this machine, Ray actors):
the pool starts a worker by a function and knows it as a `Link`. A worker that dies costs nothing but time. Nobody can
say which of its cases killed it, so the worker that replaces it gets them a few at a time, and after another death one
by one. A case that is alone with a worker when that one dies is an error.

Nothing is paid twice either. A reply that a dead worker had asked for is kept here until its case is done, and given
to the worker that asks the same again.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from krino.cases.item import CaseItem
from krino.contract import Usage
from krino.engine.case import Written, without_verdict
from krino.engine.interface import Assignment, Finished, OpenCase, ReceiveAny, Returned
from krino.engine.views import is_view_line
from krino.engine.worker_messages import (
    REPORT_SECONDS,
    CallAnswer,
    Cases,
    Done,
    Ended,
    FromWorker,
    GatewayCall,
    Ready,
    Stop,
    ToWorker,
    Views,
    WorkerSetup,
    pack_cases,
    unpack_cases,
)
from krino.errors import LabelFailed, RunStopped, UsageProblem
from krino.judges.reference import JudgeReference
from krino.labellers.local import LocalLabeller
from krino.labellers.remote import Call, answer_call, key_variables_of, pack_labeller
from krino.text.faults import describe_exception

if TYPE_CHECKING:
    from krino.labellers.llm.sending.gateway import Gateway

BATCH = 8
"""Cases that are packed together, and that a worker unpacks at a time."""
PREFETCH = 3
"""How many reports' worth of cases a worker holds: it never waits for more, few are lost with it, and all workers end
at about the same time."""
MOST_ASSIGNED, FEWEST_ASSIGNED = 2_000, 16
"""Cases that a worker holds, however quick or slow it is; with a model at least as many as it asks about at a time."""
RETRIED_TOGETHER = 16
"""Cases of a dead worker that are judged again together."""
MOST_FAILED_STARTS = 3
"""Workers in a row that may die before they are ready; more will not help."""
DIED = (
    "the worker that judged this case died twice (killed, out of memory, its files closed by the judge, or stuck for "
    "longer than --case-timeout); the same command tries it again, "
    "and with --workers 1 it has the memory to itself"
)


class WorkerLost(Exception):
    """The worker behind a link is dead."""


class Link(Protocol):
    """The connection to one worker. Both calls raise `WorkerLost` once it is dead."""

    async def send(self, messages: list[ToWorker]) -> None: ...

    async def receive(self) -> list[FromWorker]: ...

    async def close(self) -> None:
        """Ends the worker, whatever it is doing."""


StartWorker = Callable[[WorkerSetup], Awaitable[Link]]


class AssignedCase(NamedTuple):
    """A case that a worker has, with the batch that it was packed in."""

    number: int
    digest: str
    batch: bytes

    @property
    def case(self) -> OpenCase:
        return next(case for case in unpack_cases(self.batch) if case.number == self.number)

    @property
    def item(self) -> CaseItem:
        return self.case.item


class WorkerPool:
    """An `Engine` of several workers."""

    def __init__(self, workers: int, start_worker: StartWorker, report_seconds: float = REPORT_SECONDS) -> None:
        self._workers = workers
        self.start_worker = start_worker
        self._report_seconds = report_seconds
        self._assignment: Assignment | None = None
        self._slots: list[_Slot] = []
        self._reason: Exception | None = None
        self.stopping = False
        self.no_more_cases = asyncio.Event()
        """Set when no new cases will be sent, only those of workers that die."""

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: ReceiveAny) -> None:
        """Runs all slots until the stream of cases ends; then raises why the run was stopped, if it was."""
        self._assignment = assignment
        labeller, gateways = pack_labeller(assignment.labeller)
        setup = WorkerSetup(
            JudgeReference.of(assignment.judge),
            labeller,
            key_variables_of(assignment.labeller),
            self._report_seconds,
            assignment.case_seconds,
            with_views=assignment.views is not None,
        )
        calls = _CallAnswerer(gateways)
        reading = asyncio.Lock()  # a stream can be asked for one case at a time
        self._slots = [_Slot(self, setup, calls, cases, reading, receive) for _ in range(self._workers)]
        tasks = [asyncio.create_task(slot.run()) for slot in self._slots]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await calls.close()
        if self._reason is not None:
            raise self._reason

    def stop(self) -> None:
        """Stops reading cases, and makes labeller and workers stop."""
        self._send_no_more_cases()
        if self._assignment is not None:
            self._assignment.labeller.stop()
        for slot in self._slots:
            slot.post(Stop(now=True))

    # --- for the slots -------------------------------------------------------------------------------

    @property
    def assignment(self) -> Assignment:
        assert self._assignment is not None
        return self._assignment

    def end(self, reason: Exception) -> None:
        """Sends no more cases, and keeps the first reason to raise at the end: a reason to stop the run, which stops
        workers too, or a fault of the stream."""
        self._reason = self._reason or reason
        if isinstance(reason, RunStopped):
            self.stop()
        else:  # what was read before the stream broke is judged
            self._send_no_more_cases()

    def _send_no_more_cases(self) -> None:
        self.stopping = True
        self.no_more_cases.set()


@dataclass(slots=True)
class _CallAnswerer:
    """Carries out the gateway calls of workers, each request of a case only once."""

    gateways: list[Gateway]
    _requests: dict[str, dict[Call, asyncio.Task[Any]]] = field(default_factory=lambda: defaultdict(dict))
    """By the hash of their case: the requests of cases that are not done, answered or under way."""

    async def answer(self, number: int, call: Call) -> CallAnswer:
        """Answers a worker's call; faults are sent to the worker too."""
        try:
            return CallAnswer(number, await self._result(call))
        except (RunStopped, LabelFailed, UsageProblem) as fault:
            return CallAnswer(number, None, fault)
        except Exception as fault:  # whatever it is, the worker must get an answer, or it waits for ever
            return CallAnswer(number, None, LabelFailed(describe_exception(fault)))

    def forget_case(self, digest: str) -> None:
        self._requests.pop(digest, None)

    def spent_on(self, digest: str) -> Usage:
        """Returns what the replies of a case cost that no worker will use any more, and forgets them."""
        spent = Usage()
        for request in self._requests.pop(digest, {}).values():
            if request.done() and not request.cancelled() and request.exception() is None:
                spent.add(request.result().usage)
        return spent

    async def close(self) -> None:
        """Cancels the calls that are under way."""
        under_way = [task for requests in self._requests.values() for task in requests.values()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _result(self, call: Call) -> Any:
        """Returns the result of a call, made once for each case and request, also if its worker dies and another asks
        again. Only replies are kept: what failed or was refused may be sent again."""
        if call.case is None:
            return await answer_call(call, self.gateways)
        requests = self._requests[call.case]
        if call not in requests:
            requests[call] = asyncio.create_task(answer_call(call, self.gateways))
        try:
            result = await asyncio.shield(requests[call])  # the worker may die; the reply is paid for all the same
        except Exception:
            requests.pop(call, None)
            raise
        if result.reply is None:
            requests.pop(call, None)  # what was refused may be sent again
        return result


@dataclass(slots=True)
class _Slot:
    """One place in the pool: it has one worker at a time, and a new one when that dies."""

    pool: WorkerPool
    setup: WorkerSetup
    calls: _CallAnswerer
    cases: AsyncIterator[OpenCase]
    reading: asyncio.Lock
    receive: ReceiveAny
    assigned: dict[int, AssignedCase] = field(default_factory=dict)
    """The cases that the worker has."""
    retries: deque[list[OpenCase]] = field(default_factory=deque)
    """Cases of dead workers, in groups that are judged one after another."""
    retrying: bool = False
    """Whether the worker has such a group."""
    ready: bool = False
    end_sent: bool = False
    ended: bool = False
    all_read: bool = False
    _window: int = 0
    """How many cases the worker is to have."""
    _done: int = 0
    _since: float = 0.0
    _outbox: list[ToWorker] = field(default_factory=list)
    _has_mail: asyncio.Event = field(default_factory=asyncio.Event)
    _answering: set[asyncio.Task[None]] = field(default_factory=set)

    def post(self, message: ToWorker) -> None:
        """Puts a message in the outbox of the worker."""
        self._outbox.append(message)
        self._has_mail.set()

    async def run(self) -> None:
        """Works until all is done, with one worker after another if they die; raises `UsageProblem` if several die at
        their start."""
        failed_starts = 0
        while self.retries or not self.all_read:
            if self.pool.stopping:
                await self._give_back_retries()
                return
            self.ready = self.end_sent = self.ended = False
            self._outbox.clear()
            link = await self.pool.start_worker(self.setup)
            sending = asyncio.create_task(self._send(link))
            try:
                await self._work_with(link)
            except WorkerLost as death:
                failed_starts = 0 if self.ready else failed_starts + 1
                if failed_starts == MOST_FAILED_STARTS:
                    raise UsageProblem(f"workers die before they can begin: {death}; --workers 1 uses none") from None
                await self._plan_retries()
            finally:
                for task in (sending, *self._answering):
                    task.cancel()
                await asyncio.gather(sending, *self._answering, return_exceptions=True)
                await link.close()

    async def _work_with(self, link: Link) -> None:
        """Sends cases to one worker and handles its messages until it ends; returns at once if it is no longer
        needed."""
        if not await self._is_needed(link):
            self.all_read = True
            return
        while not self.ended:
            await self._assign()
            for message in await link.receive():
                await self._handle(message)

    async def _is_needed(self, link: Link) -> bool:
        """Waits for the first messages of the worker and handles them. False if no case is left for it before they
        come, as on a busy cluster."""
        first = asyncio.ensure_future(link.receive())
        no_more = asyncio.ensure_future(self.pool.no_more_cases.wait())
        try:
            await asyncio.wait({first} if self.retries else {first, no_more}, return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                return False
            for message in first.result():
                await self._handle(message)
            return True
        finally:
            first.cancel()
            no_more.cancel()
            await asyncio.gather(first, no_more, return_exceptions=True)

    async def _send(self, link: Link) -> None:
        """Sends what is posted until the worker is lost. What is posted while a message is on its way goes with the
        next one."""
        try:
            while True:
                await self._has_mail.wait()
                self._has_mail.clear()
                messages, self._outbox = self._outbox, []
                if messages:
                    await link.send(messages)
        except WorkerLost:  # whoever receives from the link learns of it too
            return

    # --- what the worker has to do -------------------------------------------------------------------

    async def _assign(self) -> None:
        """Sends the worker one group of retries, or as many new cases as it has room for; when there are none left,
        lets it end."""
        if self.pool.stopping:
            await self._give_back_retries()
        if self.retrying and self.assigned:
            return
        self.retrying = bool(self.retries)
        if self.retries:
            group = self.retries.popleft()
            self.post(Cases(len(group), [self._pack(group)]))
            return
        if not self.all_read and len(self.assigned) <= self._window // 2:
            self._measure()
            await self._send_new_cases(self._window - len(self.assigned))
        if self.all_read and not self.end_sent:
            self.end_sent = True
            self.post(Stop(now=False))

    def _pack(self, cases: list[OpenCase]) -> bytes:
        """Packs cases, and records them as assigned to the worker."""
        batch = pack_cases(cases)
        self.assigned.update((case.number, AssignedCase(case.number, case.digest, batch)) for case in cases)
        return batch

    def _measure(self) -> None:
        """Sets the window, the number of cases that the worker is to have, by how many were done a second since it was
        set last."""
        now = time.monotonic()
        if self._done:
            labeller = self.pool.assignment.labeller
            fewest = FEWEST_ASSIGNED if isinstance(labeller, LocalLabeller) else labeller.workers
            per_second = self._done / max(now - self._since, 1e-3)
            enough = int(per_second * self.setup.report_seconds * PREFETCH)
            self._window = max(fewest, min(enough, MOST_ASSIGNED))
        self._done, self._since = 0, now

    async def _send_new_cases(self, count: int) -> None:
        """Sends this many new cases, or as many as there are."""
        batches: list[bytes] = []
        how_many = 0
        async with self.reading:
            for at in range(0, count, BATCH):
                if self.all_read or not (cases := await self._next(min(BATCH, count - at))):
                    break
                batches.append(self._pack(cases))
                how_many += len(cases)
        self.all_read = self.all_read or self.pool.stopping
        if batches:
            self.post(Cases(how_many, batches))

    async def _next(self, count: int) -> list[OpenCase]:
        """Returns the next cases of the stream; fewer where it ends. If the stream breaks, the pool reads no more."""
        cases: list[OpenCase] = []
        try:
            while len(cases) < count and not self.pool.stopping:
                cases.append(await anext(self.cases))
        except StopAsyncIteration:
            self.all_read = True
            self.pool.no_more_cases.set()
        except Exception as fault:  # the stream is broken; what was read before it is judged
            self.pool.end(fault)
        return cases

    # --- what the worker reports ---------------------------------------------------------------------

    async def _handle(self, message: FromWorker) -> None:
        """Acts on one message of the worker."""
        if isinstance(message, Done):
            done = _check_message(message, self.assigned)
            await self._hand_back([self._take_back(number, judgement) for number, judgement in done])
        elif isinstance(message, Views):
            self._keep_views(message)
        elif isinstance(message, GatewayCall):
            answering = asyncio.create_task(self._answer(message))
            self._answering.add(answering)
            answering.add_done_callback(self._answering.discard)
        elif isinstance(message, Ready):
            self.ready = True
            self._window, self._done, self._since = self.pool.assignment.labeller.workers, 0, time.monotonic()
        else:
            await self._finish(message)

    async def _answer(self, request: GatewayCall) -> None:
        """Answers a gateway call of the worker."""
        self.post(await self.calls.answer(request.number, request.call))

    def _keep_views(self, views: Views) -> None:
        """Keeps the views that a worker sent, if views are kept; raises `WorkerLost` if one is no line within the
        bounds."""
        if not isinstance(views.lines, list) or not all(is_view_line(line) for line in views.lines):
            raise WorkerLost("its message cannot be read: a view is no line")  # the judge may write into its files
        if (keeper := self.pool.assignment.views) is not None:
            for line in views.lines:
                keeper.take(line)

    def _take_back(self, number: int, judgement: Written | None) -> tuple[AssignedCase, Written | None]:
        """Removes a finished case from those assigned to the worker, and returns it with its judgement."""
        case = self.assigned.pop(number)
        self._done += 1
        self.calls.forget_case(case.digest)
        return case, judgement

    async def _hand_back(self, cases: Sequence[tuple[Returned, Finished | None]]) -> None:
        """Hands all cases of a message to the run together: one write to the journal is much less work than one for
        each. If the run must stop, ends the pool."""
        try:
            await self.receive(cases)
        except RunStopped as reason:
            self.pool.end(reason)

    async def _give_back_retries(self) -> None:
        """Hands back the cases that wait for another try, without judgements."""
        groups, self.retries = self.retries, deque()
        await self._hand_back([(case, None) for group in groups for case in group])

    async def _finish(self, ended: Ended) -> None:
        """Handles the last message of a worker: hands back the cases that it had not begun, and stops the pool if it
        gives a reason; raises a `UsageProblem` that it gives."""
        self.ended = self.all_read = True
        if isinstance(ended.reason, UsageProblem):
            raise ended.reason
        if ended.reason is not None:
            self.pool.end(ended.reason)
        left, self.assigned = self.assigned, {}
        await self._hand_back([(case, None) for case in left.values()])

    async def _plan_retries(self) -> None:
        """Plans to judge the cases of a dead worker again, in smaller groups each time. A case that was alone with it
        is handed on as an error."""
        left, self.assigned = [assigned.case for assigned in self.assigned.values()], {}
        if not self.retrying:
            self.retries.extend(left[at : at + RETRIED_TOGETHER] for at in range(0, len(left), RETRIED_TOGETHER))
        elif len(left) > 1:
            self.retries.extendleft([case] for case in reversed(left))
        elif left:
            judge, (case,) = self.pool.assignment.judge, left
            spent = self.calls.spent_on(case.digest)
            died = without_verdict(judge, case.item, case.digest, "error", DIED, usage=spent)
            await self._hand_back([(case, died)])


def _check_message(message: Done, assigned: dict[int, AssignedCase]) -> list[tuple[int, Written | None]]:
    """Returns the finished cases of a message; raises `WorkerLost` if the worker did not have them: a judge may have
    written into its files."""
    done = message.cases
    try:
        numbers = [number for number, judgement in done if judgement is None or isinstance(judgement, Written)]
    except Exception as fault:
        raise WorkerLost(f"its message cannot be read: {describe_exception(fault)}") from None
    if len(set(numbers)) < len(done) or not assigned.keys() >= set(numbers):
        raise WorkerLost("its message names cases that it does not have")
    return done
