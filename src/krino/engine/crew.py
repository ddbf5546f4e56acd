"""The starter's side of a crew: hands cases to workers, answers their calls, takes judgements back, mourns the dead.

Journal, roll, budget, pace and cache stay here, whatever the workers are (processes of this machine, Ray actors): a
crew is told how to hire one and knows it as a `Link`. A worker that dies costs nothing but time. Which of its cases
killed it nobody can say, so the next worker in its place takes them a few at a time, and after another death one by
one; a case that is alone with a worker when that one dies is an error.

Nothing is paid twice either. A reply that a dead worker had asked for is kept here until its case is done, and given
to whoever asks the same.
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
from krino.engine.desk import (
    GATHER,
    LOT,
    Answer,
    Calling,
    Cases,
    Done,
    Ended,
    FromWorker,
    Kit,
    Ready,
    Stop,
    ToWorker,
    Views,
    opened,
    packed_lot,
)
from krino.engine.protocol import Assignment, Finished, OpenCase, ReceiveAny, Returned
from krino.engine.views import is_view_line
from krino.errors import LabelFailed, RunStopped, UsageProblem
from krino.judges.reference import JudgeReference
from krino.labellers.local import LocalLabeller
from krino.labellers.remote import Call, answer_call, key_variables_of, pack_labeller
from krino.text.faults import named

if TYPE_CHECKING:
    from krino.labellers.llm.gateway import Gateway

IN_HAND = 3
"""So many times the work that is done between two messages: a worker never waits for the next cases, few are lost with
it, and all end at about one time."""
MOST_IN_HAND, LEAST_IN_HAND = 2_000, 16
"""Cases that a worker has, however quick or slow it is; where a model is asked, at least as many as it asks about."""
FEW_AT_A_TIME = 16
"""Cases of a dead worker that the next one takes together."""
STILLBORN = 3
"""Workers in a row that may die before they are ready; more will not help."""
DIED = (
    "the worker that judged this case died twice (killed, out of memory, its files closed by the judge, or stuck for "
    "longer than --case-timeout); the same command tries it again, "
    "and with --workers 1 it has the memory to itself"
)


class WorkerLost(Exception):
    """The worker behind a link is dead."""


class Link(Protocol):
    """The way to one worker. Both calls raise `WorkerLost` once it is dead."""

    async def send(self, messages: list[ToWorker]) -> None: ...

    async def receive(self) -> list[FromWorker]: ...

    async def close(self) -> None:
        """End the worker, whatever it is doing."""


Hire = Callable[[Kit], Awaitable[Link]]


class Sent(NamedTuple):
    """A case that a worker has, as it was packed: its objects would take several times the memory meanwhile."""

    number: int
    digest: str
    lot: bytes
    """With the cases that were packed together with it."""

    @property
    def case(self) -> OpenCase:
        return next(case for case in opened(self.lot) if case.number == self.number)

    @property
    def item(self) -> CaseItem:
        return self.case.item


class Crew:
    """An `Engine` of several workers."""

    def __init__(self, workers: int, hire: Hire, gather: float = GATHER) -> None:
        """`gather`: seconds between two messages of a worker, more where a message costs more."""
        self._workers = workers
        self._hire = hire
        self._gather = gather
        self._assignment: Assignment | None = None
        self._places: list[_Place] = []
        self._reason: Exception | None = None
        self.stopping = False
        self.none_left = asyncio.Event()
        """Set when no more cases will be handed out, but those of workers that die."""

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: ReceiveAny) -> None:
        self._assignment = assignment
        labeller, lines = pack_labeller(assignment.labeller)
        keys_in = key_variables_of(assignment.labeller)
        with_views = assignment.views is not None
        judge, seconds = JudgeReference.of(assignment.judge), assignment.case_seconds
        kit = Kit(judge, labeller, keys_in, self._gather, seconds, with_views)
        switchboard = _Switchboard(lines)
        reading = asyncio.Lock()  # a stream can be asked for one case at a time
        self._places = [_Place(self, kit, switchboard, cases, reading, receive) for _ in range(self._workers)]
        at_work = [asyncio.create_task(place.man()) for place in self._places]
        try:
            await asyncio.gather(*at_work)
        finally:
            for task in at_work:
                task.cancel()
            await asyncio.gather(*at_work, return_exceptions=True)
            await switchboard.close()
        if self._reason is not None:
            raise self._reason

    def stop(self) -> None:
        self._hand_out_no_more()
        if self._assignment is not None:
            self._assignment.labeller.stop()
        for place in self._places:
            place.post(Stop(now=True))

    # --- for the places ------------------------------------------------------------------------------

    @property
    def assignment(self) -> Assignment:
        assert self._assignment is not None
        return self._assignment

    async def hired(self, kit: Kit) -> Link:
        return await self._hire(kit)

    def end(self, reason: Exception) -> None:
        """No more cases: because of a reason to stop the run, or of a fault of the stream."""
        self._reason = self._reason or reason
        if isinstance(reason, RunStopped):
            self.stop()
        else:  # what was read before the stream broke is judged
            self._hand_out_no_more()

    def _hand_out_no_more(self) -> None:
        self.stopping = True
        self.none_left.set()


@dataclass(slots=True)
class _Switchboard:
    """Answers what labellers in other processes want of their lines, each reply once and for all."""

    lines: list[Gateway]
    _letters: dict[str, dict[Call, asyncio.Task[Any]]] = field(default_factory=lambda: defaultdict(dict))
    """By the case that they are about: the requests of cases that are not done, answered or under way."""

    async def answer(self, number: int, call: Call) -> Answer:
        try:
            return Answer(number, await self._value(call))
        except (RunStopped, LabelFailed, UsageProblem) as fault:
            return Answer(number, None, fault)
        except Exception as fault:  # whatever it is, the worker must hear of it, or it waits for ever
            return Answer(number, None, LabelFailed(named(fault)))

    def case_is_done(self, case: str) -> None:
        self._letters.pop(case, None)

    def spent_on(self, case: str) -> Usage:
        """What the replies of a case took that nobody is left to use."""
        spent = Usage()
        for letter in self._letters.pop(case, {}).values():
            if letter.done() and not letter.cancelled() and letter.exception() is None:
                spent.add(letter.result().usage)
        return spent

    async def close(self) -> None:
        under_way = [task for letters in self._letters.values() for task in letters.values()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    async def _value(self, call: Call) -> Any:
        if call.case is None:
            return await answer_call(call, self.lines)
        letters = self._letters[call.case]
        if call not in letters:
            letters[call] = asyncio.create_task(answer_call(call, self.lines))
        try:
            outcome = await asyncio.shield(letters[call])  # its worker may die; the reply is paid for all the same
        except Exception:
            letters.pop(call, None)
            raise
        if outcome.reply is None:
            letters.pop(call, None)  # what was refused may be sent again
        return outcome


@dataclass(slots=True)
class _Place:
    """A place in the crew, which is manned again when its worker dies."""

    crew: Crew
    kit: Kit
    switchboard: _Switchboard
    cases: AsyncIterator[OpenCase]
    reading: asyncio.Lock
    receive: ReceiveAny
    hand: dict[int, Sent] = field(default_factory=dict)
    """The cases that its worker has."""
    doubtful: deque[list[OpenCase]] = field(default_factory=deque)
    """Cases of dead workers, in lots that are taken one after another."""
    careful: bool = False
    """Whether such a lot is in hand."""
    ready: bool = False
    told_the_end: bool = False
    ended: bool = False
    all_read: bool = False
    _window: int = 0
    _done: int = 0
    _since: float = 0.0
    _outbox: list[ToWorker] = field(default_factory=list)
    _mail: asyncio.Event = field(default_factory=asyncio.Event)
    _answering: set[asyncio.Task[None]] = field(default_factory=set)

    def post(self, message: ToWorker) -> None:
        self._outbox.append(message)
        self._mail.set()

    async def man(self) -> None:
        """Until all is done, with one worker after another where they die."""
        stillborn = 0
        while self.doubtful or not self.all_read:
            if self.crew.stopping:
                await self._give_back_doubtful()
                return
            self.ready = self.told_the_end = self.ended = False
            self._outbox.clear()
            link = await self.crew.hired(self.kit)
            sending = asyncio.create_task(self._send(link))
            try:
                await self._work(link)
            except WorkerLost as death:
                stillborn = 0 if self.ready else stillborn + 1
                if stillborn == STILLBORN:
                    raise UsageProblem(f"workers die before they can begin: {death}; --workers 1 uses none") from None
                await self._bury()
            finally:
                for task in (sending, *self._answering):
                    task.cancel()
                await asyncio.gather(sending, *self._answering, return_exceptions=True)
                await link.close()

    async def _work(self, link: Link) -> None:
        """With one worker, to the end of the cases."""
        if not await self._is_needed(link):
            self.all_read = True
            return
        while not self.ended:
            await self._fill()
            for message in await link.receive():
                await self._hear(message)

    async def _is_needed(self, link: Link) -> bool:
        """Wait until the worker is ready. One that a busy cluster has no room for, or that starts slowly, is waited for
        no longer than there are cases for it."""
        first = asyncio.ensure_future(link.receive())
        none_left = asyncio.ensure_future(self.crew.none_left.wait())
        try:
            await asyncio.wait({first} if self.doubtful else {first, none_left}, return_when=asyncio.FIRST_COMPLETED)
            if not first.done():
                return False
            for message in first.result():
                await self._hear(message)
            return True
        finally:
            first.cancel()
            none_left.cancel()
            await asyncio.gather(first, none_left, return_exceptions=True)

    async def _send(self, link: Link) -> None:
        """What is posted while a message is on its way goes with the next one."""
        try:
            while True:
                await self._mail.wait()
                self._mail.clear()
                messages, self._outbox = self._outbox, []
                if messages:
                    await link.send(messages)
        except WorkerLost:  # whoever receives learns of it too
            return

    # --- what the worker has in hand -----------------------------------------------------------------

    async def _fill(self) -> None:
        """Hand out what there is room for; when there is nothing left, let the worker end."""
        if self.crew.stopping:
            await self._give_back_doubtful()
        if self.careful and self.hand:
            return
        self.careful = bool(self.doubtful)
        if self.doubtful:
            lot = self.doubtful.popleft()
            self.post(Cases(len(lot), [self._in_hand(lot)]))
            return
        if not self.all_read and len(self.hand) <= self._window // 2:
            self._measure()
            await self._read(self._window - len(self.hand))
        if self.all_read and not self.told_the_end:
            self.told_the_end = True
            self.post(Stop(now=False))

    def _in_hand(self, cases: list[OpenCase]) -> bytes:
        """These cases as the worker gets them."""
        lot = packed_lot(cases)
        self.hand.update((case.number, Sent(case.number, case.digest, lot)) for case in cases)
        return lot

    def _measure(self) -> None:
        """How many cases are to be in hand, by how many were done since it was asked last."""
        now = time.monotonic()
        if self._done:
            labeller = self.crew.assignment.labeller
            least = LEAST_IN_HAND if isinstance(labeller, LocalLabeller) else labeller.workers
            a_second = self._done / max(now - self._since, 1e-3)
            enough = int(a_second * self.kit.gather * IN_HAND)
            self._window = max(least, min(enough, MOST_IN_HAND))
        self._done, self._since = 0, now

    async def _read(self, count: int) -> None:
        """Hand out so many new cases, or as many as there are."""
        lots: list[bytes] = []
        how_many = 0
        async with self.reading:
            for at in range(0, count, LOT):
                if self.all_read or not (lot := await self._next(min(LOT, count - at))):
                    break
                lots.append(self._in_hand(lot))
                how_many += len(lot)
        self.all_read = self.all_read or self.crew.stopping
        if lots:
            self.post(Cases(how_many, lots))

    async def _next(self, count: int) -> list[OpenCase]:
        """The next cases of the stream; fewer than that where it ends."""
        cases: list[OpenCase] = []
        try:
            while len(cases) < count and not self.crew.stopping:
                cases.append(await anext(self.cases))
        except StopAsyncIteration:
            self.all_read = True
            self.crew.none_left.set()
        except Exception as fault:  # the stream is broken; what was read before it is judged
            self.crew.end(fault)
        return cases

    # --- what the worker says ------------------------------------------------------------------------

    async def _hear(self, message: FromWorker) -> None:
        if isinstance(message, Done):
            done = _read_done(message, self.hand)
            await self._hand_back([self._taken_back(place, judgement) for place, judgement in done])
        elif isinstance(message, Views):
            self._keep(message)
        elif isinstance(message, Calling):
            answering = asyncio.create_task(self._answer(message))
            self._answering.add(answering)
            answering.add_done_callback(self._answering.discard)
        elif isinstance(message, Ready):
            self.ready = True
            self._window, self._done, self._since = self.crew.assignment.labeller.workers, 0, time.monotonic()
        else:
            await self._close_book(message)

    async def _answer(self, calling: Calling) -> None:
        self.post(await self.switchboard.answer(calling.number, calling.call))

    def _keep(self, views: Views) -> None:
        if not isinstance(views.lines, list) or not all(is_view_line(line) for line in views.lines):
            raise WorkerLost("what it says cannot be read: a view is no line")  # the judge may write into its files
        if (keeper := self.crew.assignment.views) is not None:
            for line in views.lines:
                keeper.take(line)

    def _taken_back(self, place: int, judgement: Written | None) -> tuple[Sent, Written | None]:
        case = self.hand.pop(place)
        self._done += 1
        self.switchboard.case_is_done(case.digest)
        return case, judgement

    async def _hand_back(self, cases: Sequence[tuple[Returned, Finished | None]]) -> None:
        """All that a message brought together: one step for the journal is much less work than one for each."""
        try:
            await self.receive(cases)
        except RunStopped as reason:
            self.crew.end(reason)

    async def _give_back_doubtful(self) -> None:
        lots, self.doubtful = self.doubtful, deque()
        await self._hand_back([(case, None) for lot in lots for case in lot])

    async def _close_book(self, ended: Ended) -> None:
        """The worker has ended by itself: what it had not begun is handed back."""
        self.ended = self.all_read = True
        if isinstance(ended.reason, UsageProblem):
            raise ended.reason
        if ended.reason is not None:
            self.crew.end(ended.reason)
        left, self.hand = self.hand, {}
        await self._hand_back([(case, None) for case in left.values()])

    async def _bury(self) -> None:
        """The worker has died: what it had in hand is tried again, with more care each time."""
        left, self.hand = [sent.case for sent in self.hand.values()], {}
        if not self.careful:
            self.doubtful.extend(left[at : at + FEW_AT_A_TIME] for at in range(0, len(left), FEW_AT_A_TIME))
        elif len(left) > 1:
            self.doubtful.extendleft([case] for case in reversed(left))
        elif left:
            judge, (case,) = self.crew.assignment.judge, left
            spent = self.switchboard.spent_on(case.digest)
            died = without_verdict(judge, case.item, case.digest, "error", DIED, usage=spent)
            await self._hand_back([(case, died)])


def _read_done(message: Done, hand: dict[int, Sent]) -> list[tuple[int, Written | None]]:
    """What a worker has done, all of it before any is taken back: a judge may have written into the worker's files."""
    try:
        done = list(message.opened())
    except Exception as fault:
        raise WorkerLost(f"what it says cannot be read: {named(fault)}") from None
    places = [place for place, _ in done]
    if len(set(places)) < len(places) or not hand.keys() >= set(places):
        raise WorkerLost("it speaks of cases that it does not have")
    return done
