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

from krino.contract import Media
from krino.labellers.llm.anthropic import DEFAULT_REPLY_TOKENS, AnthropicDialect
from krino.labellers.llm.endpoint import Endpoint
from krino.labellers.llm.pace import Pace
from krino.labellers.llm.transport import Transport
from krino.labellers.llm.wire import TOOL_NAME, Channel, ChatRequest, HttpReply, Params, Turn, read_error, retry_after
from krino.testing import FakeServer, Faults, ReceivedRequest

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
RELEVANT = ("content-type", "x-api-key", "anthropic-version", "authorization")


def asked(channel: Channel = "text", system: str = SYSTEM, **params: Any) -> ChatRequest:
    settings = Params(**{"temperature": None, "reply_tokens": 99, **params})
    return ChatRequest("claude-test", system, (Turn("user", USER),), SCHEMA, "labels", channel, settings)


FORMAT: dict[str, Any] = {"type": "json_schema", "schema": SCHEMA}
TOOLS: dict[str, Any] = {
    "tools": [{"name": TOOL_NAME, "description": "Give the labels.", "input_schema": SCHEMA}],
    "tool_choice": {"type": "tool", "name": TOOL_NAME},
}
FEATURES: dict[str, tuple[ChatRequest, dict[str, Any]]] = {
    "plain text": (asked(), {}),
    "json_schema": (asked("json_schema"), {"output_config": {"format": FORMAT}}),
    "tool": (asked("tool"), TOOLS),
    "max_tokens": (asked(reply_tokens=5), {"max_tokens": 5}),
    "default limit": (asked(reply_tokens=None), {"max_tokens": DEFAULT_REPLY_TOKENS}),
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


async def sent_by_sdk(server: FakeServer, system: str = SYSTEM, **options: Any) -> Message:
    """Always with the static text marked for the provider's cache, as ours is."""
    defaults: dict[str, Any] = {
        "model": "claude-test",
        "max_tokens": 99,
        "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": USER}],
    }
    async with anthropic.AsyncAnthropic(
        base_url=server.anthropic_url, api_key=KEY, max_retries=0, timeout=10
    ) as client:
        reply = await client.messages.create(**{**defaults, **options})
    assert isinstance(reply, Message)
    return reply


def on_the_wire(request: ReceivedRequest) -> dict[str, Any]:
    headers = {name: request.headers[name] for name in RELEVANT if name in request.headers}
    return {
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "headers": headers,
        "body": request.body,
    }


# --- requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("feature", FEATURES)
async def test_the_same_request_arrives(server: FakeServer, feature: str) -> None:
    request, options = FEATURES[feature]
    await sent_by_sdk(server, **options)
    await sent_by_us(endpoint_at(server), request)
    theirs, own = map(on_the_wire, server.requests)
    assert own == theirs
    assert own["headers"].keys() == {"content-type", "x-api-key", "anthropic-version"}


async def test_images_arrive_alike(server: FakeServer) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(PIXEL).decode()}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "Look."}]
    await sent_by_sdk(server, messages=[{"role": "user", "content": content}])
    turn = Turn("user", "Look.", (Media("image", "image/png", PIXEL),))
    params = Params(temperature=None, reply_tokens=99)
    await sent_by_us(endpoint_at(server), ChatRequest("claude-test", SYSTEM, (turn,), SCHEMA, "labels", "text", params))
    theirs, own = map(on_the_wire, server.requests)
    assert own == theirs


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
async def test_the_address_may_be_given_with_or_without_its_version(server: FakeServer, ending: str) -> None:
    endpoint = Endpoint("anthropic", "claude-test", AnthropicDialect(), server.anthropic_url + ending, KEY)
    await sent_by_us(endpoint, asked())
    await sent_by_sdk(server)
    own, theirs = map(on_the_wire, server.requests)
    assert own == theirs


def test_a_seed_is_not_sent_where_the_api_knows_none() -> None:
    assert "seed" not in AnthropicDialect().body(asked(seed=4))


# --- replies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("feature", ["plain text", "json_schema"])
async def test_text_stop_model_and_usage_are_read_alike(server: FakeServer, feature: str) -> None:
    request, options = FEATURES[feature]
    theirs = await sent_by_sdk(server, **options)
    own = AnthropicDialect().read((await sent_by_us(endpoint_at(server), request)).body)
    block = theirs.content[0]
    assert block.type == "text"
    assert (own.text, own.finish, own.model) == (block.text, theirs.stop_reason, theirs.model)
    assert (own.tool_calls, own.refusal, own.cut_off) == ((), None, False)
    assert (own.input_tokens, own.output_tokens) == (theirs.usage.input_tokens, theirs.usage.output_tokens)


async def test_tool_input_is_read_alike(server: FakeServer) -> None:
    request, options = FEATURES["tool"]
    block = (await sent_by_sdk(server, **options)).content[0]
    own = AnthropicDialect().read((await sent_by_us(endpoint_at(server), request)).body)
    assert block.type == "tool_use"
    assert [(call.name, orjson.loads(call.arguments)) for call in own.tool_calls] == [(block.name, block.input)]
    assert own.text is None


async def test_cached_input_is_counted_in_where_the_sdk_counts_it_apart(server: FakeServer) -> None:
    system = "Long instructions. " * 400
    written = (await sent_by_sdk(server, system)).usage
    read = (await sent_by_sdk(server, system)).usage
    own = AnthropicDialect().read((await sent_by_us(endpoint_at(server), asked(system=system))).body)
    assert written.cache_creation_input_tokens == read.cache_read_input_tokens == own.cached_tokens > 0
    assert own.input_tokens == read.input_tokens + own.cached_tokens
    server.reset()
    first = AnthropicDialect().read((await sent_by_us(endpoint_at(server), asked(system=system))).body)
    assert (first.input_tokens, first.cached_tokens) == (own.input_tokens, 0)


@pytest.mark.parametrize("fault", ["refusal", "truncated"])
async def test_refusals_and_cuts_are_read_alike(fault: str) -> None:
    with FakeServer(faults=Faults(schedule=[fault, fault])) as server:
        theirs = await sent_by_sdk(server)
        own = AnthropicDialect().read((await sent_by_us(endpoint_at(server), asked())).body)
    assert own.finish == theirs.stop_reason
    assert bool(own.refusal) == (theirs.stop_reason == "refusal")
    assert own.cut_off == (theirs.stop_reason == "max_tokens")
    assert (own.text or "") == "".join(block.text for block in theirs.content if block.type == "text")


# --- errors, waits, retries ------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["401", "403", "404", "quota", "content-filter"])
async def test_errors_are_read_alike(fault: str) -> None:
    with FakeServer(faults=Faults(schedule=[fault, fault])) as server:
        with pytest.raises(anthropic.APIStatusError) as caught:
            await sent_by_sdk(server)
        http = await sent_by_us(endpoint_at(server), asked())
    own = read_error(http.status, http.body)
    body: Any = caught.value.body
    assert (own.status, own.kind, own.message) == (
        caught.value.status_code,
        body["error"]["type"],
        body["error"]["message"],
    )
    assert (own.code, own.param) == (None, None)


def sdk_wait(headers: dict[str, str]) -> float | None:
    client: Any = anthropic.Anthropic(base_url="http://127.0.0.1:9", api_key=KEY)
    with client:
        found: float | None = client._parse_retry_after_header(headers)
    return found


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
def test_waits_are_read_as_the_sdk_reads_them(headers: dict[str, str]) -> None:
    assert retry_after(headers) == sdk_wait(headers)


def test_dates_are_read_as_the_sdk_reads_them() -> None:
    headers = {"retry-after": formatdate(time.time() + 45, usegmt=True)}
    assert retry_after(headers) == pytest.approx(sdk_wait(headers), abs=0.5)


def test_a_date_beyond_every_calendar_is_no_wait() -> None:
    """The SDK of today lets the overflow escape; a header must never end a run."""
    assert retry_after({"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}) is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529])
@pytest.mark.parametrize("said", [None, "true", "false"])
def test_the_same_statuses_are_tried_again(status: int, said: str | None) -> None:
    headers = {} if said is None else {"x-should-retry": said}
    client: Any = anthropic.Anthropic(base_url="http://127.0.0.1:9", api_key=KEY)
    with client:
        theirs = client._should_retry(SimpleNamespace(status_code=status, headers=headers))
    transport = Transport("http://127.0.0.1:9", {}, Pace(1))
    assert transport._worth_retrying(HttpReply(status, headers)) == theirs
