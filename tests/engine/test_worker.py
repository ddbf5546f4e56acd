"""What is sent between a starter and a desk arrives as it was."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import pickle
from typing import Any

import krino
from krino.cases.item import CaseItem
from krino.contract import Labelled, Source, Usage
from krino.engine.case import Written
from krino.engine.interface import OpenCase
from krino.engine.worker import Worker
from krino.engine.worker_messages import Cases, Done, Stop, WorkerSetup, pack_cases, unpack_cases
from krino.engine.worker_pool import AssignedCase
from krino.judges.reference import JudgeReference
from toy_judge import ToyJudge, ToyLabels


def test_a_line_that_travels_bare_arrives_with_all_that_a_run_must_know_of_it() -> None:
    paid = Usage(calls=2, cached=1, input_tokens=30, output_tokens=4, cost=0.5, seconds=1.5)
    broken = Written(b'{"id":"a"}', "0f" * 16, "error", paid, "the judge broke", {"label": "good"})
    cases = [(7, broken), (9, None)]
    assert pickle.loads(pickle.dumps(Done(cases))).cases == cases


def test_cases_arrive_in_their_order_as_they_were() -> None:
    records = [{"text": "é", "at": datetime.date(2024, 2, 29), "n": [1, 2.5, None]}, None]
    cases = [
        OpenCase(CaseItem(n, f"c{n}", records[n % 2], Source("a.jsonl", n), None, None, n or None), f"{n:032x}")
        for n in range(5)
    ]
    batch = pack_cases(cases)
    assert unpack_cases(batch) == cases
    assert [AssignedCase(case.number, case.digest, batch).case for case in cases] == cases


def test_a_judgement_that_was_paid_for_leaves_its_worker_though_other_cases_wait() -> None:
    """The journal, and so the next command, knows of it only when it has arrived."""
    sent: list[Any] = []
    worker: Worker

    def send(messages: list[Any]) -> None:
        sent.extend(messages)
        for message in messages:
            if isinstance(message, Done) and len(message.cases) == 1:
                worker.receive([Stop(now=True)])

    setup = WorkerSetup(JudgeReference.of(ToyJudge()), _Scripted(), report_seconds=3600.0)
    worker = Worker(setup, send)
    cases = [OpenCase(CaseItem(n, f"c{n}", {"text": "fine"}), f"{n:032x}") for n in range(2)]
    worker.receive([Cases(2, [pack_cases(cases)])])
    worker.work()
    done = [message for message in sent if isinstance(message, Done)]
    assert [[place for place, _ in message.cases] for message in done] == [[0], [1]]


class _Scripted(krino.Labeller):
    """The first case is answered at once, by a paid call; the second when the run is stopped."""

    workers = 2

    def __init__(self) -> None:
        self._stopped = asyncio.Event()

    def unpack(self, caller: Any) -> krino.Labeller:
        return self

    def describe(self) -> dict[str, Any]:
        return {"kind": "scripted"}

    async def label(self, task: Any) -> Any:
        if task.index:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), 10)
        return Labelled(ToyLabels(label="good", quote="fine"), self.describe(), Usage(calls=1))

    def stop(self) -> None:
        self._stopped.set()
