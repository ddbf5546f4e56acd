"""Three lines judge one case; an iterator judges many; a running event loop is no obstacle."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import krino
from fake_llm import FakeServer
from krino.labellers.local import LocalLabeller
from toy_judge import ToyCase, ToyJudge, ToyLabels


def test_one_case_synchronously() -> None:
    judgement = krino.judge(ToyJudge(), {"text": "a good text"})
    assert (judgement.status, judgement.verdict) == ("ok", {"score": 1.0, "note": "labelled good"})


async def test_one_case_asynchronously() -> None:
    judgement = await krino.ajudge(ToyJudge(), {"id": "x", "text": "a bad text"})
    assert (judgement.id, judgement.verdict) == ("x", {"score": 0.0, "note": "labelled bad"})


async def test_the_synchronous_call_works_inside_a_running_event_loop() -> None:
    assert asyncio.get_running_loop().is_running()
    assert krino.judge(ToyJudge(), {"text": "a good text"}).status == "ok"
    assert [j.status for j in krino.judge_many(ToyJudge(), [{"text": "a"}, {"text": "b"}])] == ["ok", "ok"]


def test_a_bundled_judge_is_found_by_name() -> None:
    case = {
        "question": "How tall is it?",
        "context": ["The tower stands 102 metres tall."],
        "answer": "102 metres tall.",
    }
    judgement = krino.judge("rag", case)
    assert judgement.judge == "rag"
    assert judgement.status == "ok"


def test_an_unknown_judge_is_refused_with_the_known_ones() -> None:
    with pytest.raises(krino.UsageProblem, match=r"no judge `nope`; there are .*rag"):
        krino.judge("nope", {})


def test_options_and_prompt_can_be_overridden() -> None:
    assert krino.judge(ToyJudge(), {"text": "good"}, options={"good_is": 0.25}).verdict == {
        "score": 0.25,
        "note": "labelled good",
    }
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        labeller = krino.llm("m", base_url=server.url, cache="off")
        krino.judge(ToyJudge(), {"text": "a fine text"}, labeller=labeller, prompt="My very own words.")
        sent = server.requests[0].body["messages"][0]["content"]
    assert sent.startswith("My very own words.")


def test_many_cases_come_back_in_their_order_whatever_finishes_first() -> None:
    texts = [f"text {number}" for number in range(150)]
    judgements = list(krino.judge_many(ToyJudge(), ({"text": text} for text in texts)))
    assert [judgement.index for judgement in judgements] == list(range(150))
    assert all(judgement.status == "ok" for judgement in judgements)


def test_many_reads_no_further_ahead_than_a_window() -> None:
    read = 0

    def cases() -> Iterator[dict[str, Any]]:
        nonlocal read
        for number in range(100_000):
            read += 1
            yield {"text": f"text {number}"}

    stream = krino.judge_many(ToyJudge(), cases())
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    assert read < 2_000


def test_a_case_that_is_no_mapping_is_a_failed_judgement_not_an_exception() -> None:
    first, second = krino.judge_many(ToyJudge(), ["just text", {"text": "fine"}])  # type: ignore[list-item]
    assert (first.status, second.status) == ("failed", "ok")
    assert "not a mapping" in (first.reason or "")


@pytest.mark.parametrize("cases", ["cases.jsonl", {"text": "one case"}, 3])
def test_what_is_no_series_of_cases_is_refused(cases: Any) -> None:
    with pytest.raises(krino.UsageProblem, match="cases must be an iterable of mappings"):
        list(krino.judge_many(ToyJudge(), cases))


def test_a_judge_may_be_given_as_its_class() -> None:
    assert krino.judge(ToyJudge, {"text": "good"}, options={"good_is": 0.5}).verdict == {
        "score": 0.5,
        "note": "labelled good",
    }


def test_an_iterator_left_behind_does_not_keep_the_program_from_ending() -> None:
    code = (
        "import krino, sys; sys.path.insert(0, sys.argv[1]); from toy_judge import ToyJudge\n"
        "stream = krino.judge_many(ToyJudge(), ({'text': 'good'} for _ in range(1000))); print(next(stream).status)"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "ok"), done.stderr


def test_judging_from_inside_a_stream_of_cases_is_refused_not_waited_for() -> None:
    def cases() -> Iterator[dict[str, Any]]:
        yield {"text": krino.judge(ToyJudge(), {"text": "good"}).status}

    with pytest.raises(krino.UsageProblem, match="from inside Krino's own event loop"):
        list(krino.judge_many(ToyJudge(), cases()))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
def test_a_forked_child_can_judge() -> None:
    code = (
        "import krino, os, sys; sys.path.insert(0, sys.argv[1]); from toy_judge import ToyJudge\n"
        "krino.judge(ToyJudge(), {'text': 'good'}); child = os.fork()\n"
        "if child == 0: os._exit(0 if krino.judge(ToyJudge(), {'text': 'good'}).status == 'ok' else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0


def test_a_fault_of_the_input_stream_reaches_the_caller() -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield {"text": "one"}
        raise OSError("the disk is gone")

    seen = []
    with pytest.raises(OSError, match="the disk is gone"):
        for judgement in krino.judge_many(ToyJudge(), broken()):
            seen.append(judgement.id)
    assert seen == ["1"]


def test_a_judge_without_embedded_labeller_says_so() -> None:
    class NoLocal(ToyJudge):
        def label_locally(self, batch: Sequence[tuple[ToyCase, int]]) -> list[ToyLabels]:
            return krino.Judge.label_locally(self, batch)

    with pytest.raises(krino.UsageProblem, match="has no embedded labeller"):
        krino.judge(NoLocal(), {"text": "fine"})


async def test_a_labeller_is_a_context_manager() -> None:
    with FakeServer(reply={"label": "bad", "quote": "x"}) as server:
        async with krino.llm("m", base_url=server.url, cache="off") as labeller:
            judgement = await krino.ajudge(ToyJudge(), {"text": "x y z"}, labeller=labeller)
    assert judgement.usage.calls == 1


class CutShort(LocalLabeller):
    """Labels the first case; the second is paid for in part when the limit is reached."""

    async def label(self, task: Any) -> Any:
        if task.index == 1:
            stop = krino.RunStopped("the limit is reached", kind="budget")
            raise krino.LabelFailed("cut short", usage=krino.Usage(calls=1), stopped=stop)
        return await super().label(task)


def test_a_case_that_the_end_of_the_run_cut_short_is_on_record_before_the_run_stops() -> None:
    found = []
    with pytest.raises(krino.RunStopped, match="the limit is reached"):
        for judgement in krino.judge_many(ToyJudge(), [{"text": "good"}, {"text": "bad"}], labeller=CutShort()):
            found.append((judgement.status, judgement.usage.calls))
    assert found == [("ok", 0), ("error", 1)]
