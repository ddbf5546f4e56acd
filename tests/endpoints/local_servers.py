"""Servers on one's own machine that speak OpenAI's chat path: llama.cpp and LM Studio."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from endpoints.base import Bill, Refused, Served, count_tokens
from endpoints.chat import ChatEmulator, format_schema, openai_error, prompt_text, response_format, stated_limit
from endpoints.schemas import schema_nodes
from fake_llm.replies import Asked, ReceivedRequest

MOST_REPETITIONS = 2000
"""Of one rule in a grammar of llama.cpp."""


class _LocalEmulator(ChatEmulator):
    def __init__(self, *, context: int = 8192, thinking: int = 0, latency: float = 0.0) -> None:
        super().__init__(thinking=thinking, key=None, latency=latency)
        self.context = context

    def prompt_size(self, request: ReceivedRequest, asked: Asked) -> int:
        return count_tokens(prompt_text(request))

    def reply_limit(self, request: ReceivedRequest, prompt: int) -> int | None:
        stated = stated_limit(request, self.limit_names)
        return self.context - prompt if stated is None else min(stated, self.context - prompt)


class LlamaCppEmulator(_LocalEmulator):
    """llama.cpp's server: 400 for a prompt beyond the context, 503 for the first `loading` requests."""

    def __init__(self, *, loading: int = 0, **settings: Any) -> None:
        super().__init__(**settings)
        self._loading = loading

    def check(self, request: ReceivedRequest) -> None:
        if self._loading > 0:
            self._loading -= 1
            raise Refused(503, {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}})
        size = count_tokens(prompt_text(request))
        if size >= self.context:
            message = (
                f"request ({size} tokens) exceeds the available context size ({self.context} tokens), try increasing it"
            )
            error = {"code": 400, "message": message, "type": "exceed_context_size_error"}
            raise Refused(400, {"error": {**error, "n_prompt_tokens": size, "n_ctx": self.context}})
        for _, node in schema_nodes(format_schema(request)):
            if max(node.get("maxLength", 0), node.get("maxItems", 0)) > MOST_REPETITIONS:
                message = "Failed to initialize samplers: failed to parse grammar"
                raise openai_error(400, message, code=400)


class LmStudioEmulator(_LocalEmulator):
    """LM Studio: no json_object (bug-tracker#169), and overflow is an error inside HTTP 200 (bug-tracker#2322).

    `overflow="empty"`: it is answered with nothing instead, and without an error (bug-tracker#2339).
    """

    def __init__(self, *, overflow: Literal["error", "empty"] = "error", **settings: Any) -> None:
        super().__init__(**settings)
        self.overflow = overflow

    def check(self, request: ReceivedRequest) -> None:
        if response_format(request) == "json_object":
            raise Refused(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
        if self.overflow == "error" and count_tokens(prompt_text(request)) >= self.context:
            message = (
                "The number of tokens to keep from the initial prompt is greater than the context length. Try to load "
                "the model with a larger context length, or provide a shorter input"
            )
            raise Refused(200, {"error": message})

    def serve(self, request: ReceivedRequest, number: int) -> Served:
        size = count_tokens(prompt_text(request))
        if size < self.context:
            return super().serve(request, number)
        served = super().serve(request, number)
        choice = served.payload["choices"][0]
        choice.update(finish_reason="stop", message={"role": "assistant", "content": ""})
        served.payload["usage"] = self.usage(Bill(self.context))
        return replace(served, bill=Bill(self.context), finish="stop", cut_from=size)
