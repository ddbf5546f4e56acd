"""Each endpoint over raw HTTP: the answer is where the dialect puts it, and errors have its shape."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from fake_llm import FakeServer, Faults, ReceivedRequest, example_of

SCHEMA = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["yes", "no"]}, "count": {"type": "integer", "minimum": 2}},
    "required": ["label", "count"],
    "additionalProperties": False,
}
LABELS = '{"label":"yes","count":2}'
AZURE = "/openai/deployments/judge/chat/completions?api-version=2024-10-21"
ANTHROPIC = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
QUOTED = 'Answer with JSON for this JSON schema: {"type":"object","properties":{"label":{"enum":["no"]}}}'


def chat(content: Any = "case-1", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": content}], **more}


def by_schema() -> dict[str, Any]:
    wanted = {"name": "labels", "strict": True, "schema": SCHEMA}
    return {"response_format": {"type": "json_schema", "json_schema": wanted}}


async def post(
    server: FakeServer, path: str, body: Any, headers: dict[str, str] | None = None
) -> tuple[int, Any, dict[str, str]]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(server.anthropic_url + path, json=body, headers=headers) as response,
    ):
        return response.status, await response.json(), {k.lower(): v for k, v in response.headers.items()}


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/v1/chat/completions", {}),
        ("/openai/v1/chat/completions", {"api-key": "k"}),
        (AZURE, {"api-key": "k"}),
    ],
)
async def test_chat_completions_answer_by_the_schema(path: str, headers: dict[str, str]) -> None:
    with FakeServer() as server:
        status, body, sent = await post(server, path, chat(**by_schema()), headers)
    assert status == 200
    assert body["choices"][0]["message"]["content"] == LABELS
    assert body["choices"][0]["finish_reason"] == "stop"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 2
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0
    assert int(sent["x-ratelimit-remaining-requests"]) < int(sent["x-ratelimit-limit-requests"])
    assert sent["x-ratelimit-reset-requests"] == "6ms"


@pytest.mark.parametrize(
    ("choice", "finish"),
    [({"type": "function", "function": {"name": "b"}}, "stop"), ("required", "tool_calls"), (None, "tool_calls")],
)
async def test_a_tool_gets_its_arguments_as_a_string(choice: Any, finish: str) -> None:
    other = {"type": "function", "function": {"name": "a", "parameters": SCHEMA}}
    tool = {"type": "function", "function": {"name": "b", "parameters": SCHEMA}}
    tools = [other, tool] if isinstance(choice, dict) else [tool]
    with FakeServer() as server:
        _, body, _ = await post(server, "/v1/chat/completions", chat(tools=tools, tool_choice=choice))
    message = body["choices"][0]["message"]
    assert message["content"] is None
    assert message["tool_calls"][0]["function"] == {"name": "b", "arguments": LABELS}
    assert body["choices"][0]["finish_reason"] == finish


@pytest.mark.parametrize("wanted", [{"response_format": {"type": "json_object"}}, {}])
async def test_a_schema_in_the_prompt_is_answered(wanted: dict[str, Any]) -> None:
    with FakeServer() as server:
        _, body, _ = await post(server, "/v1/chat/completions", chat(QUOTED, **wanted))
        _, anthropic, _ = await post(server, "/v1/messages", chat(QUOTED, max_tokens=9), ANTHROPIC)
    assert body["choices"][0]["message"]["content"] == '{"label":"no"}'
    assert anthropic["content"] == [{"type": "text", "text": '{"label":"no"}'}]


async def test_without_any_schema_there_is_text_or_an_empty_object() -> None:
    with FakeServer() as server:
        _, text, _ = await post(server, "/v1/chat/completions", chat())
        _, empty, _ = await post(server, "/v1/chat/completions", chat(response_format={"type": "json_object"}))
    assert "plain text" in text["choices"][0]["message"]["content"]
    assert empty["choices"][0]["message"]["content"] == "{}"


@pytest.mark.parametrize("choice", [{"type": "tool", "name": "labels"}, {"type": "any"}, {"type": "auto"}])
async def test_anthropic_hands_labels_to_the_tool(choice: dict[str, str]) -> None:
    tools = [{"name": "labels", "input_schema": SCHEMA}]
    request = chat(max_tokens=9, tools=tools, tool_choice=choice)
    with FakeServer() as server:
        status, body, sent = await post(server, "/v1/messages", request, ANTHROPIC)
    assert status == 200
    assert body["content"][0]["type"] == "tool_use"
    assert body["content"][0]["input"] == {"label": "yes", "count": 2}
    assert body["stop_reason"] == "tool_use"
    assert body["usage"]["input_tokens"] > 0 < body["usage"]["output_tokens"]
    assert sent["anthropic-ratelimit-requests-remaining"] == "3999"
    assert sent["request-id"].startswith("req_")


@pytest.mark.parametrize("place", ["output_config", "output_format"])
async def test_anthropic_answers_structured_output_as_text(place: str) -> None:
    wanted: dict[str, Any] = {"type": "json_schema", "schema": SCHEMA}
    form = {"output_config": {"format": wanted}, "output_format": wanted}[place]
    with FakeServer() as server:
        _, body, _ = await post(server, "/v1/messages", chat(max_tokens=9, **{place: form}), ANTHROPIC)
    assert body["content"] == [{"type": "text", "text": LABELS}]
    assert body["stop_reason"] == "end_turn"


async def test_an_opening_seen_before_counts_as_cached() -> None:
    opening = "Rules. " * 1000
    openai = {"model": "m", "messages": [{"role": "system", "content": opening}]}
    block = {"type": "text", "text": opening, "cache_control": {"type": "ephemeral"}}
    anthropic = chat(max_tokens=9, system=[block])
    with FakeServer() as server:
        first = (await post(server, "/v1/chat/completions", openai))[1]["usage"]
        second = (await post(server, "/v1/chat/completions", openai))[1]["usage"]
        server.reset()
        stored = (await post(server, "/v1/messages", anthropic, ANTHROPIC))[1]["usage"]
        read = (await post(server, "/v1/messages", anthropic, ANTHROPIC))[1]["usage"]
    assert first["prompt_tokens_details"]["cached_tokens"] == 0
    assert 1024 <= second["prompt_tokens_details"]["cached_tokens"] <= second["prompt_tokens"]
    assert (stored["cache_creation_input_tokens"], stored["cache_read_input_tokens"]) == (1664, 0)
    assert (read["cache_creation_input_tokens"], read["cache_read_input_tokens"]) == (0, 1664)


async def test_a_reply_can_be_an_object_a_text_or_a_function_of_the_request() -> None:
    def by_case(request: ReceivedRequest) -> dict[str, Any]:
        assert request.schema is not None
        return {**example_of(request.schema), "label": "no" if "case-2" in request.user_text else "yes"}

    async def ask(server: FakeServer, content: str) -> str:
        _, body, _ = await post(server, "/v1/chat/completions", chat(content, **by_schema()))
        return str(body["choices"][0]["message"]["content"])

    with FakeServer(by_case) as server:
        assert await ask(server, "case-1") == LABELS
        assert await ask(server, "case-2") == '{"label":"no","count":2}'
        server.configure(reply={"label": "no"})
        assert await ask(server, "case-1") == '{"label":"no"}'
        server.configure(reply="I say yes")
        assert await ask(server, "case-1") == "I say yes"
        server.configure(reply=b'{"choices": [{"message": {"content": "whole"}}], "error": null}')
        assert await ask(server, "case-1") == "whole"


async def test_an_object_given_as_text_still_reaches_the_anthropic_tool() -> None:
    request = chat(max_tokens=9, tools=[{"name": "labels", "input_schema": SCHEMA}])
    with FakeServer(reply=LABELS) as server:
        _, body, _ = await post(server, "/v1/messages", request, ANTHROPIC)
    assert body["content"][0]["input"] == {"label": "yes", "count": 2}


async def test_a_failing_reply_function_surfaces_when_the_server_stops() -> None:
    def broken(request: ReceivedRequest) -> str:
        raise LookupError("no such case")

    with pytest.raises(LookupError, match="no such case"), FakeServer(broken) as server:
        status, body, _ = await post(server, "/v1/chat/completions", chat())
        assert status == 500
        assert "no such case" in body["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body", "headers", "status", "message"),
    [
        ("/v1/chat/completions", {"model": "m"}, {}, 400, "messages"),
        ("/v1/chat/completions", [1], {}, 400, "not a JSON object"),
        ("/v1/chat/completions", chat(stream=True), {}, 400, "stream"),
        ("/v1/messages", chat(max_tokens=9), {"anthropic-version": "1"}, 401, "x-api-key"),
        ("/v1/messages", chat(max_tokens=9), {"x-api-key": "k"}, 400, "anthropic-version"),
        ("/v1/messages", chat(), ANTHROPIC, 400, "max_tokens"),
        (AZURE, chat(), {}, 401, "api-key"),
        (AZURE.partition("?")[0], chat(), {"api-key": "k"}, 404, "Resource not found"),
        ("/v1/nowhere", chat(), {}, 404, "/v1/nowhere"),
    ],
)
async def test_a_request_no_provider_would_take_is_refused(
    path: str, body: Any, headers: dict[str, str], status: int, message: str
) -> None:
    with FakeServer(faults=Faults(schedule=["500"])) as server:
        got, answer, _ = await post(server, path, body, headers)
        assert got == status
        assert message in answer["error"]["message"]
        assert server.stats().faults == {}, "a refused request uses up no fault"


@pytest.mark.parametrize(
    ("feature", "extra", "param", "words"),
    [
        ("json_schema", by_schema(), "response_format", "json_schema"),
        ("json_object", {"response_format": {"type": "json_object"}}, "response_format", "json_object"),
        ("tools", {"tools": [{"type": "function", "function": {"name": "a"}}]}, "tools", "'tools'"),
        ("temperature", {"temperature": 0}, "temperature", "Only the default (1)"),
        ("seed", {"seed": 1}, "seed", "'seed'"),
        ("max_tokens", {"max_tokens": 9}, "max_tokens", "Use 'max_completion_tokens' instead"),
        ("max_completion_tokens", {"max_completion_tokens": 9}, "max_completion_tokens", "Unrecognized"),
        ("reasoning_effort", {"reasoning_effort": "low"}, "reasoning_effort", "Unrecognized"),
    ],
)
async def test_an_unsupported_feature_is_refused_by_name(
    feature: str, extra: dict[str, Any], param: str, words: str
) -> None:
    with FakeServer(unsupported={feature}) as server:
        status, body, _ = await post(server, "/v1/chat/completions", chat(**extra))
        plain, _, _ = await post(server, "/v1/chat/completions", chat(temperature=1))
    assert (status, plain) == (400, 200)
    assert body["error"]["param"] == param
    assert words in body["error"]["message"]


async def test_images_are_refused_where_they_are_not_supported() -> None:
    picture = [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    block = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}]
    with FakeServer(unsupported={"images"}) as server:
        status, body, _ = await post(server, "/v1/chat/completions", chat(picture))
        assert (status, body["error"]["param"]) == (400, "messages.[0].content.[1].type")
        status, body, _ = await post(server, "/v1/messages", chat(block, max_tokens=9), ANTHROPIC)
        assert (status, body["error"]["type"]) == (400, "invalid_request_error")
        assert "image" in body["error"]["message"]


@pytest.mark.parametrize(
    ("feature", "extra"),
    [
        ("json_schema", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
        ("json_schema", {"output_format": {"type": "json_schema", "schema": SCHEMA}}),
        ("tools", {"tools": [{"name": "labels", "input_schema": SCHEMA}]}),
        ("temperature", {"temperature": 0}),
    ],
)
async def test_anthropic_names_the_field_it_refuses(feature: str, extra: dict[str, Any]) -> None:
    with FakeServer(unsupported={feature}) as server:
        status, body, _ = await post(server, "/v1/messages", chat(max_tokens=9, **extra), ANTHROPIC)
    assert status == 400
    assert body["error"]["message"].startswith(next(iter(extra)))
