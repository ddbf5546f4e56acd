"""Many readers and several raters at once, and a server that is killed: no label that was acknowledged is lost."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from krino.people.store import LabelStore, Subject
from krino.runs.stored_run import load_stored_run
from label_making import make_toy_run
from served import Served, served

CASES = 3
READERS = 50
RATERS = ("anna", "ben", "cleo", "dan")
PATHS = (
    "/runs/toy/label",
    "/runs/toy/agreement",
    "/v1/labels?run=toy",
    "/v1/labels/next?run=toy&rater=anna",
    "/v1/labels/export?run=toy",
    "/v1/labels/agreement?run=toy",
)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "runs"
    make_toy_run(folder / "toy", CASES, bad=[1, 2])
    return folder


def address_of(database: str) -> str:
    return database if "://" in database else f"sqlite:///{database}"


def on_disk(database: str, runs: Path) -> dict[tuple[str, str], float]:
    """What counts, read by a process that has nothing to do with the server."""
    store = LabelStore(database, read_only=True)
    found = store.current(Subject.of(load_stored_run(runs / "toy").manifest))
    store.close()
    return {(event.rater, event.place.case_id): event.fields["score"] for event in found}


def client_of(server: Served) -> aiohttp.ClientSession:
    pool = aiohttp.TCPConnector(limit=0)
    return aiohttp.ClientSession(server.address, timeout=aiohttp.ClientTimeout(total=120), connector=pool)


async def give(http: aiohttp.ClientSession, rater: str, case: str, score: float) -> bool:
    """Whether the server said that it has the label."""
    label = {"run": "toy", "case": case, "rater": rater, "answer": {"score": score}}
    async with http.post("/v1/labels", json=label) as reply:
        assert reply.status == 201, await reply.text()
        return bool((await reply.json())["number"])


async def test_fifty_readers_while_four_raters_write_at_two_servers_lose_no_label(database: str, runs: Path) -> None:
    read = 0
    done = asyncio.Event()

    async def reads(http: aiohttp.ClientSession, number: int) -> None:
        nonlocal read
        while not done.is_set():
            async with http.get(PATHS[(number + read) % len(PATHS)]) as reply:
                assert reply.status == 200, await reply.text()
            read += 1

    async def writes(http: aiohttp.ClientSession, rater: str) -> dict[tuple[str, str], float]:
        said = {}
        for number in range(CASES):
            said[rater, f"case-{number}"] = score = (number % 3) / 2
            assert await give(http, rater, f"case-{number}", score)
        return said

    with served(runs, address_of(database), count=2) as servers:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(client_of(server)) for server in servers]
            readers = [asyncio.create_task(reads(clients[number % 2], number)) for number in range(READERS)]
            raters = [writes(clients[number % 2], rater) for number, rater in enumerate(RATERS)]
            said = {key: score for one in await asyncio.gather(*raters) for key, score in one.items()}
            done.set()
            await asyncio.gather(*readers)
            for client in clients:  # each server knows what was said at the other
                async with client.get("/v1/labels?run=toy") as reply:
                    assert len((await reply.json())["labels"]) == len(said)
    assert read >= READERS
    assert on_disk(database, runs) == said


async def test_a_server_that_is_killed_loses_no_label_that_it_acknowledged(database: str, runs: Path) -> None:
    acknowledged: dict[tuple[str, str], float] = {}
    under_way: dict[str, tuple[str, float]] = {}
    enough: dict[str, int] = {}

    async def writes(server: Served, rater: str, start: int) -> None:
        async with client_of(server) as http:
            for number in range(1_000_000):
                case, score = f"case-{(start + number) % CASES}", (number % 5) / 4
                under_way[rater] = (case, score)
                try:
                    await give(http, rater, case, score)
                except aiohttp.ClientError:
                    return
                acknowledged[rater, case] = score
                enough[rater] = number

    with served(runs, address_of(database)) as (server,):
        raters = [asyncio.create_task(writes(server, rater, place)) for place, rater in enumerate(RATERS)]
        while min(enough.get(rater, 0) for rater in RATERS) < 3:
            assert not any(rater.done() for rater in raters)
            await asyncio.sleep(0.01)
        await asyncio.to_thread(server.kill)
        await asyncio.gather(*raters)
    found = on_disk(database, runs)
    assert acknowledged
    for (rater, case), score in acknowledged.items():  # one that was under way may have come through
        assert found[rater, case] in {score, *(late for at, late in [under_way[rater]] if at == case)}
