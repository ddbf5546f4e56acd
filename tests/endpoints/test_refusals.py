"""Every emulated endpoint refuses what the real one refuses, in its words, and takes what the real one takes."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from endpoints import ENDPOINTS, KEY, Emulator, serve

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
LONG = "word " * 8000


def schema_with(**keywords: Any) -> dict[str, Any]:
    return {**SCHEMA, "properties": {"colour": {"type": "string", **keywords}}}


def bound_to(schema: dict[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "labels", "schema": schema}}}


def formed_by(schema: dict[str, Any]) -> dict[str, Any]:
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def saying(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


TOOL: dict[str, Any] = {
    "tools": [{"type": "function", "function": {"name": "give", "parameters": SCHEMA}}],
    "tool_choice": {"type": "function", "function": {"name": "give"}},
}
PATHS = {
    "anthropic": "/v1/messages",
    "foundry": "/v1/messages",
    "azure": "/openai/deployments/gpt-4o/chat/completions?api-version=2025-04-01-preview",
}
MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "foundry": "claude-sonnet-5-5",
    "groq": "openai/gpt-oss-120b",
    "openai": "gpt-4o",
    "openrouter": "openai/gpt-4o",
}


class Reply(NamedTuple):
    status: int
    body: Any

    @property
    def text(self) -> str:
        return json.dumps(self.body)


def post(url: str, body: dict[str, Any], **headers: str) -> Reply:
    sent = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = urllib.request.Request(url, json.dumps(body).encode(), sent)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return Reply(answer.status, json.loads(answer.read()))
    except urllib.error.HTTPError as error:
        with error:
            return Reply(error.code, json.loads(error.read()))


def ask(server: Emulator, name: str, *, path: str | None = None, key: str = KEY, **changes: Any) -> Reply:
    """A plain request that the endpoint takes, but for what is changed about it."""
    body: dict[str, Any] = {"model": MODELS.get(name, "some-model"), **saying("Which colour?")}
    headers = {"authorization": f"Bearer {key}"}
    if name in ("anthropic", "foundry"):
        body["max_tokens"] = 500
        headers = {"x_api_key": key, "anthropic_version": "2026-10-21"}
    return post(server.url + (path or PATHS.get(name, "/chat/completions")), {**body, **changes}, **headers)


@pytest.mark.parametrize("name", sorted(ENDPOINTS))
def test_a_plain_request_is_answered_and_billed(name: str) -> None:
    with serve(name) as server:
        assert ask(server, name).status == 200
        stats = server.stats()
        assert (server.requests, server.answered, server.refused, server.longest_cut) == (1, 1, 0, 0)
        assert stats.input_tokens > 0
        assert stats.output_tokens > 0


WRONG_KEY = {"gemini": 400, "xai": 400}
KEYLESS = {"llamacpp", "lmstudio", "ollama", "vllm"}


@pytest.mark.parametrize("name", sorted(ENDPOINTS.keys() - KEYLESS))
def test_a_wrong_key_is_refused(name: str) -> None:
    with serve(name) as server:
        assert ask(server, name, key="wrong").status == WRONG_KEY.get(name, 401)
        assert (server.requests, server.refused) == (1, 1)


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("anthropic", 400, "credit balance is too low"),
        ("azure", 429, "insufficient_quota"),
        ("deepseek", 402, "Insufficient Balance"),
        ("gemini", 429, "RESOURCE_EXHAUSTED"),
        ("litellm", 429, "budget_exceeded"),
        ("openai", 429, "insufficient_quota"),
        ("openrouter", 402, "Insufficient credits"),
        ("together", 402, "credit_limit"),
        ("xai", 403, "used all available credits"),
    ],
)
def test_an_empty_account_is_refused_after_its_last_answer(name: str, status: int, words: str) -> None:
    with serve(name, empty_after=1) as server:
        assert ask(server, name).status == 200
        reply = ask(server, name)
        assert reply.status == status
        assert words in reply.text
        assert (server.answered, server.refused) == (1, 1)


class Case(NamedTuple):
    name: str
    status: int
    words: str
    changes: dict[str, Any]
    options: Mapping[str, Any] = MappingProxyType({})
    path: str | None = None


GPT5 = {"model": "gpt-5"}
HAIKU = {"model": "claude-haiku-4-5"}
MANY = [f"value {number}" for number in range(161)]
OLD_AZURE = "/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21"
REFUSED = [
    Case("openai", 404, "model_not_found", {"model": "gpt-unknown"}),
    Case("openai", 404, "v1/responses", {"model": "gpt-5-pro"}),
    Case("openai", 404, "Invalid URL", {}, path="/v2/chat/completions"),
    Case("openai", 400, "Unrecognized request argument", {"num_ctx": 1}),
    Case("openai", 400, "Unrecognized request argument", {"reasoning_effort": "low"}),
    Case("openai", 400, "'max_tokens' is not supported", {**GPT5, "max_tokens": 10}),
    Case("openai", 400, "'temperature' does not support 0 ", {**GPT5, "temperature": 0}),
    Case("openai", 400, "'reasoning_effort' does not support 'huge'", {**GPT5, "reasoning_effort": "huge"}),
    Case("openai", 400, "/v1/responses", {"model": "gpt-6", **TOOL}),
    Case("openai", 400, "prompt_cache_options", {**GPT5, "prompt_cache_options": {"mode": "explicit"}}),
    Case("openai", 400, "'maxLength' is not permitted", bound_to(schema_with(maxLength=9))),
    Case("openai", 400, "'additionalProperties' is required", bound_to({"type": "object", "properties": {}})),
    Case("openai", 400, "every key in properties", bound_to({**SCHEMA, "required": []})),
    Case("openai", 400, "at most 1000 enum values", bound_to(schema_with(enum=[str(n) for n in range(1001)]))),
    Case("openai", 400, "'pattern' is not permitted", {"model": "ft:gpt-4o", **bound_to(schema_with(pattern="r"))}),
    Case("openai", 400, "the word 'json'", {"response_format": {"type": "json_object"}}),
    Case("azure", 404, "DeploymentNotFound", {}, path=PATHS["azure"].replace("gpt-4o", "unknown")),
    Case("azure", 404, "Resource not found", {}, path="/openai/deployments/gpt-4o/chat/completions"),
    Case("azure", 404, "Resource not found", {}, path="/chat/completions"),
    Case("azure", 400, "max_completion_tokens", {"max_completion_tokens": 9}, path=OLD_AZURE),
    Case("azure", 400, "'max_tokens' is not", {**GPT5, "max_tokens": 9}, path="/openai/v1/chat/completions"),
    Case("anthropic", 404, "not_found_error", {"model": "claude-unknown"}),
    Case("anthropic", 400, "Extra inputs", {"temperature": 0}),
    Case("anthropic", 400, "Extra inputs", {"seed": 1}),
    Case("anthropic", 400, "maximum allowed number", {**HAIKU, "max_tokens": 64_001}),
    Case("anthropic", 400, "effort parameter", {**HAIKU, "output_config": {"effort": "low"}}),
    Case("anthropic", 400, "forces tool use", {"tool_choice": {"type": "any"}}),
    Case("anthropic", 400, "prefill", {"messages": [{"role": "assistant", "content": "{"}]}),
    Case("anthropic", 400, "maxLength are not supported", formed_by(schema_with(maxLength=9))),
    Case("anthropic", 400, "Schema is too complex", formed_by(schema_with(enum=MANY))),
    Case("anthropic", 400, "explicitly set to false", formed_by({"type": "object", "properties": {}})),
    Case("gemini", 404, "NOT_FOUND", {"model": "gemini-unknown"}),
    Case("gemini", 400, 'Unknown name \\"top_k\\"', {"top_k": 1}),
    Case("gemini", 400, "too many states", bound_to(schema_with(enum=MANY)), {"most_states": 100}),
    Case("openrouter", 400, "not a valid model ID", {"model": "openai/unknown"}),
    Case("openrouter", 400, "Provider returned error", bound_to(schema_with(maxLength=9))),
    Case("openrouter", 400, "Anthropic", {"model": "anthropic/claude", **bound_to(schema_with(maxLength=9))}),
    Case("openrouter", 200, '"code": 429', {}, {"hidden_error": 429, "hidden_every": 1}),
    Case("openrouter", 200, '"code": 502', {}, {"hidden_error": 502, "hidden_every": 1}),
    Case("deepseek", 400, "Model Not Exist", {"model": "unknown"}),
    Case("deepseek", 400, "response_format type is unavailable", bound_to(SCHEMA)),
    Case("deepseek", 400, "Thinking mode does not support", TOOL),
    Case("deepseek", 400, "the word 'json'", {"response_format": {"type": "json_object"}}),
    Case("xai", 404, "does not exist", {"model": "grok-unknown"}),
    Case("xai", 400, "reasoningEffort", {"model": "grok-4", "reasoning_effort": "low"}),
    Case("mistral", 422, "extra_forbidden", {"seed": 1}),
    Case("mistral", 422, "extra_forbidden", {"max_completion_tokens": 9}),
    Case("mistral", 400, "Invalid model", {"model": "unknown"}),
    Case("groq", 404, "model_not_found", {"model": "unknown"}),
    Case("groq", 400, "does not support response format", {"model": "llama-3.3-70b", **bound_to(SCHEMA)}),
    Case("groq", 400, "maxLength is not supported", bound_to(schema_with(maxLength=9))),
    Case("groq", 413, "Request too large", {"max_tokens": 9000}, {"most_tokens": 8000}),
    Case("openai", 429, "Request too large", {"max_tokens": 9000}, {"most_tokens": 8000}),
    Case("groq", 400, "json_validate_failed", {}, {"failing": 1.0}),
    Case("groq", 400, "tool_use_failed", TOOL, {"failing": 1.0}),
    Case("together", 422, "`inputs` tokens + `max_new_tokens` must be <= 8192", {"max_tokens": 8190}),
    Case("vllm", 404, "does not exist", {"model": "unknown"}),
    Case("vllm", 400, "you requested 8190 output tokens", {"max_tokens": 8190}),
    Case("vllm", 400, "is too large: 8190", {"max_tokens": 8190}, {"wording": "old"}),
    Case("vllm", 400, "maximum context length is 8192", saying(LONG)),
    Case("ollama", 404, "not found", {"model": "unknown"}),
    Case("ollama", 400, "exceeds the available context size", saying(LONG), {"refusing_long": True}),
    Case("lmstudio", 400, "must be 'json_schema' or 'text'", {"response_format": {"type": "json_object"}}),
    Case("lmstudio", 200, "greater than the context length", saying(LONG)),
    Case("litellm", 400, "Invalid model name", {"model": "unknown"}),
    Case("litellm", 400, "litellm.UnsupportedParamsError", {**GPT5, "temperature": 0}),
    Case("litellm", 400, "litellm.BadRequestError", bound_to(schema_with(maxLength=9))),
    Case("llamacpp", 400, "exceed_context_size_error", saying(LONG)),
    Case("llamacpp", 400, "failed to parse grammar", bound_to(schema_with(maxLength=2001))),
    Case("llamacpp", 503, "Loading model", {}, {"loading": 1}),
]


@pytest.mark.parametrize("case", REFUSED, ids=[f"{case.name}-{number}" for number, case in enumerate(REFUSED)])
def test_what_the_real_endpoint_refuses_is_refused(case: Case) -> None:
    with serve(case.name, **case.options) as server:
        reply = ask(server, case.name, path=case.path, **case.changes)
        assert reply.status == case.status
        assert case.words in reply.text
        assert server.answered == 0
        assert server.stats().input_tokens == 0, "a refusal costs nothing"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("openai", {**GPT5, "temperature": 0, "reasoning_effort": "none"}),
        ("openai", {"model": "gpt-5.1", "temperature": 0}),
        ("openai", {"model": "gpt-6", "prompt_cache_options": {"mode": "explicit"}}),
        ("openai", bound_to(schema_with(enum=MANY))),
        ("anthropic", formed_by(schema_with(enum=MANY[:160]))),
        ("openrouter", {"model": "qwen/qwen3", **bound_to(schema_with(maxLength=9))}),
        ("deepseek", {**TOOL, "thinking": {"type": "disabled"}}),
        ("together", bound_to(schema_with(maxLength=9))),
        ("vllm", bound_to(schema_with(maxLength=9))),
        ("llamacpp", bound_to(schema_with(maxLength=2000))),
    ],
)
def test_what_lies_just_within_the_rules_is_taken(name: str, changes: dict[str, Any]) -> None:
    with serve(name) as server:
        assert ask(server, name, **changes).status == 200


def test_google_wraps_errors_in_an_array() -> None:
    with serve("gemini") as server:
        assert ask(server, "gemini", key="wrong").body[0]["error"]["details"][0]["reason"] == "API_KEY_INVALID"


def test_openrouter_hides_the_words_of_the_upstream() -> None:
    with serve("openrouter") as server:
        error = ask(server, "openrouter", **bound_to(schema_with(maxLength=9))).body["error"]
        assert error["message"] == "Provider returned error"
        assert "'maxLength' is not permitted" in error["metadata"]["raw"]


def test_azure_takes_an_entra_token_as_a_bearer_only() -> None:
    token = "eyJtoken"
    with serve("azure", key=token) as server:
        body = {"model": "gpt-4o", **saying("Hi")}
        assert post(server.url + PATHS["azure"], body, api_key=token).status == 401
        assert post(server.url + PATHS["azure"], body, authorization=f"Bearer {token}").status == 200


def test_a_foundry_key_counts_in_its_own_header_only() -> None:
    body = {"model": "claude-sonnet-5-5", "max_tokens": 99, **saying("Hi")}
    version = {"anthropic_version": "2023-06-01", "authorization": f"Bearer {KEY}"}
    with serve("foundry") as gateway, serve("anthropic") as own:
        assert post(f"{gateway.url}/v1/messages", body, **version).status == 401
        assert post(f"{own.url}/v1/messages", body, **version).status == 200


def test_anthropic_wants_its_version() -> None:
    with serve("anthropic") as server:
        reply = post(f"{server.url}/v1/messages", {"model": "claude", **saying("Hi")}, x_api_key=KEY)
        assert (reply.status, "anthropic-version" in reply.text) == (400, True)


def test_a_failed_generation_succeeds_when_it_is_asked_again() -> None:
    with serve("groq", failing=1.0) as server:
        assert [ask(server, "groq").status for _ in range(2)] == [400, 200]
