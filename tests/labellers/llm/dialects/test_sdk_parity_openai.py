"""Held against the official OpenAI SDK: the same request on the wire, the same reading of replies, errors and waits."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from dataclasses import replace
from email.utils import formatdate
from types import SimpleNamespace
from typing import Any, Literal

import openai
import orjson
import pytest
from openai.types.chat import ChatCompletion

from fake_llm import FakeServer, Faults, ReceivedRequest
from krino.contract import Media
from krino.errors import RunStopped
from krino.labellers.llm.dialects.openai import AZURE_VERSION, AzureDialect, OpenAIDialect
from krino.labellers.llm.endpoint import Endpoint
from krino.labellers.llm.sending.http import backoff_seconds
from krino.labellers.llm.sending.pace import Pace
from krino.labellers.llm.sending.retrying import Transport
from krino.labellers.llm.wire import TOOL_NAME, Channel, ChatRequest, HttpReply, Params, Turn, read_error, retry_after

KEY = "sk-test"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["label"],
    "additionalProperties": False,
}
SYSTEM: Any = {"role": "system", "content": "Judge it."}
USER: Any = {"role": "user", "content": "The case: café ☕"}
PIXEL = b"\x89PNG not really"
Kind = Literal["openai", "azure"]
RELEVANT = ("content-type", "authorization", "api-key")


def asked(
    channel: Channel = "text", limit: str = "max_tokens", reply_limit: int | None = None, **params: Any
) -> ChatRequest:
    return ChatRequest(
        model="judge-model",
        system=SYSTEM["content"],
        turns=(Turn("user", USER["content"]),),
        schema=SCHEMA,
        schema_name="labels",
        channel=channel,
        params=Params(**{"temperature": None, **params}),
        completion_limit_name=limit,
        reply_limit=reply_limit,
    )


TOOLS: dict[str, Any] = {
    "tools": [
        {
            "type": "function",
            "function": {"name": TOOL_NAME, "description": "Give the labels.", "parameters": SCHEMA, "strict": True},
        }
    ],
    "tool_choice": {"type": "function", "function": {"name": TOOL_NAME}},
}
FORMAT: dict[str, Any] = {
    "response_format": {"type": "json_schema", "json_schema": {"name": "labels", "strict": True, "schema": SCHEMA}}
}
FEATURES: dict[str, tuple[ChatRequest, dict[str, Any]]] = {
    "plain text": (asked(), {}),
    "json_object": (asked("json_object"), {"response_format": {"type": "json_object"}}),
    "json_schema": (asked("json_schema"), FORMAT),
    "tool": (asked("tool"), TOOLS),
    "temperature": (asked(temperature=0.0), {"temperature": 0.0}),
    "seed": (asked(seed=0), {"seed": 0}),
    "max_tokens": (asked(reply_limit=77), {"max_tokens": 77}),
    "max_completion_tokens": (
        asked(limit="max_completion_tokens", reply_limit=77),
        {"max_completion_tokens": 77},
    ),
    "reasoning_effort": (asked(effort="low"), {"reasoning_effort": "low"}),
    "all at once": (
        asked("json_schema", temperature=0.5, seed=3, reply_limit=9, effort="high"),
        {**FORMAT, "temperature": 0.5, "seed": 3, "max_tokens": 9, "reasoning_effort": "high"},
    ),
}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


def sdk(server: FakeServer, kind: Kind = "openai") -> openai.AsyncOpenAI:
    if kind == "azure":
        return openai.AsyncAzureOpenAI(
            azure_endpoint=server.anthropic_url, api_key=KEY, api_version=AZURE_VERSION, max_retries=0, timeout=10
        )
    return openai.AsyncOpenAI(base_url=server.url, api_key=KEY, max_retries=0, timeout=10)


def ours(server: FakeServer, kind: Kind = "openai") -> Endpoint:
    if kind == "azure":
        return Endpoint("azure", "judge-model", AzureDialect(), server.anthropic_url, KEY, AZURE_VERSION)
    return Endpoint("openai", "judge-model", OpenAIDialect(), server.url, KEY)


async def sent_by_us(endpoint: Endpoint, request: ChatRequest) -> HttpReply:
    transport = Transport(endpoint.url, endpoint.headers, Pace(4), retries=0)
    try:
        return await transport.post(orjson.dumps(endpoint.dialect.body(request)), 1)
    finally:
        await transport.aclose()


async def sent_by_sdk(client: openai.AsyncOpenAI, **options: Any) -> ChatCompletion:
    options = {"messages": [SYSTEM, USER], **options}
    reply = await client.chat.completions.create(model="judge-model", **options)
    assert isinstance(reply, ChatCompletion)
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


@pytest.mark.parametrize("kind", ["openai", "azure"])
async def test_every_feature_arrives_as_the_sdk_sends_it(server: FakeServer, kind: Kind) -> None:
    async with sdk(server, kind) as client:
        for feature, (request, options) in FEATURES.items():
            await sent_by_sdk(client, **options)
            await sent_by_us(ours(server, kind), request)
            theirs, own = map(on_the_wire, server.requests[-2:])
            assert own == theirs, feature
            assert own["headers"].keys() == {"content-type", "api-key" if kind == "azure" else "authorization"}


async def test_images_arrive_alike(server: FakeServer) -> None:
    url = "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    content: list[Any] = [{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": url}}]
    async with sdk(server) as client:
        await sent_by_sdk(client, messages=[SYSTEM, {"role": "user", "content": content}])
    request = ChatRequest(
        "judge-model",
        SYSTEM["content"],
        (Turn("user", "Look.", (Media("image", "image/png", PIXEL),)),),
        SCHEMA,
        "labels",
        "text",
        Params(temperature=None),
    )
    await sent_by_us(ours(server), request)
    theirs, own = map(on_the_wire, server.requests)
    assert own == theirs


async def test_a_conversation_with_a_second_question_arrives_alike(server: FakeServer) -> None:
    more: list[Any] = [{"role": "assistant", "content": "{}"}, {"role": "user", "content": "Again."}]
    async with sdk(server) as client:
        await sent_by_sdk(client, messages=[SYSTEM, USER, *more])
    await sent_by_us(
        ours(server), replace(asked(), turns=(*asked().turns, Turn("assistant", "{}"), Turn("user", "Again.")))
    )
    theirs, own = map(on_the_wire, server.requests)
    assert own == theirs


async def test_azure_asks_for_its_default_api_version_by_itself(server: FakeServer) -> None:
    endpoint = Endpoint("azure", "judge-model", AzureDialect(), f"{server.anthropic_url}/", KEY)
    await sent_by_us(endpoint, asked())
    async with sdk(server, "azure") as client:
        await sent_by_sdk(client)
    own, theirs = map(on_the_wire, server.requests)
    assert own == theirs


# --- replies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["openai", "azure"])
async def test_text_finish_model_and_usage_are_read_alike(server: FakeServer, kind: Kind) -> None:
    async with sdk(server, kind) as client:
        for feature in ("plain text", "json_object", "json_schema"):
            request, options = FEATURES[feature]
            theirs = await sent_by_sdk(client, **options)
            own = OpenAIDialect().read((await sent_by_us(ours(server, kind), request)).body)
            message, usage = theirs.choices[0].message, theirs.usage
            assert usage is not None
            assert usage.prompt_tokens_details is not None
            assert (own.text, own.refusal) == (message.content, message.refusal)
            assert (own.finish, own.model) == (theirs.choices[0].finish_reason, theirs.model)
            assert (own.tool_calls, own.cut_off) == ((), False)
            assert (own.input_tokens, own.output_tokens) == (usage.prompt_tokens, usage.completion_tokens)
            assert own.cached_tokens == usage.prompt_tokens_details.cached_tokens


async def test_tool_calls_are_read_alike(server: FakeServer) -> None:
    request, options = FEATURES["tool"]
    async with sdk(server) as client:
        theirs = (await sent_by_sdk(client, **options)).choices[0].message.tool_calls
    own = OpenAIDialect().read((await sent_by_us(ours(server), request)).body)
    assert theirs is not None
    assert theirs[0].type == "function"
    assert [(call.name, call.arguments) for call in own.tool_calls] == [
        (theirs[0].function.name, theirs[0].function.arguments)
    ]
    assert own.text is None


async def test_cached_input_is_read_alike_and_counted_in(server: FakeServer) -> None:
    system = "Long instructions. " * 400
    messages = [{"role": "system", "content": system}, USER]
    async with sdk(server) as client:
        await sent_by_sdk(client, messages=messages)
        theirs = (await sent_by_sdk(client, messages=messages)).usage
    request = ChatRequest("judge-model", system, asked().turns, SCHEMA, "labels", "text", Params(temperature=None))
    own = OpenAIDialect().read((await sent_by_us(ours(server), request)).body)
    assert theirs is not None
    assert theirs.prompt_tokens_details is not None
    assert own.cached_tokens > 0
    assert own.cached_tokens == theirs.prompt_tokens_details.cached_tokens
    assert own.input_tokens == theirs.prompt_tokens > own.cached_tokens


async def test_refusals_and_cuts_are_read_alike(server: FakeServer) -> None:
    request, options = FEATURES["json_schema"]
    async with sdk(server) as client:
        for fault in ("refusal", "truncated", "content-filter"):
            server.configure(faults=Faults(schedule=[fault, fault]))
            theirs = (await sent_by_sdk(client, **options)).choices[0]
            own = OpenAIDialect().read((await sent_by_us(ours(server), request)).body)
            assert (own.text, own.finish) == (theirs.message.content, theirs.finish_reason)
            assert own.cut_off == (fault == "truncated")
            # the SDK leaves it to its caller to see that a filtered reply is none
            assert own.refusal == theirs.message.refusal or theirs.finish_reason == "content_filter"
            assert bool(own.refusal) == (fault != "truncated")


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["openai", "azure"])
async def test_errors_are_read_alike(server: FakeServer, kind: Kind) -> None:
    async with sdk(server, kind) as client:
        for fault in ("401", "403", "404"):
            server.configure(faults=Faults(schedule=[fault, fault]))
            with pytest.raises(openai.APIStatusError) as caught:
                await sent_by_sdk(client)
            http = await sent_by_us(ours(server, kind), asked())
            own, theirs = read_error(http.status, http.body), caught.value
            assert (own.status, own.code) == (theirs.status_code, theirs.code)
            assert (own.param, own.kind) == (theirs.param, theirs.type)
            assert own.message in theirs.message


async def test_a_rejected_parameter_is_named_alike() -> None:
    with FakeServer(unsupported={"max_tokens"}) as server:
        async with sdk(server) as client:
            with pytest.raises(openai.BadRequestError) as caught:
                await sent_by_sdk(client, max_tokens=5)
        http = await sent_by_us(ours(server), asked(reply_limit=5))
    own = read_error(http.status, http.body)
    assert (own.param, own.code) == (caught.value.param, caught.value.code)
    assert own.mentions("max_tokens")


async def test_an_empty_account_is_told_from_a_busy_endpoint() -> None:
    with FakeServer(faults=Faults(schedule=["quota", "quota"])) as server:
        async with sdk(server) as client:
            with pytest.raises(openai.RateLimitError) as caught:
                await sent_by_sdk(client)
        with pytest.raises(RunStopped, match="quota"):
            await sent_by_us(ours(server), asked())
        assert server.stats().calls == 2
    assert caught.value.code == "insufficient_quota"


# --- waits and retries -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def idle() -> Iterator[Any]:
    """A client that sends nothing: its own rules for waits and retries are what is asked."""
    with openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key=KEY) as client:
        yield client


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"retry-after": "7"},
        {"retry-after": "0"},
        {"retry-after": "0.25"},
        {"retry-after": " 3 "},
        {"retry-after": "1e2"},
        {"retry-after-ms": "1500"},
        {"retry-after-ms": "1500", "retry-after": "9"},
        {"retry-after-ms": "soon", "retry-after": "9"},
        {"retry-after": "soon"},
        {"retry-after": ""},
        {"retry-after": "Mon, 99 Foo 2020 00:00:00 GMT"},
        {"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"},
    ],
)
def test_waits_are_read_as_the_sdk_reads_them(idle: Any, headers: dict[str, str]) -> None:
    assert retry_after(headers) == idle._parse_retry_after_header(headers)


@pytest.mark.parametrize("seconds", [5, 90, 4000])
def test_dates_are_read_as_the_sdk_reads_them(idle: Any, seconds: float) -> None:
    headers = {"retry-after": formatdate(time.time() + seconds, usegmt=True)}
    assert retry_after(headers) == pytest.approx(idle._parse_retry_after_header(headers), abs=0.5)
    assert retry_after(headers) == pytest.approx(seconds, abs=1.5)


@pytest.mark.parametrize("value", ["-5", "nan", "inf", "Mon, 01 Jan 2001 00:00:00 GMT"])
def test_where_the_sdk_reads_no_usable_wait_there_is_none_here_either(idle: Any, value: str) -> None:
    """The SDK hands such values on and ignores them afterwards; here they end as no wait or a wait of nothing."""
    theirs = idle._parse_retry_after_header({"retry-after": value})
    assert theirs is None or not 0 < theirs < float("inf")
    assert not retry_after({"retry-after": value})


@pytest.mark.parametrize("said", [None, "true", "false", "perhaps"])
def test_the_same_statuses_are_tried_again(idle: Any, said: str | None) -> None:
    headers = {} if said is None else {"x-should-retry": said}
    transport = Transport("http://127.0.0.1:9", {}, Pace(1))
    for status in (400, 401, 403, 404, 408, 409, 422, 429, 500, 501, 502, 503, 504, 529):
        theirs = idle._should_retry(SimpleNamespace(status_code=status, headers=headers))
        assert transport._is_worth_retrying(HttpReply(status, headers)) == theirs, status


def test_too_early_is_tried_again_although_the_sdk_gives_up() -> None:
    """425 asks the client in so many words to come again; proxies in front of model servers send it."""
    assert Transport("http://127.0.0.1:9", {}, Pace(1))._is_worth_retrying(HttpReply(425))


def test_a_wait_of_nothing_backs_off_as_if_none_was_asked() -> None:
    """As in the SDK: a clock that runs ahead would otherwise burn all tries within a second."""
    assert all(backoff_seconds(attempt, 0.5, 0.0) >= 0.25 * 2**attempt for attempt in range(6))
    assert 3.0 < backoff_seconds(0, 0.5, 3.0) < 3.2
