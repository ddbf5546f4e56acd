"""The budget: requests that fit once others have settled wait for them, and only what cannot fit stops the run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import krino
from krino.labellers.choose import choose
from krino.labellers.llm.budget import FIRST_REPLY, Budget, Prices, Purse
from krino.testing import FakeServer, Faults
from toy_judge import ToyJudge

GOOD = {"label": "good", "quote": "fine"}
SETTINGS: dict[str, Any] = {"cache": "off", "backoff": 0.001, "key": "secret-key", "price_in": 1.0, "price_out": 4.0}
CASES = [{"text": f"a fine text {number}"} for number in range(60)]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply=GOOD, latency=0.005) as running:
        yield running


async def price_of_one(server: FakeServer) -> krino.Usage:
    async with krino.llm("m", base_url=server.url, **SETTINGS) as labeller:
        return (await krino.ajudge(ToyJudge(), CASES[0], labeller=labeller)).usage


async def judged_until_stopped(labeller: krino.Labeller) -> tuple[list[krino.Judgement], krino.RunStopped | None]:
    judgements: list[krino.Judgement] = []
    async with labeller:
        try:
            async for judgement in krino.ajudge_many(ToyJudge(), CASES, labeller=labeller):
                judgements.append(judgement)
        except krino.RunStopped as reason:
            return judgements, reason
    return judgements, None


async def send(budget: Budget, taken: krino.Usage, sent: list[str], name: str, gate: asyncio.Event) -> None:
    async with budget.hold(taken.input_tokens):
        sent.append(name)
        await gate.wait()
    budget.settle(taken, taken.input_tokens)


# --- whole runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [1, 3])
async def test_a_run_that_costs_less_than_its_limit_is_finished(server: FakeServer, seats: int) -> None:
    """Though far more is set aside for 32 requests at a time, before the first reply, than the whole run costs."""
    one = await price_of_one(server)
    limit = 1.2 * seats * len(CASES) * (one.cost or 0.0)
    names = ["a", "b", "c"][:seats]
    labeller = choose(",".join(names), base_url=server.url, max_cost=limit, **SETTINGS)
    judgements, reason = await judged_until_stopped(labeller)
    assert reason is None, reason
    assert [judgement.status for judgement in judgements] == ["ok"] * len(CASES)


@pytest.mark.parametrize("kind", ["max_cost", "max_tokens"])
@pytest.mark.parametrize("seats", [1, 3])
async def test_a_run_that_costs_more_stops_just_below_its_limit(server: FakeServer, seats: int, kind: str) -> None:
    one = await price_of_one(server)
    limit = 20.5 * (one.cost or 0.0) if kind == "max_cost" else int(20.5 * one.tokens)
    names = ["a", "b", "c"][:seats]
    labeller = choose(",".join(names), base_url=server.url, **{kind: limit}, **SETTINGS)
    judgements, reason = await judged_until_stopped(labeller)
    spent = sum((item.usage.cost or 0.0) if kind == "max_cost" else item.usage.tokens for item in judgements)
    assert 0.85 * limit < spent <= limit
    assert reason is not None
    told = f"{spent:,} are spent" if kind == "max_tokens" else f"{spent:.4g} is spent"
    assert told in str(reason)


async def test_a_request_that_waits_for_money_does_not_keep_a_retry_from_its_place(server: FakeServer) -> None:
    """Two places, three requests, money for one at a time: the one that is tried again needs a place to settle."""
    one = await price_of_one(server)
    server.configure(faults=Faults(schedule=["500", "429", "500", "429"]))
    limit = FIRST_REPLY + 2 * one.tokens
    labeller = krino.llm("m", base_url=server.url, max_tokens=limit, concurrency=2, **SETTINGS)
    judgements, _ = await asyncio.wait_for(judged_until_stopped(labeller), 20)
    assert 0.7 * limit < sum(judgement.usage.tokens for judgement in judgements) <= limit


# --- the purse itself --------------------------------------------------------------------------------


async def test_what_fits_once_another_has_settled_waits_for_it() -> None:
    budget, gate = Budget(purse=Purse(max_tokens=1_000)), asyncio.Event()
    sent: list[str] = []
    taken = krino.Usage(calls=1, input_tokens=100, output_tokens=10)
    senders = [asyncio.create_task(send(budget, taken, sent, name, gate)) for name in "abc"]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert sent == ["a"], f"{FIRST_REPLY} tokens are set aside for its reply"
    gate.set()
    await asyncio.gather(*senders)
    assert sent == ["a", "b", "c"]
    assert budget.purse.spent.tokens == 330


async def test_what_does_not_fit_with_nobody_on_the_way_stops_the_run() -> None:
    budget = Budget(Prices(1.0, 1.0), Purse(max_cost=0.001))
    budget.purse.earlier = krino.Usage(cost=0.0009)
    with pytest.raises(krino.RunStopped, match=r"limit of 0.001 \(--max-cost\) is reached: 0.0009 is spent"):
        async with budget.hold(10):
            pass


async def test_all_that_wait_end_when_the_money_does() -> None:
    budget, gate = Budget(purse=Purse(max_tokens=1_000)), asyncio.Event()
    sent: list[str] = []
    taken = krino.Usage(calls=1, input_tokens=100, output_tokens=850)
    senders = [asyncio.create_task(send(budget, taken, sent, name, gate)) for name in "abc"]
    gate.set()
    ends = await asyncio.gather(*senders, return_exceptions=True)
    assert sent == ["a"]
    assert [type(end) for end in ends] == [type(None), krino.RunStopped, krino.RunStopped]


async def test_one_that_is_cancelled_on_its_way_or_while_it_waits_leaves_nothing_set_aside() -> None:
    budget, gate = Budget(purse=Purse(max_tokens=1_000)), asyncio.Event()
    sent: list[str] = []
    taken = krino.Usage(calls=1, input_tokens=100, output_tokens=10)
    first, second, third = [asyncio.create_task(send(budget, taken, sent, name, gate)) for name in "abc"]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    second.cancel()
    first.cancel()
    gate.set()
    await asyncio.gather(first, second, third, return_exceptions=True)
    assert sent == ["a", "c"]
    assert budget.purse.spent.tokens == 110
