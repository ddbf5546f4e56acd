"""Ollama's own dialect. Unlike its OpenAI endpoint, it lets a request set the context length and forbid truncation."""

from __future__ import annotations

import base64
from typing import Any

from krino.labellers.llm.wire import (
    Channel,
    ChatRequest,
    Reply,
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

SMALLEST_CONTEXT = 8_192
LARGEST_CONTEXT = 131_072
MARGIN = 1.3
"""Our estimate is four characters per token; many languages need more tokens."""


class OllamaDialect:
    """Chat at `{base}/api/chat`."""

    name = "ollama"
    channels: tuple[Channel, ...] = ("json_schema", "json_object", "text")
    usual_temperature: float | None = 0.0

    def __init__(self) -> None:
        self._context = SMALLEST_CONTEXT

    def url(self, base_url: str, model: str, api_version: str | None) -> str:
        return f"{base_url.rstrip('/')}/api/chat"

    def headers(self, key: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def context_for(self, tokens: int) -> int | None:
        """Returns the context size to ask for: a power of two that never shrinks, since Ollama reloads the model
        whenever the size changes."""
        while self._context < min(tokens * MARGIN, LARGEST_CONTEXT):
            self._context *= 2
        return self._context

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """Returns the body of a request as Ollama's chat endpoint expects it."""
        settings = {
            "num_ctx": request.context,
            "num_predict": request.reply_limit if request.completion_limit_name is not None else None,
            "temperature": request.params.temperature,
            "seed": request.params.seed,
        }
        body: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": "system", "content": request.system}, *map(_write_message, request.turns)],
            "stream": False,
            # By default Ollama drops the beginning of a prompt that does not fit.
            "truncate": False,
            "shift": False,
            "options": {name: value for name, value in settings.items() if value is not None},
        }
        if request.params.effort is not None:
            body["think"] = request.params.effort
        if request.channel == "json_schema":
            body["format"] = request.schema
        elif request.channel == "json_object":
            body["format"] = "json"
        return body

    def read(self, body: bytes) -> Reply:
        """Reads text, finish reason and usage from a response body."""
        data = parse_body(body)
        message = data.get("message")
        if not isinstance(message, dict):
            raise UnreadableReply(find_stated_error(data) or "the endpoint's reply has no message")
        finish, stopped = read_finish(data.get("done_reason"), {"stop"})
        unfinished = None if data.get("done", True) else "the endpoint's reply is one piece of several"
        return Reply(
            text=text_or_none(message.get("content")),
            finish=finish,
            stopped=stopped,
            reasoned=bool(message.get("thinking")),
            broken=find_stated_error(data, as_object(message)) or unfinished or find_foreign_role(message),
            input_tokens=count_or_zero(data.get("prompt_eval_count")),
            output_tokens=count_or_zero(data.get("eval_count")),
            model=text_or_none(data.get("model")),
        )


def _write_message(turn: Turn) -> dict[str, Any]:
    images = [base64.b64encode(medium.data).decode("ascii") for medium in turn.media if medium.kind == "image"]
    return {"role": turn.role, "content": turn.text, **({"images": images} if images else {})}
