"""An engine: every case taken comes back once, in memory that does not grow, and what is paid for is kept."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

import krino
from fake_llm import FakeServer, Faults
from krino.cases.item import CaseItem
from krino.contract import Labelled
from krino.engine.case import judge_item
from krino.engine.interface import Assignment, Engine, OpenCase, Receive, judged_in_order, opened
from krino.engine.pool import LocalPool
from krino.labellers.local import LocalLabeller
from krino.runs.manifest import Plan
from krino.runs.session import Session
from receiving import one_by_one
from toy_judge import ToyJudge, ToyLabels

GOOD = ToyLabels(label="good", quote="fine")


def items(count: int) -> Iterator[CaseItem]:
    return (CaseItem(number, f"c{number}", {"text": f"fine {number}"}) for number in range(count))


class Late(krino.Labeller):
    """Answers the first of its cases last, and stops the run at the case `stops_at`."""

    workers = 8

    def __init__(self, stops_at: int | None = None, paid: bool = False) -> None:
        self.stops_at, self.paid = stops_at, paid
        self.under_way = self.most_under_way = 0
        self.told_to_stop = False

    def describe(self) -> dict[str, Any]:
        return {"kind": "late"}

    async def label(self, task: Any) -> Any:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0.05 if task.index == 0 else 0.001)
        self.under_way -= 1
        if task.index == self.stops_at:
            stop = krino.RunStopped("no more", kind="budget")
            raise krino.LabelFailed("half done", usage=krino.Usage(calls=1), stopped=stop) if self.paid else stop
        return Labelled(GOOD, self.describe())

    def stop(self) -> None:
        self.told_to_stop = True


class _Gateway:
    """Sends by a function of the test."""

    def __init__(self, send: Any) -> None:
        self.send = send

    async def cached_answer(self, key: bytes) -> None:
        return None

    async def cache_answer(self, key: bytes, answer: bytes) -> None:
        return None

    async def load_abilities(self, key: bytes) -> None:
        return None

    async def save_abilities(self, key: bytes, found: bytes) -> None:
        return None

    async def give_up(self, tries: int, trouble: str) -> NoReturn:
        raise AssertionError(trouble)


async def carried(
    labeller: krino.Labeller, stream: Iterator[CaseItem]
) -> tuple[dict[int, str | None], Exception | None]:
    """How each case came back, and what the engine raised in the end."""
    back: dict[int, str | None] = {}

    async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
        assert item.index not in back, "a case comes back once"
        back[item.index] = None if judgement is None else judgement.status

    try:
        await LocalPool().run(
            Assignment(ToyJudge(), labeller), opened(stream, lambda item, digest: True), one_by_one(receive)
        )
    except Exception as fault:
        return back, fault
    return back, None


async def test_every_case_comes_back_as_it_finishes_and_as_many_are_judged_as_the_labeller_takes() -> None:
    labeller = Late()
    back, fault = await carried(labeller, items(50))
    assert (sorted(back), fault) == (list(range(50)), None)
    assert next(iter(back)) != 0, "the first case was the slowest"
    assert labeller.most_under_way == labeller.workers


@pytest.mark.parametrize("paid", [False, True])
async def test_a_stop_begins_nothing_new_and_keeps_what_is_under_way(paid: bool) -> None:
    labeller = Late(stops_at=20, paid=paid)
    back, fault = await carried(labeller, items(1000))
    assert isinstance(fault, krino.RunStopped)
    assert labeller.told_to_stop
    assert back[20] == ("error" if paid else None), "what is paid for is on record"
    assert back[0] == "ok", "it was under way"
    assert len(back) <= 20 + 2 * labeller.workers
    assert sorted(back) == list(range(len(back))), "every case that was taken came back"


async def test_a_stream_that_breaks_leaves_what_is_under_way_to_finish() -> None:
    def broken() -> Iterator[CaseItem]:
        yield from items(3)
        raise OSError("the disk is gone")

    labeller = Late()
    back, fault = await carried(labeller, broken())
    assert back == {0: "ok", 1: "ok", 2: "ok"}
    assert str(fault) == "the disk is gone"
    assert not labeller.told_to_stop, "a case under way may need another request"


async def test_in_order_hands_out_the_rest_before_it_tells_of_a_stop() -> None:
    seen = []
    with pytest.raises(krino.RunStopped, match="no more"):
        assignment = Assignment(ToyJudge(), Late(stops_at=20))
        async for judgement in judged_in_order(LocalPool(), assignment, items(1000), window=9):
            seen.append(judgement.index)
    assert seen[:20] == list(range(20))
    assert 20 not in seen
    assert seen == sorted(seen)


async def test_in_order_reads_no_further_ahead_than_its_window() -> None:
    read = 0

    def counted() -> Iterator[CaseItem]:
        nonlocal read
        for item in items(1000):
            read += 1
            yield item

    stream = judged_in_order(LocalPool(), Assignment(ToyJudge(), Late()), counted(), window=10)
    async with contextlib.aclosing(stream):
        async for judgement in stream:
            await asyncio.sleep(0.01)
            assert read <= judgement.index + 10 + 2
            if judgement.index == 30:
                break


# --- another engine ----------------------------------------------------------------------------------


class OneByOne:
    """The smallest engine: no concurrency at all."""

    stopping = False

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: Receive) -> None:
        async for case in cases:
            if self.stopping:
                await receive([(case, None)])
                return
            judgement = await judge_item(assignment.judge, assignment.labeller, case.item, case.digest)
            await receive([(case, judgement)])

    def stop(self) -> None:
        self.stopping = True


async def test_a_session_works_with_any_engine(tmp_path: Path) -> None:
    plan = Plan(judge=ToyJudge().fingerprint(), labeller=LocalLabeller().describe(), inputs=["x"])
    engine: Engine = OneByOne()
    session = Session(ToyJudge(), LocalLabeller(), plan, tmp_path, make_engine=lambda: engine)
    manifest = await session.run(lambda: items(5))
    assert (manifest.state, manifest.counts.ok) == ("finished", 5)
    lines = (tmp_path / "judgements.jsonl").read_text().splitlines()
    assert [f'"id":"c{number}"' in line for number, line in enumerate(lines)] == [True] * 5


async def test_a_reply_is_on_record_before_the_next_one_is_looked_at() -> None:
    """Replies that waited for each other, or went on in step, were lost together when the process was killed."""
    answered = handed = 0
    ahead: list[int] = []

    async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
        nonlocal handed
        handed += 1
        ahead.append(answered - handed)

    with FakeServer(reply={"label": "good", "quote": "fine"}, latency=0.01) as server:
        async with krino.llm("m", base_url=server.url, cache="off", concurrency=16) as labeller:
            send = labeller.gateway.send

            async def counted(letter: Any) -> Any:
                nonlocal answered
                outcome = await send(letter)
                answered += 1
                return outcome

            labeller.gateway = _Gateway(counted)
            stream = opened(items(64), lambda item, digest: True)
            await LocalPool().run(Assignment(ToyJudge(), labeller), stream, one_by_one(receive))
    assert handed == 64
    assert set(ahead) == {0}


async def test_what_is_paid_for_is_handed_over_though_the_run_is_cancelled() -> None:
    handed: list[str] = []

    async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
        handed.append("none" if judgement is None else judgement.status)

    one_hangs = Faults(schedule=["ok", "hang"])
    with FakeServer(reply={"label": "good", "quote": "fine"}, faults=one_hangs) as server:
        async with krino.llm("m", base_url=server.url, cache="off", concurrency=16) as labeller:
            await krino.ajudge(ToyJudge(), {"text": "fine"}, labeller=labeller)
            stream = opened(items(10), lambda item, digest: True)
            run = asyncio.create_task(LocalPool().run(Assignment(ToyJudge(), labeller), stream, one_by_one(receive)))
            while len(handed) < 9:
                await asyncio.sleep(0.001)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
    assert handed == ["ok"] * 9
