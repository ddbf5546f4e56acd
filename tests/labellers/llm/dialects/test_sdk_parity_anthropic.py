"""Held against the official Anthropic SDK: the same request on the wire, the same reading of replies and errors."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any

import anthropic
import orjson
import pytest
from anthropic.types import Message

import krino
from fake_llm import FakeServer, Faults, ReceivedRequest
from krino.contract import Media
from krino.labellers.llm.dialects.anthropic import DEFAULT_REPLY_TOKENS, AnthropicDialect
from krino.labellers.llm.endpoint import Endpoint
from krino.labellers.llm.sending.pace import Pace
from krino.labellers.llm.sending.retrying import Transport
from krino.labellers.llm.wire import TOOL_NAME, Channel, ChatRequest, HttpReply, Params, Turn, read_error, retry_after

KEY = "sk-ant-test"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["label"],
    "additionalProperties": False,
}
SYSTEM = "Judge it."
USER = "The case: café ☕"
PIXEL = b"\x89PNG not really"


def asked(channel: Channel = "text", system: str = SYSTEM, limit: int | None = 99, **params: Any) -> ChatRequest:
    settings = Params(**{"temperature": None, **params})
    turns = (Turn("user", USER),)
    return ChatRequest("claude-test", system, turns, SCHEMA, "labels", channel, settings, reply_limit=limit)


FORMAT: dict[str, Any] = {"type": "json_schema", "schema": SCHEMA}
TOOLS: dict[str, Any] = {
    "tools": [{"name": TOOL_NAME, "description": "Give the labels.", "input_schema": SCHEMA}],
    "tool_choice": {"type": "tool", "name": TOOL_NAME},
}
FEATURES: dict[str, tuple[ChatRequest, dict[str, Any]]] = {
    "plain text": (asked(), {}),
    "json_schema": (asked("json_schema"), {"output_config": {"format": FORMAT}}),
    "tool": (asked("tool"), TOOLS),
    "max_tokens": (asked(limit=5), {"max_tokens": 5}),
    "default limit": (asked(limit=None), {"max_tokens": DEFAULT_REPLY_TOKENS}),
    "temperature": (asked(temperature=0.0), {"extra_body": {"temperature": 0.0}}),
    "effort": (asked(effort="low"), {"output_config": {"effort": "low"}}),
    "effort and schema": (
        asked("json_schema", effort="high"),
        {"output_config": {"effort": "high", "format": FORMAT}},
    ),
}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


def endpoint_at(server: FakeServer) -> Endpoint:
    return Endpoint("anthropic", "claude-test", AnthropicDialect(), server.anthropic_url, KEY)


async def sent_by_us(endpoint: Endpoint, request: ChatRequest) -> HttpReply:
    transport = Transport(endpoint.url, endpoint.headers, Pace(4), retries=0)
    try:
        return await transport.post(orjson.dumps(endpoint.dialect.body(request)), 1)
    finally:
        await transport.aclose()


def sdk(server: FakeServer) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=server.anthropic_url, api_key=KEY, max_retries=0, timeout=10)


async def sent_by_sdk(client: anthropic.AsyncAnthropic, system: str = SYSTEM, **options: Any) -> Message:
    """Always with the static text marked for the provider's cache, as ours is."""
    defaults: dict[str, Any] = {
        "model": "claude-test",
        "max_tokens": 99,
        "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": USER}],
    }
    reply = await client.messages.create(**{**defaults, **options})
    assert isinstance(reply, Message)
    return reply


def on_the_wire(request: ReceivedRequest) -> dict[str, Any]:
    """A request without the two headers that have a test of their own."""
    return {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "content-type": request.headers["content-type"],
        "body": request.body,
    }


# --- requests --------------------------------------------------------------------------------------


async def test_every_feature_arrives_as_the_sdk_sends_it(server: FakeServer) -> None:
    async with sdk(server) as client:
        for feature, (request, options) in FEATURES.items():
            await sent_by_sdk(client, **options)
            await sent_by_us(endpoint_at(server), request)
            theirs, own = map(on_the_wire, server.requests[-2:])
            assert own == theirs, feature


async def test_key_and_version_headers_are_those_of_the_sdk(server: FakeServer) -> None:
    await sent_by_us(endpoint_at(server), asked())
    async with sdk(server) as client:
        await sent_by_sdk(client)
    own, theirs = (request.headers for request in server.requests)
    for name in ("authorization", "x-api-key", "anthropic-version"):
        assert own.get(name) == theirs.get(name), name


def test_no_temperature_is_sent_unless_the_user_asks_for_one() -> None:
    plain = krino.llm("claude-x", api_key="k", cache="off")
    assert plain.abilities.params.temperature is None
    assert krino.llm("claude-x", api_key="k", cache="off", temperature=0.5).abilities.params.temperature == 0.5
    assert krino.llm("gpt-x", api_key="k", cache="off").abilities.params.temperature == 0.0


async def test_images_arrive_alike(server: FakeServer) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "Look."}]
    async with sdk(server) as client:
        await sent_by_sdk(client, messages=[{"role": "user", "content": content}])
    turn = Turn("user", "Look.", (Media("image", "image/png", PIXEL),))
    params = Params(temperature=None)
    request = ChatRequest("claude-test", SYSTEM, (turn,), SCHEMA, "labels", "text", params, reply_limit=99)
    await sent_by_us(endpoint_at(server), request)
    theirs, own = map(on_the_wire, server.requests)
    assert own == theirs


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_be_given_with_or_without_its_version(server: FakeServer, ending: str) -> None:
    endpoint = Endpoint("anthropic", "claude-test", AnthropicDialect(), server.anthropic_url + ending, KEY)
    await sent_by_us(endpoint, asked())
    assert server.requests[0].path == "/v1/messages"


def test_a_seed_is_not_sent_where_the_api_knows_none() -> None:
    assert "seed" not in AnthropicDialect().body(asked(seed=4))


# --- replies ---------------------------------------------------------------------------------------


async def test_text_stop_model_and_usage_are_read_alike(server: FakeServer) -> None:
    async with sdk(server) as client:
        for feature in ("plain text", "json_schema"):
            request, options = FEATURES[feature]
            theirs = await sent_by_sdk(client, **options)
            own = AnthropicDialect().read((await sent_by_us(endpoint_at(server), request)).body)
            block, usage = theirs.content[0], theirs.usage
            assert block.type == "text"
            assert (own.text, own.finish, own.model) == (block.text, theirs.stop_reason, theirs.model)
            assert (own.tool_calls, own.refusal, own.cut_off) == ((), None, False)
            assert (own.input_tokens, own.output_tokens) == (usage.input_tokens, usage.output_tokens)


async def test_tool_input_is_read_alike(server: FakeServer) -> None:
    request, options = FEATURES["tool"]
    async with sdk(server) as client:
        block = (await sent_by_sdk(client, **options)).content[0]
    own = AnthropicDialect().read((await sent_by_us(endpoint_at(server), request)).body)
    assert block.type == "tool_use"
    assert [(call.name, orjson.loads(call.arguments)) for call in own.tool_calls] == [(block.name, block.input)]
    assert own.text is None


async def test_cached_input_is_counted_in_where_the_sdk_counts_it_apart(server: FakeServer) -> None:
    system = "Long instructions. " * 400
    async with sdk(server) as client:
        written = (await sent_by_sdk(client, system)).usage
        read = (await sent_by_sdk(client, system)).usage
    own = AnthropicDialect().read((await sent_by_us(endpoint_at(server), asked(system=system))).body)
    assert written.cache_creation_input_tokens == read.cache_read_input_tokens == own.cached_tokens > 0
    assert own.input_tokens == read.input_tokens + own.cached_tokens
    server.reset()
    first = AnthropicDialect().read((await sent_by_us(endpoint_at(server), asked(system=system))).body)
    assert (first.input_tokens, first.cached_tokens) == (own.input_tokens, 0)


async def test_refusals_and_cuts_are_read_alike(server: FakeServer) -> None:
    async with sdk(server) as client:
        for fault in ("refusal", "truncated"):
            server.configure(faults=Faults(schedule=[fault, fault]))
            theirs = await sent_by_sdk(client)
            own = AnthropicDialect().read((await sent_by_us(endpoint_at(server), asked())).body)
            assert own.finish == theirs.stop_reason
            assert (bool(own.refusal), own.cut_off) == (fault == "refusal", fault == "truncated")
            assert (own.text or "") == "".join(block.text for block in theirs.content if block.type == "text")


# --- errors, waits, retries ------------------------------------------------------------------------


async def test_errors_are_read_alike(server: FakeServer) -> None:
    async with sdk(server) as client:
        for fault in ("401", "403", "404", "quota", "content-filter"):
            server.configure(faults=Faults(schedule=[fault, fault]))
            with pytest.raises(anthropic.APIStatusError) as caught:
                await sent_by_sdk(client)
            http = await sent_by_us(endpoint_at(server), asked())
            own, body = read_error(http.status, http.body), caught.value.body
            assert isinstance(body, dict)
            assert (own.status, own.code, own.param) == (caught.value.status_code, None, None)
            assert (own.kind, own.message) == (body["error"]["type"], body["error"]["message"])


@pytest.fixture(scope="module")
def idle() -> Iterator[Any]:
    """A client that sends nothing: its own rules for waits and retries are what is asked."""
    with anthropic.Anthropic(base_url="http://127.0.0.1:9", api_key=KEY) as client:
        yield client


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"retry-after": "7"},
        {"retry-after": "0"},
        {"retry-after": "0.25"},
        {"retry-after-ms": "1500"},
        {"retry-after-ms": "1500", "retry-after": "9"},
        {"retry-after-ms": "soon", "retry-after": "9"},
        {"retry-after": "soon"},
        {"retry-after": ""},
        {"retry-after": "Mon, 99 Foo 2020 00:00:00 GMT"},
    ],
)
def test_waits_are_read_as_the_sdk_reads_them(idle: Any, headers: dict[str, str]) -> None:
    assert retry_after(headers) == idle._parse_retry_after_header(headers)


def test_dates_are_read_as_the_sdk_reads_them(idle: Any) -> None:
    headers = {"retry-after": formatdate(time.time() + 45, usegmt=True)}
    assert retry_after(headers) == pytest.approx(idle._parse_retry_after_header(headers), abs=0.5)


def test_a_date_beyond_every_calendar_is_no_wait() -> None:
    """The SDK of today lets the overflow escape; a header must never end a run."""
    assert retry_after({"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}) is None


@pytest.mark.parametrize("said", [None, "true", "false"])
def test_the_same_statuses_are_tried_again(idle: Any, said: str | None) -> None:
    headers = {} if said is None else {"x-should-retry": said}
    transport = Transport("http://127.0.0.1:9", {}, Pace(1))
    for status in (400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529):
        theirs = idle._should_retry(SimpleNamespace(status_code=status, headers=headers))
        assert transport._is_worth_retrying(HttpReply(status, headers)) == theirs, status
