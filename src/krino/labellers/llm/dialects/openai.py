"""The OpenAI chat-completions dialect: OpenAI, Azure, vLLM, Ollama, llama.cpp, OpenRouter and their like."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson

from krino.contract import Media
from krino.labellers.llm.wire import (
    TOOL_NAME,
    Channel,
    ChatRequest,
    Reply,
    ToolCall,
    Turn,
    UnreadableReply,
    as_object,
    count_or_zero,
    find_foreign_role,
    find_stated_error,
    parse_body,
    read_finish,
    read_refusal_field,
    text_or_none,
)

# Finish reasons of complete replies: those of OpenAI and of servers that imitate its API.
FINISHED = frozenset({"stop", "tool_calls", "function_call", "STOP", "eos", "eos_token"})
TEXT_PARTS = frozenset({"text", "output_text"})


class OpenAIDialect:
    """Chat completions at `{base}/chat/completions` with a bearer key."""

    name = "openai"
    channels: tuple[Channel, ...] = ("json_schema", "tool", "json_object", "text")
    usual_temperature: float | None = 0.0

    def url(self, base_url: str, model: str, api_version: str | None) -> str:
        return f"{base_url.rstrip('/')}/chat/completions"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Returns the body of a request as a chat-completions endpoint expects it."""
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [_system_message(request), *map(_write_message, request.turns)],
        }
        params = request.params
        if params.prompt_cache is not None:
            body["prompt_cache_options"] = {"mode": params.prompt_cache}
            body["prompt_cache_key"] = _cache_key(request.system)
        if params.temperature is not None:
            body["temperature"] = params.temperature
        if params.seed is not None:
            body["seed"] = params.seed
        if request.reply_limit is not None and request.completion_limit_name is not None:
            body[request.completion_limit_name] = request.reply_limit
        if params.effort is not None:
            body["reasoning_effort"] = params.effort
        body.update(_write_channel_fields(request))
        return body

    def context_for(self, tokens: int) -> int | None:
        return None

    def read(self, body: bytes) -> Reply:
        """Reads text, tool calls, finish reason and usage from a response body."""
        data = parse_body(body)
        choices = data["choices"] if isinstance(data.get("choices"), list) else []
        choice = choices[0] if choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise UnreadableReply(find_stated_error(data) or "the endpoint's reply has no choices[0].message")
        usage = as_object(data.get("usage"))
        details = as_object(usage.get("prompt_tokens_details"))
        used = as_object(usage.get("completion_tokens_details"))
        cost = usage.get("cost")
        reason = choice.get("finish_reason")
        if reason == "" and message.get("tool_calls"):  # as xAI does
            reason = "tool_calls"
        finish, stopped = read_finish(reason, FINISHED)
        several = f"the endpoint sent {len(choices)} choices, and one was asked for" if len(choices) > 1 else None
        return Reply(
            text=_read_content(message.get("content")),
            tool_calls=tuple(_read_tool_calls(message.get("tool_calls"))),
            finish=finish,
            stopped=stopped,
            reasoned=bool(message.get("reasoning_content") or message.get("reasoning") or used.get("reasoning_tokens")),
            refusal=_find_refusal(message) or ("content filter" if finish == "content_filter" else None),
            broken=find_stated_error(data, choice, message) or several or find_foreign_role(message),
            input_tokens=count_or_zero(usage.get("prompt_tokens")),
            output_tokens=_output_tokens(usage),
            cached_tokens=count_or_zero(details.get("cached_tokens") or usage.get("prompt_cache_hit_tokens")),
            cache_write_tokens=count_or_zero(details.get("cache_write_tokens")),
            cost=float(cost) if isinstance(cost, int | float) and cost >= 0 else None,
            model=text_or_none(data.get("model")),
        )


AZURE_VERSION = "2025-04-01-preview"
"""The default API version."""


class AzureDialect(OpenAIDialect):
    """Azure's v1 API if the address names it, else a deployment with an API version.

    Keys are sent in `api-key`, tokens of Entra ID (JWTs, `eyJ…`) as bearer tokens.
    """

    name = "azure"

    def url(self, base_url: str, model: str, api_version: str | None) -> str:
        """Returns the chat-completions address: of the v1 endpoint, or of a deployment with an API version."""
        root, v1, _ = base_url.partition("/openai/v1")
        if v1:
            asked = f"?api-version={api_version}" if api_version else ""
            return f"{root}/openai/v1/chat/completions{asked}"
        root = base_url.partition("/openai/deployments/")[0].rstrip("/").removesuffix("/openai")
        version = api_version or AZURE_VERSION
        return f"{root}/openai/deployments/{model}/chat/completions?api-version={version}"

    def headers(self, key: str | None) -> dict[str, str]:
        """Returns the header for a key, or for a token of Entra ID (a JWT), which goes as a bearer token."""
        if key and key.startswith("eyJ"):
            return {"Authorization": f"Bearer {key}"}
        return {"api-key": key} if key else {}


def _system_message(request: ChatRequest) -> dict[str, Any]:
    """The system message, marked for the provider's cache if requested.

    Without the mark, newer OpenAI models write every prompt to the cache at a higher price, including the case.
    """
    if request.params.prompt_cache is None:
        return {"role": "system", "content": request.system}
    mark = {"mode": request.params.prompt_cache}
    return {
        "role": "system",
        "content": [{"type": "text", "text": request.system, "prompt_cache_breakpoint": mark}],
    }


def _cache_key(system: str) -> str:
    """Returns the key for the provider's cache, the same for all requests of a judge: OpenAI looks marked prefixes up
    by this key and their text.

    Without a key, its newer models match them less reliably.
    """
    return f"krino-{hashlib.blake2b(system.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _write_message(turn: Turn) -> dict[str, Any]:
    """Returns a turn as a message, the text before media."""
    if not turn.media:
        return {"role": turn.role, "content": turn.text}
    parts: list[dict[str, Any]] = [{"type": "text", "text": turn.text}]
    return {"role": turn.role, "content": parts + [_write_media_part(medium) for medium in turn.media]}


def _write_media_part(medium: Media) -> dict[str, Any]:
    """Returns an image, sound or file as a part of a message."""
    encoded = base64.b64encode(medium.data).decode("ascii")
    if medium.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": encoded, "format": medium.mime.split("/")[-1]}}
    url = f"data:{medium.mime};base64,{encoded}"
    if medium.kind == "file":
        return {"type": "file", "file": {"filename": "case-file", "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


def _write_channel_fields(request: ChatRequest) -> dict[str, Any]:
    """Returns the body fields that ask for JSON through a schema, a tool or JSON mode."""
    if request.channel == "json_schema":
        schema = {"name": request.schema_name, "strict": True, "schema": request.schema}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if request.channel == "tool":
        function = {
            "name": TOOL_NAME,
            "description": "Give the labels.",
            "parameters": request.schema,
            "strict": True,
        }
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": TOOL_NAME}},
        }
    if request.channel == "json_object":
        return {"response_format": {"type": "json_object"}}
    return {}


def _output_tokens(usage: dict[str, Any]) -> int:
    """Counts all tokens billed as output. Gemini and xAI count reasoning only in the total."""
    stated = count_or_zero(usage.get("completion_tokens"))
    total, prompt = count_or_zero(usage.get("total_tokens")), count_or_zero(usage.get("prompt_tokens"))
    return max(stated, total - prompt) if prompt else stated


def _parts(content: Any) -> list[dict[str, Any]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _read_content(value: Any) -> str | None:
    """Reads the text of the content: a string or, from some servers, a list of parts (reasoning and refusals left
    out)."""
    if isinstance(value, list):
        return "".join(text_or_none(part.get("text")) or "" for part in _parts(value) if part.get("type") in TEXT_PARTS)
    return text_or_none(value)


def _find_refusal(message: dict[str, Any]) -> str | None:
    """Returns the text of a refusal, from its own field or a part of the content; None without one."""
    for part in _parts(message.get("content")):
        if part.get("type") == "refusal":
            return read_refusal_field(part.get("refusal") or part.get("text") or part)
    return read_refusal_field(message.get("refusal"))


def _read_tool_calls(value: Any) -> list[ToolCall]:
    """Reads tool calls from a message; entries that are no calls are left out."""
    calls = []
    for call in value if isinstance(value, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments") or ""
            if not isinstance(arguments, str):  # some imitators send the object itself
                arguments = orjson.dumps(arguments).decode()
            calls.append(ToolCall(str(function.get("name")), arguments))
    return calls
