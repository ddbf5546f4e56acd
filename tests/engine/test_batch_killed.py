"""A run by batch file that is killed before any step is whole after the same command; nothing is paid twice.

The steps are: every commit of the ledger, every line of the journal, every call of the provider and every line of its
results. A process is killed at the first of them, the next at the second, and so on until one comes to its end.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from batch_runs import DIALECTS, Dialect, assert_whole, batch_server, cases, expected, judged, model
from krino.labellers.llm.batch.client import BatchClient
from krino.labellers.llm.batch.ledger import Ledger
from krino.runs.journal import Journal

FEWEST, FEWEST_OF_A_PASS = 20, 8
RECORDS = cases(4)[2:]  # the stubborn case, which is asked twice, and another one
KILLED = 9


class Countdown:
    """Ends the process, as a kill would, at the step of its number."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self) -> None:
        self.left -= 1
        if self.left < 0:
            os._exit(KILLED)

    def before(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*args: Any, **more: Any) -> Any:
            self.step()
            return method(*args, **more)

        return stepped

    def before_lines(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def stepped(*args: Any, **more: Any) -> AsyncIterator[bytes]:
            async for line in method(*args, **more):
                self.step()
                yield line

        return stepped


def run_until(steps: int, url: str, dialect: Dialect, folder: Path, records: list[dict[str, str]]) -> None:
    """In a process of its own."""
    countdown = Countdown(steps)
    for owner, name, wrapped in (
        (Ledger, "commit", countdown.before),
        (Journal, "append", countdown.before),
        (BatchClient, "_send_until_answered", countdown.before),
        (BatchClient, "lines", countdown.before_lines),
    ):
        setattr(owner, name, wrapped(getattr(owner, name)))
    judged(model(url, dialect), folder, records, requests=1)


@pytest.fixture
def killed_after(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Judges in a process that is killed at a step; False where it came to its end before."""
    tests = str(Path(__file__).parents[1])  # so that modules of tests are loaded once
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (tests, os.environ.get("PYTHONPATH")))))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["batch_runs", "pytest", "krino.labellers.factory"])

    def killed(*args: Any) -> bool:
        process = context.Process(target=run_until, args=args)
        process.start()
        process.join()
        assert process.exitcode in (0, KILLED)
        return process.exitcode == KILLED

    return killed


@pytest.mark.parametrize("dialect", DIALECTS)
def test_killed_at_every_step_a_run_is_whole_after_the_same_command_and_nothing_is_paid_twice(
    dialect: Dialect, tmp_path: Path, killed_after: Callable[..., bool]
) -> None:
    for steps in range(10_000):
        folder = tmp_path / f"killed-{steps}"
        with batch_server() as server:
            if not killed_after(steps, server.anthropic_url, dialect, folder, RECORDS):
                break
            run = judged(model(server.anthropic_url, dialect), folder, RECORDS, requests=1)
            assert_whole(run, server, [record["id"] for record in RECORDS])
    assert steps > FEWEST, "fewer steps than there are prove nothing"


def test_killed_at_every_step_of_a_second_pass_what_was_paid_is_kept_and_used(
    tmp_path: Path, killed_after: Callable[..., bool]
) -> None:
    """The only case ended in error before, so that it comes in the second pass: the first one has nothing to judge, and
    must leave alone what the second one finds in the ledger."""
    for steps in range(10_000):
        folder = tmp_path / f"killed-{steps}"
        with batch_server() as server:
            server.batches.faults = {"work": ["error"] * 4}
            run = judged(model(server.anthropic_url, "openai"), folder, cases(1), requests=1)
            assert (run.manifest.counts.error, server.stats().completed_by_key) == (1, {})
            assert not any(server.batches.faults.values())
            if not killed_after(steps, server.anthropic_url, "openai", folder, cases(1)):
                break
            run = judged(model(server.anthropic_url, "openai"), folder, cases(1), requests=1)
            assert (run.manifest.state, run.manifest.counts.ok) == ("finished", 1)
            assert server.stats().completed_by_key == expected(["case-0-"])
            assert run.manifest.usage.calls == 1
            assert not (folder / "batches").exists()
    assert steps > FEWEST_OF_A_PASS, "fewer steps than there are prove nothing"
