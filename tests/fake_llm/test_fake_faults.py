"""Every fault, as a client meets it."""

from __future__ import annotations

import asyncio
import json
import time
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import pytest

from fake_llm import FAULT_NAMES, FakeServer, Faults
from krino.errors import UsageProblem

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"label": {"enum": ["yes", "no"]}, "why": {"type": "string"}},
    "required": ["label", "why"],
}
PLANTED = {"label": "no", "why": "planted"}
DATA = f'Data: {{"other": 1}} and {json.dumps(PLANTED)} end. case-1'
BY_TOOL: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "l", "parameters": SCHEMA}}]}
BY_ANTHROPIC_TOOL: dict[str, Any] = {"tools": [{"name": "l", "input_schema": SCHEMA}], "max_tokens": 9}
PATHS = {
    "openai": "/v1/chat/completions",
    "azure": "/openai/deployments/d/chat/completions?api-version=1",
    "anthropic": "/v1/messages",
}


def by_schema(schema: dict[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "l", "schema": schema}}}


BY_SCHEMA = by_schema(SCHEMA)
PATIENCE = 10.0
IMPATIENCE = 0.3


class Client:
    """One request at a time to one server, in the dialect asked for."""

    def __init__(self, server: FakeServer, patience: float = PATIENCE) -> None:
        self.server = server
        self.timeout = aiohttp.ClientTimeout(total=patience)

    async def ask(self, dialect: str = "openai", content: str = DATA, **more: Any) -> tuple[int, dict[str, str], str]:
        body = {"model": "m", "messages": [{"role": "user", "content": content}], **more}
        if dialect == "anthropic":
            body.setdefault("max_tokens", 9)
        headers = {"x-api-key": "k", "api-key": "k", "anthropic-version": "2023-06-01"}
        url = self.server.anthropic_url + PATHS[dialect]
        async with (
            aiohttp.ClientSession(timeout=self.timeout) as session,
            session.post(url, json=body, headers=headers) as got,
        ):
            return got.status, {k.lower(): v for k, v in got.headers.items()}, await got.text()

    async def message(self, content: str = DATA, **more: Any) -> tuple[dict[str, Any], str]:
        """The OpenAI message and its finish reason."""
        _, _, text = await self.ask(content=content, **(more or BY_SCHEMA))
        choice = json.loads(text)["choices"][0]
        return choice["message"], choice["finish_reason"]

    async def anthropic(self, **more: Any) -> dict[str, Any]:
        _, _, text = await self.ask("anthropic", **more)
        body: dict[str, Any] = json.loads(text)
        return body


def broken_by(*schedule: str | None, **more: Any) -> FakeServer:
    return FakeServer(faults=Faults(schedule=schedule, **more))


# --- HTTP errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "status", "code", "anthropic_status", "anthropic_type"),
    [
        ("429", 429, "rate_limit_exceeded", 429, "rate_limit_error"),
        ("429-ms", 429, "rate_limit_exceeded", 429, "rate_limit_error"),
        ("429-date", 429, "rate_limit_exceeded", 429, "rate_limit_error"),
        ("429-bare", 429, "rate_limit_exceeded", 429, "rate_limit_error"),
        ("500", 500, None, 500, "api_error"),
        ("503", 503, None, 503, "api_error"),
        ("529", 529, "overloaded", 529, "overloaded_error"),
        ("401", 401, "invalid_api_key", 401, "authentication_error"),
        ("403", 403, "model_not_allowed", 403, "permission_error"),
        ("404", 404, "model_not_found", 404, "not_found_error"),
        ("quota", 429, "insufficient_quota", 400, "invalid_request_error"),
    ],
)
async def test_an_http_error_speaks_the_dialect(
    fault: str, status: int, code: str | None, anthropic_status: int, anthropic_type: str
) -> None:
    with broken_by(fault, fault, fault) as server:
        client = Client(server)
        got, _, text = await client.ask()
        error = json.loads(text)["error"]
        assert (got, error["code"], error.keys()) == (status, code, {"message", "type", "param", "code"})
        got, _, text = await client.ask("azure")
        assert (got, json.loads(text)["error"]["code"]) == (status, code or str(status))
        got, sent, text = await client.ask("anthropic")
        answer = json.loads(text)
        assert (got, answer["type"], answer["error"]["type"]) == (anthropic_status, "error", anthropic_type)
        assert answer["request_id"] == sent["request-id"]
        assert server.stats().faults == {fault: 3}
        assert server.stats().completed == 0


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_a_429_says_when_to_come_back_in_each_way(dialect: str) -> None:
    with broken_by("429", "429-ms", "429-date", "429-bare", "quota", retry_after=2.5) as server:
        client = Client(server)
        seconds, milliseconds, date, bare, quota = [(await client.ask(dialect))[1] for _ in range(5)]
    assert seconds["retry-after"] == "2.5"
    assert milliseconds["retry-after-ms"] == "2500"
    assert "retry-after" not in milliseconds
    wait = parsedate_to_datetime(date["retry-after"]).timestamp() - time.time()
    assert 1 < wait < 4
    for headers in (bare, quota):
        assert not any(name.startswith("retry") or "ratelimit" in name for name in headers)
    remaining = [name for name in seconds if "remaining" in name and seconds[name] == "0"]
    assert len(remaining) == 2


async def test_a_502_is_the_gateways_own_page() -> None:
    with broken_by("502") as server:
        status, headers, text = await Client(server).ask()
    assert (status, headers["content-type"]) == (502, "text/html")
    assert "Bad Gateway" in text


@pytest.mark.parametrize(("fault", "kind"), [("html", "text/html"), ("not-json", "text/plain")])
async def test_a_200_may_be_no_json_at_all(fault: str, kind: str) -> None:
    with broken_by(fault) as server:
        status, headers, text = await Client(server).ask()
    assert status == 200
    assert headers["content-type"].startswith(kind)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


# --- connections -----------------------------------------------------------------------------------


async def test_a_hanging_request_gets_no_answer_and_does_not_hold_up_the_shutdown() -> None:
    with broken_by("hang", "hang") as server:
        with pytest.raises(TimeoutError):
            await Client(server, IMPATIENCE).ask()
        async with aiohttp.ClientSession() as session:
            still_waiting = asyncio.create_task(
                session.post(server.url + "/chat/completions", json={"messages": [{"role": "user"}]})
            )
            while server.stats().calls < 2:
                await asyncio.sleep(0.01)
            began = time.monotonic()
            await asyncio.to_thread(server.stop)
            assert time.monotonic() - began < 1
            with pytest.raises(aiohttp.ClientError):
                await still_waiting
    assert [(request.fault, request.status) for request in server.requests] == [("hang", None)] * 2


async def test_a_client_that_gives_up_leaves_nothing_in_flight() -> None:
    with broken_by("hang") as server:
        with pytest.raises(TimeoutError):
            await Client(server, IMPATIENCE).ask()
        for _ in range(100):
            if server.stats().in_flight == 0:
                break
            await asyncio.sleep(0.01)
        assert server.stats().in_flight == 0


async def test_a_body_is_cut_in_the_middle() -> None:
    with broken_by("cut") as server:
        with pytest.raises(aiohttp.ClientPayloadError, match="Not enough data"):
            await Client(server).ask()
        assert server.stats().completed == 0


async def test_a_connection_is_reset_before_any_answer() -> None:
    with broken_by("reset") as server:
        with pytest.raises(aiohttp.ClientOSError, match="reset by peer"):
            await Client(server).ask()
        assert server.requests[0].status is None


# --- what the model says ---------------------------------------------------------------------------


@pytest.mark.parametrize(("fault", "finish"), [("truncated", "length"), ("truncated-stop", "stop")])
async def test_json_stops_in_the_middle(fault: str, finish: str) -> None:
    with broken_by(fault, fault, fault) as server:
        client = Client(server)
        message, reason = await client.message()
        assert reason == finish
        assert message["content"].startswith('{"label":"yes"')
        with pytest.raises(json.JSONDecodeError):
            json.loads(message["content"])
        message, _ = await client.message(**BY_TOOL)
        with pytest.raises(json.JSONDecodeError):
            json.loads(message["tool_calls"][0]["function"]["arguments"])
        body = await client.anthropic(**BY_ANTHROPIC_TOOL)
        assert body["content"][0]["input"] == {"label": "yes"}
        assert body["stop_reason"] == {"length": "max_tokens", "stop": "tool_use"}[finish]


async def test_garbage_holds_no_json_and_ignores_the_tool() -> None:
    with broken_by("garbage", "garbage", "garbage") as server:
        client = Client(server)
        for more in (BY_SCHEMA, BY_TOOL):
            message, _ = await client.message(**more)
            assert "{" not in message["content"]
            assert "tool_calls" not in message
        body = await client.anthropic(**BY_ANTHROPIC_TOOL)
        assert [block["type"] for block in body["content"]] == ["text"]


@pytest.mark.parametrize(
    "schema",
    [
        SCHEMA,
        {
            "type": "object",
            "properties": {"x": {"type": "array", "items": {"$ref": "#/$defs/l"}}},
            "$defs": {"l": SCHEMA},
        },
        {"type": "object", "properties": {"x": {"anyOf": [{"type": "null"}, {"const": 1}]}}, "required": ["x"]},
    ],
)
async def test_an_enum_gets_a_value_that_is_not_on_the_list(schema: dict[str, Any]) -> None:
    wanted = by_schema(schema)
    with broken_by("wrong-enum") as server:
        message, _ = await Client(server).message(**wanted)
    assert message["content"].count("no-such-value") == 1


async def test_a_schema_without_enum_is_broken_by_its_keys() -> None:
    schema = {"type": "object", "properties": {"why": {"type": "string"}}, "required": ["why"]}
    wanted = by_schema(schema)
    with broken_by("wrong-enum") as server:
        message, _ = await Client(server).message(**wanted)
    assert "why" not in json.loads(message["content"])


async def test_the_object_comes_wrapped() -> None:
    with broken_by("fence", "prose", "trailing-comma", None, "fence") as server:
        client = Client(server)
        fence, prose, comma, plain = [(await client.message())[0]["content"] for _ in range(4)]
        in_tool = await client.anthropic(**BY_ANTHROPIC_TOOL)
    assert fence == f"```json\n{plain}\n```"
    assert plain in prose
    assert not prose.startswith("{")
    assert comma == plain[:-1] + ",}"
    assert in_tool["content"][0]["type"] == "text", "an API cannot parse this into tool input"


async def test_an_object_from_the_data_comes_before_the_answer_or_instead_of_it() -> None:
    with broken_by("injected", "echo", "echo") as server:
        client = Client(server)
        injected, _ = await client.message()
        echoed, _ = await client.message()
        body = await client.anthropic(**BY_ANTHROPIC_TOOL)
    planted = json.dumps(PLANTED, separators=(",", ":"))
    assert -1 < injected["content"].find(planted) < injected["content"].find('{"label":"yes"')
    assert echoed["content"] == planted
    assert body["content"][0]["input"] == PLANTED


async def test_a_planted_object_is_found_inside_a_json_string_too() -> None:
    with broken_by("echo") as server:
        message, _ = await Client(server).message(content=json.dumps({"answer": json.dumps(PLANTED)}))
    assert json.loads(message["content"]) == PLANTED


@pytest.mark.parametrize("content", ["nothing planted", "{" * 9000, f"JSON schema: {json.dumps(SCHEMA)}"])
async def test_with_nothing_planted_the_answer_is_sound(content: str) -> None:
    with broken_by("injected", "echo") as server:
        client = Client(server)
        for _ in range(2):
            message, _ = await client.message(content=content)
            assert json.loads(message["content"])["label"] == "yes"
        assert server.stats().faults == {}
        assert server.stats().completed == 2


async def test_an_answer_may_be_empty() -> None:
    with broken_by("empty", "empty") as server:
        client = Client(server)
        message, finish = await client.message()
        assert (message["content"], finish) == ("", "stop")
        assert (await client.anthropic(**BY_ANTHROPIC_TOOL))["content"] == []


async def test_a_model_may_refuse() -> None:
    with broken_by("refusal", "refusal") as server:
        client = Client(server)
        message, _ = await client.message()
        assert message["content"] is None
        assert "can't" in message["refusal"]
        body = await client.anthropic()
        assert (body["stop_reason"], body["content"]) == ("refusal", [])


async def test_content_is_filtered_as_each_provider_does() -> None:
    with broken_by("content-filter", "content-filter", "content-filter") as server:
        client = Client(server)
        message, finish = await client.message()
        assert (message["content"], finish) == ("", "content_filter")
        status, _, text = await client.ask("azure")
        error = json.loads(text)["error"]
        assert (status, error["code"]) == (400, "content_filter")
        assert error["innererror"]["code"] == "ResponsibleAIPolicyViolation"
        status, _, text = await client.ask("anthropic")
        assert status == 400
        assert "content filtering" in json.loads(text)["error"]["message"]


# --- when faults happen ----------------------------------------------------------------------------


async def test_the_schedule_goes_first_then_chance() -> None:
    with FakeServer(faults=Faults({"500": 1.0}, schedule=["429", None, "ok"])) as server:
        client = Client(server)
        assert [(await client.ask())[0] for _ in range(5)] == [429, 200, 200, 500, 500]
        server.reset()
        assert (await client.ask())[0] == 429


async def test_the_seed_fixes_which_requests_fail() -> None:
    async def statuses(seed: int) -> list[int]:
        with FakeServer(faults=Faults({"429": 0.3, "500": 0.2}, seed=seed)) as server:
            client = Client(server)
            return [(await client.ask())[0] for _ in range(60)]

    first, again, other = await statuses(1), await statuses(1), await statuses(2)
    assert first == again != other
    assert 5 <= first.count(429) <= 30
    assert 2 <= first.count(500) <= 24


def test_rates_are_read_from_a_command_line() -> None:
    assert Faults.parse("429=0.05, 500=0.02") == Faults({"429": 0.05, "500": 0.02})
    assert Faults.parse("") == Faults()


@pytest.mark.parametrize("text", ["418=0.1", "429=x", "429=-1", "429=0.6,500=0.6"])
def test_rates_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(UsageProblem):
        Faults.parse(text)


@pytest.mark.parametrize("dialect", ["openai", "azure", "anthropic"])
@pytest.mark.parametrize("fault", sorted(FAULT_NAMES))
async def test_after_any_fault_the_server_still_answers(fault: str, dialect: str) -> None:
    with broken_by(fault) as server:
        client = Client(server)
        try:
            await (Client(server, IMPATIENCE) if fault == "hang" else client).ask(dialect)
        except (aiohttp.ClientError, TimeoutError):
            assert fault in ("hang", "cut", "reset")
        assert server.requests[0].fault == fault
        assert (await client.ask(dialect))[0] == 200
        stats = server.stats()
        assert (stats.calls, stats.completed, stats.faults) == (2, 1, {fault: 1})
