"""Replies in company: they go on together, wait for nobody in vain, and none that is paid for is lost."""

from __future__ import annotations

import asyncio

import pytest

import krino
from fake_llm import FakeServer, Faults
from krino.cases.item import CaseItem
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, opened
from krino.labellers.llm import gathering
from krino.labellers.llm.gathering import Gathering
from receiving import one_by_one
from toy_judge import ToyJudge


class Replies:
    """Replies that come when the test says so; `gone_on` are those whose lot has gone on."""

    def __init__(self, most: int) -> None:
        self.gathering = Gathering(most)
        self.gone_on: list[int] = []
        self._arrived: dict[int, asyncio.Event] = {}

    def await_(self, number: int) -> asyncio.Task[None]:
        self._arrived[number] = asyncio.Event()
        return asyncio.create_task(self._one(number))

    async def come(self, *numbers: int) -> None:
        await let_run()
        for number in numbers:
            self._arrived[number].set()
            await let_run()

    async def _one(self, number: int) -> None:
        with self.gathering:
            await self._arrived[number].wait()
        await self.gathering.join()
        self.gone_on.append(number)


async def let_run() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lot waits until it is full, in all tests but that of its time."""
    monkeypatch.setattr(gathering, "LONGEST", 3600.0)


async def test_replies_go_on_when_their_lot_is_full() -> None:
    replies = Replies(most=3)
    tasks = [replies.await_(number) for number in range(7)]
    await replies.come(4, 0)
    assert replies.gone_on == []
    await replies.come(2)
    assert sorted(replies.gone_on) == [0, 2, 4]
    await replies.come(1, 3)
    assert len(replies.gone_on) == 3
    await replies.come(5)
    assert sorted(replies.gone_on) == [0, 1, 2, 3, 4, 5]
    await replies.come(6)
    await asyncio.gather(*tasks)


async def test_the_last_reply_that_is_awaited_takes_all_along() -> None:
    replies = Replies(most=100)
    tasks = [replies.await_(number) for number in range(3)]
    await replies.come(0, 1)
    assert replies.gone_on == []
    await replies.come(2)
    await asyncio.gather(*tasks)
    assert sorted(replies.gone_on) == [0, 1, 2]


async def test_a_reply_waits_no_longer_than_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "LONGEST", 0.001)
    replies = Replies(most=100)
    first, other = replies.await_(0), replies.await_(1)
    await replies.come(0)
    await first
    assert replies.gone_on == [0]
    await replies.come(1)
    await other


async def test_a_reply_that_is_cancelled_goes_on_and_the_cancelling_is_told_later() -> None:
    replies, steps = Gathering(100), []

    async def carried() -> None:
        await replies.join()
        steps.append("read")
        await asyncio.sleep(0)
        steps.append("not reached")

    with replies:
        task = asyncio.create_task(carried())
        await let_run()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert steps == ["read"]


async def test_a_time_limit_around_a_case_is_still_told_as_one() -> None:
    replies = Gathering(100)
    with replies, pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await replies.join()
            await asyncio.sleep(0)


async def test_replies_of_a_loop_that_has_ended_are_no_company() -> None:
    replies = Replies(most=2)

    async def broken_off() -> None:
        replies.await_(0), replies.await_(1)
        await replies.come(0)

    await asyncio.to_thread(asyncio.run, broken_off())
    assert replies.gone_on == [0]  # on its own, when its loop was taken down
    tasks = [replies.await_(2), replies.await_(3), replies.await_(4)]
    await replies.come(2)
    assert replies.gone_on == [0]
    await replies.come(3, 4)
    await asyncio.gather(*tasks)


async def test_replies_in_company_are_handed_over_though_the_run_is_cancelled() -> None:
    handed: list[str] = []

    async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
        handed.append("none" if judgement is None else judgement.status)

    items = (CaseItem(number, f"c{number}", {"text": f"fine {number}"}) for number in range(10))
    one_hangs = Faults(schedule=["ok", "hang"])
    with FakeServer(reply={"label": "good", "quote": "fine"}, faults=one_hangs) as server:
        async with krino.llm("m", base_url=server.url, cache="off", concurrency=16) as labeller:
            await krino.ajudge(ToyJudge(), {"text": "fine"}, labeller=labeller)  # from now on it is known to work
            assignment = Assignment(ToyJudge(), labeller)
            run = asyncio.create_task(
                LocalPool().run(assignment, opened(items, lambda item, digest: True), one_by_one(receive))
            )
            while len(labeller._gathering._waiting) < 9:
                await asyncio.sleep(0.001)
            assert handed == []
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
    assert handed == ["ok"] * 9
