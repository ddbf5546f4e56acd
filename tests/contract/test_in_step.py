"""Cases in step: each step is taken together, and a case that is labelled comes to its end though it be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import krino
from krino.cases.item import CaseItem
from krino.contract import Labelled
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, OpenCase, opened
from receiving import one_by_one
from toy_judge import ToyCase, ToyJudge, ToyLabels


class Ready(krino.Labeller):
    """Answers without any delay."""

    workers = 3

    def describe(self) -> dict[str, Any]:
        return {"kind": "ready"}

    async def label(self, task: Any) -> Any:
        return Labelled(ToyLabels(label="good", quote="fine"), self.describe())


class Watched(ToyJudge):
    """Notes its steps; `at_settling` is called at the first."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[str] = []
        self.at_settling: Any = None

    def study(self, case: ToyCase) -> int:
        self.steps.append("study")
        return super().study(case)

    def ask(self, case: ToyCase, facts: int) -> krino.Questions | None:
        self.steps.append("ask")
        return super().ask(case, facts)

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> krino.Settlement:
        self.steps.append("settle")
        if self.at_settling is not None:
            self.at_settling()
            self.at_settling = None
        return super().settle(case, facts, labels)


def cases(count: int) -> AsyncIterator[OpenCase]:
    items = (CaseItem(number, f"c{number}", {"text": f"fine {number}"}) for number in range(count))
    return opened(items, lambda item, digest: True)


async def waited_for(count: int) -> AsyncIterator[OpenCase]:
    """As a worker gets them: all at once, after everybody has begun to wait."""
    await asyncio.sleep(0.01)
    async for case in cases(count):
        yield case


@pytest.mark.parametrize("stream", [cases, waited_for])
async def test_cases_that_are_ready_together_take_each_step_together(
    stream: Callable[[int], AsyncIterator[OpenCase]],
) -> None:
    judge = Watched()

    async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
        judge.steps.append("receive")

    await LocalPool().run(Assignment(judge, Ready()), stream(6), one_by_one(receive))
    steps = ["study", "ask", "settle", "receive"]
    assert judge.steps == [step for step in steps for _ in range(3)] * 2


async def test_cases_that_are_labelled_are_handed_over_though_the_run_is_cancelled() -> None:
    judge, received = Watched(), []

    async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
        received.append((item.index, judgement and judgement.status))

    run = asyncio.create_task(LocalPool().run(Assignment(judge, Ready()), cases(6), one_by_one(receive)))
    judge.at_settling = run.cancel
    with pytest.raises(asyncio.CancelledError):
        await run
    assert sorted(received) == [(0, "ok"), (1, "ok"), (2, "ok")]
    assert judge.steps.count("study") == 3
