"""The budget: requests that fit once others have settled wait for them, and only what cannot fit stops the run."""

from __future__ import annotations

import asyncio
import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

import krino
from fake_llm import FakeServer, Faults
from krino.labellers.factory import labeller_from
from krino.labellers.llm.dialects.openai import OpenAIDialect
from krino.labellers.llm.sending.budget import (
    FINAL_PART,
    FIRST_REPLY,
    MARGIN,
    MOST_TOKENS,
    Budget,
    Prices,
    SharedBudget,
    plausible_count,
)
from krino.labellers.llm.wire import Reply
from toy_judge import ToyJudge

GOOD = {"label": "good", "quote": "fine"}
SETTINGS: dict[str, Any] = {
    "cache": "off",
    "backoff": 0.001,
    "api_key": "secret-key",
    "price_in": 1.0,
    "price_out": 4.0,
}
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
    async with budget.reserve(taken.input_tokens):
        sent.append(name)
        await gate.wait()
    budget.count(taken, taken.input_tokens)


# --- whole runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seats", [1, 3])
async def test_a_run_that_costs_less_than_its_limit_is_finished(server: FakeServer, seats: int) -> None:
    """Though far more is set aside for 32 requests at a time, before the first reply, than the whole run costs."""
    one = await price_of_one(server)
    limit = 1.2 * seats * len(CASES) * (one.cost or 0.0)
    names = ["a", "b", "c"][:seats]
    labeller = labeller_from(",".join(names), base_url=server.url, max_cost=limit, **SETTINGS)
    judgements, reason = await judged_until_stopped(labeller)
    assert reason is None, reason
    assert [judgement.status for judgement in judgements] == ["ok"] * len(CASES)


@pytest.mark.parametrize("kind", ["max_cost", "max_tokens"])
@pytest.mark.parametrize("seats", [1, 3])
async def test_a_run_that_costs_more_stops_just_below_its_limit(server: FakeServer, seats: int, kind: str) -> None:
    one = await price_of_one(server)
    limit = 20.5 * (one.cost or 0.0) if kind == "max_cost" else int(20.5 * one.tokens)
    names = ["a", "b", "c"][:seats]
    labeller = labeller_from(",".join(names), base_url=server.url, **{**SETTINGS, kind: limit})
    judgements, reason = await judged_until_stopped(labeller)
    spent = sum((item.usage.cost or 0.0) if kind == "max_cost" else item.usage.tokens for item in judgements)
    assert 0.85 * limit < spent <= limit
    assert reason is not None
    told = re.search(r"([\d.,]+) (?:is|are) spent", str(reason))
    assert told is not None
    in_flight = seats * ((one.cost or 0.0) if kind == "max_cost" else one.tokens)  # what was out when it was said
    assert 0.999 * (spent - in_flight) <= float(told.group(1).replace(",", "")) <= 1.001 * spent


async def test_a_request_that_waits_for_money_does_not_keep_a_retry_from_its_place(server: FakeServer) -> None:
    """Two places, three requests, money for one at a time: the one that is tried again needs a place to settle."""
    one = await price_of_one(server)
    server.configure(faults=Faults(schedule=["500", "429", "500", "429"]))
    limit = FIRST_REPLY + 2 * one.tokens
    labeller = krino.llm("m", base_url=server.url, max_tokens=limit, concurrency=2, **SETTINGS)
    judgements, _ = await asyncio.wait_for(judged_until_stopped(labeller), 20)
    assert 0.7 * limit < sum(judgement.usage.tokens for judgement in judgements) <= limit


# --- any limit, price and concurrency ------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """One draw of everything that a budget depends on."""

    kind: str
    requests: float
    """The limit, in requests of the usual size."""
    prices: tuple[float, float]
    concurrency: int
    reply_tokens: int | None
    words: tuple[int, int]
    """How long the quotes of the replies are."""
    seats: int
    earlier: float
    """The part of the limit that an earlier sitting took."""


def draw(chance: random.Random) -> Drawn:
    shortest = chance.choice([1, 1, 20, 60])
    return Drawn(
        kind=chance.choice(["max_tokens", "max_cost"]),
        requests=chance.uniform(14, 32),
        prices=(chance.choice([0.0, 0.15, 1.0, 10.0]), chance.uniform(0.1, 40.0)),
        concurrency=chance.choice([1, 2, 4, 8, 16, 32, 64]),
        reply_tokens=chance.choice([None, None, 150, 300, 2_000]),
        words=(shortest, chance.choice([shortest, 3 * shortest, 110])),
        seats=chance.choice([1, 1, 1, 2]),
        earlier=chance.choice([0.0, 0.0, 0.3]),
    )


def talker(drawn: Drawn, seed: int) -> Any:
    chance = random.Random(seed)
    return lambda request: {"label": "good", "quote": "fine " * chance.randint(*drawn.words)}


def billed(server: FakeServer, drawn: Drawn) -> float:
    """The server's own bill, by what it has written itself."""
    stats = server.stats()
    if drawn.kind == "max_tokens":
        return stats.input_tokens + stats.output_tokens
    return (stats.input_tokens * drawn.prices[0] + stats.output_tokens * drawn.prices[1]) / 1e6


LONG_CASES = [{"text": f"{'fine ' * 120}{number}"} for number in range(100)]


async def spend(server: FakeServer, drawn: Drawn, seed: int) -> tuple[float, float, float]:
    """Runs into the limit; gives the limit, what the server billed, and what one request may take at most."""
    price_in, price_out = drawn.prices
    settings = {**SETTINGS, "price_in": price_in, "price_out": price_out, "concurrency": drawn.concurrency}
    settings |= {"base_url": server.url, "reply_tokens": drawn.reply_tokens}
    server.reset()
    server.configure(reply={"label": "good", "quote": "fine " * ((drawn.words[0] + drawn.words[1]) // 2)})
    async with krino.llm("m", **settings) as one:
        await krino.ajudge(ToyJudge(), LONG_CASES[0], labeller=one)
    usual = billed(server, drawn)
    server.configure(reply={"label": "good", "quote": "fine " * drawn.words[1]})
    async with krino.llm("m", **settings) as one:
        await krino.ajudge(ToyJudge(), LONG_CASES[0], labeller=one)
    most = billed(server, drawn) - usual
    limit = usual * drawn.requests if drawn.kind == "max_cost" else round(usual * drawn.requests)
    server.reset()
    server.configure(reply=talker(drawn, seed))
    labeller = labeller_from(",".join(["a", "b"][: drawn.seats]), **{**settings, drawn.kind: limit})
    total = krino.Usage()  # as a sitting has it: it goes on growing while the run lasts
    before = drawn.earlier * limit
    if drawn.kind == "max_cost":
        total.cost = before
    else:
        total.input_tokens = round(before)
    labeller.already_spent(total)
    async with labeller:
        with pytest.raises(krino.RunStopped, match="is reached"):
            async for judgement in krino.ajudge_many(ToyJudge(), LONG_CASES, labeller=labeller):
                total.add(judgement.usage)
    return limit, billed(server, drawn) + before, most


async def test_the_servers_own_bill_keeps_within_any_limit_and_uses_nine_tenths_of_it() -> None:
    """Fifty draws. At most one request passes the limit, and it by less than itself, whatever the concurrency."""
    chance = random.Random(11)
    with FakeServer(latency=0.002) as server:
        for seed in range(50):
            drawn = draw(chance)
            limit, bill, most = await spend(server, drawn, seed)
            assert 0.9 * limit <= bill <= limit + most, (drawn, bill / limit)


async def test_a_first_wave_of_giant_replies_does_not_spend_ten_times_the_limit() -> None:
    """Nobody has said how long replies may be, and they are very long: one is sent to find out."""
    with FakeServer(latency=0.01, reply={"label": "good", "quote": "fine " * 100_000}) as server:
        cases = [{"text": "fine " * 100_000 + str(number)} for number in range(40)]
        settings = {**SETTINGS, "base_url": server.url, "concurrency": 32}
        limit = 800_000  # one request takes a quarter of a million
        async with krino.llm("m", max_tokens=limit, **settings) as labeller:
            with pytest.raises(krino.RunStopped, match="limit of 800,000 tokens"):
                async for _ in krino.ajudge_many(ToyJudge(), cases, labeller=labeller):
                    pass
        stats = server.stats()
        assert stats.calls == 3
        assert stats.input_tokens + stats.output_tokens <= limit


async def test_replies_that_are_lost_on_their_way_are_taken_to_be_billed(server: FakeServer) -> None:
    """Half of the replies break off after the endpoint has written and billed them."""
    one = await price_of_one(server)
    server.reset()
    server.configure(faults=Faults(rates={"cut": 0.5}, seed=3))
    limit = 40 * one.tokens
    labeller = krino.llm("m", base_url=server.url, max_tokens=limit, retries=20, **SETTINGS)
    _, reason = await judged_until_stopped(labeller)
    stats = server.stats()
    assert reason is not None
    assert stats.faults["cut"] > 5
    assert 0.9 * limit <= stats.input_tokens + stats.output_tokens <= limit + one.tokens


# --- each call once ------------------------------------------------------------------------------------


async def test_the_total_of_a_sitting_is_taken_as_it_was_when_it_began(server: FakeServer) -> None:
    """It goes on growing with the calls of this sitting, which the budget counts by itself."""
    one = await price_of_one(server)
    server.reset()
    total = krino.Usage(input_tokens=5 * one.tokens)
    async with krino.llm("m", base_url=server.url, max_tokens=int(15.5 * one.tokens), **SETTINGS) as labeller:
        labeller.already_spent(total)
        with pytest.raises(krino.RunStopped):
            async for judgement in krino.ajudge_many(ToyJudge(), CASES, labeller=labeller):
                total.add(judgement.usage)
    assert server.stats().calls == 10


async def test_a_second_sitting_of_the_same_labeller_does_not_count_the_first_again(server: FakeServer) -> None:
    async with krino.llm("m", base_url=server.url, max_tokens=1_000_000, **SETTINGS) as labeller:
        await krino.ajudge(ToyJudge(), CASES[0], labeller=labeller)
        spent = labeller.budget.shared.spent
        assert spent.tokens > 0
        labeller.already_spent(spent)
        assert (labeller.budget.shared.earlier, labeller.budget.shared.spent) == (spent, krino.Usage())
        assert labeller.budget.shared.earlier is not spent


def test_what_was_spent_before_prices_were_stated_counts_at_the_prices_of_now() -> None:
    budget = Budget(Prices(1.0, 2.0), SharedBudget(max_cost=5.0))
    budget.begin(krino.Usage(input_tokens=1_000_000, output_tokens=500_000))
    assert budget.shared.earlier.cost == 2.0
    budget.begin(krino.Usage(input_tokens=1_000_000, cost=0.5))
    assert budget.shared.earlier.cost == 0.5


# --- what the endpoint says ----------------------------------------------------------------------------


class Claiming(OpenAIDialect):
    """Replies that claim what a test wants."""

    def __init__(self, **claims: Any) -> None:
        self._claims = claims

    def read(self, body: bytes) -> Reply:
        return replace(super().read(body), **self._claims)


async def judged_with_claims(server: FakeServer, settings: dict[str, Any], **claims: Any) -> krino.Usage:
    labeller = krino.llm("m", base_url=server.url, **{**SETTINGS, **settings})
    object.__setattr__(labeller.endpoint, "dialect", Claiming(**claims))
    async with labeller:
        return (await krino.ajudge(ToyJudge(), CASES[0], labeller=labeller)).usage


@pytest.mark.parametrize("said", [0.0, 1e9, math.inf])
async def test_stated_prices_win_over_the_cost_that_the_endpoint_names(server: FakeServer, said: float) -> None:
    usage = await judged_with_claims(server, {}, cost=said)
    assert usage.cost == pytest.approx((usage.input_tokens * 1.0 + usage.output_tokens * 4.0) / 1e6)


async def test_without_prices_the_cost_is_what_the_endpoint_names(server: FakeServer) -> None:
    without: dict[str, Any] = {"price_in": None, "price_out": None}
    assert (await judged_with_claims(server, without, cost=0.25)).cost == 0.25
    assert (await judged_with_claims(server, without, cost=0.0)).cost == 0.0
    assert (await judged_with_claims(server, without, cost=math.inf)).cost is None
    assert (await judged_with_claims(server, without, cost=None)).cost is None


@pytest.mark.parametrize("claimed", [-5, 0, 10**18, MOST_TOKENS + 1])
async def test_token_counts_that_cannot_be_true_are_replaced_by_ours(server: FakeServer, claimed: int) -> None:
    honest = await price_of_one(server)
    usage = await judged_with_claims(server, {}, input_tokens=claimed, output_tokens=claimed)
    assert usage.input_tokens == pytest.approx(honest.input_tokens, rel=0.1)
    assert 0 < usage.output_tokens <= honest.output_tokens


def test_counts_are_believed_up_to_the_most_that_a_model_takes() -> None:
    assert [plausible_count(claimed, 7) for claimed in (1, MOST_TOKENS, MOST_TOKENS + 1, 0, -1)] == [
        1,
        MOST_TOKENS,
        7,
        7,
        7,
    ]


# --- amounts that are none -----------------------------------------------------------------------------

NO_AMOUNTS: list[Any] = [math.nan, math.inf, -math.inf, -1, -0.01, "5", True]


@pytest.mark.parametrize("amount", NO_AMOUNTS, ids=str)
@pytest.mark.parametrize("name", ["max_cost", "max_tokens", "price_in", "price_out"])
def test_a_limit_or_price_that_is_no_amount_is_refused(name: str, amount: Any) -> None:
    given = {"price_in": 1.0, "price_out": 1.0, name: amount}
    with pytest.raises(krino.UsageProblem, match=f"{name} must be at least 0"):
        krino.llm("m", base_url="http://127.0.0.1:9/v1", cache="off", **given)


def test_nothing_is_an_amount_and_a_limit() -> None:
    labeller = krino.llm(
        "m", base_url="http://127.0.0.1:9/v1", cache="off", max_cost=0, max_tokens=0, price_in=0, price_out=0.0
    )
    assert labeller.budget.shared.limited
    assert labeller.budget.prices.cost(5, 5) == 0.0


@pytest.mark.parametrize(("given", "missing"), [("in", "out"), ("out", "in")])
def test_one_price_without_the_other_is_refused(given: str, missing: str) -> None:
    with pytest.raises(krino.UsageProblem, match=f"--price-{given} is given without --price-{missing}"):
        krino.llm("m", base_url="http://127.0.0.1:9/v1", cache="off", **{f"price_{given}": 1.0})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["rpm", "tpm", "timeout", "patience", "reply_tokens"])
@pytest.mark.parametrize("amount", [math.nan, math.inf, 0, -1])
def test_a_pace_that_is_none_is_refused(name: str, amount: float) -> None:
    with pytest.raises(krino.UsageProblem, match=f"{name} must be more than 0"):
        krino.llm("m", base_url="http://127.0.0.1:9/v1", cache="off", **{name: amount})  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"backoff": math.nan}, {"backoff": -1.0}, {"temperature": math.nan}])
def test_a_backoff_or_temperature_that_is_none_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(krino.UsageProblem, match=f"{next(iter(settings))} must be"):
        krino.llm("m", base_url="http://127.0.0.1:9/v1", cache="off", **settings)


# --- the shared budget itself --------------------------------------------------------------------------------


async def test_what_fits_once_another_has_settled_waits_for_it() -> None:
    budget, gate = Budget(shared=SharedBudget(max_tokens=1_000)), asyncio.Event()
    sent: list[str] = []
    taken = krino.Usage(calls=1, input_tokens=100, output_tokens=10)
    senders = [asyncio.create_task(send(budget, taken, sent, name, gate)) for name in "abc"]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert sent == ["a"], f"{FIRST_REPLY} tokens are set aside for its reply"
    gate.set()
    await asyncio.gather(*senders)
    assert sent == ["a", "b", "c"]
    assert budget.shared.spent.tokens == 330


async def test_what_does_not_fit_with_nobody_on_the_way_stops_the_run() -> None:
    budget = Budget(Prices(1.0, 1.0), SharedBudget(max_cost=0.001))
    budget.shared.earlier = krino.Usage(cost=0.00095)
    with pytest.raises(krino.RunStopped, match=r"limit of 0.001 \(--max-cost\) is reached: 0.00095 is spent"):
        async with budget.reserve(10):
            pass


async def test_all_that_wait_end_when_the_money_does() -> None:
    budget, gate = Budget(shared=SharedBudget(max_tokens=1_000)), asyncio.Event()
    sent: list[str] = []
    taken = krino.Usage(calls=1, input_tokens=100, output_tokens=850)
    senders = [asyncio.create_task(send(budget, taken, sent, name, gate)) for name in "abc"]
    gate.set()
    ends = await asyncio.gather(*senders, return_exceptions=True)
    assert sent == ["a"]
    assert [type(end) for end in ends] == [type(None), krino.RunStopped, krino.RunStopped]


async def test_one_that_is_cancelled_on_its_way_or_while_it_waits_leaves_nothing_set_aside() -> None:
    budget, gate = Budget(shared=SharedBudget(max_tokens=1_000)), asyncio.Event()
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
    assert budget.shared.spent.tokens == 110


def learned(*outputs: int, estimate: int = 100, taken: int = 100, **limits: Any) -> Budget:
    """A budget that has seen replies of these lengths."""
    budget = Budget(Prices(1e6, 1e6), SharedBudget(**limits))  # a token costs 1
    for output in outputs:
        budget.count(krino.Usage(input_tokens=taken, output_tokens=output), estimate)
    budget.shared.spent = krino.Usage()
    return budget


async def enter(budget: Budget, count: int, estimate: int = 100, reply_limit: int | None = None) -> int:
    """How many of so many requests go at the same time."""
    gone, gate = [], asyncio.Event()

    async def go(number: int) -> None:
        async with budget.reserve(estimate, reply_limit):
            gone.append(number)
            await gate.wait()

    tasks = [asyncio.create_task(go(number)) for number in range(count)]
    for _ in range(count + 2):
        await asyncio.sleep(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return len(gone)


@pytest.mark.parametrize("kind", ["max_tokens", "max_cost"])
async def test_those_on_their_way_are_set_aside_by_their_reply_limit(kind: str) -> None:
    for limit, goes in ((4_399, 3), (4_400, 4), (100_000, 10)):
        assert await enter(learned(**{kind: limit}), 10, reply_limit=1_000) == goes


@pytest.mark.parametrize("kind", ["max_tokens", "max_cost"])
async def test_without_a_reply_limit_one_goes_ahead_and_then_no_more_than_have_come_back(kind: str) -> None:
    assert await enter(learned(**{kind: 10**9}), 10) == 1
    assert await enter(learned(5, **{kind: 10**9}), 10) == 1
    assert await enter(learned(5, 5, 5, **{kind: 10**9}), 10) == 3
    each = 100 + MARGIN * 50
    assert await enter(learned(10, 50, 20, 20, 20, **{kind: 3 * each}), 10) == 3
    assert await enter(learned(10, 50, 20, 20, 20, **{kind: 3 * each - 1}), 10) == 2


async def test_an_endpoint_that_does_not_keep_to_the_reply_limit_is_set_aside_by_what_it_gave() -> None:
    assert await enter(learned(900, max_tokens=3_000), 10, reply_limit=50) == 3
    assert await enter(learned(10, max_tokens=3_000), 10, reply_limit=50) == 10


async def test_texts_that_take_more_tokens_than_estimated_are_set_aside_for_that() -> None:
    dense = learned(10, taken=250, max_tokens=1_000)
    assert await enter(dense, 10, reply_limit=50) == 3  # 250 + 50 each


async def test_texts_that_take_fewer_tokens_than_estimated_are_set_aside_for_that_too() -> None:
    sparse = learned(10, taken=20, max_tokens=280)
    assert await enter(sparse, 10, reply_limit=50) == 4  # 20 + 50 each


async def test_the_usual_request_is_the_mean_of_what_came_back() -> None:
    """Inputs took three times their estimate, so one of 100 is expected to take 300, and a reply 20."""
    for used, goes in ((680, True), (681, False)):
        budget = learned(10, 30, estimate=10, taken=30, max_tokens=1_000)
        budget.shared.earlier = krino.Usage(input_tokens=used)
        assert await went(budget) == goes, used


def test_a_cost_limit_needs_prices() -> None:
    with pytest.raises(krino.UsageProblem, match="--max-cost needs prices"):
        Budget(shared=SharedBudget(max_cost=1.0))
    assert Budget(shared=SharedBudget(max_tokens=1)).shared.limited


async def test_alone_a_request_goes_by_the_usual_reply_until_the_last_tenth_then_by_the_longest() -> None:
    outputs = [*[0] * 9, 400]  # on the whole 40; the longest 400
    for used, goes in ((0, True), (890, False), (850, True), (860, True), (861, False)):
        budget = learned(*outputs, max_tokens=1_000)
        budget.shared.earlier = krino.Usage(input_tokens=used)
        assert await went(budget) == goes, used
    for used, goes in ((9_000, True), (8_999, True), (9_500, True), (9_501, False)):
        budget = learned(*outputs, max_tokens=10_000)
        budget.shared.earlier = krino.Usage(input_tokens=used)
        assert await went(budget) == goes, used
    assert FINAL_PART == 0.1


@pytest.mark.parametrize("kind", ["max_tokens", "max_cost"])
@pytest.mark.parametrize(("used", "goes"), [(899, True), (900, False)])
async def test_the_last_tenth_begins_at_nine_tenths(kind: str, used: int, goes: bool) -> None:
    budget = learned(*[0] * 9, 11, estimate=90, taken=90, **{kind: 1_000})  # 92 on the whole, 101 at the longest
    budget.shared.earlier = krino.Usage(input_tokens=used, cost=float(used))
    assert await went(budget, 90) == goes


async def went(budget: Budget, estimate: int = 100, reply_limit: int | None = None) -> bool:
    try:
        async with budget.reserve(estimate, reply_limit):
            return True
    except krino.RunStopped:
        return False


async def test_the_first_request_of_all_goes_if_its_input_fits() -> None:
    """How long replies are can only be found out; they may be a small part of what was set aside for one."""
    assert await went(Budget(shared=SharedBudget(max_tokens=100)))
    assert not await went(Budget(shared=SharedBudget(max_tokens=99)))


async def test_in_the_last_tenth_nothing_is_found_out() -> None:
    for left, reply_limit, goes in ((100 + FIRST_REPLY, None, True), (99 + FIRST_REPLY, None, False), (150, 50, True)):
        budget = Budget(shared=SharedBudget(max_tokens=10_000, earlier=krino.Usage(input_tokens=10_000 - left)))
        assert await went(budget, 100, reply_limit) == goes
    with pytest.raises(krino.RunStopped, match="the next request needs about 151"):
        async with budget.reserve(100, 51):
            pass


async def test_the_first_request_of_a_later_sitting_is_judged_by_the_earlier_ones() -> None:
    for used, goes in ((700, True), (701, False)):
        budget = Budget(shared=SharedBudget(max_tokens=1_000))
        budget.begin(krino.Usage(calls=4, input_tokens=used - 798, output_tokens=798))  # 199.5 a reply
        assert await went(budget) == goes
    assert await enter(budget_after(krino.Usage(calls=2, output_tokens=400), 3_000), 10, reply_limit=50) == 8
    assert await enter(budget_after(krino.Usage(calls=2, output_tokens=400), 3_000), 10, reply_limit=500) == 4


def budget_after(earlier: krino.Usage, max_tokens: int) -> Budget:
    budget = Budget(shared=SharedBudget(max_tokens=max_tokens))
    budget.begin(earlier)
    return budget


async def test_nothing_stays_set_aside_and_no_crumb_of_it() -> None:
    budget = learned(10, 10, 10, max_cost=1e9)
    assert await enter(budget, 3, estimate=33, reply_limit=7) == 3
    assert (
        budget.shared._reserved_requests,
        budget.shared._reserved_tokens,
        budget.shared._reserved_cost,
        budget._in_flight,
    ) == (0, 0, 0.0, 0)


async def test_without_a_limit_nothing_is_set_aside_or_waited_for() -> None:
    assert await enter(Budget(), 50) == 50


async def test_lost_replies_count_by_what_replies_usually_take() -> None:
    budget = learned(100, 300, max_tokens=1_000)
    budget.count_lost(100)
    assert (budget.shared.lost.tokens, budget.shared.lost.cost) == (300, 300.0)
    budget.shared.earlier = krino.Usage(input_tokens=450)
    with pytest.raises(krino.RunStopped, match="750 are spent"):
        async with budget.reserve(100):
            pass
    budget.begin(krino.Usage())
    assert budget.shared.lost == krino.Usage()


async def test_the_reason_names_the_limit_what_is_spent_and_what_comes_next() -> None:
    budget = learned(20, 40, max_tokens=1_000)
    budget.shared.earlier = krino.Usage(input_tokens=950)
    words = (
        r"the limit of 1,000 tokens \(--max-tokens\) is reached: 950 are spent, and the next request needs about 140"
    )
    with pytest.raises(krino.RunStopped, match=words):
        async with budget.reserve(100):
            pass
    budget = learned(20, 40, max_cost=1_000)
    budget.shared.earlier = krino.Usage(cost=950.0)
    words = r"the limit of 1000 \(--max-cost\) is reached: 950 is spent, and the next request needs about 1.4e\+02"
    with pytest.raises(krino.RunStopped, match=words):
        async with budget.reserve(100):
            pass
