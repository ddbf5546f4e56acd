"""Several processes judge what one would have judged; one that dies takes no case with it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.cases.item import CaseItem
from krino.contract import Judgement
from krino.engine import processes
from krino.engine.case import Written
from krino.engine.interface import Assignment, Finished, opened
from krino.engine.processes import AllCores, ProcessLink
from krino.engine.worker_messages import WorkerSetup
from krino.engine.worker_pool import WorkerPool
from krino.errors import RunStopped, UsageProblem
from krino.judges.reference import JudgeReference
from krino.judges.registry import load_judge
from krino.labellers.local import LocalLabeller
from krino.labellers.remote import key_variables_of, pack_labeller
from krino.labellers.replay import ReplayLabeller
from receiving import one_by_one
from toy_judge import ToyJudge
from waiting import children, ended, is_alive, until

DEADLY = f"{Path(__file__).parents[1] / 'deadly_judge.py'}:Deadly"


@pytest.fixture
def deadly(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(processes, "FEW", 4)
    return load_judge(DEADLY, {"tell_process": True})


def judged(
    judge: Any,
    texts: Iterable[str],
    engine: AllCores,
    stop_after: int | None = None,
    found: dict[int, Judgement | None] | None = None,
) -> dict[int, Judgement | None]:
    """What came back for each case; every case that was taken comes back once."""
    found = {} if found is None else found

    async def receive(item: CaseItem, judgement: Finished | None) -> None:
        assert item.index not in found
        found[item.index] = judgement.read() if isinstance(judgement, Written) else judgement
        if stop_after is not None and len(found) == stop_after:
            raise RunStopped("enough", kind="test")

    items: Iterator[CaseItem] = (CaseItem(place, str(place), {"text": text}) for place, text in enumerate(texts))
    work = Assignment(judge, LocalLabeller(), case_seconds=0)  # else a judge that is not ours never judges in here
    asyncio.run(engine.run(work, opened(items, lambda item, digest: True), one_by_one(receive)))
    return found


def lengths(found: dict[int, Judgement | None]) -> dict[int, int]:
    return {
        place: judgement.verdict["length"]
        for place, judgement in found.items()
        if judgement is not None and judgement.verdict is not None
    }


def processes_of(found: dict[int, Judgement | None]) -> set[int]:
    return {judgement.verdict["process"] for judgement in found.values() if judgement and judgement.verdict}


def test_several_processes_judge_every_case_once(deadly: Any) -> None:
    texts = ["x" * place for place in range(40)]
    found = judged(deadly, texts, AllCores(2))
    assert lengths(found) == {place: place for place in range(40)}
    assert processes_of(found)  # how many of the workers came to it is up to the machine
    assert os.getpid() not in processes_of(found)  # a case that kills its process does not kill the starter


@pytest.mark.parametrize("cases", [3, 4])
def test_a_small_run_starts_no_process(deadly: Any, monkeypatch: pytest.MonkeyPatch, cases: int) -> None:
    monkeypatch.setattr(ProcessLink, "start", None)
    monkeypatch.setattr(processes, "FEW", 5)
    assert processes_of(judged(deadly, ["x"] * cases, AllCores(2))) == {os.getpid()}


def test_a_stream_that_gives_its_cases_slowly_is_not_kept_waiting_for_workers(
    deadly: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "AT_ONCE", 0.0)
    found = judged(deadly, ["x"] * 20, AllCores(2))
    here = [place for place in range(20) if processes_of({place: found[place]}) == {os.getpid()}]
    assert here == [0, 1, 2, 3]  # those after them are given to workers


def test_what_was_read_before_the_stream_broke_is_judged(deadly: Any) -> None:
    def texts() -> Iterator[str]:
        yield from ("x", "xx", "xxx")
        raise UsageProblem("the disk is gone")

    found: dict[int, Judgement | None] = {}
    with pytest.raises(UsageProblem, match="the disk is gone"):
        judged(deadly, texts(), AllCores(2), found=found)
    assert lengths(found) == {0: 1, 1: 2, 2: 3}


def test_one_worker_labels_on_one_core(deadly: Any) -> None:
    threads: set[int] = set()

    class Watched(type(deadly)):  # type: ignore[misc]
        def leaves_open(self, case: Any, facts: Any) -> bool:
            return True

        def label_locally(self, cases: Any) -> Any:
            threads.add(threading.get_ident())
            return [self.labels_model() for _ in cases]

    assert len(lengths(judged(Watched(), ["x"] * 20, AllCores(1)))) == 20
    assert threads == {threading.get_ident()}


def test_a_worker_forgets_the_keys_that_it_has_inherited(deadly: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of any provider, wherever a labeller of the run has its own from, and nothing else."""
    kept = {"OPENAI_API_KEY": "a secret", "MY_OWN": " another one ", "ORDINARY": "12345"}
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    texts = ["x"] * 4 + [f"variable {name}" for name in kept for _ in range(10)]
    found: dict[str, set[int]] = {}

    async def receive(item: CaseItem, finished: Finished | None) -> None:
        judgement = finished.read() if isinstance(finished, Written) else finished
        assert judgement is not None and judgement.verdict is not None
        if judgement.verdict["process"] != os.getpid() and item.record is not None:
            found.setdefault(item.record["text"].removeprefix("variable "), set()).add(judgement.verdict["length"])

    labeller = krino.llm("m", base_url="http://127.0.0.1:9", api_key="another one", cache="off")
    items = (CaseItem(place, str(place), {"text": text}) for place, text in enumerate(texts))
    cases = opened(items, lambda item, digest: True)
    asyncio.run(WorkerPool(2, ProcessLink.start).run(Assignment(deadly, labeller), cases, one_by_one(receive)))
    assert {name: found[name] for name in kept} == {"OPENAI_API_KEY": {0}, "MY_OWN": {0}, "ORDINARY": {5}}
    assert os.environ["OPENAI_API_KEY"] == "a secret"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no list of processes to look into")
async def test_a_worker_is_started_without_the_keys(deadly: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process only forgets is still in `/proc/self/environ`, for any code that it runs."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-mine")
    monkeypatch.setenv("ORDINARY", "stays-there")
    labeller = LocalLabeller()
    setup = WorkerSetup(JudgeReference.of(deadly), pack_labeller(labeller)[0], key_variables_of(labeller))
    link = await ProcessLink.start(setup)
    try:
        environment = Path(f"/proc/{link._child.pid}/environ")
        for _ in range(500):  # until the process has become another program it shows nothing
            if held := environment.read_bytes():
                break
            await asyncio.sleep(0.02)
    finally:
        await link.close()
    assert b"stays-there" in held
    assert b"a-key-of-mine" not in held
    assert os.environ["OPENAI_API_KEY"] == "a-key-of-mine"


def test_a_case_that_kills_its_process_is_an_error_and_takes_no_other_with_it(deadly: Any) -> None:
    texts = ["x" * place for place in range(20)]
    texts[9] = "die"
    found = judged(deadly, texts, AllCores(2))
    assert lengths(found) == {place: place for place in range(20) if place != 9}
    lost = found[9]
    assert lost is not None
    assert lost.status == "error"
    assert "died twice" in str(lost.error)


def test_a_case_that_kills_its_process_does_not_kill_the_summing_up(deadly: Any, tmp_path: Path) -> None:
    texts = ["x" * place for place in range(30)]
    texts[25] = "die"  # after those that the starter itself looks at first
    records = [{"id": str(place), "text": text} for place, text in enumerate(texts)]
    run = krino.run(type(deadly), records, into=tmp_path / "r", engine=lambda: AllCores(2))
    assert (run.manifest.state, run.manifest.counts.error) == ("finished", 1)
    assert (run.folder / "report.html").exists()
    again = krino.run(type(deadly), records, into=tmp_path / "r", engine=lambda: AllCores(2))
    assert (again.manifest.state, again.manifest.counts.error) == ("finished", 1)


def test_what_broke_before_is_given_to_workers_however_little_it_is(deadly: Any) -> None:
    engine, found = AllCores(2), dict[int, Judgement | None]()

    async def receive(item: CaseItem, finished: Finished | None) -> None:
        found[item.index] = finished.read() if isinstance(finished, Written) else finished

    items = [CaseItem(place, str(place), {"text": "x"}) for place in range(3)]
    assignment = Assignment(deadly, LocalLabeller(), may_kill=True)
    asyncio.run(engine.run(assignment, opened(iter(items), lambda item, digest: True), one_by_one(receive)))
    assert len(found) == 3
    assert os.getpid() not in processes_of(found)


def test_the_cases_of_a_process_that_was_killed_are_judged_again(deadly: Any, tmp_path: Path) -> None:
    texts = ["x" * place for place in range(20)]
    texts[9] = f"die once {tmp_path / 'died'}"
    found = judged(deadly, texts, AllCores(2))
    assert (tmp_path / "died").exists()
    assert lengths(found) == {place: len(text) for place, text in enumerate(texts)}


def test_a_reason_to_stop_ends_it_and_loses_nothing_that_was_judged(deadly: Any) -> None:
    with pytest.raises(RunStopped, match="enough"):
        judged(deadly, ["x"] * 200, AllCores(2), stop_after=8)


def test_a_judge_that_cannot_be_built_there_is_told(deadly: Any, tmp_path: Path) -> None:
    class Broken(type(deadly)):  # type: ignore[misc]
        pass

    Broken.__module__ = "no_such_module"
    with pytest.raises(UsageProblem):
        judged(Broken(), ["x"] * 20, AllCores(2))


TIMES = re.compile(rb'"time":"[^"]+"|"seconds":[0-9.e-]+|"seal":"[0-9a-f]+"')  # a seal covers the time


def test_workers_write_the_very_lines_that_one_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "FEW", 4)
    texts = ["", "a good text", "unjudgeable", "explode", "bad", "é ☃ 𝄞", *(f"text {number}" for number in range(40))]
    records = [{"id": f"c{place}", "text": text, "more": [place, 0.1, None]} for place, text in enumerate(texts)]
    records.append({"id": "c-none"})
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    found = []
    for workers in (1, 2):
        run = krino.run(ToyJudge(), cases, into=tmp_path / str(workers), engine=partial(AllCores, workers))
        assert run.manifest.counts.total == len(records)
        found.append(sorted(TIMES.sub(b"", line) for line in run.journal.read_bytes().splitlines()))
    assert found[0] == found[1]


def test_models_are_asked_by_one_process(deadly: Any) -> None:
    assignment = Assignment(deadly, ReplayLabeller(lambda task: None))

    async def receive(item: CaseItem, judgement: Finished | None) -> None:
        raise AssertionError

    with pytest.raises(UsageProblem, match="one process"):
        asyncio.run(AllCores(2).run(assignment, opened([], lambda item, digest: True), one_by_one(receive)))


def test_workers_end_when_their_starter_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text(
        f"""
import sys
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
from krino.judges.reference import JudgeReference
from krino.judges.registry import load_judge
from krino.engine import processes
from test_processes import judged

def endless():
    while True:
        yield "x"

if __name__ == "__main__":
    processes.FEW = 0
    judged(load_judge({DEADLY!r}), endless(), processes.AllCores(2))
"""
    )
    with ended(subprocess.Popen([sys.executable, str(script)])) as started:
        workers = until(lambda: children(started.pid) if len(children(started.pid)) >= 2 else [])
        started.send_signal(signal.SIGKILL)
        started.wait()
    until(lambda: not [pid for pid in workers if is_alive(pid)])
