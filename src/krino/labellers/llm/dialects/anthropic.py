"""The Anthropic messages dialect."""

from __future__ import annotations

import base64
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
    text_or_none,
)

DEFAULT_REPLY_TOKENS = 8192  # the API wants a number; this one is enough for every bundled judge
# Finish reasons of complete replies. We never send a stop sequence, so `stop_sequence` means that it was cut.
FINISHED = frozenset({"end_turn", "tool_use"})


class AnthropicDialect:
    """Messages at `{base}/v1/messages`."""

    name = "anthropic"
    channels: tuple[Channel, ...] = ("json_schema", "tool", "text")
    usual_temperature: float | None = None  # this version of the API rejects the parameter

    def url(self, base_url: str, model: str, api_version: str | None) -> str:
        return f"{base_url.rstrip('/').removesuffix('/v1')}/v1/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"anthropic-version": "2026-10-21", **({"Authorization": f"Bearer {key}"} if key else {})}

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Returns the body of a request as the Anthropic messages endpoint expects it."""
        params = request.params
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.reply_limit or DEFAULT_REPLY_TOKENS,
            # The constant part is marked for the provider's prompt cache.
            "system": [{"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}],
            "messages": [_write_message(turn) for turn in request.turns],
        }
        if params.temperature is not None:
            body["temperature"] = params.temperature
        config: dict[str, Any] = {}
        if params.effort is not None:
            config["effort"] = params.effort
        if request.channel == "json_schema":
            config["format"] = {"type": "json_schema", "schema": request.schema}
        if config:
            body["output_config"] = config
        if request.channel == "tool":
            body["tools"] = [{"name": TOOL_NAME, "description": "Give the labels.", "input_schema": request.schema}]
            body["tool_choice"] = {"type": "tool", "name": TOOL_NAME}
        return body

    def context_for(self, tokens: int) -> int | None:
        return None

    def read(self, body: bytes) -> Reply:
        """Reads text, tool calls, finish reason and usage from a response body."""
        data = parse_body(body)
        blocks = data.get("content")
        if not isinstance(blocks, list):
            raise UnreadableReply(find_stated_error(data) or "the endpoint's reply has no content list")
        texts = [text_or_none(block.get("text")) or "" for block in blocks if _is(block, "text")]
        calls = [
            ToolCall(str(block.get("name")), _serialise_arguments(block.get("input")))
            for block in blocks
            if _is(block, "tool_use")
        ]
        usage = as_object(data.get("usage"))
        cached = count_or_zero(usage.get("cache_read_input_tokens"))
        written = count_or_zero(usage.get("cache_creation_input_tokens"))
        finish, stopped = read_finish(data.get("stop_reason"), FINISHED)
        declining = finish == "refusal" or any(_is(block, "refusal") for block in blocks)
        return Reply(
            text="".join(texts) if texts else None,
            tool_calls=tuple(calls),
            finish=finish,
            stopped=stopped,
            reasoned=any(_is(block, "thinking") or _is(block, "redacted_thinking") for block in blocks),
            refusal="the model declined" if declining else None,
            broken=find_stated_error(data) or find_foreign_role(data),
            # Anthropic does not include cached input in `input_tokens`, unlike OpenAI and us.
            input_tokens=count_or_zero(usage.get("input_tokens")) + cached + written,
            output_tokens=count_or_zero(usage.get("output_tokens")),
            cached_tokens=cached,
            cache_write_tokens=written,
            model=text_or_none(data.get("model")),
        )


def _write_message(turn: Turn) -> dict[str, Any]:
    """Returns a turn as a message, media before the text."""
    if not turn.media:
        return {"role": turn.role, "content": turn.text}
    return {
        "role": turn.role,
        "content": [*map(_write_media_block, turn.media), {"type": "text", "text": turn.text}],
    }


def _write_media_block(medium: Media) -> dict[str, Any]:
    """Returns an image or document as a content block."""
    source = {
        "type": "base64",
        "media_type": medium.mime,
        "data": base64.b64encode(medium.data).decode("ascii"),
    }
    return {"type": "image" if medium.kind == "image" else "document", "source": source}


def _serialise_arguments(value: Any) -> str:
    """Serialises the arguments of a call; `UnreadableReply` if they are nested too deeply."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        raise UnreadableReply(f"the arguments of the tool call cannot be read: {error}") from None


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


class AnthropicGatewayDialect(AnthropicDialect):
    """For other addresses: some gateways and Foundry read the key from `x-api-key`, others from `Authorization`."""

    def headers(self, key: str | None) -> dict[str, str]:
        return {**super().headers(key), **({"x-api-key": key} if key else {})}
