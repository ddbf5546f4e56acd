"""The desk: cases of all clients together, in turns, and none that waits for nobody."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from krino.errors import UsageProblem
from krino.labellers.local import LocalLabeller
from krino.web.bench import MOST_JUDGES
from krino.web.benches import LONG, Benches, taken_together
from krino.web.desk import Desk, plain_options
from krino.web.fair_places import FairPlaces
from krino.web.meters import Meters
from krino.web.problems import Problem
from krino.web.settings import ServeSettings
from toy_judge import ToyCase, ToyJudge, ToyLabels

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:ToyJudge"


class Watched(ToyJudge):
    """A toy judge with an embedded labeller that notes its batches, and waits until it is let go."""

    batches: list[list[str]]
    go: threading.Event

    def label_locally(self, batch: Sequence[tuple[ToyCase, int]]) -> list[ToyLabels]:
        self.batches.append([case.text for case, _ in batch])
        assert self.go.wait(30)
        return [ToyLabels(label="good", quote=case.text) for case, _ in batch]


class OfWatched(Desk):
    """A desk whose judge `rag` is the watched one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(ServeSettings(runs=folder), Meters())
        self.watched = Watched()
        self.watched.batches, self.watched.go = [], threading.Event()

    def ready(self, name: str, options: Mapping[str, Any] | None = None) -> Any:
        return self.watched


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OfWatched]:
    monkeypatch.setenv("KRINO_THREADS", "2")  # two benches, on any machine
    made = OfWatched(tmp_path)
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


def taken_in(desk: OfWatched) -> int:
    """Cases that wait at the benches or were begun there."""
    return len(desk._benches._usual) + sum(map(len, desk.watched.batches))


async def test_cases_of_different_clients_are_labelled_in_one_batch(desk: OfWatched) -> None:
    first = [asyncio.create_task(desk.judged("rag", texts(f"first {place}"))) for place in range(2)]
    await until(lambda: len(desk.watched.batches) >= 1)
    later = [asyncio.create_task(desk.judged("rag", texts(f"later {place}"))) for place in range(12)]
    await until(lambda: taken_in(desk) == 14)
    desk.watched.go.set()
    await asyncio.gather(*first, *later)
    assert max(len(batch) for batch in desk.watched.batches) > 1
    assert sorted(text for batch in desk.watched.batches for text in batch) == sorted(
        [*(f"first {place}" for place in range(2)), *(f"later {place}" for place in range(12))]
    )


async def test_a_single_case_is_not_held_up_by_a_long_list(desk: OfWatched) -> None:
    many = asyncio.create_task(desk.judged("rag", texts(*(f"many {place}" for place in range(200)))))
    await until(lambda: len(desk.watched.batches) == 2)
    single = asyncio.create_task(desk.judged("rag", texts("single")))
    await until(lambda: taken_in(desk) == 201)
    desk.watched.go.set()
    await single
    assert len(await many) == 200
    order = [text for batch in desk.watched.batches for text in batch]
    # Two benches have one batch each; the next that is taken has it, and the other may note some of its own before.
    assert order.index("single") < 100


async def test_what_a_client_gave_up_is_not_judged(desk: OfWatched) -> None:
    many = asyncio.create_task(desk.judged("rag", texts(*(f"many {place}" for place in range(200)))))
    await until(lambda: len(desk.watched.batches) == 2)
    many.cancel()
    await until(lambda: desk.under_way == 0)
    desk.watched.go.set()
    (after,) = await desk.judged("rag", texts("after"))
    assert after.status == "ok"
    assert sum(len(batch) for batch in desk.watched.batches) < 50


async def test_a_model_that_is_slow_to_answer_holds_up_nobody_else(tmp_path: Path) -> None:
    class Silent(LocalLabeller):
        workers = 4

        async def label(self, task: Any) -> Any:
            await asyncio.Event().wait()

    desk = Desk(ServeSettings(runs=tmp_path, judges=(TOY,), labellers={"slow": Silent()}), Meters())
    try:
        waiting = asyncio.create_task(desk.judged("toy", texts(*(f"case {n}" for n in range(100))), labeller="slow"))
        await until(lambda: desk.under_way == 100)
        (empty,) = await asyncio.wait_for(desk.judged("toy", texts("")), 30)
        assert empty.status == "ok"
        assert not waiting.done()
    finally:
        await asyncio.to_thread(desk.close)
    await asyncio.gather(waiting, return_exceptions=True)


async def test_judgements_come_in_the_order_of_the_cases(desk: OfWatched) -> None:
    desk.watched.go.set()
    words = [f"case {place}" for place in range(60)]
    judged = await desk.judged("rag", [{"id": word, "text": word} for word in words])
    assert [judgement.read().id for judgement in judged] == words


async def test_the_loop_of_the_server_is_free_while_cases_are_judged(desk: OfWatched) -> None:
    waiting = asyncio.create_task(desk.judged("rag", texts("slow")))
    await until(lambda: bool(desk.watched.batches))
    await asyncio.sleep(0)  # would not come back if judging went on in this loop
    assert not waiting.done()
    desk.watched.go.set()
    await waiting


def test_closing_a_desk_gives_up_what_waits(tmp_path: Path) -> None:
    desk = OfWatched(tmp_path)

    async def waits() -> None:
        judging = asyncio.create_task(desk.judged("rag", texts("slow")))
        await until(lambda: bool(desk.watched.batches))
        await asyncio.to_thread(desk.close)
        with pytest.raises(asyncio.CancelledError):
            await judging

    asyncio.run(waits())
    desk.watched.go.set()


def test_judges_with_different_options_are_kept_ready_but_not_all_of_them(tmp_path: Path) -> None:
    desk = Desk(ServeSettings(runs=tmp_path), Meters())
    try:
        assert desk.ready("efficiency", {"task": "a"}) is desk.ready("efficiency", {"task": "a"})
        assert desk.ready("efficiency", {"task": "a"}) is not desk.ready("efficiency", {"task": "b"})
        for place in range(MOST_JUDGES + 10):
            desk.ready("efficiency", {"task": str(place)})
        assert len(desk._ready) == MOST_JUDGES
    finally:
        desk.close()


def test_a_desk_knows_no_other_judge_or_labeller_than_it_was_given(tmp_path: Path) -> None:
    desk = Desk(ServeSettings(runs=tmp_path), Meters())
    try:
        with pytest.raises(Problem, match="no judge"):
            desk.ready("toy_judge:ToyJudge")
        with pytest.raises(Problem, match="no labeller"):
            asyncio.run(desk.judged("rag", [{}], labeller="gpt"))
        with pytest.raises(UsageProblem, match="aliases"):
            desk.ready("citation", {"aliases": "/etc/hosts"})
    finally:
        desk.close()


def test_an_option_that_names_a_file_is_not_offered() -> None:
    from pydantic import BaseModel

    class Options(BaseModel):
        table: Path = Path("x")
        or_none: str | None = None

    class WithFile(ToyJudge):
        options_model = Options

    assert set(plain_options(WithFile).model_fields) == {"or_none"}


# --- turns -------------------------------------------------------------------------------------------


async def test_parties_take_turns_at_one_place() -> None:
    places, order = FairPlaces(1), []

    async def case(party: str, number: int) -> None:
        async with places.place(party):
            order.append(f"{party}{number}")
            await asyncio.sleep(0)

    asked = [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("c", 1), ("b", 2)]
    await asyncio.gather(*(case(*one) for one in asked))
    assert order == ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]


async def test_no_more_than_the_places_are_taken_and_all_are_given_back() -> None:
    places, inside, most = FairPlaces(3), 0, 0

    async def case(party: int) -> None:
        nonlocal inside, most
        async with places.place(party):
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
    assert places._free == 3


async def test_who_is_called_up_and_cancelled_in_the_same_moment_gives_the_place_back() -> None:
    places = FairPlaces(1)
    async with places.place("a"):

        async def waits() -> None:
            async with places.place("b"):
                raise AssertionError("it was cancelled")

        task = asyncio.create_task(waits())
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert places._free == 1


# --- benches -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("waiting", "taken"), [(2, [1, 1]), (4, [1, 1, 2])])
async def test_a_bench_takes_one_case_of_few_that_wait_and_pairs_where_more_wait_than_benches(
    desk: OfWatched, waiting: int, taken: list[int]
) -> None:
    asked = []
    for busy in (1, 2):
        asked.append(asyncio.create_task(desk.judged("rag", texts(f"first {busy}"))))
        await until(lambda busy=busy: len(desk.watched.batches) == busy)
    asked += [asyncio.create_task(desk.judged("rag", texts(f"case {place}"))) for place in range(waiting)]
    await until(lambda: desk.under_way == 2 + waiting)
    desk.watched.go.set()
    await asyncio.gather(*asked)
    assert sorted(len(batch) for batch in desk.watched.batches[2:]) == taken


async def test_long_cases_hold_up_only_each_other(desk: OfWatched) -> None:
    long = [asyncio.create_task(desk.judged("rag", texts(f"{place}" * LONG))) for place in range(5)]
    await until(lambda: len(desk.watched.batches) == 1)
    assert desk.under_way == 5
    short = asyncio.create_task(desk.judged("rag", texts("short")))
    await until(lambda: ["short"] in desk.watched.batches)
    assert [len(batch) for batch in desk.watched.batches] == [1, 1]
    desk.watched.go.set()
    await asyncio.gather(*long, short)


async def test_a_fault_in_one_case_is_told_to_its_client_alone(desk: OfWatched) -> None:
    desk.watched.go.set()
    broken = desk.watched.study
    desk.watched.study = lambda case: broken(case) if case.text != "bad" else 1 / 0  # type: ignore[method-assign,assignment,return-value]
    good, bad = await asyncio.gather(desk.judged("rag", texts("good")), desk.judged("rag", texts("bad")))
    assert good[0].status == "ok"
    assert bad[0].status == "error"
    assert (await desk.judged("rag", texts("after")))[0].status == "ok"


def test_closed_benches_take_nothing() -> None:
    from krino.cases.item import CaseItem

    benches = Benches(1)
    benches.close()
    assert benches.submit("party", ToyJudge(), CaseItem(0, "0", {"text": "late"})).cancelled()


@pytest.mark.parametrize(
    ("waiting", "taken"), [(1, 1), (2, 1), (3, 2), (4, 2), (6, 2), (11, 2), (12, 3), (30, 7), (1_000, 8)]
)
def test_two_benches_take_one_case_each_of_few_pairs_where_more_wait_and_up_to_eight_of_many(
    waiting: int, taken: int
) -> None:
    assert taken_together(waiting, benches=2) == taken
