"""A labeller travels to workers without anything that is secret, and asks over the line of the one who sent it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import krino
from fake_llm import FakeServer
from krino.errors import Limit, RunStopped, UsageProblem
from krino.labellers.local import LocalLabeller
from krino.labellers.remote import Call, answer_call, pack_labeller
from krino.labellers.replay import ReplayLabeller
from toy_judge import ToyJudge

CASE = {"text": "a fine text"}
KEY = "sk-very-secret-key"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        yield server


def arrived(labeller: krino.Labeller) -> krino.Labeller:
    """As a worker has it; its calls are answered by the lines of the one that was sent."""
    kit, lines = pack_labeller(labeller)

    async def call(call: Call) -> Any:
        return pickle.loads(pickle.dumps(await answer_call(pickle.loads(pickle.dumps(call)), lines)))

    there: krino.Labeller = pickle.loads(pickle.dumps(kit)).unpack(call)
    return there


async def test_no_secret_and_no_limit_is_in_what_travels(server: FakeServer) -> None:
    url = server.url.replace("http://", "http://user:pass-word@")
    with_password = krino.llm("m", base_url=url, env={"SOME_API_KEY": KEY}, max_tokens=10_001)
    with_key = krino.llm("m", base_url=server.url, api_key=lambda: KEY, env={"SOME_API_KEY": KEY})
    for labeller in (with_password, with_key):
        sent = pickle.dumps(pack_labeller(labeller)[0])
        assert KEY.encode() not in sent
        assert b"pass-word" not in sent
    assert pickle.loads(pickle.dumps(pack_labeller(with_password)[0])).settings["max_tokens"] is None


async def test_a_model_is_asked_over_the_line_of_the_one_who_sent_it(server: FakeServer) -> None:
    async with krino.llm("m", base_url=server.url, api_key=KEY, cache="off") as labeller:
        there = arrived(labeller)
        judged = await krino.ajudge(ToyJudge(), CASE, labeller=there)
        assert judged.status == "ok"
        assert judged.usage.calls == 1
        assert labeller.budget.so_far.calls == 1  # counted where the limits are
        assert there.describe() == labeller.describe()
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


async def test_what_is_paid_for_is_kept_in_the_cache_of_the_one_who_sent_it(server: FakeServer, tmp_path: Any) -> None:
    async with krino.llm("m", base_url=server.url, cache=tmp_path / "replies.sqlite") as labeller:
        first = await krino.ajudge(ToyJudge(), CASE, labeller=arrived(labeller))
        second = await krino.ajudge(ToyJudge(), CASE, labeller=arrived(labeller))
    assert (first.usage.calls, second.usage.calls, second.usage.cached) == (1, 0, 1)


async def test_a_spent_budget_and_a_case_without_an_answer_are_told_there_too(server: FakeServer) -> None:
    async with krino.llm("m", base_url=server.url, cache="off", max_tokens=1) as labeller:
        with pytest.raises(RunStopped) as stop:
            await arrived(labeller).label(task_of(CASE))
    assert stop.value.limit == Limit("max_tokens", 1)
    server.configure(latency=1.0)
    async with krino.llm("m", base_url=server.url, cache="off", timeout=0.05) as labeller:
        judged = await krino.ajudge(ToyJudge(), CASE, labeller=arrived(labeller))
    assert judged.status == "error"
    assert "raise --timeout" in str(judged.error)


async def test_a_jury_travels_with_its_members(server: FakeServer) -> None:
    jury = krino.jury(["m", "n"], repeat=2, base_url=server.url, cache="off")
    async with jury:
        judged = await krino.ajudge(ToyJudge(), CASE, labeller=arrived(jury))
    assert [(ballot.member, ballot.repeat) for ballot in judged.ballots] == [("m", 1), ("n", 1), ("m", 2), ("n", 2)]
    assert judged.usage.calls == 4


def test_the_embedded_labeller_is_built_anew_and_others_stay() -> None:
    assert arrived(LocalLabeller(7)).batch == 7  # type: ignore[attr-defined]
    with pytest.raises(UsageProblem, match="ReplayLabeller can label in one process only"):
        pack_labeller(ReplayLabeller(lambda task: None))


def task_of(record: dict[str, Any]) -> krino.Task[Any, Any, Any]:
    judge = ToyJudge()
    case = judge.read(record)
    facts = judge.study(case)
    questions = judge.ask(case, facts)
    assert questions is not None
    return krino.Task(judge, case, facts, questions, input_hash="1")
