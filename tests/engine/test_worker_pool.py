"""Workers that ask a model do so within one limit, and what a worker that died had paid for is not paid again."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import krino
from command_line import krino as command
from fake_llm import FakeServer
from krino.cases.item import CaseItem
from krino.contract import Usage
from krino.engine import sync
from krino.engine.interface import Assignment, Finished, opened
from krino.engine.processes import AllCores, ProcessLink
from krino.engine.ray_cluster import RayEngine
from krino.engine.views import LONGEST_VIEW, ViewKeeper
from krino.engine.worker_messages import Ready, Views, WorkerSetup
from krino.engine.worker_pool import WorkerLost, WorkerPool, _CallAnswerer
from krino.errors import UsageProblem
from krino.judges.registry import load_judge
from krino.labellers.llm.sending.gateway import ModelRequest, SendResult
from krino.labellers.llm.wire import Reply
from krino.labellers.local import LocalLabeller
from krino.labellers.remote import Call
from receiving import one_by_one
from toy_judge import ToyJudge
from waiting import until

CASES = 40
DEADLY = f"{Path(__file__).parents[1] / 'deadly_judge.py'}:Deadly"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply={"label": "good", "quote": "fine"}, latency=0.1, key=r"case-\d+-") as server:
        yield server


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps({"id": f"case-{n}-", "text": f"fine case-{n}-"}) + "\n" for n in range(CASES)))
    return path


def run(cases: Path, server: FakeServer, **settings: object) -> krino.Run:
    labeller = krino.llm("m", base_url=server.url, cache="off", concurrency=8, **settings)  # type: ignore[arg-type]
    try:
        return krino.run(ToyJudge(), cases, labeller=labeller, into=cases.parent / "run", engine=lambda: AllCores(2))
    finally:
        sync.run(labeller.aclose())


def test_two_workers_ask_about_every_case_once_and_never_more_at_a_time_than_allowed(
    cases: Path, server: FakeServer
) -> None:
    judged = run(cases, server)
    stats = server.stats()
    assert [judgement.status for judgement in judged] == ["ok"] * CASES
    assert sorted(stats.calls_by_key.values()) == [1] * CASES
    assert stats.max_in_flight <= 8
    assert judged.manifest.usage.calls == CASES


def test_a_budget_is_one_limit_for_all_workers_and_the_run_goes_on_where_it_ended(
    cases: Path, server: FakeServer
) -> None:
    first = run(cases, server, max_tokens=3_000)
    assert first.manifest.state == "stopped"
    assert 0 < first.manifest.usage.tokens <= 3_000
    assert 0 < len(first) < CASES
    last = run(cases, server)
    assert len(last) == CASES
    assert sorted(server.stats().calls_by_key.values()) == [1] * CASES  # nothing was paid twice


def test_what_killed_workers_had_asked_for_is_not_paid_again(cases: Path, server: FakeServer) -> None:
    server.configure(latency=2.0)

    def kill_them_when_their_requests_are_out() -> None:
        until(lambda: server.stats().in_flight == 8)
        for worker in multiprocessing.active_children():
            worker.kill()
        server.configure(latency=0.1)

    with while_running(kill_them_when_their_requests_are_out):
        judged = run(cases, server)
    assert [judgement.status for judgement in judged] == ["ok"] * CASES
    assert sorted(server.stats().calls_by_key.values()) == [1] * CASES
    assert judged.manifest.usage.calls == CASES  # and what was paid is on record


class Silent:
    """A worker that is never placed: nothing is heard of it."""

    closed = False

    async def send(self, messages: list[Any]) -> None:
        raise AssertionError("nothing is handed to a worker that is not ready")

    async def receive(self) -> list[Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def close(self) -> None:
        self.closed = True


async def test_a_run_does_not_wait_for_a_worker_for_which_no_case_is_left() -> None:
    hired: list[Any] = []

    async def start(setup: WorkerSetup) -> Any:
        hired.append(ProcessLink(setup) if hired else Silent())
        return hired[-1]

    found: list[int] = []

    async def receive(item: CaseItem, judgement: Finished | None) -> None:
        assert judgement is not None
        found.append(item.index)

    items = (CaseItem(place, str(place), {"text": "x"}) for place in range(20))
    assignment = Assignment(load_judge(DEADLY), LocalLabeller())
    await WorkerPool(2, start).run(assignment, opened(items, lambda item, digest: True), one_by_one(receive))
    assert sorted(found) == list(range(20))
    assert hired[0].closed


async def test_workers_that_die_before_they_can_begin_end_the_run_with_a_word() -> None:
    class Stillborn(Silent):
        async def receive(self) -> list[Any]:
            raise WorkerLost("no such package there")

    async def start(setup: WorkerSetup) -> Any:
        return Stillborn()

    async def receive(item: CaseItem, judgement: Finished | None) -> None:
        raise AssertionError

    items = opened([CaseItem(0, "0", {"text": "x"})], lambda item, digest: True)
    with pytest.raises(UsageProblem, match="workers die before they can begin: no such package there"):
        await WorkerPool(1, start).run(Assignment(load_judge(DEADLY), LocalLabeller()), items, one_by_one(receive))


@pytest.mark.parametrize("lines", [7, [b"two\nlines\n"], [b"no end"], [None], [b"x" * LONGEST_VIEW + b"\n"]])
async def test_a_worker_that_sends_what_is_no_view_is_replaced_and_nothing_of_it_is_kept(lines: Any) -> None:
    """A judge may write into the files of its worker."""

    class Garbled(Silent):
        async def receive(self) -> list[Any]:
            return [Ready(), Views(lines)]

        async def send(self, messages: list[Any]) -> None:
            pass

    hired: list[Any] = []

    async def start(setup: WorkerSetup) -> Any:
        hired.append(ProcessLink(setup) if hired else Garbled())
        return hired[-1]

    found: list[int] = []

    async def receive(item: CaseItem, judgement: Finished | None) -> None:
        found.append(item.index)

    kept: list[bytes] = []
    assignment = Assignment(load_judge(DEADLY), LocalLabeller(), views=ViewKeeper(kept.append))
    items = (CaseItem(place, str(place), {"text": "x"}) for place in range(3))
    await WorkerPool(1, start).run(assignment, opened(items, lambda item, digest: True), one_by_one(receive))
    assert sorted(found) == [0, 1, 2] and len(hired) > 1
    assert kept and all(line.startswith(b'{"input_hash":"') for line in kept)


async def test_without_ray_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    async def receive(item: CaseItem, judgement: Finished | None) -> None:
        raise AssertionError

    items = opened([], lambda item, digest: True)
    with pytest.raises(UsageProblem, match=r"pip install 'krino\[ray\]'"):
        await RayEngine().run(Assignment(load_judge(DEADLY), LocalLabeller()), items, one_by_one(receive))


def test_an_address_of_a_cluster_without_the_engine_for_it_is_refused(cases: Path) -> None:
    done = command("judge", "rag", str(cases), "--ray-address", "auto", cwd=cases.parent)
    assert done.returncode == 2
    assert "--ray-address is for --engine ray" in done.stderr


class while_running:
    """Does something beside the run; what goes wrong there fails the test."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._fault: BaseException | None = None
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._act()
        except BaseException as fault:
            self._fault = fault

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        if self._fault is not None:
            raise self._fault


class BrokenGateway:
    """A line of which everything fails, as when a key cannot be read again."""

    def __init__(self, fault: Exception) -> None:
        self.fault = fault

    async def send(self, letter: Any) -> Any:
        raise self.fault

    cached_answer = cache_answer = load_abilities = save_abilities = give_up = send


@pytest.mark.parametrize("fault", [UsageProblem("no key"), OSError("the disk is full"), RuntimeError("odd")])
async def test_whatever_breaks_on_the_line_the_worker_hears_of_it(fault: Exception) -> None:
    board = _CallAnswerer([BrokenGateway(fault)])  # type: ignore[list-item]
    call = Call(0, "send", (ModelRequest(b"{}", 1, None, "case"),), "case")
    answer = await asyncio.wait_for(board.answer(7, call), 5)
    assert (answer.number, answer.value) == (7, None)
    assert str(fault) in str(answer.fault)
    assert not board._requests["case"], "and it may be asked again"


class RepeatingGateway:
    """Gives each request that reaches it another reply."""

    def __init__(self) -> None:
        self.sent = 0

    async def send(self, letter: ModelRequest) -> SendResult:
        self.sent += 1
        return SendResult(Usage(calls=1, cost=0.5), Reply(text=str(self.sent)))

    cached_answer = cache_answer = load_abilities = save_abilities = give_up = send


async def test_the_same_words_asked_again_in_a_conversation_are_another_request() -> None:
    line = RepeatingGateway()
    board = _CallAnswerer([line])  # type: ignore[list-item]
    calls = [Call(0, "send", (ModelRequest(b"{}", 1, None, "case", turn),), "case") for turn in (0, 1, 0)]
    replies = [(await board.answer(0, call)).value.reply.text for call in calls]
    assert replies == ["1", "2", "1"], "a worker that died asks the same again, and is not paid for twice"
    assert board.spent_on("case") == Usage(calls=2, cost=1.0)
    assert board.spent_on("case") == Usage()
