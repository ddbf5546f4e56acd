"""A batch that was made and not acknowledged is found by what is in it, and no other one is taken for it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from batch_runs import DIALECTS, Dialect, batch_server, model
from fake_llm import FakeServer
from krino.contract import Usage
from krino.labellers.llm.batch.client import BatchClient, Unsure
from krino.labellers.llm.batch.ledger import Ledger
from krino.labellers.llm.batch.providers import Provider, Wanted, provider_of
from krino.labellers.llm.batch.queue import BatchQueue, Sizes

BODY = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"case-1-"}]}'


@asynccontextmanager
async def provider(server: FakeServer, dialect: Dialect) -> AsyncIterator[Provider]:
    labeller = model(server.anthropic_url, dialect)
    client = BatchClient(labeller.transport, labeller.local_gateway.has_new_key)
    yield provider_of(labeller.endpoint, client)
    await client.aclose()
    await labeller.aclose()


async def made(provider: Provider, folder: Path, name: str, label: str) -> str:
    path = folder / name
    path.write_bytes(provider.head + provider.entry(name, BODY) + provider.tail)
    return await provider.send(path, label)


def wanted(label: str, name: str, known: set[str] | None = None, ahead: float = 0.0) -> Wanted:
    return Wanted(label, time.time() + ahead, 1, known or set(), lambda found: found == name)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_of_batches_of_one_size_the_one_with_the_request_is_found_wherever_it_stands(
    dialect: Dialect, tmp_path: Path
) -> None:
    with batch_server() as server:
        async with provider(server, dialect) as ours:
            batches = {name: await made(ours, tmp_path, name, f"label-{name}") for name in "abcde"}
            for batch in batches.values():
                await ours.poll(batch)
            found = {name: await ours.find(wanted(f"label-{name}", name)) for name in "abcde"}
            assert found == batches
            assert await ours.find(wanted("label-f", "f")) is None


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_clock_that_goes_by_another_time_zone_hides_no_batch(dialect: Dialect, tmp_path: Path) -> None:
    with batch_server() as server:
        async with provider(server, dialect) as ours:
            batches = [await made(ours, tmp_path, name, f"label-{name}") for name in "abc"]
            for batch in batches:
                await ours.poll(batch)
            assert await ours.find(wanted("label-a", "a", ahead=14 * 3600)) == batches[0]


async def test_as_long_as_one_may_be_it_nobody_says_that_it_is_not_there(tmp_path: Path) -> None:
    with batch_server() as server:
        async with provider(server, "anthropic") as ours:
            stranger = await made(ours, tmp_path, "a", "")
            with pytest.raises(Unsure, match="not known before it ends"):
                await ours.find(wanted("", "f"))
            assert await ours.find(wanted("", "f", known={stranger})) is None
            await ours.poll(stranger)
            assert await ours.find(wanted("", "f")) is None


def test_a_request_waits_in_its_own_batch_and_in_no_other(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "batches")
    with batch_server() as server:
        labeller = model(server.anthropic_url, "openai")
        provider = provider_of(labeller.endpoint, BatchClient(labeller.transport, labeller.local_gateway.has_new_key))
        queue = BatchQueue(labeller, ledger, provider, "desk", Sizes())
        first, second = ledger.begin("desk"), ledger.begin("desk")
        ledger.put(b"key", 0, first, b"{}", 9)
        name = ledger.name(b"key", 0)
        assert [queue.is_waiting(number, name) for number in (first, second)] == [True, False]
        assert not queue.is_waiting(first, "somebody-else")
        assert not queue.is_waiting(first, f"{name}-1")
        assert not queue.is_waiting(first, name + "0" * 30), "nor is it a number that no table holds"
        ledger.answer(second, b"key", 0, 200, b"stray", Usage())
        assert queue.is_waiting(first, name), "results of another batch are not its"
        ledger.answer(first, b"key", 0, 200, b"reply", Usage())
        ledger.answer(first, b"key", 0, 200, b"later", Usage())
        letter = ledger.find_request(b"key", 0)
        assert letter is not None
        assert letter.reply == b"reply", "the first of several counts"
    ledger.end(keep=False)
    assert not (tmp_path / "batches").exists()
