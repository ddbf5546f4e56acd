"""WorkerPool in processes of their own: the same verdicts, and nothing lost when a process dies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from krino.cases.item import CaseItem
from krino.engine.case import Written
from krino.examples import first_example
from krino.judges.reference import JudgeReference
from krino.judges.registry import OURS, load_judge
from krino.web.judging.pool import JudgingPool
from krino.web.judging.workers import Case, CaseOutcome, ProcessWorker, ThreadWorker
from waiting import children, is_alive, until
from workbench_making import serving

DEADLY = f"{Path(__file__).parents[2] / 'deadly_judge.py'}:Deadly"


@pytest.fixture(autouse=True)
def _one_worker_and_none_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("KRINO_THREADS", "1")
    yield
    until(lambda: not at_work())


def at_work() -> list[int]:
    """The processes that judge; not the one that multiprocessing keeps for itself."""
    return [pid for pid in children(os.getpid()) if is_alive(pid) and _judges(pid)]


def _judges(pid: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it ended after it was listed
        return False


def timeless(outcome: CaseOutcome) -> dict[str, Any]:
    assert isinstance(outcome, Written), outcome
    line: dict[str, Any] = orjson.loads(outcome.line)
    del line["usage"]["seconds"], line["time"]
    return line


def test_a_process_gives_the_verdicts_of_this_one() -> None:
    cases: list[Case] = [(load_judge(name), CaseItem(0, name, first_example(name))) for name in OURS]
    cases += [(judge, CaseItem(1, "1", {"nothing": "of use"})) for judge, _ in cases]
    cases.append((load_judge("efficiency", {"task": "coding"}), CaseItem(2, "2", first_example("efficiency"))))
    with ThreadWorker() as here, ProcessWorker() as apart:
        expected, found = here.judge(cases), apart.judge(cases)
    assert [timeless(outcome) for outcome in found] == [timeless(outcome) for outcome in expected]


def test_no_case_is_lost_when_its_process_dies_and_one_that_kills_two_is_an_error_that_says_so(tmp_path: Path) -> None:
    texts = ["before", f"die once {tmp_path / 'killed'}", "between", "die", "after"]
    with serving(tmp_path, in_processes=True, judges=(DEADLY,)) as client:
        answer = client.post("/v1/judge/deadly", json={"cases": [{"id": text[:8], "text": text} for text in texts]})
        metrics = client.get("/metrics").text
    judged = answer.json()["judgements"]
    assert [one["id"] for one in judged] == [text[:8] for text in texts]
    assert [one["status"] for one in judged] == ["ok", "ok", "ok", "error", "ok"]
    assert [one["verdict"]["length"] for one in judged if one["status"] == "ok"] == [6, len(texts[1]), 7, 5]
    assert judged[3]["verdict"] is None
    assert "died, and the next one too" in judged[3]["error"]
    assert 'krino_cases_total{judge="deadly",status="ok"} 4' in metrics
    assert 'krino_cases_total{judge="rag"' not in metrics, "what loads the models is no case"
    assert "krino_cases_under_way 0" in metrics


def test_a_judge_that_cannot_be_built_in_the_process_spoils_no_case_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad, item = load_judge(DEADLY), load_judge(DEADLY, {"seconds": 0.5}), CaseItem(0, "0", {"text": "abc"})
    real = JudgeReference.of
    other = {bad: "the source of another version"}
    monkeypatch.setattr(
        JudgeReference, "of", lambda judge: replace(real(judge), source_hash=other.get(judge, real(judge).source_hash))
    )
    with ProcessWorker() as apart:
        first, second = apart.judge([(bad, item), (good, item)])
    assert "its source differs" in str(first)
    assert timeless(second)["verdict"]["length"] == 3


def test_a_closed_pool_gives_up_what_a_process_has_begun() -> None:
    pool = JudgingPool(1, ProcessWorker)
    slow = load_judge(DEADLY, {"seconds": 600})
    pending = pool.submit("client", slow, CaseItem(0, "0", {"text": "abc"}))
    until(lambda: at_work() and pending.running())
    pool.close()
    with pytest.raises(asyncio.CancelledError):
        pending.result(60)
    assert pool.submit("client", slow, CaseItem(0, "0", {"text": "late"})).cancelled()


def test_what_a_case_leaves_is_gone_before_the_next_and_what_is_kept_is_not_searched_through_again() -> None:
    judge = load_judge(f"{Path(__file__).parents[2] / 'littering_judge.py'}:Littering")
    with ProcessWorker() as apart:
        found = [timeless(apart.judge([(judge, CaseItem(0, "0", {"text": "abc"}))])[0])["verdict"] for _ in range(60)]
    assert {one["litter"] for one in found} == {0}
    assert {one["searches"] for one in found[1:]} == {found[1]["searches"]}
