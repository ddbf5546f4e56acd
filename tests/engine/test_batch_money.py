"""Money and time with batch files: half the price, a budget that holds, nothing sent that is known, safe to leave."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import krino
from batch_runs import ALL, DIALECTS, Dialect, assert_whole, batch_server, cases, engine, expected, judged, lines, model
from command_line import environment
from fake_llm import FakeServer, ReceivedRequest
from krino.api.running import estimate
from krino.cases.item import CaseItem
from krino.engine.batch import use_batch_prices
from krino.engine.interface import Assignment, opened
from krino.labellers.factory import jury, repeated
from krino.labellers.llm.batch.jobs import BatchJobs
from krino.labellers.llm.labeller import LlmLabeller
from krino.runs.journal import Journal
from krino.runs.manifest import Plan
from krino.runs.session import Session
from receiving import one_by_one
from toy_judge import ToyJudge
from waiting import ended, until

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_goes_by_file_costs_half_and_what_is_asked_by_a_call_does_not(dialect: Dialect, tmp_path: Path) -> None:
    with batch_server() as server:
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", pilot=1)
        for line in lines(run.folder):
            usage = line["usage"]
            full = (usage["input_tokens"] * 10 + usage["output_tokens"] * 100) / 1e6
            assert usage["cost"] == pytest.approx(full if line["id"] == "case-0-" else full / 2)


def test_the_part_of_the_price_is_a_setting_and_an_estimate_goes_by_it() -> None:
    with batch_server() as server:
        labeller = model(server.anthropic_url, "openai", batch_price=0.25)
        full = estimate(ToyJudge(), cases(), labeller=labeller).input_cost
        use_batch_prices(labeller)
        assert full is not None
        assert estimate(ToyJudge(), cases(), labeller=labeller).input_cost == pytest.approx(full / 4)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_budget_holds_however_long_replies_may_be_and_more_of_it_ends_the_run(
    dialect: Dialect, tmp_path: Path
) -> None:
    """A request may cost 0.03 and costs 0.002: a limit of 0.05 lets one out, learns from it, and then all of them."""
    with batch_server() as server:
        labeller = model(server.anthropic_url, dialect, max_cost=0.004)
        stopped = judged(labeller, tmp_path / "run")
        assert stopped.manifest.stop_reason is not None
        assert "the limit of 0.004 (--max-cost) is reached" in stopped.manifest.stop_reason
        assert 0 < (stopped.manifest.usage.cost or 0) <= 0.004
        assert 0 < len(server.stats().completed_by_key) < len(ALL)
        run = judged(model(server.anthropic_url, dialect, max_cost=0.05), tmp_path / "run")
        assert_whole(run, server)
        assert len(server.batches.batches) > 3, "not all of them were let out at once"


def test_what_is_out_counts_against_the_budget_of_the_next_session(tmp_path: Path) -> None:
    with batch_server() as server:
        server.batches.faults = {"look": ["500"] * 99}
        judged(model(server.anthropic_url, "openai", retries=0), tmp_path / "run", cases(1))
        labeller = model(server.anthropic_url, "openai", retries=0, max_tokens=100)
        stopped = judged(labeller, tmp_path / "run", cases(2))
        assert "no answer from" in str(stopped.manifest.stop_reason), "it waits for outstanding requests"
        assert len(server.batches.batches) == 1, "and sends nothing more"
        server.batches.faults = {}
        stopped = judged(model(server.anthropic_url, "openai", max_tokens=100), tmp_path / "run", cases(2))
        assert "--max-tokens" in str(stopped.manifest.stop_reason)
        assert server.stats().completed_by_key == expected(["case-0-"])


def test_what_the_cache_knows_is_not_sent(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"cache": str(tmp_path / "replies.sqlite")}
    with batch_server() as server:
        judged(model(server.anthropic_url, "openai", **settings), tmp_path / "first", cases(2))
        run = judged(model(server.anthropic_url, "openai", **settings), tmp_path / "second", cases(5))
        assert_whole(run, server)
        assert [line["usage"]["cached"] for line in lines(run.folder)][:2] == [1, 1]


def test_cases_that_ask_the_same_share_one_request_and_its_cost(tmp_path: Path) -> None:
    alike = [{"id": name, "text": "fine case-0-"} for name in "abc"]
    with batch_server() as server:
        run = judged(model(server.anthropic_url, "openai"), tmp_path / "run", alike)
        assert server.stats().completed_by_key == {"case-0-0": 1}
    assert sorted(line["usage"]["calls"] for line in lines(run.folder)) == [0, 0, 1]
    assert run.manifest.usage.calls == 1


def test_a_jury_of_two_providers_and_a_repeat_go_by_file_together(tmp_path: Path) -> None:
    with batch_server() as server:
        members = [model(server.anthropic_url, dialect) for dialect in DIALECTS]
        run = judged(jury(members), tmp_path / "jury", cases(3), requests=9)
        assert (run.manifest.counts.ok, len(server.batches.batches)) == (3, 2)
        run = judged(repeated(model(server.anthropic_url, "openai"), 3), tmp_path / "repeat", cases(2), requests=9)
        assert (run.manifest.counts.ok, len(server.batches.batches)) == (2, 3)
        assert server.stats().completed_by_key == {"case-0-0": 5, "case-1-0": 5, "case-2-0": 2}


def test_another_engine_does_not_go_on_while_something_is_out(tmp_path: Path) -> None:
    with batch_server() as server:
        server.batches.faults = {"look": ["500"] * 99}
        judged(model(server.anthropic_url, "openai", retries=0), tmp_path / "run", cases(1))
        with pytest.raises(krino.UsageProblem, match="has outstanding requests in batch files"):
            krino.run(ToyJudge(), cases(1), labeller=model(server.anthropic_url, "openai"), into=tmp_path / "run")
        assert server.stats().calls == 0


def test_the_embedded_labeller_has_no_use_for_files(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match="asks a model: name one with --labeller"):
        krino.run(ToyJudge(), cases(1), into=tmp_path / "run", engine=krino.BatchFiles)
    assert not (tmp_path / "run" / "batches").exists()


async def test_every_case_comes_back_once_when_it_is_stopped(tmp_path: Path) -> None:
    back: list[tuple[int, bool]] = []
    own = engine(requests=2)

    async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
        back.append((item.index, judgement is None))

    with batch_server() as server:
        server.batches.faults = {"look": ["slow"] * 9_999}
        labeller = model(server.anthropic_url, "openai")
        stream = opened((CaseItem(n, c["id"], c) for n, c in enumerate(cases(3))), lambda item, digest: True)
        work = asyncio.create_task(own.run(Assignment(ToyJudge(), labeller, tmp_path), stream, one_by_one(receive)))
        while len(server.batches.batches) < 2:
            assert not work.done()
            await asyncio.sleep(0.01)
        own.stop()
        with pytest.raises(krino.RunStopped, match="3 requests in 2 batches are at the provider") as stopped:
            await work
        await labeller.aclose()
    assert stopped.value.kind == "interrupt"
    assert sorted(back) == [(0, True), (1, True), (2, True)]


async def test_every_case_comes_back_once_when_a_judgement_ends_the_run(tmp_path: Path) -> None:
    back: list[int] = []

    async def receive(item: CaseItem, judgement: krino.Judgement | None) -> None:
        back.append(item.index)
        if judgement is not None:
            raise krino.RunStopped("the judge breaks", kind="judge")

    with batch_server() as server:
        labeller = model(server.anthropic_url, "openai")
        stream = opened((CaseItem(n, c["id"], c) for n, c in enumerate(cases(5))), lambda item, digest: True)
        with pytest.raises(krino.RunStopped, match="the judge breaks"):
            await engine(requests=3).run(Assignment(ToyJudge(), labeller, tmp_path), stream, one_by_one(receive))
        await labeller.aclose()
    assert sorted(back) == [0, 1, 2, 3, 4]
    assert (tmp_path / "batches").exists(), "the replies of the others are paid for"


def test_a_provider_whose_batches_are_not_known_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with batch_server() as server:
        azure = krino.llm("azure:m", base_url=server.anthropic_url, api_key="k", cache="off", env={})
        with pytest.raises(krino.UsageProblem, match="the batch format of azure is not known"):
            judged(azure, tmp_path / "run")
        assert server.stats().calls == 0


async def test_nothing_is_sent_once_the_run_is_stopped(tmp_path: Path) -> None:
    with batch_server() as server:
        labeller = model(server.anthropic_url, "openai")
        session = Session(
            ToyJudge(), labeller, Plan(judge={"name": "toy", "version": "1"}, labeller={}, inputs=[]), tmp_path / "run"
        )
        session.make_engine = engine

        def items() -> Any:
            for number, case in enumerate(cases(1)):
                yield CaseItem(number, case["id"], case)
            session.interrupt()

        manifest = await session.run(items)
        await labeller.aclose()
        assert (manifest.state, server.batches.batches) == ("interrupted", {})


def test_the_command_says_how_to_go_on_after_ctrl_c_and_the_same_command_collects(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases()))
    with batch_server() as server:
        server.batches.faults = {"look": ["slow"] * 9_999}
        command = [sys.executable, "-m", "krino", "judge", TOY, "cases.jsonl", "--run", "run", "--engine", "batch"]
        command += ["--labeller", "openai:m", "--base-url", server.url, "--cache", "off"]
        begun = subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path), stderr=subprocess.PIPE, text=True)
        with ended(begun) as started:
            until(lambda: server.batches.batches or started.poll() is not None)
            started.send_signal(signal.SIGINT)
            told = started.communicate(timeout=60)[1]
        assert started.returncode == 130
        assert "2 requests in 1 batch are at the provider, and this command collects them" in told
        assert "continue with: krino judge" in told
        assert told.count(" cases, ") <= 1, "a line a minute at most"
        server.batches.faults = {}
        again = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), check=False, capture_output=True)
        assert again.returncode == 0, again.stderr
        assert server.stats().completed_by_key == expected()


def ended_in_error(server: FakeServer, folder: Path) -> None:
    """A run of one case, which from now on comes in the second pass of a session; nothing was paid."""
    server.batches.faults = {"work": ["error"] * 4}
    assert judged(model(server.anthropic_url, "openai"), folder, cases(1)).manifest.counts.error == 1
    assert not any(server.batches.faults.values())


def set_aside(labeller: LlmLabeller) -> tuple[int, int, float]:
    shared = labeller.budget.shared
    return shared._reserved_requests, shared._reserved_tokens, shared._reserved_cost


def test_what_is_out_is_set_aside_once_though_both_passes_take_it_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    poll_all = BatchJobs.poll_all

    async def watched(jobs: BatchJobs) -> list[int]:
        held.append(set_aside(jobs.queue.labeller)[0])
        return await poll_all(jobs)

    monkeypatch.setattr(BatchJobs, "poll_all", watched)
    with batch_server() as server:
        ended_in_error(server, tmp_path)
        for _ in range(2):  # the batch is sent, then taken up, and both times nobody says how it is
            server.batches.faults = {"look": ["500"] * 99}
            labeller = model(server.anthropic_url, "openai", retries=0, max_cost=1.0)
            stopped = judged(labeller, tmp_path, cases(1))
            assert "no answer from" in str(stopped.manifest.stop_reason)
            assert set_aside(labeller) == (0, 0, 0.0), "whoever takes it up next sets it aside again"
        server.batches.faults = {}
        labeller = model(server.anthropic_url, "openai", max_cost=1.0)
        assert judged(labeller, tmp_path, cases(1)).manifest.counts.ok == 1
        assert set_aside(labeller) == (0, 0, 0.0)
        assert server.stats().completed_by_key == expected(["case-0-"])
    assert set(held) == {1}


class Killed(BaseException):
    pass


def killed_with_a_reply(server: FakeServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only case ended in error, was tried again, and its reply is paid and in no judgement."""

    def dies(journal: Journal, judgement: krino.Judgement) -> None:
        raise Killed

    ended_in_error(server, folder)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Journal, "append", dies)
        judged(model(server.anthropic_url, "openai"), folder, cases(1))


def test_what_is_paid_and_in_no_judgement_counts_once_against_the_budget_of_a_session_of_two_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with batch_server() as server:
        killed_with_a_reply(server, tmp_path, monkeypatch)
        labeller = model(server.anthropic_url, "openai", max_cost=1.0)
        run = judged(labeller, tmp_path, cases(1))
        assert (run.manifest.counts.ok, run.manifest.usage.calls) == (1, 1)
        assert labeller.budget.shared.earlier.calls == 1
        assert labeller.budget.shared.earlier.cost == pytest.approx(run.manifest.usage.cost)
        assert server.stats().completed_by_key == expected(["case-0-"])


def test_a_reply_of_the_second_pass_is_kept_while_the_first_one_judges_new_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with batch_server() as server:
        killed_with_a_reply(server, tmp_path, monkeypatch)
        run = judged(model(server.anthropic_url, "openai"), tmp_path, cases(2))
        assert (run.manifest.state, run.manifest.counts.ok, run.manifest.usage.calls) == ("finished", 2, 2)
        assert server.stats().completed_by_key == expected(["case-0-", "case-1-"])
        assert not (tmp_path / "batches").exists()


def test_seats_that_answered_at_once_are_on_the_bill_though_another_seat_was_asked_again(tmp_path: Path) -> None:
    """When the case is carried the second time, the reply cache knows what the other seat said: that was paid too."""
    asked: list[str] = []

    def one_seat_is_wrong_at_first(request: ReceivedRequest) -> dict[str, Any]:
        asked.append(request.text)
        return {"label": "good", "quote": "fine" if len(asked) > 1 else "nowhere to be found"}

    with FakeServer(reply=one_seat_is_wrong_at_first) as server:
        labeller = model(server.anthropic_url, "openai", cache=str(tmp_path / "cache.sqlite"))
        run = judged(repeated(labeller, 2), tmp_path / "run", cases(1))
        assert (run.manifest.counts.ok, run.manifest.usage.calls, len(asked)) == (1, 3, 3)
