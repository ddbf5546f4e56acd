"""The judging: cases of all clients together, in turns, and none that waits for nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from krino.errors import UsageProblem
from krino.labellers.local import LocalLabeller
from krino.web.judging.pool import LONG, JudgingPool, choose_batch_size
from krino.web.judging.service import JudgingService, make_safe_options_model
from krino.web.judging.turns import FairSemaphore
from krino.web.judging.workers import MOST_JUDGES
from krino.web.metrics import Metrics
from krino.web.problems import Problem
from krino.web.settings import ServeSettings
from toy_judge import ToyCase, ToyJudge, ToyLabels

TOY = f"{Path(__file__).parents[2] / 'toy_judge.py'}:ToyJudge"


class Watched(ToyJudge):
    """A toy judge with an embedded labeller that notes its batches, and waits until it is let go."""

    batches: list[list[str]]
    go: threading.Event

    def label_locally(self, batch: Sequence[tuple[ToyCase, int]]) -> list[ToyLabels]:
        self.batches.append([case.text for case, _ in batch])
        assert self.go.wait(30)
        return [ToyLabels(label="good", quote=case.text) for case, _ in batch]


class WatchedService(JudgingService):
    """A judging whose judge `rag` is the watched one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ServeSettings(runs=folder), Metrics())
        self.watched = Watched()
        self.watched.batches, self.watched.go = [], threading.Event()

    def get_judge(self, name: str, options: Mapping[str, Any] | None = None) -> Any:
        return self.watched


@pytest.fixture
def judging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchedService]:
    monkeypatch.setenv("KRINO_THREADS", "2")  # two pool, on any machine
    made = WatchedService(tmp_path)
    yield made
    made.watched.go.set()
    made.close()


def texts(*words: str) -> list[dict[str, str]]:
    return [{"text": word} for word in words]


async def until(met: Any) -> None:
    for _ in range(3_000):
        if met():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came to that")


def taken_in(judging: WatchedService) -> int:
    """Cases that wait at the pool or were begun there."""
    return len(judging._pool._usual) + sum(map(len, judging.watched.batches))


async def test_cases_of_different_clients_are_labelled_in_one_batch(judging: WatchedService) -> None:
    first = [asyncio.create_task(judging.judge_cases("rag", texts(f"first {place}"))) for place in range(2)]
    await until(lambda: len(judging.watched.batches) >= 1)
    later = [asyncio.create_task(judging.judge_cases("rag", texts(f"later {place}"))) for place in range(12)]
    await until(lambda: taken_in(judging) == 14)
    judging.watched.go.set()
    await asyncio.gather(*first, *later)
    assert max(len(batch) for batch in judging.watched.batches) > 1
    assert sorted(text for batch in judging.watched.batches for text in batch) == sorted(
        [*(f"first {place}" for place in range(2)), *(f"later {place}" for place in range(12))]
    )


async def test_a_single_case_is_not_held_up_by_a_long_list(judging: WatchedService) -> None:
    many = asyncio.create_task(judging.judge_cases("rag", texts(*(f"many {place}" for place in range(200)))))
    await until(lambda: len(judging.watched.batches) == 2)
    single = asyncio.create_task(judging.judge_cases("rag", texts("single")))
    await until(lambda: taken_in(judging) == 201)
    judging.watched.go.set()
    await single
    assert len(await many) == 200
    order = [text for batch in judging.watched.batches for text in batch]
    # Two pool have one batch each; the next that is taken has it, and the other may note some of its own before.
    assert order.index("single") < 100


async def test_what_a_client_gave_up_is_not_judged(judging: WatchedService) -> None:
    many = asyncio.create_task(judging.judge_cases("rag", texts(*(f"many {place}" for place in range(200)))))
    await until(lambda: len(judging.watched.batches) == 2)
    many.cancel()
    await until(lambda: judging.pending == 0)
    judging.watched.go.set()
    (after,) = await judging.judge_cases("rag", texts("after"))
    assert after.status == "ok"
    assert sum(len(batch) for batch in judging.watched.batches) < 50


async def test_a_model_that_is_slow_to_answer_holds_up_nobody_else(tmp_path: Path) -> None:
    class Silent(LocalLabeller):
        workers = 4

        async def label(self, task: Any) -> Any:
            await asyncio.Event().wait()

    judging = JudgingService(ServeSettings(runs=tmp_path, judges=(TOY,), labellers={"slow": Silent()}), Metrics())
    try:
        waiting = asyncio.create_task(
            judging.judge_cases("toy", texts(*(f"case {n}" for n in range(100))), labeller="slow")
        )
        await until(lambda: judging.pending == 100)
        (empty,) = await asyncio.wait_for(judging.judge_cases("toy", texts("")), 30)
        assert empty.status == "ok"
        assert not waiting.done()
    finally:
        await asyncio.to_thread(judging.close)
    await asyncio.gather(waiting, return_exceptions=True)


async def test_judgements_come_in_the_order_of_the_cases(judging: WatchedService) -> None:
    judging.watched.go.set()
    words = [f"case {place}" for place in range(60)]
    judged = await judging.judge_cases("rag", [{"id": word, "text": word} for word in words])
    assert [judgement.read().id for judgement in judged] == words


async def test_the_loop_of_the_server_is_free_while_cases_are_judged(judging: WatchedService) -> None:
    waiting = asyncio.create_task(judging.judge_cases("rag", texts("slow")))
    await until(lambda: bool(judging.watched.batches))
    await asyncio.sleep(0)  # would not come back if judging went on in this loop
    assert not waiting.done()
    judging.watched.go.set()
    await waiting


def test_closing_a_desk_gives_up_what_waits(tmp_path: Path) -> None:
    judging = WatchedService(tmp_path)

    async def waits() -> None:
        waiting = asyncio.create_task(judging.judge_cases("rag", texts("slow")))
        await until(lambda: bool(judging.watched.batches))
        await asyncio.to_thread(judging.close)
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(waits())
    judging.watched.go.set()


def test_judges_with_different_options_are_kept_ready_but_not_all_of_them(tmp_path: Path) -> None:
    judging = JudgingService(ServeSettings(runs=tmp_path), Metrics())
    try:
        assert judging.get_judge("efficiency", {"task": "a"}) is judging.get_judge("efficiency", {"task": "a"})
        assert judging.get_judge("efficiency", {"task": "a"}) is not judging.get_judge("efficiency", {"task": "b"})
        for place in range(MOST_JUDGES + 10):
            judging.get_judge("efficiency", {"task": str(place)})
        assert len(judging._judges) == MOST_JUDGES
    finally:
        judging.close()


def test_a_desk_knows_no_other_judge_or_labeller_than_it_was_given(tmp_path: Path) -> None:
    judging = JudgingService(ServeSettings(runs=tmp_path), Metrics())
    try:
        with pytest.raises(Problem, match="no judge"):
            judging.get_judge("toy_judge:ToyJudge")
        with pytest.raises(Problem, match="no labeller"):
            asyncio.run(judging.judge_cases("rag", [{}], labeller="gpt"))
        with pytest.raises(UsageProblem, match="aliases"):
            judging.get_judge("citation", {"aliases": "/etc/hosts"})
    finally:
        judging.close()


def test_an_option_that_names_a_file_is_not_offered() -> None:
    from pydantic import BaseModel

    class Options(BaseModel):
        table: Path = Path("x")
        or_none: str | None = None

    class WithFile(ToyJudge):
        options_model = Options

    assert set(make_safe_options_model(WithFile).model_fields) == {"or_none"}


# --- turns -------------------------------------------------------------------------------------------


async def test_clients_take_turns_at_one_place() -> None:
    semaphore, order = FairSemaphore(1), []

    async def case(client: str, number: int) -> None:
        async with semaphore.acquire(client):
            order.append(f"{client}{number}")
            await asyncio.sleep(0)

    asked = [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("c", 1), ("b", 2)]
    await asyncio.gather(*(case(*one) for one in asked))
    assert order == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]


async def test_no_more_than_the_slots_are_taken_and_all_are_given_back() -> None:
    semaphore, inside, most = FairSemaphore(3), 0, 0

    async def case(client: int) -> None:
        nonlocal inside, most
        async with semaphore.acquire(client):
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(0.001)
            finally:
                inside -= 1

    tasks = [asyncio.create_task(case(place % 4)) for place in range(40)]
    await asyncio.sleep(0.002)
    for task in tasks[::3]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert most == 3
    await asyncio.wait_for(asyncio.gather(*(case(place) for place in range(6))), 5)
    assert semaphore._free == 3


async def test_who_is_called_up_and_cancelled_in_the_same_moment_gives_the_slot_back() -> None:
    semaphore = FairSemaphore(1)
    async with semaphore.acquire("a"):

        async def waits() -> None:
            async with semaphore.acquire("b"):
                raise AssertionError("it was cancelled")

        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert semaphore._free == 1


# --- workers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("waiting", "taken"), [(2, [1, 1]), (4, [1, 1, 2])])
async def test_a_worker_takes_one_case_of_few_that_wait_and_pairs_where_more_wait_than_workers(
    judging: WatchedService, waiting: int, taken: list[int]
) -> None:
    asked = []
    for busy in (1, 2):
        asked.append(asyncio.create_task(judging.judge_cases("rag", texts(f"first {busy}"))))
        await until(lambda busy=busy: len(judging.watched.batches) == busy)
    asked += [asyncio.create_task(judging.judge_cases("rag", texts(f"case {place}"))) for place in range(waiting)]
    await until(lambda: judging.pending == 2 + waiting)
    judging.watched.go.set()
    await asyncio.gather(*asked)
    assert sorted(len(batch) for batch in judging.watched.batches[2:]) == taken


async def test_long_cases_hold_up_only_each_other(judging: WatchedService) -> None:
    long = [asyncio.create_task(judging.judge_cases("rag", texts(f"{place}" * LONG))) for place in range(5)]
    await until(lambda: len(judging.watched.batches) == 1)
    assert judging.pending == 5
    short = asyncio.create_task(judging.judge_cases("rag", texts("short")))
    await until(lambda: ["short"] in judging.watched.batches)
    assert [len(batch) for batch in judging.watched.batches] == [1, 1]
    judging.watched.go.set()
    await asyncio.gather(*long, short)


async def test_a_fault_in_one_case_is_told_to_its_client_alone(judging: WatchedService) -> None:
    judging.watched.go.set()
    broken = judging.watched.study
    judging.watched.study = lambda case: broken(case) if case.text != "bad" else 1 / 0  # type: ignore[method-assign,assignment,return-value]
    good, bad = await asyncio.gather(
        judging.judge_cases("rag", texts("good")), judging.judge_cases("rag", texts("bad"))
    )
    assert good[0].status == "ok"
    assert bad[0].status == "error"
    assert (await judging.judge_cases("rag", texts("after")))[0].status == "ok"


def test_a_closed_pool_takes_nothing() -> None:
    from krino.cases.item import CaseItem

    pool = JudgingPool(1)
    pool.close()
    assert pool.submit("client", ToyJudge(), CaseItem(0, "0", {"text": "late"})).cancelled()


@pytest.mark.parametrize(
    ("waiting", "taken"), [(1, 1), (2, 1), (3, 2), (4, 2), (6, 2), (11, 2), (12, 3), (30, 7), (1_000, 8)]
)
def test_two_workers_take_one_case_each_of_few_pairs_where_more_wait_and_up_to_eight_of_many(
    waiting: int, taken: int
) -> None:
    assert choose_batch_size(waiting, workers=2) == taken
