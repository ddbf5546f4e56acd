"""The limiter finds how much an endpoint bears: fast up, down at once, then carefully up; nobody waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krino.labellers.llm.sending.pace import BURST_SECONDS, CUT, NAP, Bucket, Pace


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


async def settle() -> None:
    """Let every task run until it waits for something."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still until somebody sleeps; sleepers wake in the order of their times."""
    clock, sleep = Clock(), asyncio.sleep

    async def fast_sleep(seconds: float) -> None:
        until = clock.now + seconds
        await sleep(0)
        clock.now = max(clock.now, until)

    monkeypatch.setattr("krino.labellers.llm.sending.pace.asyncio.sleep", _only_for_pace(fast_sleep, sleep))
    return clock


def _only_for_pace(
    fast: Callable[[float], Awaitable[None]], real: Callable[[float], Awaitable[None]]
) -> Callable[[float], Awaitable[None]]:
    """A sleep of nothing is how tests give way to other tasks: that one stays real."""
    return lambda seconds: fast(seconds) if seconds > 0 else real(seconds)


async def round_trip(pace: Pace, clock: Clock, seconds: float = 1.0, *, well: bool = True) -> int:
    """As many requests as may fly at once, all answered after `seconds`."""
    count = int(pace.limit)
    clock.now += 0.001  # what starts at the very moment of a cut counts as sent before it
    started = [await pace.acquire(0) for _ in range(count)]
    clock.now += seconds
    for moment in started:
        pace.release()
        if well:
            pace.succeeded()
        else:
            pace.slowed_down(moment)
    return count


# --- how many at once ------------------------------------------------------------------------------


async def test_it_doubles_each_round_trip_up_to_the_most() -> None:
    clock = Clock()
    pace = Pace(100, clock=clock)
    pace.limit = 16
    assert [await round_trip(pace, clock) for _ in range(5)] == [16, 32, 64, 100, 100]


@pytest.mark.parametrize(("most", "begins"), [(1, 1), (3, 3), (16, 16), (20, 16), (40, 20), (100, 50)])
def test_it_begins_with_sixteen_or_half_of_the_most(most: int, begins: int) -> None:
    assert Pace(most).limit == begins


def test_what_was_sent_at_the_very_moment_of_a_cut_does_not_cut_again() -> None:
    clock = Clock()
    pace = Pace(64, clock=clock)
    before = pace.limit
    for _ in range(3):
        pace.slowed_down(clock.now)
    assert pace.limit == before * CUT


@pytest.mark.parametrize("most", [1, 3, 16, 17, 100, 5000])
def test_it_starts_with_something_but_never_above_the_most(most: int) -> None:
    assert min(most, 16) <= Pace(most).limit <= most


async def test_a_push_back_cuts_by_a_third_once_a_round_trip() -> None:
    clock = Clock()
    pace = Pace(64, clock=clock)
    pace.limit = 32
    await round_trip(pace, clock, well=False)
    assert pace.limit == pytest.approx(32 * CUT)
    await round_trip(pace, clock, well=False)
    assert pace.limit == pytest.approx(32 * CUT * CUT)


async def test_after_the_first_push_back_it_grows_by_one_a_round_trip() -> None:
    clock = Clock()
    pace = Pace(64, clock=clock)
    pace.slowed_down(await pace.acquire(0))
    pace.release()
    before = pace.limit
    for _ in range(5):
        await round_trip(pace, clock)
    assert pace.limit - before == pytest.approx(5, abs=0.7)


@settings(deadline=None)
@given(st.integers(1, 40), st.lists(st.sampled_from(["well", "busy", "busy-old"]), max_size=60))
def test_the_limit_stays_between_one_and_the_most(most: int, events: list[str]) -> None:
    clock = Clock()
    pace = Pace(most, clock=clock)
    for event in events:
        clock.now += 1
        if event == "well":
            pace.succeeded()
        else:
            pace.slowed_down(clock.now if event == "busy" else 0.0)
        assert 1 <= pace.limit <= most


async def test_one_place_is_always_left_however_bad_it_gets() -> None:
    clock = Clock()
    pace = Pace(4, clock=clock)
    for _ in range(50):
        clock.now += 1
        pace.slowed_down(clock.now)
    assert int(pace.limit) == 1
    await pace.acquire(0)
    assert pace.in_flight == 1


# --- waiting ---------------------------------------------------------------------------------------


async def queue_of(pace: Pace, count: int, served: list[int]) -> list[asyncio.Task[None]]:
    async def wait(number: int) -> None:
        await pace.acquire(0)
        served.append(number)

    tasks = []
    for number in range(count):
        tasks.append(asyncio.create_task(wait(number)))
        await settle()
    return tasks


async def test_those_who_wait_are_served_in_order() -> None:
    pace = Pace(2)
    served: list[int] = []
    tasks = await queue_of(pace, 8, served)
    assert served == [0, 1]
    pace.release()
    pace.release()  # two places at once, before anybody could run
    await settle()
    assert served == [0, 1, 2, 3]
    for _ in range(4):
        pace.release()
        await settle()
    assert served == list(range(8))
    assert pace.in_flight == 2
    await asyncio.gather(*tasks)


async def test_a_newcomer_does_not_overtake_one_who_was_just_called() -> None:
    pace = Pace(1)
    served: list[int] = []
    tasks = await queue_of(pace, 2, served)
    pace.release()
    newcomer = asyncio.create_task(pace.acquire(0))
    await settle()
    assert (served, newcomer.done(), pace.in_flight) == ([0, 1], False, 1)
    pace.release()
    await asyncio.gather(newcomer, *tasks)


async def test_a_higher_limit_lets_more_in_at_once() -> None:
    pace = Pace(3)
    pace.limit = 1
    served: list[int] = []
    tasks = await queue_of(pace, 3, served)
    pace.succeeded()
    await settle()
    assert (served, pace.in_flight) == ([0, 1], 2)
    pace.succeeded()
    await asyncio.gather(*tasks)


async def test_a_lower_limit_lets_nobody_in_until_enough_have_left() -> None:
    pace = Pace(3)
    served: list[int] = []
    tasks = await queue_of(pace, 4, served)
    pace.limit = 1
    for still_flying in (2, 1):
        pace.release()
        await settle()
        assert (served, pace.in_flight) == ([0, 1, 2], still_flying)
    pace.release()
    await asyncio.gather(*tasks)
    assert pace.in_flight == 1


async def test_a_cancelled_waiter_is_passed_over() -> None:
    pace = Pace(1)
    served: list[int] = []
    tasks = await queue_of(pace, 4, served)
    tasks[1].cancel()
    await settle()
    tasks[2].cancel()  # not yet awake when the place comes free
    pace.release()
    await settle()
    assert served == [0, 3]
    assert pace.in_flight == 1
    assert [task.cancelled() for task in tasks] == [False, True, True, False]


async def test_a_waiter_cancelled_with_a_place_in_hand_passes_it_on() -> None:
    pace = Pace(1)
    served: list[int] = []
    tasks = await queue_of(pace, 3, served)
    pace.release()  # calls the second task ...
    tasks[1].cancel()  # ... which never gets to run
    await settle()
    assert (served, pace.in_flight) == ([0, 2], 1)
    assert tasks[1].cancelled()


async def test_one_cancelled_while_held_back_gives_its_place_back() -> None:
    pace = Pace(1, rpm=1)
    for _ in range(2):  # the burst, and the one that goes into debt
        await pace.acquire(0)
        pace.release()
    held = asyncio.create_task(pace.acquire(0))
    await settle()
    assert pace.in_flight == 1
    held.cancel()
    await settle()
    assert (held.cancelled(), pace.in_flight) == (True, 0)


async def test_no_place_is_lost_or_doubled_in_a_crowd() -> None:
    pace = Pace(5)
    most_seen = 0

    async def work(number: int) -> None:
        nonlocal most_seen
        await pace.acquire(0)
        try:
            most_seen = max(most_seen, pace.in_flight)
            for _ in range(number % 3):
                await asyncio.sleep(0)
        finally:
            pace.release()

    tasks = [asyncio.create_task(work(number)) for number in range(200)]
    for number, task in enumerate(tasks):
        if number % 7 == 0:
            await asyncio.sleep(0)
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (pace.in_flight, most_seen) == (0, 5)


# --- allowances ------------------------------------------------------------------------------------


async def test_requests_a_minute_are_kept_over_time(clock: Clock) -> None:
    pace = Pace(50, rpm=120, clock=clock)
    started = []
    for _ in range(400):
        started.append(await pace.acquire(0))
        pace.release()
    took = started[-1] - started[0]
    assert took == pytest.approx(399 / 2, abs=1)
    for first in started:
        assert sum(first <= moment < first + 60 for moment in started) <= 122


async def test_requests_are_given_out_evenly_and_not_a_minutes_worth_at_once(clock: Clock) -> None:
    pace = Pace(400, rpm=3000, clock=clock)
    started = [await pace.acquire(0) for _ in range(200)]
    busiest = max(sum(first <= moment < first + 1 for moment in started) for first in started)
    assert 50 <= busiest <= 55
    assert started[-1] - started[0] == pytest.approx(200 / 50, abs=0.2)


async def test_tokens_a_minute_are_kept_over_time_with_real_counts(clock: Clock) -> None:
    pace = Pace(50, tpm=6000, clock=clock)
    begin = clock.now
    for _ in range(100):
        await pace.acquire(100)
        pace.correct(100, 300)
        pace.release()
    assert clock.now - begin == pytest.approx(100 * 300 / 100, rel=0.05)


async def test_a_request_bigger_than_the_allowance_gets_through_and_is_paid_for(clock: Clock) -> None:
    pace = Pace(5, tpm=600, clock=clock)
    first = await pace.acquire(6000)
    second = await pace.acquire(1)
    assert second - first == pytest.approx(600 - BURST_SECONDS, abs=1)


def test_an_allowance_is_given_out_in_slices_and_a_debt_is_waited_for_exactly() -> None:
    assert (Bucket(1).burst, Bucket(12).burst, Bucket(120).burst) == (1.0, 1.0, 10.0)
    bucket = Bucket(60)
    bucket.take(4.5, 10.0)
    assert bucket.wait(10.0) == 0.0
    bucket.take(2.5, 10.0)
    assert bucket.wait(10.0) == pytest.approx(2.001)
    empty = Bucket(60)
    empty.take(5.0, 10.0)
    assert empty.wait(10.0) == pytest.approx(0.001)


def test_an_unused_allowance_does_not_pile_up() -> None:
    bucket = Bucket(60)
    bucket.take(5, 10.0)
    assert bucket.wait(10.0) > 0
    assert bucket.wait(10_000.0) == 0
    bucket.take(bucket.burst, 10_000.0)
    assert bucket.wait(10_000.0) > 0


def test_without_allowances_nothing_waits() -> None:
    assert Pace(1)._delay() <= 0


async def test_when_the_run_stops_nobody_waits_for_a_place_or_a_moment(clock: Clock) -> None:
    pace = Pace(2, rpm=1, clock=clock)
    for _ in range(2):
        pace.slowed_down(clock.now, 100.0)
    tasks = [asyncio.create_task(pace.acquire(0)) for _ in range(5)]
    await asyncio.sleep(0)
    begun = clock.now
    pace.release_waiting()
    await asyncio.gather(*tasks)
    assert clock.now - begun <= NAP
    assert pace.in_flight == 5
    assert await pace.acquire(0) <= begun + NAP


# --- holding still ---------------------------------------------------------------------------------


async def test_one_push_back_holds_nobody_a_second_one_everybody(clock: Clock) -> None:
    pace = Pace(8, clock=clock)
    pace.slowed_down(clock.now, 7.0)
    assert await pace.acquire(0) == 1000.0
    pace.slowed_down(clock.now, 7.0)
    assert await pace.acquire(0) == 1007.0


async def test_a_success_between_two_push_backs_lets_others_go_on(clock: Clock) -> None:
    pace = Pace(8, clock=clock)
    pace.slowed_down(clock.now, 7.0)
    pace.succeeded()
    pace.slowed_down(clock.now, 7.0)
    assert await pace.acquire(0) == 1000.0


async def test_a_shorter_wish_does_not_cut_a_longer_hold_short(clock: Clock) -> None:
    pace = Pace(8, clock=clock)
    for hold in (1.0, 30.0, 2.0, None):
        pace.slowed_down(clock.now, hold)
    assert await pace.acquire(0) == 1030.0
