"""Several processes judge what one would have judged; one that dies takes no case with it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from krino.cases.item import CaseItem
from krino.contract import Judgement
from krino.engine import processes
from krino.engine.processes import AllCores
from krino.engine.protocol import Assignment, opened
from krino.errors import RunStopped, UsageProblem
from krino.judges.registry import load_judge
from krino.labellers.local import LocalLabeller
from krino.labellers.replay import ReplayLabeller

DEADLY = """
import os, signal
from pathlib import Path
from pydantic import BaseModel
from krino import Judge, Ruling, Settlement

class Case(BaseModel):
    text: str

class Labels(BaseModel):
    pass

class Verdict(BaseModel):
    length: int
    process: int

class Deadly(Judge[Case, None, Labels]):
    name = "deadly"
    version = "1"
    summary = "Counts letters, and dies of some texts."
    default_prompt = "-"
    rules = {"R1": "The number of letters."}
    case_model = Case
    labels_model = Labels
    verdict_model = Verdict

    def study(self, case):
        if case.text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if case.text.startswith("die once ") and not Path(case.text.removeprefix("die once ")).exists():
            Path(case.text.removeprefix("die once ")).touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def ask(self, case, facts):
        return None

    def settle(self, case, facts, labels):
        return Settlement({"length": Ruling(len(case.text), "R1"), "process": Ruling(os.getpid(), "R1")})
"""


@pytest.fixture
def deadly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(processes, "FEW", 4)
    (tmp_path / "deadly.py").write_text(DEADLY)
    return load_judge(f"{tmp_path / 'deadly.py'}:Deadly")


def judged(
    judge: Any, texts: list[str], engine: AllCores, stop_after: int | None = None
) -> dict[int, Judgement | None]:
    """What came back for each case; every case that was taken comes back once."""
    found: dict[int, Judgement | None] = {}

    async def receive(item: CaseItem, judgement: Judgement | None) -> None:
        assert item.index not in found
        found[item.index] = judgement
        if stop_after is not None and len(found) == stop_after:
            raise RunStopped("enough", kind="test")

    items: Iterator[CaseItem] = (CaseItem(place, str(place), {"text": text}) for place, text in enumerate(texts))
    asyncio.run(engine.run(Assignment(judge, LocalLabeller()), opened(items, lambda item, digest: True), receive))
    return found


def lengths(found: dict[int, Judgement | None]) -> dict[int, int]:
    return {
        place: judgement.verdict["length"]
        for place, judgement in found.items()
        if judgement is not None and judgement.verdict is not None
    }


def test_several_processes_judge_every_case_once(deadly: Any) -> None:
    texts = ["x" * place for place in range(40)]
    found = judged(deadly, texts, AllCores(2))
    assert lengths(found) == {place: place for place in range(40)}
    workers = {judgement.verdict["process"] for judgement in found.values() if judgement and judgement.verdict}
    assert os.getpid() in workers  # the first few
    assert len(workers) > 1  # how many of the others came to it is up to the machine


def test_a_small_run_starts_no_process(deadly: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "FEW", 10)
    found = judged(deadly, ["x"] * 10, AllCores(2))
    assert {judgement.verdict["process"] for judgement in found.values() if judgement and judgement.verdict} == {
        os.getpid()
    }


def test_a_case_that_kills_its_process_is_an_error_and_takes_no_other_with_it(deadly: Any) -> None:
    texts = ["x" * place for place in range(20)]
    texts[9] = "die"
    found = judged(deadly, texts, AllCores(2))
    assert lengths(found) == {place: place for place in range(20) if place != 9}
    lost = found[9]
    assert lost is not None
    assert lost.status == "error"
    assert "died twice" in str(lost.error)


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


def test_models_are_asked_by_one_process(deadly: Any) -> None:
    assignment = Assignment(deadly, ReplayLabeller(lambda task: None))

    async def receive(item: CaseItem, judgement: Judgement | None) -> None:
        raise AssertionError

    with pytest.raises(UsageProblem, match="one process"):
        asyncio.run(AllCores(2).run(assignment, opened([], lambda item, digest: True), receive))


def test_workers_end_when_their_starter_is_killed(deadly: Any, tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text(
        f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from krino.judges.registry import load_judge
from krino.engine import processes
from test_processes import judged

def endless():
    while True:
        yield "x"

if __name__ == "__main__":
    processes.FEW = 0
    judged(load_judge({str(tmp_path / "deadly.py")!r} + ":Deadly"), endless(), processes.AllCores(2))
"""
    )
    started = subprocess.Popen([sys.executable, str(script)])
    workers = until(lambda: len(children(started.pid)) >= 2 and children(started.pid))
    started.send_signal(signal.SIGKILL)
    started.wait()
    until(lambda: not [pid for pid in workers if is_alive(pid)])


def until(found: Any) -> Any:
    for _ in range(600):
        if result := found():
            return result
        time.sleep(0.05)
    raise AssertionError("it did not happen in half a minute")


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
