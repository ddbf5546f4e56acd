"""Every reply has a limit, and a request that timed out or whose reply was cut off is never sent a second time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from aiohttp import web
from rich.console import Console

import krino
from fake_llm import FakeServer, Faults
from krino.cli.progress import Display
from krino.contract import Bound
from krino.labellers.llm.conversation import REASONING_TOKENS
from krino.labellers.llm.labeller import LlmLabeller
from krino.runs.session import SessionProgress
from odd_endpoint import OddEndpoint
from toy_judge import ToyCase, ToyJudge

GOOD = {"label": "good", "quote": "fine"}
CASE = {"text": "a fine text"}


class BoundToy(ToyJudge):
    """The toy judge, with what its labels can hold."""

    def bounds(self, case: ToyCase, facts: int, asked: krino.Questions, exact: bool) -> Bound:
        if not exact:
            return Bound.holding(label=Bound.one_of(["good", "bad"]), quote=Bound.text(20))
        return Bound.holding(quote=Bound.one_of(case.text.split()))


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply=GOOD) as running:
        yield running


def model(url: str, **settings: Any) -> LlmLabeller:
    return krino.llm("m", base_url=url, **{"cache": "off", "backoff": 0.001, "api_key": "secret-key", **settings})


async def judged(labeller: LlmLabeller, judge: Any = None, case: dict[str, Any] | None = None) -> krino.Judgement:
    return await krino.ajudge(judge or ToyJudge(), case or CASE, labeller=labeller)


def bodies(server: FakeServer) -> list[dict[str, Any]]:
    return [request.body for request in server.requests]


def limits(server: FakeServer) -> list[int]:
    return [body["max_tokens"] for body in bodies(server)]


def assert_no_request_twice(server: FakeServer) -> None:
    written = [orjson.dumps(body) for body in bodies(server)]
    assert len(set(written)) == len(written)


# --- a limit, always -------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", ["json_schema", "tool", "json_object", "text"])
async def test_a_limit_is_sent_though_nobody_states_one(server: FakeServer, channel: Any) -> None:
    async with model(server.url, channel=channel) as labeller:
        assert (await judged(labeller)).status == "ok"
    assert limits(server) == [512]


async def test_the_limit_of_the_user_is_sent_as_it_is(server: FakeServer) -> None:
    async with model(server.url, reply_tokens=77) as labeller:
        assert (await judged(labeller)).status == "ok"
    assert limits(server) == [77]


async def test_providers_whose_models_reason_get_room_for_it() -> None:
    env = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
    for name in ("gpt-x", "claude-x"):
        assert krino.llm(name, env=env, cache="off").abilities.reasoning_tokens == REASONING_TOKENS
    assert krino.llm("gpt-x", env=env, base_url="http://127.0.0.1:9/v1", cache="off").abilities.reasoning_tokens == 0


# --- time-outs -------------------------------------------------------------------------------------


async def test_after_a_time_out_the_case_is_asked_once_more_and_for_less(server: FakeServer) -> None:
    server.configure(faults=Faults(schedule=["hang"]))
    async with model(server.url, timeout=1.5) as labeller:
        judgement = await judged(labeller)
        assert (judgement.status, labeller.so_far().timeouts) == ("ok", 1)
    assert limits(server) == [512, 256]
    assert_no_request_twice(server)


async def test_what_a_lost_reply_may_have_cost_is_counted(server: FakeServer) -> None:
    server.configure(faults=Faults(schedule=["hang"]))
    async with model(server.url, timeout=1.5, price_in=1.0, price_out=1.0) as labeller:
        judgement = await judged(labeller)
        spent = labeller.so_far().usage
    assert (judgement.usage.calls, spent.calls) == (2, 2)
    assert judgement.usage.tokens == spent.tokens > server.stats().input_tokens + server.stats().output_tokens
    assert spent.cost == pytest.approx(spent.tokens / 1e6)


async def test_an_endpoint_that_never_answers_gets_no_request_twice(server: FakeServer) -> None:
    """Once it has answered, cases that time out twice are errors, one after the other, until it counts as dead."""
    server.configure(faults=Faults(schedule=[None], rates={"hang": 1.0}))
    async with model(server.url, timeout=0.5, concurrency=4) as labeller:
        assert (await judged(labeller)).status == "ok"
        cases = [{"text": f"a fine text {number}"} for number in range(40)]
        seen: list[krino.Judgement] = []
        with pytest.raises(krino.RunStopped, match="no reply within"):
            async for judgement in krino.ajudge_many(ToyJudge(), cases, labeller=labeller):
                seen.append(judgement)
    assert {judgement.status for judgement in seen} <= {"error"}
    told = [judgement.error or "" for judgement in seen]
    assert all("no reply within" in error or error.startswith("the run was stopped before") for error in told), told
    assert any("raise --timeout" in error for error in told)
    assert_no_request_twice(server)


# --- replies that are cut off ----------------------------------------------------------------------


async def test_a_reply_that_is_cut_off_is_asked_for_again_with_more_room(server: FakeServer) -> None:
    server.configure(faults=Faults(schedule=["truncated"]))
    async with model(server.url) as labeller:
        judgement = await judged(labeller)
    first, second = limits(server)
    assert (judgement.status, judgement.usage.calls, second > first) == ("ok", 2, True)
    assert_no_request_twice(server)


async def test_with_the_users_limit_a_second_cut_at_the_same_place_ends_it(server: FakeServer) -> None:
    """Nothing could be said otherwise the third time, so it is not said."""
    server.configure(faults=Faults(rates={"truncated": 1.0}))
    async with model(server.url, reply_tokens=40, reasks=9) as labeller:
        judgement = await judged(labeller)
    assert (judgement.status, len(server.requests)) == ("error", 2)
    assert "raise --reply-tokens" in (judgement.error or "")
    assert judgement.usage.calls == 2
    assert_no_request_twice(server)


Answer = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


class Scripted:
    """Answers as a function of the request says, and keeps the requests."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.seen: list[dict[str, Any]] = []

    async def __call__(self, request: web.BaseRequest, body: bytes) -> web.Response:
        asked = orjson.loads(body)
        self.seen.append(asked)
        status, content = self.answer(asked)
        return web.json_response(content, status=status)


def reply(content: str | None, finish: str = "stop", **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 10, **more.pop("usage", {})}
    message = {"role": "assistant", "content": content, **more}
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def refused(message: str) -> tuple[int, dict[str, Any]]:
    return 400, {"error": {"message": message, "type": "invalid_request_error"}}


LABELS = orjson.dumps(GOOD).decode()


async def test_a_model_that_reasons_out_of_sight_gets_room_for_it_from_then_on() -> None:
    def answer(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if asked["max_tokens"] < 4_000:
            return 200, reply(None, "length", reasoning_content="hm " * 100)
        return 200, reply(LABELS, reasoning_content="hm")

    scripted = Scripted(answer)
    with OddEndpoint(scripted) as endpoint:
        async with model(endpoint.url) as labeller:
            assert (await judged(labeller)).status == "ok"
            assert (await judged(labeller, case={"text": "another fine text"})).status == "ok"
    assert [asked["max_tokens"] for asked in scripted.seen] == [512, 512 + REASONING_TOKENS, 512 + REASONING_TOKENS]


async def test_a_limit_that_a_model_does_not_take_is_lowered_to_what_it_says() -> None:
    def answer(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if asked["max_tokens"] > 2_000:
            return refused("max_tokens is too large: this model supports at most 2000 completion tokens")
        return 200, reply(LABELS)

    scripted = Scripted(answer)
    with OddEndpoint(scripted) as endpoint:
        async with model(endpoint.url, effort="low") as labeller:
            assert (await judged(labeller)).status == "ok"
    assert [asked["max_tokens"] for asked in scripted.seen] == [8_704, 2_000]


async def test_an_endpoint_that_knows_no_limit_by_any_name_gets_none() -> None:
    def answer(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        for name in ("max_tokens", "max_completion_tokens"):
            if name in asked:
                return refused(f"Unrecognized request argument supplied: {name}")
        return 200, reply(LABELS)

    scripted = Scripted(answer)
    with OddEndpoint(scripted) as endpoint:
        async with model(endpoint.url) as labeller:
            judgement = await judged(labeller)
    assert (judgement.status, len(scripted.seen)) == ("ok", 3)
    assert judgement.labeller is not None
    assert judgement.labeller["not_supported"] == ["renamed max_tokens", "max_tokens"]


# --- schemas that are bound to the case ------------------------------------------------------------


def schema_of(asked: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = asked["response_format"]["json_schema"]["schema"]
    return schema


@pytest.mark.parametrize("word", ["enum", "maxLength"])
async def test_a_bound_schema_that_is_refused_is_sent_with_less_before_the_channel_is_given_up(word: str) -> None:
    def answer(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        quote = schema_of(asked)["properties"]["quote"]
        if word in quote:
            return refused(f"Invalid schema for response_format 'labels': '{word}' is not permitted")
        return 200, reply(LABELS if len(scripted.seen) > 1 else '{"label": "good", "quote": "absent"}')

    scripted = Scripted(answer)
    with OddEndpoint(scripted) as endpoint:
        async with model(endpoint.url) as labeller:
            judgement = await judged(labeller, BoundToy())
    assert judgement.status == "ok"
    assert judgement.labeller is not None
    assert judgement.labeller["channel"] == "json_schema"


async def test_labels_that_do_not_fit_are_asked_for_again_with_everything_bound() -> None:
    def answer(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        exact = "enum" in schema_of(asked)["properties"]["quote"]
        return 200, reply(LABELS if exact else '{"label": "good", "quote": "absent"}')

    scripted = Scripted(answer)
    with OddEndpoint(scripted) as endpoint:
        async with model(endpoint.url) as labeller:
            found = [await judged(labeller, BoundToy(), {"text": f"a fine text {n}"}) for n in range(5)]
    assert [judgement.status for judgement in found] == ["ok"] * 5
    assert [judgement.usage.calls for judgement in found] == [2, 2, 2, 1, 1], "a model that never fits is bound at once"
    assert all((judgement.labeller or {})["schema"] == "exact" for judgement in found)
    assert schema_of(scripted.seen[1])["properties"]["quote"]["enum"] == ["a", "fine", "text", "0"]


async def test_a_case_cannot_talk_a_schema_down_that_has_worked() -> None:
    """An error message may quote the case: what has worked once is not given up for it."""

    def answer(asked: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if "poison" in asked["messages"][-1]["content"]:
            return refused("cannot be judged: poison, schema, enum, response_format")
        return 200, reply(LABELS)

    scripted = Scripted(answer)
    with OddEndpoint(scripted) as endpoint:
        async with model(endpoint.url) as labeller:
            first = await judged(labeller, BoundToy())
            second = await judged(labeller, BoundToy(), {"text": "fine poison"})
            third = await judged(labeller, BoundToy())
    assert [first.status, second.status, third.status] == ["ok", "error", "ok"]
    assert (labeller.abilities.channel, labeller.abilities.strongest) == ("json_schema", "exact")


# --- what is shown meanwhile -----------------------------------------------------------------------


async def test_the_progress_line_tells_of_the_first_case_while_it_runs(server: FakeServer) -> None:
    server.configure(faults=Faults(schedule=["500", "hang", "hang"]))
    async with model(server.url, timeout=1.5, price_in=1000.0, price_out=1000.0) as labeller:
        display = Display(SessionProgress(), 10, Console(), labeller)
        told: list[str] = []

        async def watch() -> None:
            while True:
                told.append(display.describe_progress())
                await asyncio.sleep(0.02)

        watching = asyncio.create_task(watch())
        await judged(labeller)
        watching.cancel()
    wanted = ("1 retry", "1 time-out", "tokens", "cost", "waiting for 127.0.0.1")
    assert any(all(word in line for word in wanted) for line in told), told
