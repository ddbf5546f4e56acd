"""A budget holds against the provider's true bill, not only against what replies say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from endpoints import LogEntry, Prices, serve
from endpoints.asking import ask_once, labeller_at, simple_cases

PRICES = Prices(input=1.0, output=5.0, read=0.1, write=1.25)
STATED: dict[str, Any] = {"price_in": 1.0, "price_out": 5.0, "price_cached": 0.1, "price_cache_write": 1.25}
CASES = simple_cases(200)
CONCURRENCY = 8


def cost_of(entry: LogEntry) -> float:
    bill = entry.bill
    plain = bill.input - bill.cached - bill.written
    weighted = plain + PRICES.read * bill.cached + PRICES.write * bill.written
    return (weighted * PRICES.input + bill.output * PRICES.output) / 1e6


@pytest.mark.parametrize("requests", [9.5, 30.5])
@pytest.mark.parametrize(
    ("name", "model", "settings"),
    [
        ("gemini", "gemini:gemini-3-pro", {"thinking": 600}),
        ("gemini", "gemini:gemini-3-pro", {"thinking": 3000}),
        ("xai", "xai:grok-5", {"thinking": 500}),
        ("xai", "xai:grok-5", {"thinking": 3000}),
        ("anthropic", "anthropic:claude-sonnet-5-5", {}),
        ("anthropic", "anthropic:claude-sonnet-5-5", {"thinking": 900}),
        ("openai", "openai:gpt-5", {"thinking": 900}),
        ("openai", "openai:gpt-6", {"thinking": 900}),
    ],
)
async def test_the_true_bill_is_within_the_limit(
    name: str, model: str, settings: dict[str, Any], requests: float
) -> None:
    """The limit is enough for so many requests at the price of the dearest of ten."""
    with serve(name, latency=0.005, **settings) as server:
        await ask_once(labeller_at(server, model, **STATED), "rag", simple_cases(10))
        limit = requests * max(map(cost_of, server.log))
        server.reset()
        labeller = labeller_at(server, model, max_cost=limit, concurrency=CONCURRENCY, **STATED)
        run = await ask_once(labeller, "rag", CASES)
        bill = server.bill(PRICES)
        dearest = max(map(cost_of, server.log))
    assert run.stopped is not None
    assert run.stopped.kind == "budget"
    assert bill <= limit + CONCURRENCY * dearest
    assert bill >= 0.7 * limit, "the limit is of use only if it is nearly used up"
    assert sum(judgement.usage.cost or 0.0 for judgement in run.judgements) == pytest.approx(bill)


async def test_without_prices_of_the_cache_its_tokens_are_booked_at_the_plain_price() -> None:
    with serve("anthropic") as server:
        labeller = labeller_at(server, "anthropic:claude-sonnet-5-5", price_in=1.0, price_out=5.0)
        run = await ask_once(labeller, "rag", CASES[:10])
        plain = server.bill(Prices(1.0, 5.0, read=1.0, write=1.0))
        assert server.cached_share > 0
    assert sum(judgement.usage.cost or 0.0 for judgement in run.judgements) == pytest.approx(plain)
