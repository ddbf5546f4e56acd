"""The official SDKs accept what the server sends: answers parse, usage is read, errors get their classes."""

from __future__ import annotations

import json
from typing import Any, Literal

import anthropic
import openai
import pytest
from pydantic import BaseModel

from fake_llm import FakeServer, Faults


class Labels(BaseModel):
    label: Literal["yes", "no"]
    count: int


SCHEMA = {**Labels.model_json_schema(), "additionalProperties": False}
MESSAGES: Any = [{"role": "user", "content": "case-1"}]


def openai_client(server: FakeServer, retries: int = 0) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=server.url, api_key="x", max_retries=retries, timeout=10)


def azure_client(server: FakeServer) -> openai.AsyncAzureOpenAI:
    return openai.AsyncAzureOpenAI(
        azure_endpoint=server.anthropic_url, api_key="x", api_version="2024-10-21", max_retries=0, timeout=10
    )


def anthropic_client(server: FakeServer, retries: int = 0) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(base_url=server.anthropic_url, api_key="x", max_retries=retries, timeout=10)


async def test_openai_parses_a_structured_answer() -> None:
    with FakeServer() as server:
        async with openai_client(server) as client:
            reply = await client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Labels)
    assert reply.choices[0].message.parsed == Labels(label="yes", count=0)
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert reply.usage.prompt_tokens_details is not None
    assert reply.usage.prompt_tokens_details.cached_tokens == 0


async def test_openai_reads_a_tool_call_and_the_models() -> None:
    tool: Any = {"type": "function", "function": {"name": "labels", "parameters": SCHEMA}}
    choice: Any = {"type": "function", "function": {"name": "labels"}}
    with FakeServer() as server:
        async with openai_client(server) as client:
            reply = await client.chat.completions.create(model="m", messages=MESSAGES, tools=[tool], tool_choice=choice)
            models = [model.id async for model in client.models.list()]
    calls = reply.choices[0].message.tool_calls
    assert calls is not None
    assert calls[0].type == "function"
    assert json.loads(calls[0].function.arguments) == {"label": "yes", "count": 0}
    assert models == ["fake-model"]


async def test_openai_reads_a_refusal_and_a_length_stop() -> None:
    with FakeServer(faults=Faults(schedule=["refusal", "truncated"])) as server:
        async with openai_client(server) as client:
            reply = await client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Labels)
            assert reply.choices[0].message.refusal
            with pytest.raises(openai.LengthFinishReasonError):
                await client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Labels)


async def test_azure_clients_reach_deployments_and_the_v1_path() -> None:
    with FakeServer() as server:
        async with azure_client(server) as client:
            reply = await client.chat.completions.parse(model="judge", messages=MESSAGES, response_format=Labels)
        async with openai.AsyncOpenAI(
            base_url=f"{server.anthropic_url}/openai/v1", api_key="x", max_retries=0
        ) as newer:
            await newer.chat.completions.create(model="judge", messages=MESSAGES)
        first, second = server.requests
    assert reply.choices[0].message.parsed == Labels(label="yes", count=0)
    assert first.path == "/openai/deployments/judge/chat/completions"
    assert (first.headers["api-key"], first.query) == ("x", {"api-version": "2024-10-21"})
    assert (first.dialect, second.dialect, second.path) == ("azure", "azure", "/openai/v1/chat/completions")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("429", openai.RateLimitError),
        ("429-bare", openai.RateLimitError),
        ("quota", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("502", openai.InternalServerError),
        ("503", openai.InternalServerError),
        ("529", openai.InternalServerError),
        ("401", openai.AuthenticationError),
        ("403", openai.PermissionDeniedError),
        ("404", openai.NotFoundError),
        ("reset", openai.APIConnectionError),
        ("cut", openai.APIConnectionError),
        ("hang", openai.APITimeoutError),
    ],
)
async def test_openai_errors_get_their_class(fault: str, expected: type[Exception]) -> None:
    with FakeServer(faults=Faults(schedule=[fault, fault])) as server:
        async with openai_client(server) as client, azure_client(server) as azure:
            for one in (client, azure):
                with pytest.raises(expected):
                    await one.with_options(timeout=0.3 if fault == "hang" else 10).chat.completions.create(
                        model="m", messages=MESSAGES
                    )


async def test_openai_reads_code_and_parameter_of_an_error() -> None:
    with FakeServer(faults=Faults(schedule=["quota"]), unsupported={"max_tokens"}) as server:
        async with openai_client(server) as client:
            with pytest.raises(openai.BadRequestError) as refused:
                await client.chat.completions.create(model="m", messages=MESSAGES, max_tokens=5)
            with pytest.raises(openai.RateLimitError) as spent:
                await client.chat.completions.create(model="m", messages=MESSAGES)
    assert (refused.value.param, refused.value.code) == ("max_tokens", "unsupported_parameter")
    assert spent.value.code == "insufficient_quota"


async def test_the_sdks_own_retries_understand_the_waits() -> None:
    names = ["429", "429-ms", None]
    with FakeServer(faults=Faults(schedule=names * 2, retry_after=0.01)) as server:
        async with openai_client(server, 3) as client, anthropic_client(server, 3) as other:
            await client.chat.completions.create(model="m", messages=MESSAGES)
            await other.messages.create(model="m", max_tokens=9, messages=MESSAGES)
        assert [request.status for request in server.requests] == [429, 429, 200] * 2


async def test_anthropic_reads_tool_use_and_usage() -> None:
    tool: Any = {"name": "labels", "input_schema": SCHEMA}
    with FakeServer() as server:
        async with anthropic_client(server) as client:
            reply = await client.messages.create(
                model="m",
                max_tokens=99,
                messages=MESSAGES,
                tools=[tool],
                tool_choice={"type": "tool", "name": "labels"},
            )
            models = [model.id async for model in client.models.list()]
    block = reply.content[0]
    assert block.type == "tool_use"
    assert block.input == {"label": "yes", "count": 0}
    assert reply.stop_reason == "tool_use"
    assert reply.usage.input_tokens > 0 < reply.usage.output_tokens
    assert reply.usage.cache_read_input_tokens == 0
    assert models == ["fake-model"]


async def test_anthropic_reads_structured_output() -> None:
    wanted: Any = {"format": {"type": "json_schema", "schema": SCHEMA}}
    with FakeServer() as server:
        async with anthropic_client(server) as client:
            reply = await client.messages.create(model="m", max_tokens=99, messages=MESSAGES, output_config=wanted)
    block = reply.content[0]
    assert block.type == "text"
    assert Labels.model_validate_json(block.text) == Labels(label="yes", count=0)


async def test_anthropic_reads_a_refusal_and_a_length_stop() -> None:
    with FakeServer(faults=Faults(schedule=["refusal", "truncated"])) as server:
        async with anthropic_client(server) as client:
            stops = [
                (await client.messages.create(model="m", max_tokens=9, messages=MESSAGES)).stop_reason for _ in range(2)
            ]
    assert stops == ["refusal", "max_tokens"]


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("429", anthropic.RateLimitError),
        ("quota", anthropic.BadRequestError),
        ("content-filter", anthropic.BadRequestError),
        ("500", anthropic.InternalServerError),
        ("502", anthropic.InternalServerError),
        ("503", anthropic.InternalServerError),
        ("529", anthropic.InternalServerError),
        ("401", anthropic.AuthenticationError),
        ("403", anthropic.PermissionDeniedError),
        ("404", anthropic.NotFoundError),
        ("reset", anthropic.APIConnectionError),
        ("cut", anthropic.APIConnectionError),
        ("hang", anthropic.APITimeoutError),
    ],
)
async def test_anthropic_errors_get_their_class(fault: str, expected: type[Exception]) -> None:
    with FakeServer(faults=Faults(schedule=[fault])) as server:
        async with anthropic_client(server) as client:
            with pytest.raises(expected):
                await client.with_options(timeout=0.3 if fault == "hang" else 10).messages.create(
                    model="m", max_tokens=9, messages=MESSAGES
                )
