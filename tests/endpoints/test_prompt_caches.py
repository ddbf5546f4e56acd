"""Most of each prompt is the same for all cases, and providers sell that part cheaply: their cache must find it.

The cases differ as production's do: in the number of passages, in refusals, references and empty retrievals. Bounds of
the schema that depend on them would make each of these shapes another prompt to a cache that begins with the schema.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from endpoints import Prices, serve
from endpoints.asking import ask_once, labeller_at

REFUSAL = "I cannot answer because the context does not say so, which falls under insufficient context."


def mixed_cases(count: int) -> list[dict[str, Any]]:
    """The same ones each time."""
    chance = random.Random(31)
    cases: list[dict[str, Any]] = []
    for number in range(count):
        passages = [
            f"Ward {place} of town {number} has {chance.randrange(100)} wells."
            for place in range(chance.choice([0, 1, 2, 3, 5, 5, 8, 12]))
        ]
        sentences = [f"Ward {place} has {chance.randrange(100)} wells." for place in range(chance.randrange(1, 6))]
        case = {
            "id": f"c{number}",
            "question": f"How many wells has town {number}?",
            "context": passages,
            "answer": REFUSAL if chance.random() < 0.2 else " ".join(sentences),
        }
        if chance.random() < 0.5:
            case["reference"] = f"It has {chance.randrange(500)} wells."
        cases.append(case)
    return cases


CASES = mixed_cases(200)


@pytest.mark.parametrize(
    ("name", "model", "bound"),
    [
        ("openai", "openai:gpt-5", "bounded"),
        ("openai", "openai:gpt-6", "bounded"),
        ("anthropic", "anthropic:claude-sonnet-5-5", "choices"),
    ],
)
async def test_half_of_the_input_is_read_from_the_cache_and_no_verdict_changes(
    name: str, model: str, bound: Any
) -> None:
    prices = Prices(input=1.0, output=0.0)
    with serve(name, latency=0.005) as server:
        constant = await ask_once(labeller_at(server, model, concurrency=32), "rag", CASES)
        assert constant.statuses == ["ok"] * len(CASES), constant.errors
        share = server.cached_share
        assert share >= 0.5
        paid = server.bill(prices)
    with serve(name, latency=0.005) as server:
        labeller = labeller_at(server, model, concurrency=32)
        labeller.abilities.strength = bound
        varying = await ask_once(labeller, "rag", CASES)
        assert share > server.cached_share, "bounds of the case in the schema make the cache miss"
        assert paid < 0.8 * server.bill(prices)
    assert varying.verdicts == constant.verdicts


async def test_newer_openai_models_are_told_to_write_the_constant_part_only() -> None:
    """Left to themselves they write every prompt, case included, at a quarter more than its price."""
    with serve("openai") as server:
        await ask_once(labeller_at(server, "openai:gpt-6"), "rag", CASES[:20])
        stats = server.stats()
        written = [entry.bill.written for entry in server.log if entry.bill.written]
        assert len(written) == 1
        assert stats.cached_tokens == 19 * written[0]


async def test_what_was_read_from_the_cache_is_on_record() -> None:
    with serve("anthropic") as server:
        run = await ask_once(labeller_at(server, "anthropic:claude-sonnet-5-5"), "rag", CASES[:20])
        stats = server.stats()
    assert sum(judgement.usage.cache_read_tokens for judgement in run.judgements) == stats.cached_tokens > 0
    assert sum(judgement.usage.cache_write_tokens for judgement in run.judgements) == stats.cache_write_tokens > 0
