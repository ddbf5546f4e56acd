"""A dead endpoint is found dead within five minutes of its last word, whatever the concurrency: simulated on a loop
whose time is made up, and over real HTTP with a short patience."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import AsyncIterator, Callable, Coroutine
from itertools import pairwise
from typing import Any, TypeVar

import aiohttp
import orjson
import pytest

import krino
from fake_llm import FakeServer, Faults
from krino.cases.item import CaseItem
from krino.engine.interface import Assignment, opened
from krino.engine.pool import LocalPool
from krino.labellers.factory import labeller_from
from krino.labellers.llm.labeller import LlmLabeller
from krino.labellers.llm.sending.pace import (
    IDLE,
    LONGEST_WAIT,
    ONLY_FAILING_PART,
    PATIENCE,
    SHORTEST_TIMEOUT,
    Liveness,
    patience_for_timeouts,
)
from krino.labellers.llm.sending.retrying import Transport
from krino.labellers.llm.wire import HttpReply
from receiving import one_by_one
from toy_judge import ToyJudge

T = TypeVar("T")
FIVE_MINUTES = 300.0
PATIENCE_WITH_SILENCE = 700.0  # of an endpoint that says nothing at all, with replies that may take ten minutes
GOOD = {"label": "good", "quote": "fine"}
OK_BODY = orjson.dumps(
    {"choices": [{"message": {"content": orjson.dumps(GOOD).decode()}, "finish_reason": "stop"}], "usage": {}}
)
BUSY = orjson.dumps({"error": {"message": "Too busy.", "code": "rate_limit_exceeded"}})


class SkippingSelector(selectors.DefaultSelector):
    """Where a loop would wait for a moment, the moment is now."""

    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready and timeout:
            self.skipped += timeout
        return ready


class MadeUpTime(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.selector = SkippingSelector()
        super().__init__(self.selector)

    def time(self) -> float:
        return 1000.0 + self.selector.skipped


def in_made_up_time(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=MadeUpTime) as runner:
        return runner.run(work())


Behaviour = Callable[[int, bytes, float], Coroutine[Any, Any, HttpReply]]


async def never(number: int, body: bytes, seconds: float) -> HttpReply:
    await asyncio.sleep(seconds)
    raise TimeoutError


async def busy(number: int, body: bytes, seconds: float) -> HttpReply:
    return HttpReply(429, {}, BUSY)


async def busy_and_asks(number: int, body: bytes, seconds: float) -> HttpReply:
    return HttpReply(429, {"retry-after": "100"}, BUSY)


async def refused(number: int, body: bytes, seconds: float) -> HttpReply:
    raise aiohttp.ClientConnectionError("connection refused")


async def broken(number: int, body: bytes, seconds: float) -> HttpReply:
    return HttpReply(500, {}, b"oops")


def well_first(count: int, then: Behaviour) -> Behaviour:
    async def behave(number: int, body: bytes, seconds: float) -> HttpReply:
        if number >= count:
            return await then(number, body, seconds)
        await asyncio.sleep(1.0)
        return HttpReply(200, body=OK_BODY)

    return behave


class Simulated:
    """A run of toy cases against a made-up endpoint, with the moments at which things happened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, behave: Behaviour, **settings: Any) -> None:
        self.judgements: list[krino.Judgement] = []
        self.calls = 0
        self.sent_at: list[float] = []
        self.stopped: krino.RunStopped | None = None
        self.ended = self.answered = 0.0
        """Seconds after the beginning; `answered` is when something last got through."""
        self.told: list[str | None] = []
        self.labeller: LlmLabeller | None = None
        self._settings = {"cache": "off", "api_key": "secret-key", **settings}

        async def once(transport: Transport, body: bytes, seconds: float) -> HttpReply:
            self.calls += 1
            self.sent_at.append(asyncio.get_running_loop().time())
            reply = await behave(self.calls - 1, body, seconds)
            if reply.status == 200:
                self.answered = asyncio.get_running_loop().time() - 1000.0
            return reply

        monkeypatch.setattr(Transport, "_exchange", once)

    async def run(self, cases: int = 300) -> None:
        clock = asyncio.get_running_loop().time
        labeller = labeller_from("m", base_url="http://127.0.0.1:9/v1", **self._settings)
        assert isinstance(labeller, LlmLabeller)
        labeller.pace.clock = clock
        self.labeller = labeller
        items = (CaseItem(n, str(n), {"text": f"a fine text {n}"}) for n in range(cases))
        stream = opened(items, lambda item, digest: True)

        async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
            if judgement is not None:
                self.judgements.append(judgement)

        watch = asyncio.create_task(self._watch(labeller))
        began = clock()
        try:
            await LocalPool().run(Assignment(ToyJudge(), labeller), stream, one_by_one(receive))
        except krino.RunStopped as reason:
            self.stopped = reason
        watch.cancel()
        self.ended = clock() - began

    async def _watch(self, labeller: LlmLabeller) -> None:
        while True:
            await asyncio.sleep(1.0)
            self.told.append(labeller.waiting_for())


# --- at the usual settings ---------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 2, 8, 32, 256])
@pytest.mark.parametrize("behave", [never, busy, busy_and_asks, refused, broken], ids=lambda made: str(made.__name__))
@pytest.mark.parametrize("answers_first", [0, 40])
def test_a_dead_endpoint_ends_the_run_within_five_minutes_of_what_was_heard(
    monkeypatch: pytest.MonkeyPatch, behave: Behaviour, concurrency: int, answers_first: int
) -> None:
    simulated = Simulated(monkeypatch, well_first(answers_first, behave), concurrency=concurrency)
    in_made_up_time(simulated.run)
    assert simulated.stopped is not None
    assert simulated.stopped.kind == "endpoint"
    longest = PATIENCE_WITH_SILENCE if behave is never else FIVE_MINUTES
    assert simulated.ended - simulated.answered <= longest, simulated.stopped
    assert sum(judgement.status == "ok" for judgement in simulated.judgements) == answers_first
    # The case that was first to show the trouble may be blamed for it, and those of a few round trips; not all.
    # Cases that were under way when the run stopped are on record with what their lost replies may have cost.
    errors = [judgement.error or "" for judgement in simulated.judgements if judgement.status == "error"]
    assert sum(not error.startswith("the run was stopped before") for error in errors) < 10


def test_what_stops_it_is_said_with_the_address_and_the_last_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = Simulated(monkeypatch, busy, concurrency=8)
    in_made_up_time(simulated.run)
    words = "nothing has got through to http://127.0.0.1:9/v1/chat/completions for 290 s (--patience): HTTP 429"
    assert words in str(simulated.stopped)


# A case that timed out is asked once more, so only trouble that ends before the second time-out costs none.
LASTS = {"busy": 230.0, "busy_and_asks": 190.0, "never": 90.0}


@pytest.mark.parametrize("behave", [busy, busy_and_asks, never], ids=lambda made: str(made.__name__))
def test_a_trouble_that_passes_in_time_costs_no_case(monkeypatch: pytest.MonkeyPatch, behave: Behaviour) -> None:
    """Minutes of trouble: all that fail are tried again until it is over."""

    async def passing(number: int, body: bytes, seconds: float) -> HttpReply:
        if asyncio.get_running_loop().time() < 1000.0 + LASTS[behave.__name__]:
            return await behave(number, body, min(seconds, 100.0))
        return HttpReply(200, body=OK_BODY)

    simulated = Simulated(monkeypatch, passing, concurrency=8)
    in_made_up_time(simulated.run)
    assert simulated.stopped is None
    assert [judgement.status for judgement in simulated.judgements] == ["ok"] * 300


@pytest.mark.parametrize("concurrency", [1, 4])
def test_one_poisonous_case_does_not_stop_the_run(monkeypatch: pytest.MonkeyPatch, concurrency: int) -> None:
    """It gets no reply ever; it alone is an error, also where nothing else is under way to tell who is to blame."""

    async def poisoned(number: int, body: bytes, seconds: float) -> HttpReply:
        if b"a fine text 17." in body or b"a fine text 17\\n" in body:
            return await never(number, body, seconds)
        await asyncio.sleep(1.0)
        return HttpReply(200, body=OK_BODY)

    simulated = Simulated(monkeypatch, poisoned, concurrency=concurrency)
    in_made_up_time(lambda: simulated.run(30))
    assert simulated.stopped is None
    assert [judgement.id for judgement in simulated.judgements if judgement.status != "ok"] == ["17"]
    assert len(simulated.judgements) == 30


def test_replies_that_take_as_long_as_they_may_are_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    async def slow(number: int, body: bytes, seconds: float) -> HttpReply:
        await asyncio.sleep(119.0)
        return HttpReply(200, body=OK_BODY)

    simulated = Simulated(monkeypatch, slow, concurrency=1)
    in_made_up_time(lambda: simulated.run(10))
    assert (simulated.stopped, len(simulated.judgements)) == (None, 10)
    assert simulated.ended == pytest.approx(1190, abs=5)


def test_a_longer_time_out_brings_a_longer_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = Simulated(monkeypatch, never, concurrency=8, timeout=600.0)
    in_made_up_time(simulated.run)
    assert 650 <= simulated.ended <= 700
    assert simulated.stopped is not None


def test_the_pauses_double_from_half_a_second_to_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with chance in it: between half of the pause and all of it."""
    simulated = Simulated(monkeypatch, busy, concurrency=1)
    in_made_up_time(simulated.run)
    pauses = [later - sooner for sooner, later in pairwise(simulated.sent_at)]
    longest = [min(30.0, 0.5 * 2**number) for number in range(len(pauses))]
    assert len(pauses) > 10
    assert all(most / 2 <= pause <= most for pause, most in zip(pauses, longest, strict=True)), pauses
    assert max(pauses) > 20


@pytest.mark.parametrize(("asked", "kind"), [(120, "endpoint"), (120.5, "rate-limit")])
def test_a_wait_of_two_minutes_is_waited_and_no_longer_one(
    monkeypatch: pytest.MonkeyPatch, asked: float, kind: str
) -> None:
    async def asking(number: int, body: bytes, seconds: float) -> HttpReply:
        return HttpReply(429, {"retry-after": str(asked)}, BUSY)

    simulated = Simulated(monkeypatch, asking, concurrency=1)
    in_made_up_time(simulated.run)
    assert simulated.stopped is not None
    assert simulated.stopped.kind == kind
    assert simulated.calls == (3 if kind == "endpoint" else 1)


QUOTA = orjson.dumps(
    [
        {
            "error": {
                "code": 429,
                "message": "You exceeded your current quota, please check your plan and billing details.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "41s"}],
            }
        }
    ]
)


def test_a_quota_that_is_still_used_up_after_a_minute_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google has the same words for the quota of a minute and that of a day, and says in the body how long to wait."""

    async def out_of_quota(number: int, body: bytes, seconds: float) -> HttpReply:
        return HttpReply(429, {}, QUOTA)

    simulated = Simulated(monkeypatch, well_first(5, out_of_quota), concurrency=8)
    in_made_up_time(simulated.run)
    assert simulated.stopped is not None
    assert simulated.stopped.kind == "quota"
    assert 80 <= simulated.ended - simulated.answered <= 90  # two waits of 41 s


def test_the_quota_of_a_minute_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def out_of_quota(number: int, body: bytes, seconds: float) -> HttpReply:
        over = asyncio.get_running_loop().time() > 1041.0
        return HttpReply(200, body=OK_BODY) if over else HttpReply(429, {}, QUOTA)

    simulated = Simulated(monkeypatch, out_of_quota, concurrency=8)
    in_made_up_time(simulated.run)
    assert simulated.stopped is None
    assert [judgement.status for judgement in simulated.judgements] == ["ok"] * 300


@pytest.mark.parametrize("behave", [busy_and_asks, never], ids=lambda made: str(made.__name__))
def test_a_stop_ends_every_wait_but_those_in_flight(monkeypatch: pytest.MonkeyPatch, behave: Behaviour) -> None:
    """Whoever waits for a place, for a moment or to be tried again finds out within a second."""
    simulated = Simulated(monkeypatch, behave, concurrency=8, timeout=10.0, rpm=30.0)

    async def stopped_at(second: float) -> None:
        run = asyncio.create_task(simulated.run())
        await asyncio.sleep(second)
        assert simulated.labeller is not None
        simulated.labeller.stop()
        await run

    in_made_up_time(lambda: stopped_at(25.0))
    assert simulated.ended <= 25.0 + (10.0 if behave is never else 1.0)
    assert simulated.stopped is not None
    assert simulated.stopped.kind == "interrupt"


# --- what is said meanwhile --------------------------------------------------------------------------


def test_from_the_first_second_it_is_said_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Simulated(monkeypatch, busy_and_asks, concurrency=8)
    in_made_up_time(asking.run)
    assert asking.told[0] is not None
    assert asking.told[0].startswith(
        "waiting for 127.0.0.1:9: HTTP 429 (rate_limit_exceeded): Too busy., asked to wait 100 s (nothing for 1 s"
    )
    silent = Simulated(monkeypatch, never, concurrency=8)
    in_made_up_time(silent.run)
    assert silent.told[11] == "waiting for 127.0.0.1:9: 1 in flight, no reply yet for 12 s"


def test_a_long_trouble_is_cut_where_it_is_seen_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wordy(number: int, body: bytes, seconds: float) -> HttpReply:
        raise aiohttp.ClientConnectionError("x" * 500)

    simulated = Simulated(monkeypatch, wordy, concurrency=8)
    in_made_up_time(simulated.run)
    assert simulated.told[0] is not None
    assert "xxx… (nothing for 1 s" in simulated.told[0]


def test_nothing_is_said_while_answers_come(monkeypatch: pytest.MonkeyPatch) -> None:
    async def quick(number: int, body: bytes, seconds: float) -> HttpReply:
        await asyncio.sleep(0.5)
        return HttpReply(200, body=OK_BODY)

    simulated = Simulated(monkeypatch, quick, concurrency=8)
    in_made_up_time(simulated.run)
    assert len(simulated.told) > 5
    assert set(simulated.told) == {None}


# --- the clock itself --------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_one_lost_try_proves_nothing_however_long_it_took() -> None:
    liveness = Liveness(100.0)
    liveness.failed(1, 0.0, "lost")
    assert not liveness.is_dead(1000.0)
    assert not liveness.should_drop_only_failing(1000.0)
    liveness.failed(2, 1000.0, "lost")
    assert liveness.is_dead(1000.0)


def test_the_patience_is_counted_from_when_something_last_got_through() -> None:
    liveness = Liveness(100.0)
    liveness.note_success(10.0)
    liveness.failed(1, 15.0, "first")
    liveness.failed(2, 60.0, "second")
    assert (liveness.since, liveness.trouble) == (10.0, "second")
    assert not liveness.is_dead(109.9)
    assert liveness.is_dead(110.0)
    assert liveness.left(70.0) == 40.0
    liveness.note_success(120.0)
    assert (liveness.is_dead(10_000.0), liveness.trouble_seconds(10_000.0), liveness.left(10_000.0)) == (
        False,
        0.0,
        100.0,
    )


def test_after_something_got_through_one_lost_try_proves_nothing_again() -> None:
    liveness = Liveness(100.0)
    for _ in range(5):
        liveness.failed(1, 0.0, "lost")
    liveness.note_success(10.0)
    liveness.failed(1, 10.0, "lost")
    assert (liveness.is_dead(1000.0), liveness.should_drop_only_failing(1000.0)) == (False, False)


def test_a_long_wait_of_our_own_before_a_try_is_not_held_against_the_endpoint() -> None:
    liveness = Liveness(100.0)
    liveness.note_success(0.0)
    liveness.failed(1, 600.0, "lost")
    assert liveness.since == 600.0 - LONGEST_WAIT


def test_only_a_request_that_is_alone_in_trouble_is_given_up_by_itself() -> None:
    liveness = Liveness(100.0)
    for _ in range(2):
        liveness.failed(7, 0.0, "lost")
    assert not liveness.should_drop_only_failing(ONLY_FAILING_PART * 100.0 - 0.1)
    assert liveness.should_drop_only_failing(ONLY_FAILING_PART * 100.0)
    liveness.failed(8, 0.0, "lost")
    assert not liveness.should_drop_only_failing(99.0)


def test_a_try_amid_trouble_does_not_outlast_the_patience_by_much() -> None:
    liveness = Liveness(100.0)
    assert liveness.timeout_of_next_try(120.0, 50.0) == 120.0
    liveness.failed(1, 0.0, "lost")
    assert liveness.timeout_of_next_try(120.0, 40.0) == 30.0  # alone in trouble: half of the time is left to others
    liveness.failed(2, 0.0, "lost")
    assert liveness.timeout_of_next_try(120.0, 40.0) == 60.0
    assert liveness.timeout_of_next_try(30.0, 40.0) == 30.0
    assert liveness.timeout_of_next_try(120.0, 99.0) == SHORTEST_TIMEOUT


def test_trouble_from_before_a_long_rest_is_forgotten() -> None:
    liveness, clock = Liveness(100.0), Clock()
    liveness.begin(clock.now)
    liveness.failed(1, 0.0, "lost")
    clock.now = IDLE + 1  # a long wait within a request is no rest
    liveness.begin(clock.now)
    assert liveness.since == 0.0
    liveness.end(clock.now)
    liveness.end(clock.now)
    clock.now += IDLE
    liveness.begin(clock.now)
    assert liveness.since == 0.0
    liveness.end(clock.now)
    clock.now += IDLE + 0.1
    liveness.begin(clock.now)
    assert liveness.since is None


def test_the_patience_with_silence_leaves_room_for_a_whole_time_out_and_another_try() -> None:
    assert patience_for_timeouts(1.0) == patience_for_timeouts(120.0) == PATIENCE < FIVE_MINUTES
    assert patience_for_timeouts(600.0) == 650.0


# --- over real HTTP ----------------------------------------------------------------------------------


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer(reply=GOOD) as running:
        yield running


@pytest.mark.parametrize("fault", ["429-bare", "hang", "500"])
async def test_a_dead_endpoint_is_found_over_http(server: FakeServer, fault: str) -> None:
    server.configure(faults=Faults(schedule=[None] * 5, rates={fault: 1.0}))
    labeller = krino.llm(
        "m",
        base_url=server.url,
        cache="off",
        api_key="secret-key",
        concurrency=8,
        timeout=1.5,
        patience=3.0,
        backoff=0.05,
    )
    cases = [{"text": f"a fine text {number}"} for number in range(60)]
    done = []
    with pytest.raises(krino.RunStopped, match=r"nothing has got through|no answer from") as stopped:
        async with labeller:
            async for judgement in krino.ajudge_many(ToyJudge(), cases, labeller=labeller):
                done.append(judgement.status)
    assert stopped.value.kind == "endpoint"
    assert done.count("ok") == 5
