"""A large run is summed up by a process beside the one that makes the report; nothing in it is any different."""

from __future__ import annotations

import multiprocessing
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from krino.api import running
from krino.api.recorded_run import Run
from krino.api.running import Running, RunSettings
from krino.api.summing import SummaryProcess, sum_up
from krino.engine import sync
from krino.errors import UsageProblem
from krino.labellers.factory import labeller_from
from krino.results.summary import Collected
from krino.runs.inputs import inputs_of
from krino.runs.stored_run import load_stored_run
from made_runs import failed_row, make_run, row
from toy_judge import ToyJudge
from waiting import children, ended, is_alive, until

FILES = ("report.html", "judgements.parquet")


def made(folder: Path) -> Path:
    rows = [row(f"c{n}", metadata={"court": "ab"[n % 2]}, score=n / 10) for n in range(10)]
    return make_run(folder, [*rows, failed_row("c10", metadata={"court": "a"})])


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Running, Run]]:
    """A run of somebody's own judge, large enough for a second process, which is still to be finished."""
    monkeypatch.setattr(running, "LARGE_RUN", 1)
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"text": "good", "court": "a"}\n{"text": "", "court": "b"}\n{"text": "good", "court": "b"}\n')
    with inputs_of([str(cases)]) as inputs:
        started = Running(ToyJudge(), "toy", labeller_from("local"), inputs, RunSettings(tmp_path / "r"), cores=2)
        yield started, sync.run(started.carry_out())


def with_files(run: Run, finish: Callable[[Run], object]) -> tuple[object, ...]:
    for name in FILES:
        (run.folder / name).unlink(missing_ok=True)
    return finish(run), *((run.folder / name).read_bytes() for name in FILES)


def test_two_processes_find_and_write_what_one_does(
    judged: tuple[Running, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    started, run = judged
    started.cores = 1
    alone = with_files(run, started.finish)
    started.cores = 2
    monkeypatch.setattr(running, "sum_up", None)  # this one has no need to
    assert with_files(run, started.finish) == alone


def test_slices_and_failed_cases_are_the_same_too(tmp_path: Path) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    with SummaryProcess(run.folder) as process:
        found = process.result()
    table = (run.folder / "judgements.parquet").read_bytes()
    assert found is not None
    assert found.slices
    assert found == sum_up(run, run.records)
    assert (run.folder / "judgements.parquet").read_bytes() == table


@pytest.mark.parametrize("when", ["at once", "before its result is read"])
def test_a_process_that_dies_leaves_the_work_to_this_one(
    judged: tuple[Running, Run], monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    class Dying(SummaryProcess):
        def __init__(self, folder: Path) -> None:
            super().__init__(folder)
            if when == "at once":
                self.die()
            else:
                os.kill(self._child.pid, signal.SIGSTOP)  # it gets no further

        def result(self) -> Collected | None:
            self.die()
            return super().result()

        def die(self) -> None:
            self._child.kill()

    started, run = judged
    alone = with_files(run, started.finish)
    monkeypatch.setattr(running, "SummaryProcess", Dying)
    assert with_files(run, started.finish) == alone


def test_where_no_process_may_be_started_this_one_does_all(
    judged: tuple[Running, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(process: object) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    started, run = judged
    alone = with_files(run, started.finish)
    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", refused)
    assert with_files(run, started.finish) == alone


def test_a_process_that_dies_while_it_says_its_result_has_none(tmp_path: Path) -> None:
    with SummaryProcess(tmp_path) as process:
        process._child.pipe.close()
        process._child.pipe, theirs = multiprocessing.Pipe()
        os.write(theirs.fileno(), struct.pack("!i", 1_000) + b"the first bytes of a thousand")
        theirs.close()
        assert process.result() is None


def test_what_is_wrong_with_the_run_is_told_by_this_process(
    judged: tuple[Running, Run], capfd: pytest.CaptureFixture[str]
) -> None:
    started, run = judged
    run.journal.write_bytes(b"{}\n")
    with pytest.raises(UsageProblem, match="was restarted while it was read"):
        started.finish(run)
    with SummaryProcess(run.folder) as process:
        assert process.result() is None
    assert "Traceback" not in capfd.readouterr().err


# --- how it ends -----------------------------------------------------------------------------------

STARTER = """
import sys, time
from pathlib import Path
from krino.api import summing
from krino.runs.stored_run import load_stored_run
from krino.writing import replacing

def endless(run, records):
    with replacing(run.folder / "judgements.parquet") as draft:
        print("at work", flush=True)
        time.sleep(600)

summing.sum_up = endless  # in both: a process that is started reads this file too
if __name__ == "__main__":
    run = load_stored_run(Path(sys.argv[1]))
    with summing.SummaryProcess(run.folder) as process:
        process.result()
"""


@contextmanager
def at_work(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A starter, and the process beside it in the middle of writing the table."""
    script = folder / "starter.py"
    script.write_text(STARTER)
    command = [sys.executable, str(script), str(made(folder / "r"))]
    with ended(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"at work\n"
        (beside,) = (pid for pid in children(starter.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes())
        yield starter, beside


def test_it_ends_with_a_starter_that_is_killed(tmp_path: Path) -> None:
    with at_work(tmp_path) as (starter, beside):
        starter.kill()
        until(lambda: not is_alive(beside), seconds=20)


def test_ctrl_c_ends_both_and_leaves_no_draft(tmp_path: Path) -> None:
    with at_work(tmp_path) as (starter, beside):
        os.killpg(starter.pid, signal.SIGINT)
        told = starter.communicate(timeout=20)[1]
        assert not is_alive(beside)
    assert told.count(b"Traceback") == 1  # of the starter, which here does not mind it
    assert not list((tmp_path / "r").glob(".judgements.parquet.*"))
